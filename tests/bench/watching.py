"""Measures the memory and CPU time of a process and its child processes from outside."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from pathlib import Path

EVERY_S = 0.2
_PAGE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


class Watch:
    """A context that samples the process *pid*, its workers and Prefect's server until it closes.

    ``memory``: resident MiB by role at each sample, with its time (`time.time`). ``cpu``: seconds by process so far.
    """

    def __init__(self, pid: int):
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.memory: list[tuple[float, dict[str, float]]] = []
        self.cpu: dict[int, tuple[str, float]] = {}
        self._servers: set[int] = set()

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def cpu_by_role(self) -> dict[str, float]:
        """Returns role → CPU seconds so far, including processes that have ended."""
        found: dict[str, float] = defaultdict(float)
        for role, seconds in list(self.cpu.values()):
            found[role] += seconds
        return found

    def _look(self) -> None:
        while not self._over.wait(EVERY_S):
            resident: dict[str, float] = defaultdict(float)
            for pid, role in self._family(self._pid).items():
                try:
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                self.cpu[pid] = role, (int(fields[11]) + int(fields[12])) / _TICKS
                resident[role] += int(fields[21]) * _PAGE / 2**20
            self.memory.append((time.time(), dict(resident)))

    def _family(self, pid: int, role: str = "run") -> dict[int, str]:
        """Returns role by process id: *pid* itself and all its descendants."""
        found = {pid: role}
        try:
            for thread in Path(f"/proc/{pid}/task").iterdir():
                for child in map(int, (thread / "children").read_text().split()):
                    found |= self._family(child, self._role(child) if role == "run" else role)
        except OSError:
            pass
        return found

    def _role(self, pid: int) -> str:
        try:
            if b"prefect.server" in Path(f"/proc/{pid}/cmdline").read_bytes():
                self._servers.add(pid)
        except OSError:
            pass
        # A process that is about to end no longer has a command line.
        return "server" if pid in self._servers else "workers"

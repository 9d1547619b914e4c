"""Reads PDFs in child processes with limits, several at a time.

Each file gets a status, whatever it does to its child, and all other files are still read. A child that hangs is ended,
and a child that dies is replaced.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, LifoQueue
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeVar, cast

from gre_bench.core.errors import SourceError
from gre_bench.core.resources import PACKAGE
from gre_bench.ingest.pdf.opening import refusal
from gre_bench.ingest.pdf.text import PdfText
from gre_bench.ingest.pdf.worker import receive, send

T = TypeVar("T")

STARTING = 120.0
"""Seconds within which a child must be ready."""
SHARED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONHOME")
"""The environment variables that a child gets; they hold no secrets."""
FILES = 200
"""After this many files a child is replaced, because libraries keep memory."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for reading one file.

    - *wall_s*, *cpu_s*: seconds of wall-clock time and of CPU time.
    - *memory_bytes*: the address space of the child process. Its libraries take about 0.25 GiB of it.
    - *max_pages*: how many pages are read, from the first.
    """

    wall_s: float = 60.0
    cpu_s: float = 60.0
    memory_bytes: int = 2 * 2**30
    max_pages: int = 200


class PdfReader:
    """Reads PDFs in child processes, which start when they are needed; `close` ends them.

    *limits* hold for each file. *children* is how many files are read at the same time, by default one for each core of
    this process. Any number of threads may call `read`.
    """

    def __init__(self, limits: Limits | None = None, children: int | None = None):
        self.limits = limits or Limits()
        self.children = children or _cores()
        self._idle: LifoQueue[_Child] = LifoQueue()
        self._begun: set[_Child] = set()
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abandon()
        self.close()

    def abandon(self) -> None:
        """Kills all child processes at once; the results of files that are being read are lost."""
        self._over = True
        for child in list(self._begun):
            child.process.kill()

    def close(self) -> None:
        """Ends the idle child processes: asks all of them to end, then waits for each."""
        children = []
        with suppress(Empty):
            while True:
                children.append(self._idle.get_nowait())
        for child in children:
            with suppress(BrokenPipeError):
                child.process.stdin.close()
        for child in children:
            child.end(grace_s=5.0)

    def read(self, data: bytes) -> PdfText:
        """Returns the text and findings of the PDF *data*, read within the limits.

        Raises `SourceError` if no child can be started.
        """
        return self._ask(data, {})[0]

    def draw(self, data: bytes, folder: Path, dpi: int = 100) -> tuple[PdfText, list[Path]]:
        """Reads the PDF *data*, and draws its pages that have findings into *folder*, with the findings marked.

        Returns the result of `read` and the paths of the pictures. *dpi* is the resolution of the pictures. The limits
        hold for reading and drawing together.
        """
        folder.mkdir(parents=True, exist_ok=True)
        read, pictures = self._ask(data, {"folder": str(folder.resolve()), "dpi": dpi})
        return read, [folder / name for name in pictures]

    def read_all(self, items: Iterable[T], load: Callable[[T], bytes]) -> Iterator[tuple[T, PdfText]]:
        """Reads the PDF of each of *items*, several at a time; yields (item, result) in the order of *items*.

        *load* returns the bytes of an item's PDF. If the caller stops early, running child processes are killed and the
        reader cannot be used again.
        """
        with ThreadPoolExecutor(self.children) as pool:
            items = list(items)
            try:
                yield from zip(items, pool.map(lambda item: self.read(load(item)), items), strict=True)
            except BaseException:
                self.abandon()
                raise

    def _ask(self, data: bytes, more: dict[str, Any]) -> tuple[PdfText, list[str]]:
        refused = refusal(data)
        if refused:
            return PdfText("not_a_pdf", notes=(refused,)), []
        while not self._over:
            child = self._take()
            request = {"cpu_s": self.limits.cpu_s, "max_pages": self.limits.max_pages, **more}
            answer = child.ask(request, data, self.limits.wall_s)
            if isinstance(answer, PdfText) and answer.status == "crashed" and child.requests > 1:
                continue  # an earlier file may have harmed the child, so try a new one
            if isinstance(answer, PdfText):
                return answer, []
            if child.requests >= FILES or answer["held_bytes"] > self.limits.memory_bytes / 2:
                child.end()
            else:
                self._idle.put(child)
            if "problem" in answer:
                return PdfText("crashed", notes=(answer["problem"],)), []
            return PdfText.from_json(answer["read"]), answer["pictures"]
        return PdfText("crashed", notes=("reading was stopped",)), []

    def _take(self) -> _Child:
        try:
            return self._idle.get_nowait()
        except Empty:
            child = _Child(self.limits.memory_bytes)
        self._begun.add(child)
        if self._over:
            child.process.kill()
        child.begin()
        return child


def _cores() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Child:
    """A child process that runs `worker`, and the exchange of messages with it."""

    def __init__(self, memory: int):
        keep = {name: os.environ[name] for name in SHARED if name in os.environ}
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.requests = 0
        self.memory = memory
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gre_bench.ingest.pdf.worker", str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=PACKAGE.parent,
            env={**keep, **threads},
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin, self._stdout = cast(BinaryIO, self.process.stdin), cast(BinaryIO, self.process.stdout)

    def begin(self) -> None:
        """Waits until the process is ready; raises `SourceError` if it is not ready after `STARTING` seconds."""
        if self._answer(time.monotonic() + STARTING) is None:
            code = self.end()
            gib = self.memory / 2**30
            raise SourceError(
                f"the process that reads PDFs does not start (exit {code}) within {gib:.1f} GiB of memory; "
                f"try: {sys.executable} -c 'import pymupdf'"
                if code
                else f"the process that reads PDFs is not ready after {STARTING:.0f} s; is the machine overloaded?"
            )

    def ask(self, request: dict[str, Any], data: bytes, wall: float) -> dict[str, Any] | PdfText:
        """Sends *request* and the file *data* to the process, and returns its answer.

        If the process dies or takes more than *wall* seconds, returns a `PdfText` that has the matching status and no
        text.
        """
        self.requests += 1
        deadline = time.monotonic() + wall
        try:
            with suppress(BrokenPipeError):  # the child may have given the reason before it ended
                send(self._stdin, request, data)
            answer = self._answer(deadline)
        except BaseException:
            self.end()
            raise
        if answer is not None:
            return answer
        if time.monotonic() >= deadline:
            self.end()
            return PdfText("timeout", notes=(f"reading took more than {wall:.0f} s",))
        code = self.end()
        if code == -signal.SIGXCPU:
            return PdfText("timeout", notes=(f"reading took more than {request['cpu_s']:.0f} s of computing",))
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return PdfText("crashed", notes=(f"the process that read the file died ({name})",))

    def _answer(self, deadline: float) -> dict[str, Any] | None:
        """Returns the child's next message; None if it dies or does not answer before *deadline*.

        *deadline* is in seconds of the monotonic clock.
        """
        stream = self._stdout
        while (left := deadline - time.monotonic()) > 0:
            # An answer is written in one piece: once it begins, the rest follows.
            if select.select([stream], [], [], min(left, 60.0))[0]:
                message = receive(stream)
                return message[0] if message else None
        return None

    def end(self, grace_s: float = 0.2) -> int:
        """Ends the process; kills it if it has not ended after *grace_s* seconds.

        Returns the exit code, or minus the number of the signal that ended the process.
        """
        if self.process.poll() is None:
            try:
                # The process may be ending already, and its own signal says more than a kill.
                self._stdin.close()
                self.process.wait(grace_s)
            except (subprocess.TimeoutExpired, BrokenPipeError):
                self.process.kill()
        code = self.process.wait()
        for stream in (self._stdin, self._stdout):
            with suppress(BrokenPipeError):
                stream.close()
        return code

"""Reads files in a separate process if their format, such as Parquet, may exhaust memory.

The process is limited to the memory and time that the settings allow for one file. If it dies, the file is refused, and
a new process reads the next file. Each process runs `python -m gre_bench.ingest.records.isolated MEMORY_BYTES`.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast
from uuid import UUID

from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import (
    MB,
    FileReadMeter,
    compute_value_count_bound,
    current_file_limits,
    too_large_error,
    too_slow_error,
    use_file_limits,
)
from gre_bench.core.resources import PACKAGE

STARTING = 120.0
"""Seconds within which a child process must be ready."""
SHARED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONHOME")
"""The environment variables that are passed to a child process; they hold no secrets."""
Message = tuple[dict[str, Any], bytes]
"""(header, data). The header is a JSON object."""


@dataclass(frozen=True, slots=True)
class ChildDied:
    """A process that ended without an answer. *note*: how it ended."""

    status: Literal["timeout", "crashed"]
    note: str


class Child:
    """A child process that runs *module* with *memory* bytes of address space.

    *reads*, *library*: what the process reads, and the library that it needs; both are used in messages.
    """

    def __init__(self, module: str, memory: int, reads: str, library: str):
        keep = {name: os.environ[name] for name in SHARED if name in os.environ}
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.requests = 0
        self.memory, self.reads, self.library = memory, reads, library
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=PACKAGE.parent,
            env={**keep, **threads},
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin, self._stdout = cast(BinaryIO, self.process.stdin), cast(BinaryIO, self.process.stdout)

    def wait_until_ready(self) -> None:
        """Waits until the process is ready; raises `SourceError` if it is not."""
        if self._receive_answer(time.monotonic() + STARTING) is None:
            code = self.end()
            gib, process = self.memory / 2**30, f"the process that reads {self.reads}"
            raise SourceError(
                f"{process} does not start (exit {code}) within {gib:.1f} GiB of memory; "
                f"try: {sys.executable} -c 'import {self.library}'"
                if code
                else f"{process} is not ready after {STARTING:.0f} s; is the machine overloaded?"
            )

    def ask(self, request: dict[str, Any], data: bytes, wall: float) -> Message | ChildDied:
        """Sends *request* and *data* to the process; returns its answer.

        Returns `ChildDied` if the process ends without an answer, or is killed after *wall* seconds. *request* includes
        ``cpu_s``, the limit on CPU time in seconds.
        """
        self.requests += 1
        deadline = time.monotonic() + wall
        try:
            with suppress(BrokenPipeError):  # the child may have given the reason before it ended
                send(self._stdin, request, data)
            answer = self._receive_answer(deadline)
        except BaseException:
            self.end()
            raise
        if answer is not None:
            return answer
        if time.monotonic() >= deadline:
            self.end()
            return ChildDied("timeout", f"reading took more than {wall:.0f} s")
        code = self.end()
        if code == -signal.SIGXCPU:
            return ChildDied("timeout", f"reading took more than {request['cpu_s']:.0f} s of computing")
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return ChildDied("crashed", f"the process that read the file died ({name})")

    def _receive_answer(self, deadline: float) -> Message | None:
        """Returns the child's next message; None if it dies or sends none before *deadline* (monotonic seconds)."""
        while (left := deadline - time.monotonic()) > 0:
            # An answer is written in one piece, so once it begins, the rest follows at once.
            if select.select([self._stdout], [], [], min(left, 60.0))[0]:
                return receive(self._stdout)
        return None

    def end(self, grace_s: float = 0.2) -> int:
        """Ends the process, by force after *grace_s* seconds; returns its exit code, or minus the signal number."""
        if self.process.poll() is None:
            try:
                # The process may be ending already. The signal that ended it says more than a kill would.
                self._stdin.close()
                self.process.wait(grace_s)
            except (subprocess.TimeoutExpired, BrokenPipeError):
                self.process.kill()
        code = self.process.wait()
        for stream in (self._stdin, self._stdout):
            with suppress(BrokenPipeError):
                stream.close()
        return code

    def ask_to_end(self) -> None:
        """Closes the input of the process, which then ends by itself."""
        with suppress(BrokenPipeError):
            self._stdin.close()


def serve_requests(load: Callable[[], Callable[[dict[str, Any], bytes], Message]]) -> None:
    """Limits this process's memory to the bytes in its command-line argument, then answers requests until input ends.

    *load*: a function that imports the libraries and returns the function that answers a request. Imports thus do not
    count towards the CPU time of a file.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = int(sys.argv[1])
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    memory = memory if most == resource.RLIM_INFINITY else min(memory, most)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Output that a library prints must not be mistaken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answer = load()
    send(answers, {"ready": True})
    too_much = {"problem": f"reading needs more than {memory / 2**30:.1f} GiB of memory"}
    while True:
        try:
            message = receive(sys.stdin.buffer)
        except MemoryError:
            # The rest of the file in the pipe would be mistaken for the next request.
            return send(answers, too_much | {"held_bytes": memory})
        if message is None:
            return None
        # The operating system ends the process after this many seconds of CPU time.
        used = resource.getrusage(resource.RUSAGE_SELF)
        end = math.ceil(used.ru_utime + used.ru_stime + message[0]["cpu_s"])
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
        header, data = too_much, b""
        try:
            header, data = answer(*message)
        except MemoryError:
            pass
        except Exception as error:  # a bug, or a library that fails; it is reported, and other files are still read
            header = {"problem": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
        held = 0
        with suppress(OSError):  # unknown on this operating system
            held = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        send(answers, header | {"held_bytes": held}, data)


def send(stream: BinaryIO, header: Mapping[str, Any], data: bytes = b"") -> None:
    text = json.dumps({**header, "bytes": len(data)}).encode()
    stream.writelines((b"%08x" % len(text) + text, data))
    stream.flush()


def receive(stream: BinaryIO) -> Message | None:
    """Returns the next message from *stream*; None at the end of the stream."""
    length = stream.read(8)
    if len(length) < 8:
        return None
    header = json.loads(stream.read(int(length, 16)))
    return header, stream.read(header["bytes"])


def read_files_in_child_process(read: Callable[[Path], Any], files: Sequence[Path]) -> Iterator[tuple[Path, Any]]:
    """Yields (file, its contents) for each of *files*, or (file, `SourceError`) if it cannot be read.

    *read*: a module-level function that a child process calls for each file. It must return JSON values or values that
    `replace_non_json` replaces, such as dates.
    """
    child, called = None, {"module": read.__module__, "function": read.__name__}
    try:
        for file in files:
            if child is None:
                child = Child(
                    "gre_bench.ingest.records.isolated",
                    int(current_file_limits().memory * MB),
                    "files",
                    read.__module__,
                )
                child.wait_until_ready()
            request = called | {
                "file": str(file.absolute()),
                "memory": current_file_limits().memory,
                "cpu_s": current_file_limits().seconds,
            }
            answer = child.ask(request, b"", current_file_limits().seconds)
            if isinstance(answer, ChildDied) or "problem" in answer[0]:
                child.end()
                child = None
            yield file, _unpack_answer(file, answer)
    finally:
        if child is not None:
            child.end()


def _unpack_answer(file: Path, answer: Message | ChildDied) -> Any:
    if isinstance(answer, ChildDied):
        if answer.status == "timeout":
            return too_slow_error(file.name)
        return SourceError(f"{file.name} cannot be read: {answer.note}; its contents may need more (inputs.memory)")
    header, data = answer
    if reason := header.get("refused"):
        return SourceError(reason)
    if problem := header.get("problem"):
        return (
            too_large_error(file.name) if "memory" in problem else SourceError(f"{file.name} cannot be read: {problem}")
        )
    try:
        FileReadMeter(file).count_contents(len(data), compute_value_count_bound(data))
    except SourceError as error:
        return error
    return json.loads(data)


def replace_non_json(value: object) -> object:
    """Returns a text or number in place of *value*, which JSON lacks: a date, time, decimal, UUID, or bytes in UTF-8.

    For any other value, returns a list within a list, which is later refused as a cell.
    """
    if isinstance(value, datetime) and value.time() == time_of_day():
        value = value.date()
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == int(value) else float(value)
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return str(value) if isinstance(value, date | time_of_day | UUID) else [[type(value).__name__]]


def _read_requested_file(request: dict[str, Any], _: bytes) -> Message:
    read = getattr(import_module(request["module"]), request["function"])
    try:
        with use_file_limits(request["memory"], request["cpu_s"]):
            return {}, json.dumps(read(Path(request["file"])), default=replace_non_json).encode()
    except SourceError as error:
        return {"refused": str(error)}, b""


if __name__ == "__main__":
    serve_requests(lambda: _read_requested_file)

"""Opens and reads all files from outside the program, within limits: tables, notes, logs, snapshots, settings.

Only regular files are read, never a device or a pipe. Four limits are constants: `DEPTH`, `EXPANSION`, `LONGEST_ROW`
and `MOST_ROWS`. Two more limits are settings, ``inputs.memory`` and ``inputs.seconds``; `use_file_limits` sets them.
All are checked before a row is parsed, so that a small file cannot exhaust the machine's memory. If a format's library
may use far more memory than the file has bytes, the file is read in a separate process
(`gre_bench.ingest.records.isolated`).
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gre_bench.core.errors import SourceError, build_missing_file_error

MB = 1_000_000
DEPTH = 100
"""The largest number of levels to which arrays and objects may be nested."""
EXPANSION, FREE = 200, 64 * MB
"""A compressed file may unpack to `FREE` bytes or to `EXPANSION` times its size, whichever is more."""
LONGEST_ROW, MOST_ROWS = 64 * 2**20, 2_000_000
"""The maximum number of bytes in a table row or a line, and of rows in a table that is kept in memory."""
LONGEST_TEXT = 16 * MB
"""The maximum size in bytes of a file that is read as one text, such as a settings file."""
VALUE = 100
"""The bytes of memory counted for each value (a cell, a list element, a field), in addition to its text."""

_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The limits of one file: *memory* in MB for its contents, and *seconds* to read it."""

    memory: float = 4_000
    seconds: float = 600


DEFAULT = FileLimits()
_LIMITS: ContextVar[FileLimits] = ContextVar("limits of files that come in", default=DEFAULT)


@contextmanager
def use_file_limits(memory: float, seconds: float) -> Iterator[None]:
    """Sets the limits (see `FileLimits`) for all files that are read within the block."""
    before = _LIMITS.set(FileLimits(memory, seconds))
    try:
        yield
    finally:
        _LIMITS.reset(before)


def current_file_limits() -> FileLimits:
    return _LIMITS.get()


class FileReadMeter:
    """Adds up the memory and time that reading the file *path* takes, and raises `SourceError` at a limit."""

    def __init__(self, path: Path):
        self.name, self.limits = path.name, current_file_limits()
        self.left, self.rows = self.limits.memory * MB, 0
        self.end = time.monotonic() + self.limits.seconds

    def count_contents(self, size: int, values: int = 0, rows: int = 0) -> None:
        """Counts *size* more bytes, *values* more values and *rows* more rows; raises `SourceError` above a limit."""
        self.left -= size + VALUE * values
        self.rows += rows
        if self.rows > MOST_ROWS:
            raise SourceError(f"{self.name} has more than {MOST_ROWS:,} rows; split it")
        if self.left < 0:
            raise too_large_error(self.name)

    def tick(self) -> None:
        """Raises `SourceError` if the time limit is exceeded."""
        if time.monotonic() > self.end:
            raise too_slow_error(self.name)


def too_large_error(name: str) -> SourceError:
    return SourceError(
        f"{name} needs more than {current_file_limits().memory:,g} MB of memory; split it, or allow more "
        "(inputs.memory, in MB)"
    )


def too_slow_error(name: str) -> SourceError:
    seconds = current_file_limits().seconds
    return SourceError(f"{name} takes more than {seconds:,g} s to read; split it, or raise inputs.seconds")


def check_unpacked_size(name: str, packed: int, unpacked: int) -> None:
    """Raises `SourceError` if *unpacked* exceeds both `FREE` and `EXPANSION` times *packed*.

    *packed*, *unpacked*: the size in bytes of the file *name* before and after it is unpacked.
    """
    if unpacked > max(FREE, EXPANSION * packed):
        raise SourceError(f"{name} unpacks to more than {EXPANSION} times its size; give it unpacked if it is sound")


def open_zip_archive(path: Path, meter: FileReadMeter) -> zipfile.ZipFile:
    """Opens the ZIP archive *path*; raises `SourceError` if its unpacked contents exceed the limits of one file."""
    archive = zipfile.ZipFile(open_regular_file(path))
    size = sum(entry.file_size for entry in archive.infolist())
    check_unpacked_size(path.name, path.stat().st_size, size)
    meter.count_contents(size)
    return archive


def compute_value_count_bound(text: bytes) -> int:
    """Returns an upper bound on the number of values in the row *text*.

    The bound is one more than the number of commas, ``[`` and ``{``, including those in quotes.
    """
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")


def check_json_depth(text: bytes) -> None:
    """Raises ValueError if the JSON *text* is nested more than `DEPTH` levels deep; brackets in quotes do not count.

    Removes the innermost level of brackets in a loop, without recursion.
    """
    if text.count(b"[") + text.count(b"{") <= DEPTH:
        return
    brackets = _STRING.sub(b"", text).translate(bytes.maketrans(b"{}", b"[]"), delete=_NO_BRACKETS)
    for _ in range(DEPTH):
        brackets = brackets.replace(b"[]", b"")
    if b"[" in brackets:
        raise ValueError(f"arrays or objects are nested more than {DEPTH} levels deep")


def open_regular_file(path: Path) -> io.FileIO:
    """Opens the regular file *path* for reading bytes, unbuffered. It may be a link, because the user named it.

    Raises FileNotFoundError if there is no such file. Raises `SourceError` for a folder, a device or a pipe, or if the
    name is not UTF-8.
    """
    check_file_name_is_utf8(path)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return io.FileIO(handle, "rb")
    os.close(handle)
    raise build_missing_file_error(path)


def check_file_name_is_utf8(path: Path) -> None:
    """Raises `SourceError` if the name of *path* is not UTF-8, because no report could print it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise SourceError(f"the name of {str(path)!a} is not UTF-8; rename it") from None


def read_bytes(path: Path, most: float | None = None) -> bytes:
    """Returns the contents of the file *path*.

    Raises `SourceError` if the file has more than *most* bytes. If *most* is None, the limit is ``inputs.memory``.
    """
    most = current_file_limits().memory * MB if most is None else most
    with open_regular_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise SourceError(f"{path} has {size / MB:,.0f} MB, and at most {most / MB:,.0f} are read; name another")
        data = bytearray()
        while part := file.read(2**20):
            data += part
            if len(data) > most:
                raise SourceError(f"{path} grows while it is read; try again")
    return bytes(data)


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Returns the text of the file *path*, at most `LONGEST_TEXT` bytes; raises the errors of `read_bytes`."""
    return read_bytes(path, LONGEST_TEXT).decode(encoding).replace("\r\n", "\n")


def open_decompressed(path: Path) -> BinaryIO:
    """Opens the regular file *path* for reading bytes; gzip data is unpacked, whatever the file's name.

    Raises `SourceError` if there is no such file. Reading from the opened file raises `SourceError` above one of the
    limits `EXPANSION` and ``inputs.seconds``.
    """
    try:
        return io.BufferedReader(_MeteredFile(path, open_regular_file(path)), 2**20)
    except FileNotFoundError:
        raise build_missing_file_error(path) from None


def iterate_lines(path: Path, kept: bool = True) -> Iterator[tuple[int, int, bytes]]:
    """Yields (line number from 1, offset in unpacked bytes, bytes) of every line of *path* that is not blank.

    *kept*: whether the caller keeps all lines. If so, ``inputs.memory`` limits their total, otherwise each single line.
    Raises `SourceError` if the file is missing or damaged, or exceeds a limit.
    """
    meter, offset, number = FileReadMeter(path), 0, 0
    try:
        with open_decompressed(path) as file:
            while line := file.readline(LONGEST_ROW + 1):
                number += 1
                if len(line) > LONGEST_ROW:
                    raise SourceError(f"{path.name}: line {number} is longer than {LONGEST_ROW // 2**20} MiB")
                if line.strip():
                    (meter if kept else FileReadMeter(path)).count_contents(
                        len(line), compute_value_count_bound(line), 1
                    )
                    yield number, offset, line
                offset += len(line)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path.name} cannot be read after line {number}: {error}") from None


class _MeteredFile(io.RawIOBase):
    """The unpacked contents of a file; reading raises `SourceError` above a limit."""

    def __init__(self, path: Path, file: BinaryIO):
        super().__init__()
        self._file, self._meter = file, FileReadMeter(path)
        packed = path.suffix == ".gz" or os.pread(file.fileno(), 2, 0) == b"\x1f\x8b"
        self._packed = os.fstat(file.fileno()).st_size if packed else 0
        self._source = gzip.GzipFile(fileobj=io.BufferedReader(file)) if self._packed else file  # pyrefly: ignore
        self._count = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._source.seek(offset, whence)

    def readinto(self, buffer: object) -> int:
        self._meter.tick()
        count = self._source.readinto(buffer) or 0  # pyrefly: ignore
        self._count += count
        if self._packed:
            check_unpacked_size(self._meter.name, self._packed, self._count)
        return count

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()
        super().close()


def explain_refused_file(path: Path) -> str | None:
    """Returns the reason not to read *path*; None for a regular file.

    *path* is an entry of a folder that a user named. Links are never followed. An entry that has vanished since the
    folder was listed is not read either.
    """
    try:
        kind = os.lstat(path).st_mode
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if stat.S_ISREG(kind):
        return None
    return (
        "it is a link" if stat.S_ISLNK(kind) else "it is a folder" if stat.S_ISDIR(kind) else "it is not a regular file"
    )


def list_regular_files(folder: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """Returns the regular files in *folder* and its subfolders, sorted, and (entry, reason) for each refused entry.

    Names that begin with a dot are skipped.
    """
    entries: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        entries += [Path(parent, name) for name in (*folders, *names) if not name.startswith(".")]
    reasons = {path: explain_refused_file(path) for path in sorted(entries)}
    return (
        [path for path, reason in reasons.items() if reason is None],
        [(path, reason) for path, reason in reasons.items() if reason and reason != "it is a folder"],
    )

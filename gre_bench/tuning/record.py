"""The training record of a trained model (its data, settings and results), and the lock on its folder."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gre_bench.core.errors import LockedError, SettingsError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.strict import load_json
from gre_bench.tuning import checkpoint, history
from gre_bench.tuning.checkpoint import writing

FILE = "training.json"
PACKAGES = ("gre-bench", "torch", "transformers", "tokenizers", "safetensors", "peft", "bitsandbytes", "numpy")


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Locks *folder* within the block; raises `LockedError` if another process is training there.

    The folder is made if absent, and removed if it is empty at the end of the block.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockedError(f"another process is training into {folder}; wait for it to end, or stop it") from None
        yield
    finally:
        os.close(handle)
        with suppress(OSError):  # it is not empty
            folder.rmdir()


def once(folder: Path, request: Mapping[str, Any], work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Trains a model into *folder* by calling *work*, unless the model is already trained; returns the training record.

    *request*: the settings and data of the training. If *folder* holds a finished training with equal *request*,
    *work* is not called, and the existing record is returned. If an earlier training was killed, *work* is called
    again. Before any work, raises `LockedError` if another process is training there, and `SettingsError` if *folder*
    holds something else.
    """
    with claimed(folder):
        if done := finished(folder, request):
            return done
        mark = folder / checkpoint.FOLDER
        with writing(folder):
            mark.mkdir(exist_ok=True)  # without a record, other files here are an unfinished model of ours
        try:
            made = {"asked": dict(request), **work(), "versions": versions()}
        except Exception:
            if list(folder.iterdir()) == [mark]:
                checkpoint.forget(folder)
            raise
        write(made, folder)
        return made


def finished(folder: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the record of the finished training in *folder*; None if there is none.

    *request*: the settings and data of the training. Raises `SettingsError`, which names the differences, if the record
    has others. Raises `SettingsError` also if the folder holds other files.
    """
    record = read(folder)
    if record is not None:
        then = record.get("asked", {})
        changed = [name for name in {**then, **request} if then.get(name) != request.get(name)]
        if not changed:
            checkpoint.forget(folder)  # needed if the training was killed between writing its record and this step
            return record
        shown = ", ".join(f"{name} was {_shown(then.get(name))}, is {_shown(request.get(name))}" for name in changed)
        raise SettingsError(f"{folder} holds a model from another training ({shown}); choose another folder")
    files = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if checkpoint.FOLDER not in files and (other := files - {history.FILE}):
        raise SettingsError(f"{folder} holds something else ({min(other)}); choose an empty folder or a new one")
    return None


def read(folder: Path) -> dict[str, Any] | None:
    """Returns the record in *folder*; None if the folder has no record.

    Raises `SettingsError` if the record cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        tree = load_json(read_bytes(path))
    except (OSError, ValueError, SourceError) as error:
        raise SettingsError(f"{path} cannot be read: {error}; choose another folder") from None
    if not isinstance(tree, dict):
        raise SettingsError(f"{path} is no training record; choose another folder")
    return tree


def write(record: Mapping[str, Any], folder: Path) -> None:
    """Writes *record* into *folder* in one step, and removes the checkpoints there; the training is then complete."""
    with writing(folder):
        unfinished = folder / f"{FILE}.unfinished"
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        unfinished.write_text(text + "\n", encoding="utf-8")
        os.replace(unfinished, folder / FILE)
    checkpoint.forget(folder)


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Returns the installed version of each of *packages*; leaves out packages that are not installed."""
    installed = {}
    for package in packages:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def _shown(value: object) -> str:
    return "absent" if value is None else str(value)[:40]

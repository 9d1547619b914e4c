"""Writes and reads a training's files: its history, its checkpoint and, once it is complete, its record.

``history.jsonl`` has one line for each step. ``checkpoint/step-N`` holds everything needed to continue as if the run
had never stopped: the trained parameters and the optimiser's tensors in safetensors, and everything else in JSON. Each
checkpoint is written under a temporary name and then renamed in one step. Only then is the previous checkpoint deleted.
``training.json`` describes the data, settings and results.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from filelock import lock_descriptor

from gre_bench.core.errors import LockedError, SettingsError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.strict import load_json
from gre_bench.core.whole_files import flush_to_disk, replace_file

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

FILE = "training.json"
HISTORY = "history.jsonl"
CHECKPOINT = "checkpoint"
PACKAGES = ("gre-bench", "torch", "transformers", "tokenizers", "safetensors", "peft", "bitsandbytes", "numpy")


@dataclass(frozen=True, slots=True)
class TrainingStepResult:
    """The numbers of one step of a run; losses are in nats per weighted token.

    - *steps*: the planned number of steps. *epoch*: the number of passes over the data that are done after the step.
    - *loss*: the loss on the step's own sequences, before the step; None at step 0.
    - *held_out*: the loss on held-out papers, after the step; None if it was not measured.
    """

    step: int
    steps: int
    epoch: float
    loss: float | None
    learning_rate: float
    held_out: float | None = None


@dataclass(frozen=True, slots=True)
class TrainingHistory:
    """All points of a run, and the optimiser that was used, which may differ from the requested one."""

    points: tuple[TrainingStepResult, ...]
    optimiser: str

    @property
    def steps(self) -> int:
        return self.points[-1].step if self.points else 0

    @property
    def training(self) -> list[tuple[int, float]]:
        """The pairs (step, training loss), in order."""
        return [(point.step, point.loss) for point in self.points if point.loss is not None]

    @property
    def held_out(self) -> list[tuple[int, float]]:
        """The pairs (step, held-out loss), from step 0 on; empty if no papers were held out."""
        return [(point.step, point.held_out) for point in self.points if point.held_out is not None]


@dataclass(frozen=True, slots=True)
class TrainingPosition:
    """The progress of a run: the number of steps *done* in the current *epoch* (from 0), and the history so far."""

    epoch: int = 0
    done: int = 0
    points: tuple[TrainingStepResult, ...] = ()

    @property
    def step(self) -> int:
        """The number of steps done in all epochs."""
        return self.points[-1].step if self.points else 0


@contextmanager
def write_errors_as_settings_error(folder: Path) -> Iterator[None]:
    """Raises `SettingsError` about *folder* if a write in the ``with`` block fails, for example on a full disk."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise SettingsError(
            f"{folder} cannot be written: {reason}; fix that, then run the same command again"
        ) from error


@contextmanager
def lock_training_folder(folder: Path) -> Iterator[None]:
    """Locks *folder* within the ``with`` block; raises `LockedError` if another process is training there.

    The folder is created if missing, and removed if it is empty at the end of the block.
    """
    with write_errors_as_settings_error(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        if not lock_descriptor(handle, blocking=False):
            raise LockedError(f"another process is training into {folder}; wait for it to end, or stop it")
        yield
    finally:
        os.close(handle)
        with suppress(OSError):  # it is not empty
            folder.rmdir()


def train_unless_finished(
    folder: Path, request: Mapping[str, Any], work: Callable[[], Mapping[str, Any]]
) -> dict[str, Any]:
    """Trains a model into *folder* by calling *work*, unless it is already trained; returns the training record.

    *request*: settings and data. If *folder* holds a finished training with an equal request, its record is returned; a
    killed training is repeated. Raises `LockedError` if another process is training there, and `SettingsError` if
    *folder* holds something else.
    """
    with lock_training_folder(folder):
        if done := find_finished_record(folder, request):
            return done
        mark = folder / CHECKPOINT
        with write_errors_as_settings_error(folder):
            mark.mkdir(exist_ok=True)  # shows that the files in a folder without a record are an unfinished model
        try:
            made = {"asked": dict(request), **work(), "versions": list_package_versions()}
        except Exception:
            if list(folder.iterdir()) == [mark]:
                remove_checkpoints(folder)
            raise
        write_training_record(made, folder)
        return made


def find_finished_record(folder: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the record of the finished training in *folder*; None if there is none.

    If its settings or data differ from *request*, raises a `SettingsError` that names the differences. Also raises
    `SettingsError` if the record cannot be read or the folder holds other files.
    """
    path = folder / FILE
    if path.is_file():
        try:
            record = load_json(read_bytes(path))
        except (OSError, ValueError, SourceError) as error:
            raise SettingsError(f"{path} cannot be read: {error}; choose another folder") from None
        if not isinstance(record, dict):
            raise SettingsError(f"{path} is no training record; choose another folder")
        if shown := _describe_differences(record.get("asked", {}), request):
            raise SettingsError(f"{folder} holds a model from another training ({shown}); choose another folder")
        remove_checkpoints(folder)  # needed if the training was killed between writing its record and this step
        return record
    files = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if CHECKPOINT not in files and (other := files - {HISTORY}):
        raise SettingsError(f"{folder} holds something else ({min(other)}); choose an empty folder or a new one")
    return None


def write_training_record(record: Mapping[str, Any], folder: Path) -> None:
    """Writes *record* into *folder* atomically and removes the checkpoints there; the training is then complete."""
    with write_errors_as_settings_error(folder):
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        replace_file(folder / FILE, (text + "\n").encode())
    remove_checkpoints(folder)


def list_package_versions() -> dict[str, str]:
    """Returns package → version for those of `PACKAGES` that are installed."""
    installed = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def write_history(points: Sequence[TrainingStepResult], folder: Path, mode: Literal["w", "a"]) -> None:
    """Writes *points* to the history file in *folder*: replaces the file (``w``) or appends to it (``a``).

    A run that continues from a checkpoint first replaces the file, because it repeats the steps after the checkpoint.
    """
    with write_errors_as_settings_error(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / HISTORY).open(mode, encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(point)) + "\n" for point in points)


def save_checkpoint(
    folder: Path, position: TrainingPosition, model: nn.Module, optimiser: Optimizer, rests_on: Mapping[str, Any]
) -> None:
    """Writes a checkpoint of a run at *position* under *folder*, and deletes the previous one.

    *rests_on*: the settings and digests on which the run depends; a run may continue from the checkpoint only if they
    are equal. Raises `SettingsError` if the folder cannot be written.
    """
    import torch
    from safetensors.torch import save_file

    parent = folder / CHECKPOINT
    unfinished, done = parent / "unfinished", parent / f"step-{position.step:08d}"
    flat = dict(_flatten_state(optimiser.state_dict()["state"]))
    tensors = {path: value for path, value in flat.items() if isinstance(value, torch.Tensor)}
    random = {"cpu": torch.get_rng_state().tolist()}
    if torch.cuda.is_available():
        random["cuda"] = torch.cuda.get_rng_state().tolist()
    state = {
        "rests_on": dict(rests_on),
        "epoch": position.epoch,
        "done": position.done,
        "random": random,
        "optimiser": {path: value for path, value in flat.items() if path not in tensors},
        "points": [asdict(point) for point in position.points],
    }
    with write_errors_as_settings_error(folder):
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        weights = {name: parameter.detach().contiguous() for name, parameter in trained_parameters(model).items()}
        save_file(weights, unfinished / "weights.safetensors")
        # Cloned, because parameters may share a tensor in the optimiser's state, which safetensors would refuse.
        tensors = {path: value.detach().clone().contiguous() for path, value in tensors.items()}
        save_file(tensors, unfinished / "optimiser.safetensors")
        (unfinished / "state.json").write_text(json.dumps(state), encoding="utf-8")
        # Flushed before the renaming, so that a power cut leaves either the old checkpoint or the complete new one.
        for path in [*unfinished.iterdir(), unfinished]:
            flush_to_disk(path)
        os.replace(unfinished, done)
        for old in parent.glob("step-*"):
            if old != done:
                shutil.rmtree(old)


def restore_checkpoint(
    folder: Path, model: nn.Module, optimiser: Optimizer, rests_on: Mapping[str, Any]
) -> TrainingPosition:
    """Loads the last checkpoint into *model*, *optimiser* and torch's random generators; returns the run's progress.

    Without a checkpoint, the progress is zero. If the checkpoint was saved with another *rests_on*, raises a
    `SettingsError` that names the differences. Raises `SourceError` if the checkpoint cannot be read.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    parent = folder / CHECKPOINT
    last = max(parent.glob("step-*"), default=None)
    if last is None:
        return TrainingPosition()
    try:
        state = json.loads((last / "state.json").read_text(encoding="utf-8"))
        if shown := _describe_differences(state["rests_on"], rests_on):
            raise SettingsError(
                f"{parent} belongs to another training ({shown}); restore those settings, "
                f"or delete {parent} to start again"
            )
        weights, tensors = load_file(last / "weights.safetensors"), load_file(last / "optimiser.safetensors")
        with torch.no_grad():
            for name, parameter in trained_parameters(model).items():
                parameter.copy_(weights[name])
        states = _unflatten_state({**tensors, **state["optimiser"]})
        optimiser.load_state_dict({**optimiser.state_dict(), "state": states})
        torch.set_rng_state(torch.tensor(state["random"]["cpu"], dtype=torch.uint8))
        if torch.cuda.is_available() and "cuda" in state["random"]:
            torch.cuda.set_rng_state(torch.tensor(state["random"]["cuda"], dtype=torch.uint8))
        return TrainingPosition(
            state["epoch"], state["done"], tuple(TrainingStepResult(**point) for point in state["points"])
        )
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        reason = " ".join(f"{error or type(error).__name__}".split())[:200]
        raise SourceError(f"checkpoint {last} cannot be read: {reason}; delete {parent} to start again") from error


def remove_checkpoints(folder: Path) -> None:
    """Removes the checkpoints under *folder*, which are useless once the training is complete."""
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)


def trained_parameters(model: nn.Module) -> dict[str, Any]:
    """Returns the parameters of *model* that require a gradient, by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def _describe_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Returns in words how the settings and data *now* differ from those of an earlier training *then*; "" if equal."""

    def format_setting(value: object) -> str:
        return "absent" if value is None else str(value)[:40]

    changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    return ", ".join(
        f"{name} was {format_setting(then.get(name))}, is {format_setting(now.get(name))}" for name in changed
    )


def _flatten_state(tree: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yields (path, value), such as (``0/exp_avg``, ...), for each value in an optimiser's state."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flatten_state(value, f"{above}{name}/")
        else:
            yield f"{above}{name}", value


def _unflatten_state(leaves: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    states: dict[int, dict[str, Any]] = {}
    for path, value in leaves.items():
        number, *names = path.split("/")
        table = states.setdefault(int(number), {})
        for name in names[:-1]:
            table = table.setdefault(name, {})
        table[names[-1]] = value
    return states

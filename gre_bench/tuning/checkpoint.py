"""Checkpoints of a training run: everything needed to continue as if it had never stopped.

``checkpoint/step-N`` holds the trained parameters and the optimiser's tensors (safetensors), and everything else as
JSON. Each checkpoint is written under a temporary name and renamed in one step. Only then is the previous checkpoint
deleted.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.tuning.history import Point

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

FOLDER = "checkpoint"
_WRITING = "unfinished"


@dataclass(frozen=True, slots=True)
class Position:
    """How far a run has come.

    - *epoch*: the index of the current pass over the data, from 0.
    - *done*: the number of steps done in that epoch.
    - *points*: the history of the run, one point for each step.
    """

    epoch: int = 0
    done: int = 0
    points: tuple[Point, ...] = ()

    @property
    def step(self) -> int:
        """The number of steps done in all epochs."""
        return self.points[-1].step if self.points else 0


def save(folder: Path, position: Position, model: nn.Module, optimiser: Optimizer, rests_on: Mapping[str, Any]) -> None:
    """Writes a checkpoint of a run at *position* under *folder*, and deletes the previous one.

    *rests_on* holds the settings and digests of the run; only a run with the same ones may continue from the
    checkpoint. Raises `SettingsError` if the folder cannot be written.
    """
    import torch
    from safetensors.torch import save_file

    parent = folder / FOLDER
    unfinished = parent / _WRITING
    tensors, plain = _split(optimiser.state_dict()["state"])
    random = {"cpu": torch.get_rng_state().tolist()}
    if torch.cuda.is_available():
        random["cuda"] = torch.cuda.get_rng_state().tolist()
    state = {
        "rests_on": dict(rests_on),
        "epoch": position.epoch,
        "done": position.done,
        "random": random,
        "optimiser": plain,
        "points": [asdict(point) for point in position.points],
    }
    with writing(folder):
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        weights = {name: parameter.detach().contiguous() for name, parameter in trained(model).items()}
        save_file(weights, unfinished / "weights.safetensors")
        save_file(tensors, unfinished / "optimiser.safetensors")
        (unfinished / "state.json").write_text(json.dumps(state), encoding="utf-8")
        _flush(unfinished)
        finished = parent / f"step-{position.step:08d}"
        os.replace(unfinished, finished)
        for old in _finished(parent):
            if old != finished:
                shutil.rmtree(old)


def restore(folder: Path, model: nn.Module, optimiser: Optimizer, rests_on: Mapping[str, Any]) -> Position | None:
    """Loads the last checkpoint into *model*, *optimiser* and torch's random generators; returns the run's position.

    Returns None if there is no checkpoint. *rests_on*: the settings and digests of this run. Raises `SettingsError`,
    which names the differences, if the checkpoint was saved with others. Raises `SourceError` if the checkpoint cannot
    be read.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    finished = _finished(folder / FOLDER)
    if not finished:
        return None
    last = finished[-1]
    try:
        state = json.loads((last / "state.json").read_text(encoding="utf-8"))
        differ(state["rests_on"], rests_on, folder)
        weights, tensors = load_file(last / "weights.safetensors"), load_file(last / "optimiser.safetensors")
        parameters = trained(model)
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(weights[name])
        whole = optimiser.state_dict()
        optimiser.load_state_dict({**whole, "state": _joined(tensors, state["optimiser"])})
        torch.set_rng_state(torch.tensor(state["random"]["cpu"], dtype=torch.uint8))
        if torch.cuda.is_available() and "cuda" in state["random"]:
            torch.cuda.set_rng_state(torch.tensor(state["random"]["cuda"], dtype=torch.uint8))
        return Position(state["epoch"], state["done"], tuple(Point(**point) for point in state["points"]))
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        reason = " ".join(f"{error or type(error).__name__}".split())[:200]
        raise SourceError(f"checkpoint {last} cannot be read: {reason}; delete {last.parent} to start again") from error


def forget(folder: Path) -> None:
    """Removes the checkpoints under *folder*; they are of no use once the training is complete."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def differ(then: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Raises `SettingsError` if a checkpoint's settings and digests (*then*) differ from those of this run (*now*).

    The message names each difference.
    """
    changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    if changed:
        shown = ", ".join(f"{name} was {_shown(then.get(name))}, is {_shown(now.get(name))}" for name in changed)
        raise SettingsError(
            f"{folder / FOLDER} belongs to another training ({shown}); restore those settings, "
            f"or delete {folder / FOLDER} to start again"
        )


def trained(model: nn.Module) -> dict[str, Any]:
    """Returns the parameters of *model* that require a gradient, by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Raises `SettingsError` about *folder* if a write within the block fails, for example on a full disk."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise SettingsError(
            f"{folder} cannot be written: {reason}; fix that, then run the same command again"
        ) from error


def _finished(parent: Path) -> list[Path]:
    return sorted(parent.glob("step-*"))


def _flush(folder: Path) -> None:
    """Flushes *folder* and its files to the disk.

    This happens before the folder is renamed. A power cut therefore leaves either the old checkpoint or the complete
    new one.
    """
    for path in [*folder.iterdir(), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _split(states: Mapping[int, Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits the state of an optimiser into tensors and plain values; ``_joined`` reverses this.

    *states*: index of the parameter → name → value. The key of a value in the result is ``<index of the
    parameter>/<name>``.
    """
    import torch

    flat = dict(_leaves(states))
    tensors = {path: value for path, value in flat.items() if isinstance(value, torch.Tensor)}
    # Cloned, because parameters may share a tensor of the state, which safetensors refuses.
    kept = {path: value.detach().clone().contiguous() for path, value in tensors.items()}
    return kept, {path: value for path, value in flat.items() if path not in tensors}


def _leaves(tree: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{name}/")
        else:
            yield f"{above}{name}", value


def _joined(tensors: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    states: dict[int, dict[str, Any]] = {}
    for path, value in {**tensors, **plain}.items():
        number, *names = path.split("/")
        table = states.setdefault(int(number), {})
        for name in names[:-1]:
            table = table.setdefault(name, {})
        table[names[-1]] = value
    return states


def _shown(value: object) -> str:
    return "absent" if value is None else str(value)[:40]

"""The history of a training run: one point for each step, written as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "history.jsonl"


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of one step of a run; losses are in nats per weighted token.

    - *step*: the number of steps done; *steps*: the number planned.
    - *epoch*: the number of passes over the data after the step.
    - *loss*: the loss on the sequences of this step, before the step; None at step 0.
    - *learning_rate*: the learning rate of this step.
    - *held_out*: the loss on held-out papers, after the step; None if not measured.
    """

    step: int
    steps: int
    epoch: float
    loss: float | None
    learning_rate: float
    held_out: float | None = None


@dataclass(frozen=True, slots=True)
class History:
    """All points of a run, and the name of the optimiser.

    *optimiser*: the one that was used; the settings may have requested another.
    """

    points: tuple[Point, ...]
    optimiser: str

    @property
    def steps(self) -> int:
        """The number of steps done."""
        return self.points[-1].step if self.points else 0

    @property
    def training(self) -> list[tuple[int, float]]:
        """The pairs (step, training loss), in order."""
        return [(point.step, point.loss) for point in self.points if point.loss is not None]

    @property
    def held_out(self) -> list[tuple[int, float]]:
        """The pairs (step, held-out loss), from step 0 on; empty if no papers were held out."""
        return [(point.step, point.held_out) for point in self.points if point.held_out is not None]


def write(points: Sequence[Point], folder: Path) -> None:
    """Writes the history file in *folder* with exactly *points*.

    A continued run leaves out the points after its last checkpoint, because the run repeats those steps.
    """
    (folder / FILE).write_text("".join(_line(point) for point in points), encoding="utf-8")


def append(point: Point, folder: Path) -> None:
    """Adds *point* to the history file in *folder*."""
    with (folder / FILE).open("a", encoding="utf-8") as file:
        file.write(_line(point))


def _line(point: Point) -> str:
    return json.dumps(asdict(point)) + "\n"

"""The losses of a training run as a static picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.errors import LMError
from tasks.tuning.checkpoint import writing
from tasks.tuning.history import History

if TYPE_CHECKING:
    import altair

FILE = "loss.svg"
_MOST = 300
"""Points of the training curve; of more, the means of neighbours are drawn."""


def draw(history: History, folder: Path, title: str) -> Path:
    """Writes ``loss.svg`` into *folder*: training loss and, where it was measured, held-out loss over steps."""
    path = folder / FILE
    with writing(folder):
        chart(history, title).save(path)
    return path


def chart(history: History, title: str) -> altair.LayerChart:
    """The picture itself: a step's loss as it came, pale; its running mean; the held-out loss with its points."""
    try:
        import altair
    except ImportError as error:
        raise LMError("altair is not installed: pip install -e '.[lm]' -c constraints.txt") from error
    width = max(1, -(-len(history.training) // _MOST))
    each = means(history.training, width)
    lines = {
        "training, step by step": each,
        "training, running mean": smoothed(each),
        "held out": history.held_out,
    }
    rows = [
        {"step": step, "loss": loss, "what": what} for what, points in lines.items() for step, loss in points
    ]
    shown = [what for what, points in lines.items() if points]
    colours = {"training, step by step": "#c6d3e3", "training, running mean": "#31639c", "held out": "#c2571a"}
    base = altair.Chart(altair.Data(values=rows)).encode(
        x=altair.X("step:Q", title="step", axis=altair.Axis(grid=False, format="d", tickMinStep=1)),
        y=altair.Y("loss:Q", title="nats a token", scale=altair.Scale(zero=False)),
        color=altair.Color(
            "what:N", title=None, sort=shown,
            scale=altair.Scale(domain=shown, range=[colours[what] for what in shown]),
            legend=altair.Legend(orient="top", symbolStrokeWidth=3, labelLimit=300),
        ),
    )
    held_out = base.transform_filter("datum.what == 'held out'")
    layers = [
        base.transform_filter("datum.what != 'held out'").mark_line(strokeWidth=2),
        held_out.mark_line(strokeWidth=2), held_out.mark_point(filled=True, size=40),
    ]
    return altair.layer(*layers).properties(width=560, height=300, title=title)


def means(points: Sequence[tuple[int, float]], width: int) -> list[tuple[int, float]]:
    """Means of *width* neighbours, each at its last step."""
    groups = [points[start : start + width] for start in range(0, len(points), width)]
    return [(group[-1][0], sum(loss for _, loss in group) / len(group)) for group in groups]


def smoothed(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The mean of each point and those before it, as far back as a tenth of the run."""
    back = max(1, len(points) // 10)
    return [
        (step, sum(loss for _, loss in points[max(0, place - back + 1) : place + 1]) / min(back, place + 1))
        for place, (step, _) in enumerate(points)
    ]

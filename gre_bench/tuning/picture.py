"""Plots the losses of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gre_bench.core.errors import LMError
from gre_bench.tuning.checkpoint import writing
from gre_bench.tuning.history import History

if TYPE_CHECKING:
    import altair

FILE = "loss.svg"
_MOST = 300
"""The most points on the training curve; a longer curve is plotted as means of neighbouring points."""

_FEW = 30
"""The most held-out losses that get individual marks."""


def draw(history: History, folder: Path, title: str) -> Path:
    """Plots the training loss over steps, and the held-out loss if measured; returns the path of ``loss.svg``.

    Raises `LMError` if altair is not installed, `SettingsError` if *folder* cannot be written.
    """
    path = folder / FILE
    with writing(folder):
        chart(history, title).save(path)
    return path


def chart(history: History, title: str) -> altair.LayerChart:
    """Returns a chart of three lines over steps: training losses (pale), smoothed training losses, held-out losses."""
    try:
        import altair
    except ImportError as error:
        raise LMError("altair is not installed: pip install 'gre-bench[lm]'") from error
    each = means(history.training, max(1, -(-len(history.training) // _MOST)))
    lines = {"training": each, "training, smoothed": smoothed(each), "held out": history.held_out}
    rows = [{"step": step, "loss": loss, "what": curve} for curve, points in lines.items() for step, loss in points]
    shown = [curve for curve, points in lines.items() if points]
    colours = {"training": "#c6d3e3", "training, smoothed": "#31639c", "held out": "#c2571a"}
    drawn = (
        altair.Chart(altair.Data(values=rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=altair.X("step:Q", title="step", axis=altair.Axis(grid=False, format="d", tickMinStep=1)),
            y=altair.Y("loss:Q", title="nats a token", scale=altair.Scale(zero=False)),
            color=altair.Color(
                "what:N",
                title=None,
                sort=shown,
                scale=altair.Scale(domain=shown, range=[colours[curve] for curve in shown]),
                legend=altair.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, labelLimit=300),
            ),
        )
    )
    held_out = drawn.transform_filter("datum.what == 'held out'")
    marks = [held_out.mark_point(filled=True, size=30, opacity=1)] if len(history.held_out) <= _FEW else []
    whole = altair.layer(drawn, *marks).properties(width=560, height=300, title=altair.Title(title, anchor="start"))
    return whole.configure_view(stroke=None).configure_axis(gridColor="#e8e8e8")  # pyright: ignore[reportReturnType]


def means(points: Sequence[tuple[int, float]], width: int) -> list[tuple[int, float]]:
    """Returns (last step, mean loss) of each group of *width* consecutive *points* (step, loss)."""
    groups = [points[start : start + width] for start in range(0, len(points), width)]
    return [(group[-1][0], sum(loss for _, loss in group) / len(group)) for group in groups]


def smoothed(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Returns the moving average of *points* (step, loss) over about a twentieth of the run, centred on each point.

    The averages near the ends are over fewer points.
    """
    reach = max(1, len(points) // 40)
    results = []
    for index, (step, _) in enumerate(points):
        around = points[max(0, index - reach) : index + reach + 1]
        results.append((step, sum(loss for _, loss in around) / len(around)))
    return results

"""Plots the scores of models against their sizes and against their release dates.

After figure 4 of Xu et al. 2025: points with 90% intervals, colour and shape by family. A line shows the human
baseline, and a band its interval.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gre_bench.release.figures.families import Mark
from gre_bench.release.figures.labels import placed
from gre_bench.release.figures.pictures import BAND, INK, altair
from gre_bench.release.pages.board import Board, Entry
from gre_bench.release.pages.notation import spoken

if TYPE_CHECKING:
    from altair import LayerChart

WIDTH, HEIGHT = 400, 300
CAPTION_WIDTH = 84  # characters of the caption that fit under a chart
BILLIONS = "parameters, billions"


def by_size(board: Board, marks: Mapping[str, Mark], caption: str) -> LayerChart | None:
    """Returns a chart of scores against the number of parameters (billions, logarithmic axis).

    *marks*: the colour and shape of each family. *caption*: the text under the chart. Returns None if fewer than two
    ranked models have a known size.
    """
    entries = [entry for entry in board.ranked if entry.kind == "model" and entry.parameters]
    values = [(entry, float(entry.parameters or 0)) for entry in entries]
    return _scatter(board, values, marks, caption, BILLIONS, "log") if len(values) > 1 else None


def by_date(board: Board, marks: Mapping[str, Mark], caption: str) -> LayerChart | None:
    """Returns a chart of scores against the release dates of models.

    *marks*: the colour and shape of each family. *caption*: the text under the chart. Returns None if fewer than two
    ranked models have a known date.
    """
    entries = [entry for entry in board.ranked if entry.kind == "model"]
    values = [(entry, entry.released.year + (entry.released.timetuple().tm_yday - 1) / 365) for entry in entries
              if entry.released]  # fmt: skip
    return _scatter(board, values, marks, caption, "released", "linear") if len(values) > 1 else None


def _scatter(
    board: Board, values: Sequence[tuple[Entry, float]], marks: Mapping[str, Mark], caption: str, title: str, kind: str
) -> LayerChart:
    alt = altair()
    xs = [value for _, value in values]
    human = board.human
    shown = [entry for entry, _ in values] + ([human] if human else [])
    ends = [end for entry in shown for end in (entry.mean, entry.low, entry.high) if end is not None]
    room = 0.08 * ((max(ends) - min(ends)) or 1)
    ys = min(ends) - room, max(ends) + room
    span = (min(xs) / 1.6, max(xs) * 1.6) if kind == "log" else (min(xs) - 0.15, max(xs) + 0.15)
    ticks = [tick for power in range(-2, 6) for tick in (10**power, 3 * 10**power) if span[0] <= tick <= span[1]]
    axis = (
        alt.Axis(values=ticks, format="~g", grid=False)
        if kind == "log"
        else alt.Axis(format="d", grid=False, tickMinStep=1)
    )
    x = alt.X("x:Q", title=title, scale=alt.Scale(type=kind, domain=list(span), nice=False), axis=axis)
    scale = alt.Scale(domain=list(ys), nice=False, zero=False)
    y = alt.Y("mean:Q", title=f"{board.title}, {board.unit}", scale=scale)
    points = [
        {"x": value, "mean": entry.mean, "low": entry.low, "high": entry.high, "family": entry.family or "other",
         "name": entry.candidate, "said": f"{spoken(entry)}; {_in_words(value, title)}"}
        for entry, value in values
    ]  # fmt: skip
    colour = alt.Color("family:N", scale=alt.Scale(domain=list(marks), range=_all(marks, "colour")), legend=None)
    shape = alt.Shape("family:N", scale=alt.Scale(domain=list(marks), range=_all(marks, "shape")), legend=None)
    base = alt.Chart(alt.Data(values=points)).encode(color=colour)
    layers: list[Any] = _human_band(alt, human, span, kind, scale)
    if any(point["low"] is not None for point in points):
        layers.append(
            base.mark_rule(strokeWidth=1.5, opacity=0.75).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q")
        )
    description = alt.Description("said:N")
    layers.append(
        base.mark_point(filled=True, size=52, opacity=1).encode(x=x, y=y, shape=shape, description=description)
    )
    layers += _names(alt, points, span, ys, kind, human)
    below = alt.Title(
        textwrap.wrap(caption, CAPTION_WIDTH), orient="bottom", anchor="start", frame="group", offset=10,
        fontSize=10, fontWeight="normal", lineHeight=14, color=INK,
    )  # fmt: skip
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=below)


def _all(marks: Mapping[str, Mark], attribute: str) -> list[str]:
    return [getattr(mark, attribute) for mark in marks.values()]


def _in_words(value: float, title: str) -> str:
    """Returns in words the *value* of a point on the horizontal axis; *title* is the title of this axis."""
    return f"{value:g} billion parameters" if title == BILLIONS else f"{title} {int(value)}"


def _human_band(alt: Any, human: Entry | None, span: tuple[float, float], kind: str, tall: Any) -> list[Any]:
    if human is None:
        return []
    row = {"left": span[0], "right": span[1], "mean": human.mean, "low": human.low, "high": human.high}
    scale = alt.Scale(type=kind, domain=list(span), nice=False)
    base = alt.Chart(alt.Data(values=[row])).encode(x=alt.X("left:Q", scale=scale), x2="right:Q")
    band = (
        [base.mark_rect(color=BAND, opacity=0.22).encode(y=alt.Y("low:Q", scale=tall), y2="high:Q")]
        if human.low is not None
        else []
    )
    name = alt.Chart(alt.Data(values=[row | {"name": "human baseline"}])).mark_text(
        align="left", baseline="bottom", dx=4, dy=-3, color=BAND, fontSize=11, fontStyle="italic"
    ).encode(x=alt.X("left:Q", scale=scale), y=alt.Y("mean:Q", scale=tall), text="name:N")  # fmt: skip
    return [*band, base.mark_rule(color=BAND, strokeWidth=1.5).encode(y=alt.Y("mean:Q", scale=tall)), name]


def _names(
    alt: Any,
    points: Sequence[dict[str, Any]],
    span: tuple[float, float],
    ys: tuple[float, float],
    kind: str,
    human: Entry | None,
) -> list[Any]:
    """Returns chart layers with names of points; a point without room for its name gets none.

    *alt*: the module altair. *span*, *ys*: the ends of the horizontal and the vertical axis.
    *kind*: ``log`` or ``linear``, the scale of the horizontal axis.
    *human*: the entry of the human baseline; no name covers the label of the human baseline's line.
    """

    def across(value: float) -> float:
        low, high, at = (math.log(end) if kind == "log" else end for end in (*span, value))
        return (at - low) / (high - low) * WIDTH

    def down(value: float) -> float:
        return (ys[1] - value) / (ys[1] - ys[0]) * HEIGHT

    spots = [(across(point["x"]), down(point["mean"])) for point in points]
    baseline = [(0.0, down(human.mean) - 18, 90.0, down(human.mean))] if human and human.mean is not None else []
    labels = [point["name"].rpartition("/")[2] for point in points]
    layers = []
    for label in placed(spots, labels, WIDTH, HEIGHT, baseline):
        point = points[label.index] | {"label": labels[label.index]}
        layers.append(
            alt.Chart(alt.Data(values=[point]))
            .mark_text(align=label.align, dx=label.dx, dy=label.dy, fontSize=10, color=INK, baseline="middle")
            .encode(x="x:Q", y="mean:Q", text="label:N")
        )
    return layers

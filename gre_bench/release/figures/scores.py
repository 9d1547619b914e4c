"""Plots a board: each candidate's mean score with its interval, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gre_bench.release.figures.pictures import BAND, INK, altair
from gre_bench.release.pages.board import Board

if TYPE_CHECKING:
    from altair import LayerChart

KINDS = {"human": "#c2570c", "model": "#2f6fc4", "control": BAND}
"""Colours: the human baseline, models, controls."""


def scores(board: Board) -> LayerChart | None:
    """Returns a chart of the scores of the main group of candidates, with 90% intervals clustered by paper.

    Returns None for fewer than two candidates.
    """
    alt = altair()
    rows = [
        {"name": entry.candidate.partition("/")[2] or entry.candidate, "kind": entry.kind, "mean": entry.mean,
         "low": entry.low, "high": entry.high, "said": f"{entry.candidate}: {entry.mean:+.2f}"}
        for entry in board.entries
        if entry.group is None and entry.mean is not None and entry.low is not None
    ]  # fmt: skip
    if len(rows) < 2:
        return None
    rows.sort(key=lambda row: -row["mean"])
    order = [row["name"] for row in rows]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=420, ticks=False, domain=False)),
        color=alt.Color("kind:N", scale=alt.Scale(domain=list(KINDS), range=list(KINDS.values())), legend=None),
    )
    unit = f"{board.title}, {board.unit} a pair; lines: 90% intervals by paper"
    layers: list[Any] = [
        alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=INK, opacity=0.4).encode(x=alt.X("zero:Q")),
        base.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q", title=unit), x2="high:Q"),
        base.mark_point(filled=True, size=80, opacity=1).encode(x="mean:Q", description=alt.Description("said:N")),
    ]
    # A browser's font may be wider than the one that the layout was measured with.
    room = {"left": 60, "top": 8, "right": 20, "bottom": 8}
    return alt.layer(*layers).properties(width=520, height=24 * len(rows), padding=room)

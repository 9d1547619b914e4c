"""Plots how the ranks of candidates change from metric to metric, such as from GEM to GEM-S."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gre_bench.release.figures.families import SHAPES, Mark
from gre_bench.release.figures.pictures import BAND, INK, altair
from gre_bench.release.pages.board import Board

if TYPE_CHECKING:
    from altair import LayerChart


def ranks(boards: Sequence[Board], marks: Mapping[str, Mark]) -> LayerChart | None:
    """Returns a chart of the ranks in the main group of candidates, with one column per board.

    *marks*: the colour and shape of each model family. Returns None for fewer than two boards or two candidates.
    """
    alt = altair()
    lines = [
        {"metric": board.title, "rank": entry.rank, "name": entry.candidate.rpartition("/")[2],
         "family": "human" if entry.kind == "human" else entry.family or "other",
         "said": f"{entry.candidate}: rank {entry.ranks} in {board.title}"}
        for board in boards
        for entry in board.ranked
        if entry.group is None
    ]  # fmt: skip
    names = {line["name"] for line in lines}
    if len(boards) < 2 or len(names) < 2:
        return None
    order = [board.title for board in boards]
    names_of = [*marks, "human"]
    colours = alt.Scale(domain=names_of, range=[*(mark.colour for mark in marks.values()), BAND])
    shapes = alt.Scale(domain=names_of, range=[*(mark.shape for mark in marks.values()), SHAPES[0]])
    x = alt.X("metric:N", sort=order, title=None, axis=alt.Axis(orient="top", labelAngle=0, grid=False, domain=False,
              ticks=False, labelFontSize=12, labelFontWeight="bold"), scale=alt.Scale(padding=0.35))  # fmt: skip
    y = alt.Y("rank:Q", title=None, scale=alt.Scale(reverse=True, nice=False,
              domain=[0.5, max(line["rank"] for line in lines) + 0.5]), axis=None)  # fmt: skip
    base = alt.Chart(alt.Data(values=lines)).encode(
        x=x, y=y, color=alt.Color("family:N", scale=colours, legend=None), detail="name:N"
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        shape=alt.Shape("family:N", scale=shapes, legend=None), description=alt.Description("said:N")
    )
    layers: list[Any] = [base.mark_line(strokeWidth=2, opacity=0.75), points]
    for metric, align, dx in ((order[0], "right", -12), (order[-1], "left", 12)):
        labelled = [line | {"label": f"{line['name']}  {line['rank']}" if align == "right" else
                        f"{line['rank']}  {line['name']}"} for line in lines if line["metric"] == metric]  # fmt: skip
        layers.append(
            alt.Chart(alt.Data(values=labelled))
            .mark_text(align=align, dx=dx, fontSize=11, color=INK, baseline="middle")
            .encode(x=x, y=y, text="label:N")
        )
    height = max(140, 21 * max(line["rank"] for line in lines))
    room = {"left": 60, "top": 8, "right": 70, "bottom": 8}
    return alt.layer(*layers).properties(width=max(460, 200 * len(boards)), height=height, padding=room)

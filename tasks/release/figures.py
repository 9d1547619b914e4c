"""The figures of a board as static pictures: score against size and date, and ranks from metric to metric.

After figure 4 of Xu et al. 2025: points with 90% intervals, colour by family, the human baseline as a line in its band.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tasks.errors import SettingsError
from tasks.release.board import Board, Entry
from tasks.release.labels import placed

if TYPE_CHECKING:
    import altair

INK, GRID, BAND = "#1b2126", "#8b949e", "#8a8f98"
FAMILIES = (
    "#3b7dd8", "#d9722e", "#2f9e72", "#b455b8", "#c29a1a", "#d1495b", "#1899ab", "#8a6d4f", "#7a86c8", "#6b8e23",
)  # fmt: skip
WIDTH, HEIGHT = 400, 300


def families(boards: Iterable[Board]) -> dict[str, str]:
    """Colour of each family of models on *boards*; families without name share the last."""
    names = sorted({entry.family or "other" for board in boards for entry in board.entries if entry.kind == "model"})
    return {name: FAMILIES[place % len(FAMILIES)] for place, name in enumerate(names)}


def by_size(board: Board, colours: dict[str, str]) -> altair.LayerChart | None:
    """Score against parameters (billions, logarithmic); None where fewer than two models state them."""
    entries = [entry for entry in board.ranked if entry.kind == "model" and entry.parameters]
    values = [(entry, float(entry.parameters or 0)) for entry in entries]
    return _scatter(board, values, colours, "parameters, billions", "log") if len(values) > 1 else None


def by_date(board: Board, colours: dict[str, str]) -> altair.LayerChart | None:
    """Score against the end of what a model learnt from; None where fewer than two models state it."""
    entries = [entry for entry in board.ranked if entry.kind == "model" and entry.cutoff]
    values = [(entry, entry.cutoff.year + (entry.cutoff.timetuple().tm_yday - 1) / 365) for entry in entries
              if entry.cutoff]  # fmt: skip
    return _scatter(board, values, colours, "knowledge cutoff", "linear") if len(values) > 1 else None


def _scatter(
    board: Board, values: Sequence[tuple[Entry, float]], colours: dict[str, str], title: str, kind: str
) -> altair.LayerChart:
    alt = _altair()
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
         "name": entry.candidate}
        for entry, value in values
    ]  # fmt: skip
    colour = alt.Color(
        "family:N", title=None, scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None
    )
    base = alt.Chart(alt.Data(values=points)).encode(color=colour)
    layers: list[Any] = _human_band(alt, human, span, kind, scale)
    if any(point["low"] is not None for point in points):
        layers.append(
            base.mark_rule(strokeWidth=1.5, opacity=0.75).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q")
        )
    layers.append(base.mark_point(filled=True, size=52, opacity=1).encode(x=x, y=y))
    layers += _names(alt, points, span, ys, kind, human)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


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
    """Names beside the points, where there is room for them."""

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
        point = points[label.place] | {"label": labels[label.place]}
        layers.append(
            alt.Chart(alt.Data(values=[point]))
            .mark_text(align=label.align, dx=label.dx, dy=label.dy, fontSize=10, color=INK, baseline="middle")
            .encode(x="x:Q", y="mean:Q", text="label:N")
        )
    return layers


def ranks(boards: Sequence[Board], colours: dict[str, str]) -> altair.LayerChart | None:
    """Rank of every model and of the human baseline from metric to metric; None below two metrics or two names."""
    alt = _altair()
    lines = [
        {"metric": board.title, "rank": entry.rank, "name": entry.candidate.rpartition("/")[2],
         "family": "human" if entry.kind == "human" else entry.family or "other"}
        for board in boards
        for entry in board.ranked
    ]  # fmt: skip
    names = {line["name"] for line in lines}
    if len(boards) < 2 or len(names) < 2:
        return None
    order = [board.title for board in boards]
    scale = alt.Scale(domain=[*colours, "human"], range=[*colours.values(), BAND])
    x = alt.X("metric:N", sort=order, title=None, axis=alt.Axis(orient="top", labelAngle=0, grid=False, domain=False,
              ticks=False, labelFontSize=12, labelFontWeight="bold"), scale=alt.Scale(padding=0.35))  # fmt: skip
    y = alt.Y("rank:Q", title=None, scale=alt.Scale(reverse=True, nice=False,
              domain=[0.5, max(line["rank"] for line in lines) + 0.5]), axis=None)  # fmt: skip
    base = alt.Chart(alt.Data(values=lines)).encode(
        x=x, y=y, color=alt.Color("family:N", scale=scale, legend=None), detail="name:N"
    )
    layers: list[Any] = [base.mark_line(strokeWidth=2, opacity=0.75), base.mark_point(filled=True, size=70, opacity=1)]
    for metric, align, dx in ((order[0], "right", -12), (order[-1], "left", 12)):
        here = [line | {"label": f"{line['name']}  {line['rank']}" if align == "right" else
                        f"{line['rank']}  {line['name']}"} for line in lines if line["metric"] == metric]  # fmt: skip
        layers.append(
            alt.Chart(alt.Data(values=here))
            .mark_text(align=align, dx=dx, fontSize=11, color=INK, baseline="middle")
            .encode(x=x, y=y, text="label:N")
        )
    height = max(140, 21 * max(line["rank"] for line in lines))
    room = {"left": 60, "top": 8, "right": 70, "bottom": 8}
    return alt.layer(*layers).properties(width=max(460, 200 * len(boards)), height=height, padding=room)


def svg(chart: Any) -> str:
    """*chart* as SVG, its ink the text colour of wherever it stands."""
    import vl_convert

    themed = (
        chart.configure(font="Inter, system-ui, sans-serif", padding={"left": 12, "top": 8, "right": 44, "bottom": 8})
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            domainColor=GRID,
            tickColor=GRID,
            gridColor=GRID,
            gridOpacity=0.25,
            titleFontWeight="normal",
            labelFontSize=11,
            titleFontSize=12,
        )
    )
    text = vl_convert.vegalite_to_svg({**themed.to_dict(), "background": None})
    return text.replace(INK, "currentColor")


def png(picture: str) -> bytes:
    """A picture of `svg` as PNG, twice its size, dark on white."""
    import vl_convert

    return vl_convert.svg_to_png(
        picture.replace("currentColor", INK).replace(">", '><rect width="100%" height="100%" fill="white"/>', 1),
        scale=2,
    )


def _altair() -> Any:
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise SettingsError("altair is not installed: pip install -e '.[plots]' -c constraints.txt") from error
    return altair

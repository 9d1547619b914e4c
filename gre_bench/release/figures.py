"""Draws the figures of a release's boards as SVG and PNG: scores, scores by size and by date, and ranks.

Scores by size and date follow figure 4 of Xu et al. 2025: points with 90% intervals, colour and shape by family, and a
line with a band for the human baseline. Colours follow Okabe and Ito; each has a contrast of at least 3:1 on the light
and on the dark page. Shapes help readers who are colour-blind.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gre_bench.core.errors import SettingsError
from gre_bench.core.terminal import without_controls
from gre_bench.release.pages.board import Board, Entry, spoken

if TYPE_CHECKING:
    from altair import LayerChart

_AXES = {
    "size": ("against the size of the models", "Sizes of closed models are estimates. "),
    "date": ("against the day the models came out", ""),
}


@dataclass(frozen=True, slots=True)
class Drawings:
    """The figures of boards, each as SVG text.

    - *pictures*: each scatter plot, by (metric, kind); the kind is ``size`` or ``date``. *scores*: by metric.
    - *ranks*: of candidates under several metrics; None if fewer than two metrics can be compared.
    - *problem*: why nothing could be drawn, and what to do; empty if figures were drawn.
    """

    pictures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    ranks: str | None = None
    scores: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Mark] = field(default_factory=dict)
    problem: str = ""

    def files(self) -> dict[str, str]:
        """Returns the SVG of every figure by file name, without extension."""
        named = {f"{_plain(metric)}_by_{kind}": svg for (metric, kind), svg in self.pictures.items()}
        named |= {f"{_plain(metric)}_scores": svg for metric, svg in self.scores.items()}
        return named | ({"ranks": self.ranks} if self.ranks else {})


def drawn(boards: Sequence[Board]) -> Drawings:
    """Draws every figure of *boards* for which there is enough data; none if the drawing library lacks or fails."""
    marks = families(boards)
    if problem := lacking():
        return Drawings(problem=problem)
    gems = sorted((board for board in boards if board.metric.startswith("gem")), key=lambda board: board.place)
    charts: dict[tuple[str, str], Any] = {
        (board.metric, kind): draw(board, marks, _caption(board, kind))
        for board in boards for kind, draw in (("size", by_size), ("date", by_date))
    } | {("", "ranks"): ranks(gems, marks)} | {(board.metric, "scores"): scores(board) for board in boards}  # fmt: skip
    charts = {key: chart for key, chart in charts.items() if chart is not None}
    try:
        pictures = dict(zip(charts, as_svg(list(charts.values())), strict=True))
    except SettingsError as error:
        return Drawings(problem=str(error))
    return Drawings(
        {key: picture for key, picture in pictures.items() if key[1] in ("size", "date")},
        pictures.get(("", "ranks")),
        {metric: picture for (metric, kind), picture in pictures.items() if kind == "scores"},
        marks,
    )


def write_figures(drawings: Drawings, folder: Path, png: bool = False) -> list[Path]:
    """Writes every figure to *folder* as SVG, and with *png* as PNG too; returns the paths of the files."""
    written, files = [], drawings.files()
    pngs = as_png(list(files.values())) if png else []
    for index, (name, picture) in enumerate(files.items()):
        folder.mkdir(parents=True, exist_ok=True)
        written.append(folder / f"{name}.svg")
        written[-1].write_text(picture.replace("currentColor", INK), encoding="utf-8")
        if png:
            written.append(folder / f"{name}.png")
            written[-1].write_bytes(pngs[index])
    return written


def _caption(board: Board, kind: str) -> str:
    """Returns what a scatter plot of *board* by *kind* shows, and which models or intervals are missing."""
    shown = [entry for entry in board.ranked if entry.kind == "model"]
    shown_lines = "Lines: 90% intervals by paper. " if any(entry.low is not None for entry in shown) else ""
    shown_lines += "Grey: the human baseline with its interval. " if board.human and board.human.low is not None else ""
    lacks = [name for name, lacking in (("intervals", not any(entry.low is not None for entry in shown)),
                                        ("a human baseline", board.human is None)) if lacking]  # fmt: skip
    missing = f"The source gives no {' and no '.join(name.removeprefix('a ') for name in lacks)}. " if lacks else ""
    left_out = [entry for entry in shown if not (entry.parameters if kind == "size" else entry.released)]
    many = "1 model" if len(left_out) == 1 else f"{len(left_out)} models"
    counted = f"Not drawn: {many} without that figure. " if left_out else ""
    title, remark = _AXES[kind]
    return f"{board.title} {title}, colour and shape by family. {shown_lines}{remark}{counted}{missing}".strip()


def _plain(metric: str) -> str:
    """Returns *metric* as a part of a file name; an examiner's name may hold any character."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", metric)
    return plain if plain == metric else f"{plain}-{hashlib.sha256(metric.encode()).hexdigest()[:8]}"


COLOURS = ("#2a78c2", "#d55e00", "#009e73", "#b564a8", "#b8860b", "#c74f6b", "#0f93a8", "#8f6bd1")
SHAPES = (
    "M0,-1A1,1,0,1,1,0,1A1,1,0,1,1,0,-1Z",
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.2L1.1,.8H-1.1Z",
    "M0,-1.3L1.2,0L0,1.3L-1.2,0Z",
    "M0,1.2L1.1,-.8H-1.1Z",
    "M-.4,-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "M-1,-1L1.2,0L-1,1L-.4,0Z",
)
"""The shapes as SVG paths about the origin: circle, square, triangle, diamond, triangle down, cross, arrow head."""


class Mark(NamedTuple):
    """The look of a model family's points in figures: their colour, and their shape as an SVG path."""

    colour: str
    shape: str


def families(boards: Iterable[Board]) -> dict[str, Mark]:
    """Returns the mark of each model family on *boards*; models of no family are of ``other``."""
    names = sorted({entry.family or "other" for board in boards for entry in board.entries if entry.kind == "model"})
    return {name: Mark(COLOURS[index % len(COLOURS)], SHAPES[index % len(SHAPES)]) for index, name in enumerate(names)}


CHARACTER, LINE, POINT = 5.6, 12.0, 5.0
"""Pixels, at a font size of 10: width of a character, height of a line, and half a point's side."""

Box = tuple[float, float, float, float]


class Label(NamedTuple):
    """The position of the name of a point, of that *index*: which end of the name lies *dx*, *dy* pixels from it."""

    index: int
    align: Literal["left", "right", "center"]
    dx: float
    dy: float


_SPOTS: tuple[tuple[Literal["left", "right", "center"], float, float], ...] = (
    ("left", 8, 0), ("right", -8, 0), ("left", 6, -9), ("left", 6, 9), ("right", -6, -9), ("right", -6, 9),
    ("center", 0, -13), ("center", 0, 13),
)  # fmt: skip


def placed(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    width: float,
    height: float,
    blocked: Sequence[Box] = (),
) -> list[Label]:
    """Places the *names* of *points* from top to bottom, so that none covers a point or another name.

    Returns a label for each point whose name has room. *width*, *height*: size of the plot. *blocked*: boxes (left,
    top, right, bottom) where no name may be. All lengths are in pixels.
    """
    occupied: list[Box] = [*((x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points), *blocked]
    labels = []
    for index in sorted(range(len(points)), key=lambda index: points[index][1]):
        for align, dx, dy in _SPOTS:
            box = _box(points[index], names[index], align, dx, dy)
            inside = box[0] >= 0 and box[2] <= width + 40 and box[1] >= -8 and box[3] <= height + 8
            own = occupied[index]
            others = (other for other in occupied if other is not own)
            if inside and not any(
                box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in others
            ):
                occupied.append(box)
                labels.append(Label(index, align, dx, dy))
                break
    return labels


def _box(point: tuple[float, float], name: str, align: str, dx: float, dy: float) -> Box:
    wide = CHARACTER * len(name)
    left = point[0] + dx - {"left": 0.0, "right": wide, "center": wide / 2}[align]
    return left, point[1] + dy - LINE / 2, left + wide, point[1] + dy + LINE / 2


INK, GRID, BAND = "#1b2126", "#8b949e", "#8a8f98"


_RENDERER = """
import base64, json, sys, vl_convert
for line in sys.stdin:
    method, *values = json.loads(line)
    made = getattr(vl_convert, method)(*values)
    print(json.dumps(made if isinstance(made, str) else base64.b64encode(made).decode()))
"""
SECONDS = 600


def as_svg(charts: Sequence[Any]) -> list[str]:
    """Returns altair *charts* as SVG texts in the text colour of the page; `SettingsError` if the renderer fails."""
    drawn = _rendered([("vegalite_to_svg", {**_themed(chart), "background": None}) for chart in charts])
    return [without_controls(text).replace(INK, "currentColor") for text in drawn]


def _rendered(tasks: Sequence[tuple[Any, ...]]) -> list[str]:
    """Returns what functions of vl_convert return for *tasks*, each the function's name and its arguments.

    They run in another process: vl_convert holds a JavaScript engine, which ends its process if it finds no memory.
    """
    if not tasks:
        return []
    given = "".join(json.dumps(task) + "\n" for task in tasks)
    try:
        command = [sys.executable, "-P", "-c", _RENDERER]
        ended = subprocess.run(command, input=given, capture_output=True, encoding="utf-8", timeout=SECONDS)
        made = [json.loads(line) for line in ended.stdout.splitlines()]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise SettingsError(
            f"the renderer of figures gave no picture ({type(error).__name__}): make room or wait"
        ) from None
    if len(made) < len(tasks):
        how = signal.Signals(-ended.returncode).name if ended.returncode < 0 else f"code {ended.returncode}"
        raise SettingsError(f"the renderer of figures ended early ({how}): make sure that it has memory")
    return made


def _themed(chart: Any) -> dict[str, Any]:
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
            titlePadding=9,
        )
    )
    return themed.to_dict(validate=False)


def as_png(pictures: Sequence[str]) -> list[bytes]:
    """Returns SVG texts, made by `as_svg`, as PNGs of twice the size, dark on white; raises as `as_svg` does."""
    white = '><rect width="100%" height="100%" fill="white"/>'
    inked = [picture.replace("currentColor", INK).replace(">", white, 1) for picture in pictures]
    return [base64.b64decode(text) for text in _rendered([("svg_to_png", picture, 2) for picture in inked])]


def lacking() -> str:
    """Returns which drawing library is missing and how to install it, else an empty text."""
    try:
        altair()
    except SettingsError as error:
        return str(error)
    return ""


def altair() -> Any:
    """Returns the module altair; raises `SettingsError` with the command that installs it."""
    try:
        import altair as library
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise SettingsError("altair is not installed: pip install 'gre-bench[plots]'") from error
    return library


def ranks(boards: Sequence[Board], marks: Mapping[str, Mark]) -> LayerChart | None:
    """Returns a chart of the ranks in the main group, a column a board; None for fewer than two of either."""
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


WIDTH, HEIGHT = 400, 300
CAPTION_WIDTH = 84  # characters of the caption that fit under a chart


def by_size(board: Board, marks: Mapping[str, Mark], caption: str) -> LayerChart | None:
    """Returns a chart of scores against sizes, with the *caption* under it; None for fewer than two known sizes."""
    entries = [entry for entry in board.ranked if entry.kind == "model" and entry.parameters]
    values = [(entry, float(entry.parameters or 0)) for entry in entries]
    return (
        _scatter(board, values, marks, caption, "parameters, billions (closed models: estimates)", "log")
        if len(values) > 1
        else None
    )


def by_date(board: Board, marks: Mapping[str, Mark], caption: str) -> LayerChart | None:
    """Returns a chart of scores against release dates, as `by_size` does."""
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
         "name": entry.candidate, "said": f"{spoken(entry)}; " +
         (f"{value:g} billion parameters" if kind == "log" else f"{title} {int(value)}")}
        for entry, value in values
    ]  # fmt: skip
    colours, shapes = ([getattr(mark, name) for mark in marks.values()] for name in ("colour", "shape"))
    colour = alt.Color("family:N", scale=alt.Scale(domain=list(marks), range=colours), legend=None)
    shape = alt.Shape("family:N", scale=alt.Scale(domain=list(marks), range=shapes), legend=None)
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
    """Returns chart layers with the names of points that have room; none covers the label of the *human* line."""

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


KINDS = {"human": "#c2570c", "model": "#2f6fc4", "control": BAND}
"""Colours: the human baseline, models, controls."""


def scores(board: Board) -> LayerChart | None:
    """Returns a chart of the scores of the main group, best first; None for fewer than two candidates."""
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

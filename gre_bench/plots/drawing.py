"""Draws pictures as SVG from one template: rows with intervals, and curves in panels.

A picture has no script and sends no request. Its texts are escaped. A picture in a file has its own light and dark
colours, written as values because some renderers cannot read CSS variables. A picture on a page takes the page's
colours and width.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gre_bench.core.terminal import replace_control_characters

FOLDER = Path(__file__).parent
CSS = (FOLDER / "plot.css").read_text(encoding="utf-8")
"""The CSS rules of all pictures. Their colours are variables, which a page sets."""
COLOURS = {
    "card": ("#ffffff", "#1a1e22"), "ink": ("#1d2126", "#e8e6e1"), "soft": ("#59626c", "#a2abb5"),
    "line": ("#e3e0d8", "#2c3238"), "tint": ("#f3f1eb", "#20252a"), "human": ("#7b828c", "#9aa3ad"),
    "band": ("#7b828c2e", "#9aa3ad33"), "dot": ("#1c5a9e", "#86b9f3"), "good": ("#17693f", "#62c593"),
    "bad": ("#a32d26", "#f29389"), "open": ("#85590a", "#e2b85c"),
}  # fmt: skip
"""Variable → its colour on a light and on a dark background."""
WIDTH, SCALE, EDGE = 448, 1.25, 12
"""Sizes of a picture in a file: its width in SVG units, the pixels per unit, and the margin on each side in units."""
ROW = 28
"""Height of a row in SVG units."""
NAME = {"file": 46, "wide": 46, "narrow": 38}
"""Layout → how many characters of a name and its note fit next to a number."""
PANEL, HEAD, LABELS, GAP = 150, 22, 36, 16
"""Sizes of a panel of curves in SVG units: its height, its title's height, its labels' width, the gap to the next."""

Span = tuple[float, float]
Layout = Literal["file", "wide", "narrow"]


SAID = {"human": "baseline", "control": "control"}
"""Kind of candidate → what a picture says beside the candidate's name."""


class IntervalRow(NamedTuple):
    """A row of a picture: a point with its interval from *low* to *high*, if it has one.

    - *at*: the point on the axis. *value*: the point as text. *said*: the row in words, for screen readers.
    - *look*: model, human, control, pass, fail or undecided. *note*: one or two words after the name.
    - *href*: the address of a page about the row.
    """

    name: str
    at: float
    value: str
    low: float | None = None
    high: float | None = None
    look: str = "model"
    note: str = ""
    said: str = ""
    href: str = ""


class Curve(NamedTuple):
    """Points joined by a line, in their order. *look*: pale, main, second or level (dashed grey)."""

    name: str
    points: Sequence[tuple[float, float]]
    look: str = "main"


def draw_intervals(
    rows: Sequence[IntervalRow | str],
    span: Span,
    axis: str,
    *,
    title: str = "",
    centre: float | None = None,
    band: Span | None = None,
    layout: Layout = "file",
) -> Markup:
    """Returns *rows* as SVG, from top to bottom, on an axis that covers *span*.

    - *rows*: a text among them becomes a heading. *axis*: what the axis measures.
    - *centre*, *band*: a value to compare with, and its interval.
    - *layout*: ``file`` is a file of its own. On a page, names stand left of the intervals (``wide``) or above them
      (``narrow``).
    """
    tall = len(rows) * ROW
    placed = []
    for number, row in enumerate(rows):
        fits = row if isinstance(row, str) else row._replace(name=_shorten_name(row.name, row.note, NAME[layout]))
        placed.append((number * ROW, fits))
    return _render_picture("intervals", tall + 36, title, axis, layout, rows=placed, depth=tall, span=span,
                           centre=centre, band=band, beside=layout == "wide")  # fmt: skip


def draw_curve_panels(
    panels: Mapping[str, Sequence[Curve]], across_axis: str, up_axis: str, *, title: str = ""
) -> Markup:
    """Returns curves as an SVG file, with one panel per title in *panels*; all panels have the same axes.

    Curves of the same name must have the same look. A point that is not finite is left out.
    """
    panels = {name: [curve._replace(points=[point for point in curve.points if all(map(math.isfinite, point))])
                     for curve in shown] for name, shown in panels.items()}  # fmt: skip
    points = [point for shown in panels.values() for curve in shown for point in curve.points]
    xs, ys = (_add_margin([point[side] for point in points]) for side in (0, 1))
    columns = min(2, len(panels)) or 1
    wide = (WIDTH - 2 * EDGE - (columns - 1) * GAP) / columns

    def to_panel_position(x: float, y: float) -> tuple[float, float]:
        return LABELS + _percent_of_span(x, xs) / 100 * (wide - LABELS), PANEL - _percent_of_span(y, ys) / 100 * (
            PANEL - HEAD
        )

    placed = []
    for number, (name, shown) in enumerate(panels.items()):
        left, top = number % columns * (wide + GAP), HEAD + number // columns * (PANEL + 40)
        lines = [(curve.look, [to_panel_position(*point) for point in curve.points]) for curve in shown]
        placed.append((_shorten_name(name, "", 28), left, top, lines))
    looks = {curve.name: curve.look for shown in panels.values() for curve in shown}
    legend, left = [], 0.0
    for name, look in looks.items():
        legend.append((left, name, look))
        left += 6.4 * len(name) + 36
    ticked = (
        [(to_panel_position(tick, 0)[0], tick) for tick in compute_ticks(xs)],
        [(to_panel_position(0, tick)[1], tick) for tick in compute_ticks(ys)],
    )
    tall = HEAD + -(-len(panels) // columns) * (PANEL + 40)
    return _render_picture("curves", tall, title, f"{up_axis} against {across_axis}", "file", panels=placed,
                           legend=legend, ticks=ticked, wide=wide, labels=LABELS)  # fmt: skip


def _render_picture(kind: str, tall: float, title: str, axis: str, layout: Layout, **values: Any) -> Markup:
    head = 26 if title else 0
    values |= {"kind": kind, "title": title, "axis": axis, "layout": layout, "head": head, "css": _build_css_rules(),
               "edge": EDGE, "width": WIDTH, "height": tall + head + 2 * EDGE if layout == "file" else tall,
               "scale": SCALE, "row_height": ROW, "panel": PANEL}  # fmt: skip
    return Markup(_load_template().render(**values).strip())


@cache
def _build_css_rules() -> Markup:
    """Returns the CSS rules of a file: light colours, and dark ones for readers who prefer a dark page."""
    light, dark = (
        re.sub(r"var\(--(\w+)\)", lambda match, side=side: COLOURS[match[1]][side], CSS).strip() for side in (0, 1)
    )
    return Markup(f"\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n")


@cache
def _load_template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=lambda value: replace_control_characters(value) if type(value) is str else value,
    )  # fmt: skip
    environment.filters |= {
        "across": format_position,
        "breadth": format_width,
        "ticks": compute_ticks,
        "tick": format_tick,
    }
    return environment.get_template("plot.svg")


def _shorten_name(name: str, note: str, most: int) -> str:
    """Returns *name*, without its middle if *name* and *note* together have more than *most* characters."""
    room = max(12, most - len(note) - bool(note))
    return name if len(name) <= room else f"{name[: room // 2 - 1]}…{name[len(name) - (room - room // 2) :]}"


def format_tick(value: float) -> str:
    """Returns *value*, a tick of an axis, as text with a true minus sign."""
    return f"{value:.6g}".replace("-", "−")


def format_position(value: float, span: Span) -> str:
    """Returns the position of *value* on the axis *span*, in percent of its length, such as ``41.7%``."""
    return f"{_percent_of_span(value, span):.2f}%"


def format_width(low: float, high: float, span: Span) -> str:
    """Returns the width of the range from *low* to *high*, in percent of the axis *span*, such as ``12.5%``."""
    return f"{_percent_of_span(high, span) - _percent_of_span(low, span):.2f}%"


def compute_ticks(span: Span) -> list[float]:
    """Returns two to five round values on the axis *span*, far enough from its ends to leave room for their labels.

    Their step is the largest number of the form 1, 2 or 5 times a power of ten that gives at least two values.
    """
    low, high = span
    edge = 0.06 * (high - low)
    step = 10.0 ** math.ceil(math.log10(high - low))
    for divisor in (factor * 10.0**power for power in range(3) for factor in (1, 2, 5)):
        size = step / divisor
        values = [n * size for n in range(math.ceil((low + edge) / size), math.floor((high - edge) / size) + 1)]
        if len(values) >= 2:
            return values
    return []


def compute_axis_span(values: Sequence[float]) -> Span:
    """Returns the two ends of an axis that covers zero and all *values*, with a margin."""
    return _add_margin([*values, 0.0])


def _add_margin(values: Sequence[float]) -> Span:
    low, high = min(values, default=0.0), max(values, default=1.0)
    edge = 0.06 * ((high - low) or 1.0)
    return low - edge, high + edge


def _percent_of_span(value: float, span: Span) -> float:
    low, high = span
    return (value - low) / (high - low) * 100

"""Draws the pictures of boards, which show every candidate's score and interval; also assigns colours and shapes.

Each model family has a colour and a shape. The colours follow Okabe and Ito; each has a WCAG contrast ratio of at
least 3:1 to light and to dark pages. The shapes help readers who are colour-blind.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from gre_bench.core.terminal import counted
from gre_bench.plots.drawing import SAID, IntervalRow, Layout, draw_intervals
from gre_bench.release.pages.board_page import Board, format_signed_number, format_spoken_score

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
"""Shapes as SVG paths around the origin: circle, square, triangle, diamond, triangle down, cross, arrow head."""


class Mark(NamedTuple):
    """How figures show a model family's points: the colour, and the shape as an SVG path."""

    colour: str
    shape: str


def assign_family_marks(boards: Iterable[Board]) -> dict[str, Mark]:
    """Returns model family → mark for the families on *boards*; models without a family belong to ``other``."""
    names = sorted({entry.family or "other" for board in boards for entry in board.entries if entry.kind == "model"})
    return {name: Mark(COLOURS[index % len(COLOURS)], SHAPES[index % len(SHAPES)]) for index, name in enumerate(names)}


def board_picture(board: Board, layout: Layout = "file") -> Markup:
    """Returns *board* as SVG: one row for each candidate with a score, in the board's order.

    The rows of the main group come first, then those of each other group under its name. For a board with fewer than
    two scores, the result is empty. *layout*: see `draw_intervals`.
    """
    shown = [(entry, entry.mean) for entry in board.entries if entry.mean is not None]
    shown.sort(key=lambda row: row[0].group or "")
    if len(shown) < 2:
        return Markup()
    short = {entry.candidate: entry.candidate.rpartition("/")[2] or entry.candidate for entry, _ in shown}
    uses = Counter(short.values())
    rows: list[IntervalRow | str] = []
    for group, entries in groupby(shown, key=lambda row: row[0].group):
        rows += [f"group {group}: not comparable with the rows above"] if group else []
        rows += [
            IntervalRow(
                short[entry.candidate] if uses[short[entry.candidate]] == 1 else entry.candidate,
                mean,
                format_signed_number(mean, board.digits),
                entry.low,
                entry.high,
                entry.kind,
                SAID.get(entry.kind) or ("no rank" if entry.rank is None and board.ranked else ""),
                format_spoken_score(entry),
                "" if layout == "file" else entry.href,
            )
            for entry, mean in entries
        ]
    human = board.human
    band = (human.low, human.high) if human and human.low is not None and human.high is not None else None
    axis = [f"{board.unit} a pair" if board.unit else "score"]
    axis += ["lines: 90% intervals"] if any(entry.low is not None for entry, _ in shown) else []
    axis += ["band: human"] if band else []
    title = board.title if layout == "file" else ""
    centre = human.mean if human else None
    return draw_intervals(rows, board.span, "; ".join(axis), title=title, centre=centre, band=band, layout=layout)


def committee_picture(board: Board, layout: Layout = "file") -> Markup:
    """Returns, as SVG, how the score grows when the reviews of more and more LM candidates are joined (a committee).

    There is one row for each added member, and a last row for what the human review adds. The picture is empty if
    *board* has no committee.
    """
    committee = board.committee
    if committee is None:
        return Markup()
    rows: list[IntervalRow | str] = []
    for step in (*committee["steps"], committee["human"]):
        human = step is committee["human"]
        name = "human adds to all" if human else counted(step["reviewers"], "LM reviewer")
        value = format_signed_number(step["value"], board.digits)
        ends = format_signed_number(step["low"], board.digits), format_signed_number(step["high"], board.digits)
        spoken = f"{name}: {value}, 90% {' to '.join(ends)}"
        rows.append(
            IntervalRow(
                name, step["value"], value, step["low"], step["high"], "human" if human else "model", "", spoken
            )
        )
    lows, highs = ([step[end] for step in (*committee["steps"], committee["human"])] for end in ("low", "high"))
    span, title = (min(0.0, *lows), max(highs)), f"{board.title}: a committee" if layout == "file" else ""
    return draw_intervals(rows, span, f"{board.unit} a pair; lines: 90% intervals", title=title, layout=layout)


def write_figures(boards: Sequence[Board], folder: Path) -> list[Path]:
    """Writes a picture of each board to *folder* as SVG; returns the files' paths."""
    written = []
    for board in boards:
        for kind, picture in (("scores", board_picture(board)), ("committee", committee_picture(board))):
            if picture:
                folder.mkdir(parents=True, exist_ok=True)
                written.append(folder / f"{_to_file_name(board.metric)}_{kind}.svg")
                written[-1].write_text(picture, encoding="utf-8")
    return written


def _to_file_name(metric: str) -> str:
    """Returns *metric* as part of a file name; the name of an examiner's metric may contain any character."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", metric)
    return plain if plain == metric else f"{plain}-{hashlib.sha256(metric.encode()).hexdigest()[:8]}"

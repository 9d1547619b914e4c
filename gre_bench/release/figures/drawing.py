"""All figures of some boards, drawn once: for the page, and as files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gre_bench.release.figures import scatter
from gre_bench.release.figures.families import Mark, families
from gre_bench.release.figures.pictures import INK, as_png, as_svg, lacking
from gre_bench.release.figures.ranks import ranks
from gre_bench.release.figures.scores import scores
from gre_bench.release.pages.board import Board

_WHAT = {
    "size": ("against the size of the models", "Sizes of closed models are estimates. "),
    "date": ("against the day the models came out", ""),
}


@dataclass(frozen=True, slots=True)
class Drawings:
    """*pictures*: (metric, what) to SVG, what being size or date; *ranks*: SVG, if there is something to compare.
    *scores*: metric to SVG, the board itself.

    *problem*: why nothing is drawn, and what to do about it.
    """

    pictures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    ranks: str | None = None
    scores: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Mark] = field(default_factory=dict)
    captions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    problem: str = ""

    def of(self, board: Board) -> list[tuple[str, str, str]]:
        """Caption, label and SVG of the figures of *board*."""
        found = [key for key in self.pictures if key[0] == board.metric]
        return [
            (self.captions[key], f"{board.title} {_WHAT[key[1]][0]}; the board above holds the same numbers",
             self.pictures[key]) for key in found
        ]  # fmt: skip

    def files(self) -> dict[str, str]:
        """File name without ending to SVG, of every figure."""
        named = {f"{_plain(metric)}_by_{what}": svg for (metric, what), svg in self.pictures.items()}
        named |= {f"{_plain(metric)}_scores": svg for metric, svg in self.scores.items()}
        return named | ({"ranks": self.ranks} if self.ranks else {})


def drawn(boards: Sequence[Board]) -> Drawings:
    """The figures of *boards*, those that there is something to draw of; none, and why, where nothing can draw."""
    marks = families(boards)
    if problem := lacking():
        return Drawings(problem=problem)
    pictures, captions = {}, {}
    for board in boards:
        for what, draw in (("size", scatter.by_size), ("date", scatter.by_date)):
            chart = draw(board, marks)
            if chart is not None:
                pictures[board.metric, what] = as_svg(chart)
                captions[board.metric, what] = _caption(board, what)
    gems = sorted((board for board in boards if board.metric.startswith("gem")), key=lambda board: board.place)
    chart = ranks(gems, marks)
    own = {board.metric: as_svg(drawing) for board in boards if (drawing := scores(board)) is not None}
    return Drawings(pictures, as_svg(chart) if chart is not None else None, own, marks, captions)


def write_figures(drawings: Drawings, folder: Path, png: bool = False) -> list[Path]:
    """Writes every figure as SVG, and as PNG where *png*; the files. Where there is none, there is no folder."""
    written = []
    for name, picture in drawings.files().items():
        folder.mkdir(parents=True, exist_ok=True)
        standing = picture.replace("currentColor", INK)
        (folder / f"{name}.svg").write_text(standing, encoding="utf-8")
        written.append(folder / f"{name}.svg")
        if png:
            (folder / f"{name}.png").write_bytes(as_png(picture))
            written.append(folder / f"{name}.png")
    return written


def _caption(board: Board, what: str) -> str:
    """What a figure shows, and what it lacks."""
    shown = [entry for entry in board.ranked if entry.kind == "model"]
    there = "Lines: 90% intervals by paper. " if any(entry.low is not None for entry in shown) else ""
    there += "Grey: the human baseline with its interval. " if board.human and board.human.low is not None else ""
    lacks = [name for name, lacking in (("intervals", not any(entry.low is not None for entry in shown)),
                                        ("a human baseline", board.human is None)) if lacking]  # fmt: skip
    missing = f"The source gives no {' and no '.join(name.removeprefix('a ') for name in lacks)}. " if lacks else ""
    left_out = [entry for entry in shown if not (entry.parameters if what == "size" else entry.released)]
    many = "1 model" if len(left_out) == 1 else f"{len(left_out)} models"
    counted = f"Not drawn: {many} without that figure. " if left_out else ""
    return (
        f"{board.title} {_WHAT[what][0]}, colour and shape by family. {there}{_WHAT[what][1]}{counted}{missing}".strip()
    )


def _plain(metric: str) -> str:
    """The name of a metric in the name of a file; an examiner may be called anything."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", metric)
    return plain if plain == metric else f"{plain}-{hashlib.sha256(metric.encode()).hexdigest()[:8]}"

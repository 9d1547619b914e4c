"""Draws the figures of a release's boards, for its page and for the files of the figures."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.release.figures import scatter
from gre_bench.release.figures.families import Mark, families
from gre_bench.release.figures.pictures import INK, as_png, as_svg, lacking
from gre_bench.release.figures.ranks import ranks
from gre_bench.release.figures.scores import scores
from gre_bench.release.pages.board import Board

_AXES = {
    "size": ("against the size of the models", "Sizes of closed models are estimates. "),
    "date": ("against the day the models came out", ""),
}


@dataclass(frozen=True, slots=True)
class Drawings:
    """The figures of boards, each as SVG text.

    - *pictures*: each scatter plot, by (metric, kind); the kind is ``size`` or ``date``.
    - *ranks*: the plot of candidates' ranks under several metrics; None if fewer than two metrics can be compared.
    - *scores*: the plot of candidates' scores, by metric.
    - *marks*: the colour and shape of each model family.
    - *problem*: why nothing could be drawn, and what to do; empty if figures were drawn.
    """

    pictures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    ranks: str | None = None
    scores: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Mark] = field(default_factory=dict)
    problem: str = ""

    def files(self) -> dict[str, str]:
        """Returns the SVG of every figure, by file name without extension."""
        named = {f"{_plain(metric)}_by_{kind}": svg for (metric, kind), svg in self.pictures.items()}
        named |= {f"{_plain(metric)}_scores": svg for metric, svg in self.scores.items()}
        return named | ({"ranks": self.ranks} if self.ranks else {})


def drawn(boards: Sequence[Board]) -> Drawings:
    """Draws every figure of *boards* for which there is enough data.

    If the drawing library is not installed or fails, draws nothing; the field *problem* of the result then says so.
    """
    marks = families(boards)
    if problem := lacking():
        return Drawings(problem=problem)
    gems = sorted((board for board in boards if board.metric.startswith("gem")), key=lambda board: board.place)
    charts: dict[tuple[str, str], Any] = {
        (board.metric, kind): draw(board, marks, _caption(board, kind))
        for board in boards for kind, draw in (("size", scatter.by_size), ("date", scatter.by_date))
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
    """Writes every figure to *folder* as SVG and returns the paths of the files.

    *png*: also write each figure as PNG. The folder is made if there is a figure to write.
    """
    written, files = [], drawings.files()
    pngs = as_png(list(files.values())) if png else []
    for index, (name, picture) in enumerate(files.items()):
        folder.mkdir(parents=True, exist_ok=True)
        on_white = picture.replace("currentColor", INK)
        (folder / f"{name}.svg").write_text(on_white, encoding="utf-8")
        written.append(folder / f"{name}.svg")
        if png:
            (folder / f"{name}.png").write_bytes(pngs[index])
            written.append(folder / f"{name}.png")
    return written


def _caption(board: Board, kind: str) -> str:
    """Returns the caption of a scatter plot of *board*: what the plot shows, and which models or intervals are missing.

    *kind*: ``size`` or ``date``, the horizontal axis of the plot.
    """
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
    """Returns *metric* with only characters that are safe in a file name; an examiner's name may hold any character."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", metric)
    return plain if plain == metric else f"{plain}-{hashlib.sha256(metric.encode()).hexdigest()[:8]}"

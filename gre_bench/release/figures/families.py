"""Chooses a colour and a shape for each model family in figures; the shape helps readers who are colour-blind.

The colours follow Okabe and Ito. Each has a contrast of at least 3:1 on the light and on the dark page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gre_bench.release.pages.board import Board

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


@dataclass(frozen=True, slots=True)
class Mark:
    """The look of a model family's points in figures: their colour, and their shape as an SVG path."""

    colour: str
    shape: str


def families(boards: Iterable[Board]) -> dict[str, Mark]:
    """Returns the mark of each model family on *boards*; models of no family share the mark of ``other``."""
    names = sorted({entry.family or "other" for board in boards for entry in board.entries if entry.kind == "model"})
    return {name: Mark(COLOURS[index % len(COLOURS)], SHAPES[index % len(SHAPES)]) for index, name in enumerate(names)}

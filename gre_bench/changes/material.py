"""The input of a change: the text, the title and abstract of its paper, and how the text is split."""

from __future__ import annotations

import random
from dataclasses import dataclass

from gre_bench.changes.pieces import ICLR_2023, Splitter


@dataclass(frozen=True, slots=True)
class ChangeInput:
    """A text to change, and everything else that some changes need.

    - *key*: a name for the text. Random choices depend on *seed* and *key* alone, not on other papers.
    - *text*: a review, or the judgments of one.
    - *title*, *abstract*: those of the paper.
    - *others*: texts of the same kind about other papers; a change that needs n of them takes the first n.
    - *splitter*, *headings*: how a review is split into sections and sentences (`gre_bench.changes.pieces`).
    """

    key: str
    text: str
    title: str = ""
    abstract: str | None = None
    others: tuple[str, ...] = ()
    seed: int = 0
    splitter: Splitter = "authors"
    headings: tuple[str, ...] = ICLR_2023

    def chance(self, name: str) -> random.Random:
        """Returns the random generator for the change *name* of this text; each change has its own."""
        return random.Random(f"{self.seed} {self.key} {name}")

"""What a change is made from: the text itself, what is known of its paper, and how texts are cut."""

from __future__ import annotations

import random
from dataclasses import dataclass

from gre_bench.changes.pieces import ICLR_2023, Splitter


@dataclass(frozen=True, slots=True)
class ChangeInput:
    """A review or its judgments (*text*), and the rest that some changes need.

    *key* names the text: what is random follows from (*seed*, *key*) alone, so that one paper's change never depends on
    which others there are. *others*: texts of the same level on other papers, the nearest choice first. *splitter* and
    *headings* say how a review falls into pieces (`gre_bench.changes.pieces`).
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
        """A generator of its own for the change *name* of this text."""
        return random.Random(f"{self.seed} {self.key} {name}")

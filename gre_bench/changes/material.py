"""The input of a change: the text, what is known about its paper, and how texts are split."""

from __future__ import annotations

import random
from dataclasses import dataclass

from gre_bench.changes.pieces import ICLR_2023, Splitter


@dataclass(frozen=True, slots=True)
class ChangeInput:
    """A review or its judgments (*text*), and everything else that some changes need.

    *key* names the text. Random choices depend on (*seed*, *key*) alone, so one paper's change never depends on which
    other papers there are. *others*: reviews or judgments, as *text* is, of other papers; a change that needs n of them
    takes the first n. *splitter* and *headings* decide how a review is split (`gre_bench.changes.pieces`).
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
        """Returns a random generator of its own for the change *name* of this text."""
        return random.Random(f"{self.seed} {self.key} {name}")

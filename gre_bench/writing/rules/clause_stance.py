"""What a reviewer does in a clause, by a log-linear model of its words: weights learned once.

The features are words, their first letters, pairs of neighbours, the length, "?", contrast, how much the review says,
and the kind of section: one feature of many, so that a clause is judged nearly alike wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from gre_bench.core.errors import SourceError
from gre_bench.core.resources import resource
from gre_bench.writing.rules.review_clauses import Clause

Stance = Literal["appreciates", "criticizes", "questions", "suggests"]
STANCES: tuple[Stance, ...] = ("appreciates", "criticizes", "questions", "suggests")
APPRECIATES, CRITICIZES, QUESTIONS, SUGGESTS = range(4)
NONE = len(STANCES)
"""The place of "no judgment" among the classes, after the stances."""

SCALE = 100
"""Weights stand in the file as whole numbers, this many to one."""

_WORD = re.compile(r"[a-z0-9]+(?:[-'’][a-z0-9]+)*|\?")
_WORDS_READ = 60
_STEM = 5
_LENGTHS = (8, 16, 24, 32, 40, 48, 56)


@dataclass(frozen=True, slots=True)
class StanceModel:
    """Places of the features, and their weights of shape (features, 5): the four stances and none.

    Weights are whole numbers, `SCALE` to one: their sums are exact, hence the same in whatever order a set gives them.
    """

    places: dict[str, int]
    weights: np.ndarray

    def probabilities(self, clauses: Sequence[Clause]) -> np.ndarray:
        """Of shape (clauses, 5), each row summing to one; *clauses* are all of a review."""
        scores = np.zeros((len(clauses), NONE + 1))
        for row, clause in enumerate(clauses):
            known = [self.places[name] for name in features(clause, len(clauses)) if name in self.places]
            scores[row] = self.weights[known].sum(axis=0) / SCALE
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)


def features(clause: Clause, among: int) -> set[str]:
    """The names of what *clause* has, one of *among* clauses of a review."""
    words = [re.sub(r"\d+", "0", word).replace("’", "'") for word in _WORD.findall(clause.text.lower())[:_WORDS_READ]]
    found = {"(any)", f"(section {clause.kind})", f"(length {min(len(words) // 4, 7)})", *words}
    found |= {f"{word[:_STEM]}*" for word in words if len(word) > _STEM + 1}
    found |= {f"{one} {two}" for one, two in pairwise(["^", *words, "$"])}
    found |= {f"(of more than {number})" for number in _LENGTHS if among > number}
    return found | {name for name, has in (("(asks)", clause.asks), ("(contrast)", clause.contrast)) if has}


@cache
def shipped() -> StanceModel:
    """The model of ``data/judgments``, or `SourceError`."""
    return load(resource("data", "judgments", "weights.tsv"))


def load(path: Path) -> StanceModel:
    """The model in *path*: a line a feature, its name and five whole numbers, by tabs; `SourceError` if it is none."""
    try:
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]]
        weights = np.array([[int(number) for number in row[1:]] for row in rows], float).reshape(-1, NONE + 1)
    except (OSError, ValueError) as error:
        raise SourceError(f"the weights of judgments by rule cannot be read from {path}: {error}") from error
    return StanceModel({row[0]: place for place, row in enumerate(rows)}, weights)

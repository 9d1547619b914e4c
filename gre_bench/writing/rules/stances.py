"""Classifies the sentences of a review by stance: appreciates, criticizes, questions, suggests, or none of these.

The classifier is a log-linear model whose shipped weights never change. Its features are:

- the words of the sentence, the beginnings of these words, and pairs of neighbouring words;
- the length of the sentence, and whether it is a question;
- the number of sentences in the review, and the kind of section.

The section is only one feature of many, so the same sentence gets nearly the same stance in any section. The model was
trained with sentences of papers as examples of the class "none", so a passage copied from a paper has few judgments.
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
from gre_bench.core.resources import locate_resource
from gre_bench.core.review_text import Kind

Stance = Literal["appreciates", "criticizes", "questions", "suggests"]
STANCES: tuple[Stance, ...] = ("appreciates", "criticizes", "questions", "suggests")
NONE = len(STANCES)
"""Index of the class "no judgment", which comes after the stances."""

SCALE = 100
"""The file holds each weight multiplied by this number and rounded to a whole number."""

_NUMBER = re.compile(r"[0-9]+")
_WORD = re.compile(r"[a-z0-9]+(?:[-'][a-z0-9]+)*|\?")
_WORDS_READ = 60
_STEM = 5
_LENGTHS = (8, 16, 24, 32, 40, 48, 56)


@dataclass(frozen=True, slots=True)
class ReviewSentence:
    """A sentence of a review on one line, and the *kind* of section in which it stands, such as ``strengths``."""

    text: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class StanceModel:
    """The weights of a log-linear model with five classes: the four stances, and no stance.

    *rows*: the name of a feature → its row in *weights*, shape (features, 5). *weights* holds whole numbers, `SCALE`
    times the true weights, so their sums are exact in any order of the features.
    """

    rows: dict[str, int]
    weights: np.ndarray

    def probabilities(self, claims: Sequence[ReviewSentence], count: int) -> np.ndarray:
        """Returns the probability of each class for each of *claims*, shape (claims, 5).

        *count*: the number of claims in their review.
        """
        if not claims:
            return np.zeros((0, NONE + 1))
        rows = [[self.rows[name] for name in extract_features(claim, count) if name in self.rows] for claim in claims]
        starts = np.cumsum([0, *map(len, rows[:-1])])
        scores = np.add.reduceat(self.weights[np.concatenate(rows)], starts) / SCALE
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)


def extract_features(claim: ReviewSentence, count: int) -> set[str]:
    """Returns the names of the features of *claim*. *count*: the number of claims in its review."""
    words = _WORD.findall(_NUMBER.sub("0", claim.text.lower()).replace("’", "'"))[:_WORDS_READ]
    present = {"(any)", f"(section {claim.kind})", f"(length {min(len(words) // 4, 7)})", *words}
    present |= {f"{word[:_STEM]}*" for word in words if len(word) > _STEM + 1}
    present |= {f"{first} {second}" for first, second in pairwise(["^", *words, "$"])}
    present |= {f"(of more than {number})" for number in _LENGTHS if count > number}
    return present | ({"(asks)"} if claim.text.rstrip(" \"')").endswith("?") else set())


@cache
def load_shipped_model() -> StanceModel:
    """Returns the shipped model, from ``data/judgments``; raises `SourceError` if it cannot be read."""
    return load(locate_resource("data", "judgments", "weights.tsv"))


def load(path: Path) -> StanceModel:
    """Reads a model from *path*, a text file with columns separated by tabs.

    After a header line, each line holds the name of a feature and five whole numbers, its weights. Raises `SourceError`
    if the file cannot be read.
    """
    try:
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]]
        weights = np.array([[int(number) for number in row[1:]] for row in rows], float).reshape(-1, NONE + 1)
    except (OSError, ValueError) as error:
        raise SourceError(f"the weights of judgments by rule cannot be read from {path}: {error}") from error
    return StanceModel({row[0]: index for index, row in enumerate(rows)}, weights)

"""The qualification exam, after PRE: an examiner must agree with gold labels, or at least with itself.

    reference    agreement of the examiner's answers with gold labels
    consistency  agreement of the examiner with itself, after the prompt is replaced or the texts of a pair are swapped

With the measure ``exact``, agreement is the share of equal answers; for pairs, this is the accuracy. With
``squared_error``, it is one minus the mean squared difference on scales stretched to 0 … 1. An unanswered question
counts as disagreement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gre_bench.examiners.scales import Scale

Measure = Literal["exact", "squared_error"]
THRESHOLD = 0.6


@dataclass(frozen=True, slots=True)
class Exam:
    """The result of an examiner's exam.

    - *reference*: the agreement with gold labels, from 0 to 1; None if not measured.
    - *consistency*: the examiner's agreement with itself, from 0 to 1; None if not measured.
    - *questions*: the number of questions.
    - *unanswered*: the number of questions without an answer.
    - *passed*: whether every measured agreement reached the threshold.
    """

    examiner: str
    reference: float | None
    consistency: float | None
    questions: int
    unanswered: int
    passed: bool

    @property
    def score(self) -> float:
        """The exam score, from which the chair computes a weight: *reference* if measured, else *consistency*."""
        return self.reference if self.reference is not None else self.consistency or 0.0


def agreement(given: Sequence[float | None], wanted: Sequence[float | None], measure: Measure) -> float:
    """Returns the agreement, from 0 to 1, of the answers *given* with the answers *wanted*; None means no answer.

    *measure* is ``exact`` or ``squared_error``. For ``squared_error``, both lists must be stretched to 0 … 1. Raises
    `ValueError` if the lists are empty or differ in length.
    """
    if len(given) != len(wanted) or not wanted:
        raise ValueError(f"{len(given)} answers to {len(wanted)} questions")
    return math.fsum(_alike(answer, right, measure) for answer, right in zip(given, wanted, strict=True)) / len(wanted)


def stretched(values: Sequence[float | None], scale: Scale) -> list[float | None]:
    """Returns *values* rescaled linearly from *scale* to 0 … 1; None stays None."""
    return [None if value is None else (value - scale.low) / (scale.high - scale.low) for value in values]


def exam(
    examiner: str,
    given: Sequence[float | None],
    *,
    gold: Sequence[float] | None = None,
    again: Sequence[float | None] | None = None,
    measure: Measure = "exact",
    threshold: float = THRESHOLD,
) -> Exam:
    """Returns the result of the exam of *examiner* (a name) from its answers *given*.

    - *gold*: the gold labels of the questions, if there are any.
    - *again*: the examiner's answers to the same questions under a second prompt, if there is one.
    - *threshold*: the agreement that passes the exam; each comparison must reach it.

    Raises `ValueError` if both *gold* and *again* are None.
    """
    if gold is None and again is None:
        raise ValueError("an exam needs gold labels, or answers to a second prompt")
    reference = None if gold is None else agreement(given, gold, measure)
    consistency = None if again is None else agreement(given, again, measure)
    parts = [part for part in (reference, consistency) if part is not None]
    unanswered = sum(answer is None for answer in given)
    return Exam(examiner, reference, consistency, len(given), unanswered, all(part >= threshold for part in parts))


def _alike(answer: float | None, right: float | None, measure: Measure) -> float:
    if answer is None or right is None:
        return 0.0
    return float(answer == right) if measure == "exact" else 1.0 - (answer - right) ** 2

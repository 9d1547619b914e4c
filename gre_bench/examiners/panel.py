"""Panels of several examiners, as in PRE (Chu et al. 2024): each examiner takes an exam, then the panel decides.

The panel's decision on a text combines its examiners' answers by a rule; PRE calls this rule the chair. The panel
decides only on texts outside the exam. The weight of an examiner thus never depends on the texts that the panel decides
on.

An exam measures how well an examiner's answers agree with up to two other lists of answers:

    reference    gold labels
    consistency  the same examiner's answers under another prompt, or after two compared texts are swapped

With the measure ``exact``, agreement is the share of equal answers. With ``squared_error``, agreement is one minus the
mean squared difference on scales stretched to 0 … 1. An unanswered question counts as disagreement.

The decision is a weighted mean of the grades or preferences. The weight depends on the exam score p, by one of four
rules:

    uniform  1
    log      log(p / (1 − p))
    exp      exp(α p)
    poly     p^α

p is clamped to [0.01, 0.99], so that an examiner with a perfect exam does not get all the weight. The weights are
scaled to add up to 1.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Problem
from gre_bench.examiners.templates import Scale

Measure = Literal["exact", "squared_error"]
Rule = Literal["uniform", "log", "exp", "poly"]
CLAMP = 0.01


@dataclass(frozen=True, slots=True)
class ExaminerExamResult:
    """The result of an examiner's exam.

    *reference*, *consistency*: the two agreements, from 0 to 1; None if there are no gold labels or no second answers.
    *passed*: whether there are gold labels, and every measured agreement reached the threshold.
    """

    examiner: str
    reference: float | None
    consistency: float | None
    questions: int
    unanswered: int
    passed: bool

    @property
    def score(self) -> float:
        """The exam score, which decides the examiner's weight in the panel: *reference*, or 0 without gold labels."""
        return self.reference or 0.0


def measure_answer_agreement(given: Sequence[float | None], wanted: Sequence[float | None], measure: Measure) -> float:
    """Returns the agreement, from 0 to 1, of the answers *given* with the answers *wanted*.

    A None in either list means that there is no answer. For ``squared_error``, both lists must be stretched to 0 … 1.
    Raises `ValueError` if the lists are empty or differ in length.
    """
    if len(given) != len(wanted) or not wanted:
        raise ValueError(f"{len(given)} answers to {len(wanted)} questions")
    alike = []
    for answer, right in zip(given, wanted, strict=True):
        if answer is None or right is None:
            alike.append(0.0)
        else:
            alike.append(float(answer == right) if measure == "exact" else 1.0 - (answer - right) ** 2)
    return math.fsum(alike) / len(wanted)


def stretch_to_unit_scale(values: Sequence[float | None], scale: Scale) -> list[float | None]:
    return [None if value is None else (value - scale.low) / (scale.high - scale.low) for value in values]


def compute_exam_result(
    examiner: str, given: Sequence[float | None], gold: Sequence[float | None],
    again: Sequence[float | None] | None = None, measure: Measure = "exact", threshold: float = 0.6,
) -> ExaminerExamResult:  # fmt: skip
    """Returns the result of the exam of *examiner* (a name) from its answers *given*.

    *gold*: the gold labels of the questions; empty: there are none. *again*: the examiner's second answers, under
    another prompt or with swapped texts; None: there are none.
    """
    reference = measure_answer_agreement(given, gold, measure) if gold else None
    consistency = None if again is None else measure_answer_agreement(given, again, measure)
    passed = all(part is None or part >= threshold for part in (reference, consistency)) and reference is not None
    unanswered = sum(answer is None for answer in given)
    return ExaminerExamResult(examiner, reference, consistency, len(given), unanswered, passed)


def compute_exam_weight(p: float, rule: Rule, alpha: float = 1.0) -> float:
    """Returns the unscaled weight that *rule* gives an exam score *p*; raises `ValueError` if *p* is not 0 to 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"an exam score is between 0 and 1, not {p}")
    p = min(max(p, CLAMP), 1 - CLAMP)
    return {"uniform": 1.0, "log": math.log(p / (1 - p)), "exp": math.exp(alpha * p), "poly": p**alpha}[rule]


def compute_exam_weights(exams: Sequence[ExaminerExamResult], rule: Rule, alpha: float = 1.0) -> dict[str, float]:
    """Returns examiner → weight, for the examiners that passed the exam; the weights add up to 1.

    Raises `SettingsError` if none passed, or if a weight is not positive.
    """
    qualified = [exam for exam in exams if exam.passed]
    if not qualified:
        best = max(exams, key=lambda exam: exam.score, default=None)
        near = f"; the best, {best.examiner}, has {best.score:.2f}" if best else ""
        raise SettingsError(f"no examiner passed the qualification exam{near}: lower its threshold, or take others")
    results = {exam.examiner: compute_exam_weight(exam.score, rule, alpha) for exam in qualified}
    if low := [name for name, value in results.items() if value <= 0]:
        raise SettingsError(f"examiner {low[0]} has no positive weight by rule {rule}: raise the threshold above 0.5")
    total = math.fsum(results.values())
    return {name: value / total for name, value in results.items()}


def decide_by_weighted_mean(
    answers: Mapping[str, Sequence[float | None]], weight_of: Mapping[str, float]
) -> list[float | Problem]:
    """Returns the panel's decision on each item: the weighted mean, from 0 to 1, of the answers that are not None.

    *answers*: examiner → its answer to each item: a preference (1, 0.5 or 0), or a grade stretched to 0 … 1. An item
    that nobody answered gets a problem. Raises `ValueError` if the examiners have different numbers of answers.
    """
    decisions: list[float | Problem] = []
    for row in zip(*(answers[name] for name in weight_of), strict=True):
        known = [(share, answer) for share, answer in zip(weight_of.values(), row, strict=True) if answer is not None]
        if known:
            value = math.fsum(share * answer for share, answer in known) / math.fsum(share for share, _ in known)
            decisions.append(value)
        else:
            decisions.append(Problem("no_voice", "no qualified examiner has an answer"))
    return decisions


def convert_decision_to_game_score(decision: float | Problem) -> float | None:
    """Returns 1 if the panel's *decision* on two texts prefers the first, 0 if the second, 0.5 for a tie.

    Returns None if *decision* is a problem.
    """
    if isinstance(decision, Problem):
        return None
    return 0.5 if math.isclose(decision, 0.5) else float(decision > 0.5)


def sample_exam_texts(groups: Mapping[str, str], count: int, seed: int = 0) -> set[str]:
    """Returns the ids of at least *count* texts for the exam, sampled group by group. *groups*: text → its group.

    Raises `SettingsError` if no text is left for the panel to decide on.
    """
    order = list(dict.fromkeys(groups.values()))
    random.Random(seed).shuffle(order)
    sampled: set[str] = set()
    for group in order:
        if len(sampled) >= count:
            break
        sampled |= {name for name, owner in groups.items() if owner == group}
    if len(sampled) == len(groups):
        raise SettingsError(f"panel.questions: {count} questions leave none of {len(groups)} texts to decide on")
    return sampled

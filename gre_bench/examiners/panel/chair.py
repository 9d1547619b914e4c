"""The chair's decisions: weighted means of several examiners' grades or preferences, after PRE.

An examiner with exam score p has this weight, before the weights are scaled to sum to 1:

    uniform  1        log  log(p / (1 − p))        exp  exp(α p)        poly  p^α

p is clamped to [0.01, 0.99], so that a perfect exam does not get all the weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Problem
from gre_bench.examiners.panel.qualification import Exam

Rule = Literal["uniform", "log", "exp", "poly"]
CLAMP = 0.01


@dataclass(frozen=True, slots=True)
class Decision:
    """The chair's decision on one item: a *value* from 0 to 1, or the *problem* that replaces it.

    *voices* names the examiners whose answers were averaged.
    """

    value: float | None
    voices: tuple[str, ...]
    problem: Problem | None = None


def weight(p: float, rule: Rule, alpha: float = 1.0) -> float:
    """Returns the weight by *rule* of an examiner with exam score *p*, before scaling; *alpha* is α of the rule."""
    if not 0 <= p <= 1:
        raise ValueError(f"an exam score is between 0 and 1, not {p}")
    p = min(max(p, CLAMP), 1 - CLAMP)
    return {"uniform": 1.0, "log": math.log(p / (1 - p)), "exp": math.exp(alpha * p), "poly": p**alpha}[rule]


def weights(exams: Sequence[Exam], rule: Rule, alpha: float = 1.0) -> dict[str, float]:
    """Returns the weight by *rule* of each examiner that passed its exam; the weights sum to 1.

    Raises `SettingsError` if none passed, or if one would get no positive weight.
    """
    qualified = [exam for exam in exams if exam.passed]
    if not qualified:
        best = max(exams, key=lambda exam: exam.score, default=None)
        near = f"; the best, {best.examiner}, has {best.score:.2f}" if best else ""
        raise SettingsError(f"no examiner passed the qualification exam{near}: lower its threshold, or take others")
    results = {exam.examiner: weight(exam.score, rule, alpha) for exam in qualified}
    if low := [name for name, value in results.items() if value <= 0]:
        raise SettingsError(f"examiner {low[0]} has no positive weight by rule {rule}: raise the threshold above 0.5")
    total = math.fsum(results.values())
    return {name: value / total for name, value in results.items()}


def decide(answers: Mapping[str, Sequence[float | None]], weight_of: Mapping[str, float]) -> list[Decision]:
    """Returns the chair's decision on each item: the mean of the examiners' answers, weighted by *weight_of*.

    *answers* holds each examiner's answers to all items, in the same order; missing ones (None) are left out. Grades
    must be stretched to 0 … 1 (`gre_bench.examiners.panel.qualification.stretched`); preferences are 1, 0.5 and 0.
    """
    columns = {name: answers[name] for name in weight_of}
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("the examiners did not answer about the same items")
    return [
        _decision({name: column[index] for name, column in columns.items()}, weight_of)
        for index in range(len(next(iter(columns.values()), ())))
    ]


def verdict(decision: Decision) -> float | None:
    """Returns the score of a game from the *decision* on a pair: 1 for the first, 0 for the second, 0.5 for a tie.

    None if there is no decision.
    """
    if decision.value is None:
        return None
    return 0.5 if math.isclose(decision.value, 0.5) else float(decision.value > 0.5)


def _decision(answers: Mapping[str, float | None], weight_of: Mapping[str, float]) -> Decision:
    known = {name: answer for name, answer in answers.items() if answer is not None}
    if not known:
        return Decision(None, (), Problem("no_voice", "no qualified examiner has an answer"))
    total = math.fsum(weight_of[name] for name in known)
    return Decision(math.fsum(weight_of[name] * answer for name, answer in known.items()) / total, tuple(known))

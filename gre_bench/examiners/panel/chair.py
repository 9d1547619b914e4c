"""The chair's decisions, after PRE: weighted means of several examiners' grades or preferences.

The weight of an examiner depends on its exam score p, by one of four rules:

    uniform  1
    log      log(p / (1 − p))
    exp      exp(α p)
    poly     p^α

p is clamped to [0.01, 0.99], so that an examiner with a perfect exam does not get all the weight. The weights are
scaled to sum to 1.
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

    *voices* names the examiners whose answers went into the mean.
    """

    value: float | None
    voices: tuple[str, ...]
    problem: Problem | None = None


def weight(p: float, rule: Rule, alpha: float = 1.0) -> float:
    """Returns the unscaled weight that *rule* gives an examiner with exam score *p* (0 to 1).

    *alpha* is α in the rules ``exp`` and ``poly``. Raises `ValueError` if *p* is not from 0 to 1.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"an exam score is between 0 and 1, not {p}")
    p = min(max(p, CLAMP), 1 - CLAMP)
    return {"uniform": 1.0, "log": math.log(p / (1 - p)), "exp": math.exp(alpha * p), "poly": p**alpha}[rule]


def weights(exams: Sequence[Exam], rule: Rule, alpha: float = 1.0) -> dict[str, float]:
    """Returns the weight of each examiner that passed its exam, by the examiner's name; the weights sum to 1.

    `weight` explains *rule* and *alpha*. Raises `SettingsError` if no examiner passed, or if the weight of an examiner
    is not positive.
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
    """Returns the chair's decision on each item: the weighted mean of the examiners' answers.

    - *answers*: the answers of each examiner, by its name; all examiners have the same items in the same order.
    - *weight_of*: the weight of each examiner, by its name.

    An answer is a preference (1, 0.5 or 0), or a grade stretched to 0 … 1 by `qualification.stretched`. A missing
    answer (None) is left out of the mean.
    """
    columns = {name: answers[name] for name in weight_of}
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("the examiners did not answer about the same items")
    return [
        _decision({name: column[index] for name, column in columns.items()}, weight_of)
        for index in range(len(next(iter(columns.values()), ())))
    ]


def verdict(decision: Decision) -> float | None:
    """Returns the score of a game that follows from the chair's *decision* on a pair of texts.

    The score is 1 if the first text wins, 0 if the second wins, and 0.5 for a tie. It is None if there is no decision.
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

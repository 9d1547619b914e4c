"""Panels of several examiners, after PRE (Chu et al. 2024): an exam for each examiner, then decisions by a chair.

No LM is asked, because a study has all grades already. The chair decides only on texts outside the exam. The weight of
an examiner thus never depends on the texts that the chair decides on.

An exam measures up to two agreements of an examiner's answers:

    reference    with gold labels
    consistency  with itself, after the prompt is replaced or the texts of a pair are swapped

With the measure ``exact``, agreement is the share of equal answers; for pairs, this is the accuracy. With
``squared_error``, it is one minus the mean squared difference on scales stretched to 0 … 1. An unanswered question
counts as disagreement.

The chair takes weighted means of the grades or preferences. The weight depends on the exam score p, by one of four
rules:

    uniform  1
    log      log(p / (1 − p))
    exp      exp(α p)
    poly     p^α

p is clamped to [0.01, 0.99], so that an examiner with a perfect exam does not get all the weight. The weights are
scaled to sum to 1.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Problem
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.results import Column
from gre_bench.examiners.templates import Scale

Measure = Literal["exact", "squared_error"]
Rule = Literal["uniform", "log", "exp", "poly"]
THRESHOLD = 0.6
CLAMP = 0.01
EXAM = "exam_question"
"""Why the chair does not decide on a text: it serves in the exam."""


@dataclass(frozen=True, slots=True)
class Exam:
    """The result of an examiner's exam.

    - *reference*, *consistency*: the agreements, from 0 to 1; None if not measured.
    - *questions*, *unanswered*: the numbers of questions, and of those without an answer.
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

    For ``squared_error``, both lists must be stretched to 0 … 1. Raises `ValueError` if the lists are empty or differ
    in length.
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


def stretched(values: Sequence[float | None], scale: Scale) -> list[float | None]:
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
    reference, consistency = (None if wanted is None else agreement(given, wanted, measure) for wanted in (gold, again))
    passed = all(part is None or part >= threshold for part in (reference, consistency))
    unanswered = sum(answer is None for answer in given)
    return Exam(examiner, reference, consistency, len(given), unanswered, passed)


@dataclass(frozen=True, slots=True)
class Decision:
    """The chair's decision on one item: a *value* from 0 to 1, or the *problem* that replaces it.

    *voices* names the examiners whose answers went into the mean.
    """

    value: float | None
    voices: tuple[str, ...]
    problem: Problem | None = None


def weight(p: float, rule: Rule, alpha: float = 1.0) -> float:
    """Returns the unscaled weight that *rule* gives an exam score *p*; raises `ValueError` if *p* is not 0 to 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"an exam score is between 0 and 1, not {p}")
    p = min(max(p, CLAMP), 1 - CLAMP)
    return {"uniform": 1.0, "log": math.log(p / (1 - p)), "exp": math.exp(alpha * p), "poly": p**alpha}[rule]


def weights(exams: Sequence[Exam], rule: Rule, alpha: float = 1.0) -> dict[str, float]:
    """Returns the weights, summing to 1, of those that passed; `SettingsError` if none did or one is not positive."""
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
    """Returns the chair's decision on each item: the weighted mean of the answers, without missing ones (None).

    All examiners have the same items in the same order. An answer is a preference (1, 0.5 or 0), or a grade stretched
    to 0 … 1.
    """
    columns = [answers[name] for name in weight_of]
    if len({len(column) for column in columns}) > 1:
        raise ValueError("the examiners did not answer about the same items")
    decisions = []
    for row in zip(*columns, strict=True):
        known = {name: answer for name, answer in zip(weight_of, row, strict=True) if answer is not None}
        if not known:
            decisions.append(Decision(None, (), Problem("no_voice", "no qualified examiner has an answer")))
            continue
        total = math.fsum(weight_of[name] for name in known)
        value = math.fsum(weight_of[name] * answer for name, answer in known.items()) / total
        decisions.append(Decision(value, tuple(known)))
    return decisions


def verdict(decision: Decision) -> float | None:
    """Returns the score of the game that *decision* gives: 1, 0, or 0.5 for a tie; None without a decision."""
    if decision.value is None:
        return None
    return 0.5 if math.isclose(decision.value, 0.5) else float(decision.value > 0.5)


@dataclass(frozen=True, slots=True)
class Panel:
    """The result of a panel.

    - *weights*: rule → name of an examiner → its weight.
    - *columns*: the chair's decisions, as one column of the study for each rule.
    """

    exams: list[Exam]
    weights: dict[str, dict[str, float]]
    columns: list[Column]


@dataclass(frozen=True, slots=True)
class ExaminerSlot:
    """An examiner of the panel, with the grades that it gave in the study (*column*).

    *second*: the grades and the settings of the same examiner under a second prompt; None if there is none.
    """

    column: Column
    examiner: Examiner
    second: tuple[Column, Examiner] | None = None


def questions(groups: Mapping[str, str], count: int, seed: int = 0) -> set[str]:
    """Returns the ids of at least *count* texts that serve as the exam.

    Whole groups of texts are sampled with *seed* until there are enough. *groups* gives the group of each text, such as
    its source. Raises `SettingsError` if no text is left for the chair to decide on.
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


def convene(
    examiner_slots: Sequence[ExaminerSlot],
    exam_texts: set[str],
    human: Mapping[str, float],
    ends: tuple[float, float],
    measure: Measure = "squared_error",
    threshold: float = THRESHOLD,
    rules: Iterable[Rule] = ("uniform",),
    alpha: float = 1.0,
) -> Panel:
    """Examines the examiners on *exam_texts* (ids), and lets the chair decide on all others, once by each rule.

    *human*: text id → its human score, within *ends*. If no examiner passes, the columns hold problems instead of
    grades.
    """

    def given(column: Column, examiner: Examiner, names: Sequence[str], measure: Measure) -> list[float | None]:
        values = [column.values.get(name) for name in names]
        return stretched(values, examiner.form.scale) if measure == "squared_error" else values

    names = [name for name in human if name in exam_texts]
    due = [name for name in human if name not in exam_texts]
    gold = [human[name] for name in names]
    if measure == "squared_error":
        gold = [value for value in stretched(gold, Scale(*ends)) if value is not None]
    out = Panel([], {}, [])
    for slot in examiner_slots:
        again = given(*slot.second, names, measure) if slot.second else None
        own = given(slot.column, slot.examiner, names, measure)
        out.exams.append(exam(slot.column.title, own, gold=gold, again=again, measure=measure, threshold=threshold))
    answers = {slot.column.title: given(slot.column, slot.examiner, due, "squared_error") for slot in examiner_slots}
    for rule in rules:
        try:
            out.weights[rule] = weights(out.exams, rule, alpha)
            decisions = decide(answers, out.weights[rule])
            grades = [Grade(name, each.value, each.problem) for name, each in zip(due, decisions, strict=True)]
        except SettingsError as error:
            out.weights[rule] = {}
            grades = [Grade(name, None, Problem("no_panel", str(error))) for name in due]
        different = len({grade.value for grade in grades if grade.value is not None})
        title = f"panel of {len(out.weights[rule])}, {rule} weights"
        excluded = dict.fromkeys(names, EXAM)
        out.columns.append(Column(title, "", "panel", tuple(grades), excluded, different, different))
    return out

"""Peer review by several examiners, after PRE: an exam, grades by those that pass, and decisions by a chair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Writer
from gre_bench.examiners.examiner import Examiner, ItemKind
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.metric import Grader
from gre_bench.examiners.panel.bradley_terry import Game
from gre_bench.examiners.panel.chair import Decision, Rule, decide, verdict, weights
from gre_bench.examiners.panel.pairwise import Pair, Preference, prefer
from gre_bench.examiners.panel.qualification import THRESHOLD, Exam, Measure, exam, stretched
from gre_bench.examiners.wordings import Item


@dataclass(frozen=True, slots=True)
class ExaminerSlot:
    """An examiner of the panel with its *grader*; *second* is the same with another prompt.

    The second prompt measures whether the examiner agrees with itself.
    """

    name: str
    examiner: Examiner
    grader: Grader
    second: tuple[Examiner, Grader] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """An item of the exam; *gold* is its label on the examiners' scale (for squared error, stretched to 0 … 1)."""

    item: Item
    gold: float | None = None


def examine(
    examiner_slot: ExaminerSlot, questions: Sequence[Question], measure: Measure = "exact", threshold: float = THRESHOLD
) -> Exam:
    """Examines *examiner_slot* on *questions* and returns the result.

    It is compared with the gold labels if every question has one, and with its own second prompt if there is one.
    Raises `SettingsError` if there is neither, or if both prompts have different scales and equality is the measure.
    """
    items = [question.item for question in questions]
    given = _answers(examiner_slot.grader(items), examiner_slot.examiner, measure)
    labels = [question.gold for question in questions if question.gold is not None]
    gold = labels if len(labels) == len(questions) and labels else None
    if (
        examiner_slot.second
        and measure == "exact"
        and examiner_slot.second[0].form.scale != examiner_slot.examiner.form.scale
    ):
        raise SettingsError(
            f"examiner {examiner_slot.name}: its two prompts have different scales, so their scores are never equal: "
            "measure by squared_error"
        )
    again = _answers(examiner_slot.second[1](items), examiner_slot.second[0], measure) if examiner_slot.second else None
    if gold is None and again is None:
        raise SettingsError(
            f"examiner {examiner_slot.name}: the exam needs a label for every question, or a second prompt"
        )
    return exam(examiner_slot.name, given, gold=gold, again=again, measure=measure, threshold=threshold)


def review(
    examiner_slots: Sequence[ExaminerSlot],
    exams: Sequence[Exam],
    items: Sequence[Item],
    rule: Rule = "uniform",
    alpha: float = 1.0,
) -> tuple[list[Decision], dict[str, list[Grade]]]:
    """Lets the examiners that passed grade *items*; returns the chair's decision on each, and the grades by examiner.

    Decisions are between 0 and 1. *rule* and *alpha* weight the examiners (`chair`). Raises `SettingsError` if no
    examiner passed.
    """
    by = weights(exams, rule, alpha)
    at_work = {examiner_slot.name: examiner_slot for examiner_slot in examiner_slots if examiner_slot.name in by}
    grades = {name: examiner_slot.grader(items) for name, examiner_slot in at_work.items()}
    given = {
        name: stretched([one.value for one in found], at_work[name].examiner.form.scale)
        for name, found in grades.items()
    }
    return decide(given, by), grades


def examine_pairs(
    name: str,
    asker: Writer,
    pairs: Sequence[Pair],
    gold: Sequence[float] | None = None,
    item: ItemKind = "review",
    threshold: float = THRESHOLD,
) -> Exam:
    """Examines the LM *asker* on *pairs* and returns the result under its *name*.

    *item* is the kind of the compared texts. With *gold* (1 for the first player, 0 for the second), the exam measures
    accuracy. Without, it measures the share of pairs in which the LM chooses the same text in both orders.
    """
    said = prefer(pairs, asker, item)
    given = [one.score for one in said]
    if gold is not None:
        return exam(name, given, gold=gold, threshold=threshold)
    again = [None if one.positions is None else float(one.positions[1]) for one in said]
    there = [None if one.positions is None else 1.0 - one.positions[0] for one in said]
    return exam(name, there, again=again, threshold=threshold)


def tournament(
    askers: Mapping[str, Writer],
    exams: Sequence[Exam],
    pairs: Sequence[Pair],
    item: ItemKind = "review",
    rule: Rule = "uniform",
    alpha: float = 1.0,
) -> tuple[list[Game], dict[str, list[Preference]]]:
    """Lets the LMs that passed compare *pairs*; returns the chair's verdicts as games, and the preferences by LM.

    *item* is the kind of the compared texts. *rule* and *alpha* weight the LMs (`chair`). Raises `SettingsError` if no
    LM passed.
    """
    by = weights(exams, rule, alpha)
    said = {name: prefer(pairs, askers[name], item) for name in by}
    decisions = decide({name: [one.score for one in found] for name, found in said.items()}, by)
    scores = [verdict(decision) for decision in decisions]
    settled = [(pair, score) for pair, score in zip(pairs, scores, strict=True) if score is not None]
    return [Game(pair.first, pair.second, score) for pair, score in settled], said


def _answers(grades: Sequence[Grade], examiner: Examiner, measure: Measure) -> list[float | None]:
    values = [grade.value for grade in grades]
    return stretched(values, examiner.form.scale) if measure == "squared_error" else values

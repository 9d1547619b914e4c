"""Peer review by several examiners, after PRE: an exam, grades by the examiners that pass, and a chair's decisions."""

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
    """An examiner of the panel, with the *grader* that asks its LM.

    *second* holds the settings and the grader of the same examiner under a second prompt; None if there is no second
    prompt. The second prompt shows whether the examiner agrees with itself.
    """

    name: str
    examiner: Examiner
    grader: Grader
    second: tuple[Examiner, Grader] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """An item of the exam.

    *gold* is the item's true label on the examiners' scale, None if it has none. For the measure ``squared_error``, the
    label must be stretched to 0 … 1.
    """

    item: Item
    gold: float | None = None


def examine(
    examiner_slot: ExaminerSlot, questions: Sequence[Question], measure: Measure = "exact", threshold: float = THRESHOLD
) -> Exam:
    """Lets the examiner of *examiner_slot* answer *questions*, and returns the result of the exam.

    If every question has a gold label, the answers are compared with the labels. If the examiner has a second prompt,
    they are also compared with the answers to that prompt. Raises `SettingsError` if neither comparison is possible.
    Raises it too if the measure is ``exact`` and the two prompts have different scales.
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
    """Lets the examiners that passed their exam grade *items*.

    Returns the chair's decision on each item, from 0 to 1, and the grades by the name of the examiner. *rule* and
    *alpha* say how the chair weights the examiners (`chair`). Raises `SettingsError` if no examiner passed.
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
    """Lets the LM *asker* compare *pairs* as an exam, and returns the result under its *name*.

    - *gold*: for each pair, 1 if the first player's text is better, 0 if the second player's is.
    - *item*: the kind of the compared texts.
    - *threshold*: the agreement that passes the exam.

    With *gold*, the exam measures accuracy. Without *gold*, it measures the share of pairs in which the LM chooses the
    same text in both orders.
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
    """Lets the LMs that passed their exam compare *pairs*.

    Returns the chair's verdicts as games, and the preferences by the name of the LM. *askers* holds the LMs by name.
    *item* is the kind of the compared texts. *rule* and *alpha* say how the chair weights the LMs (`chair`). Raises
    `SettingsError` if no LM passed.
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

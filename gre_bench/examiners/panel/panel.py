"""Forms a panel from the grades of a study, after PRE: an exam for each examiner, then decisions by a chair.

No LM is asked, because the study has all grades already. The chair decides only on texts outside the exam. The weight
of an examiner thus never depends on the texts that the chair decides on.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Problem
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.panel.chair import Rule, decide, weights
from gre_bench.examiners.panel.qualification import THRESHOLD, Exam, Measure, exam, stretched
from gre_bench.examiners.results.column import Column
from gre_bench.examiners.scales import Scale

EXAM = "exam_question"


@dataclass(frozen=True, slots=True)
class Panel:
    """The result of a panel.

    - *exams*: the exam of each examiner.
    - *weights*: rule → name of an examiner → its weight.
    - *columns*: the chair's decisions, as one column of the study for each rule.
    """

    exams: list[Exam]
    weights: dict[str, dict[str, float]]
    columns: list[Column]


@dataclass(frozen=True, slots=True)
class ExaminerSlot:
    """An examiner of the panel, with the grades that it gave in the study.

    - *column*: the examiner's grades.
    - *second*: the grades and the settings of the same examiner under a second prompt; None if there is no second
      prompt.
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
    """Examines the examiners on *exam_texts*, and lets the chair decide on all other texts.

    - *examiner_slots*: the examiners with their grades.
    - *exam_texts*: the ids of the texts that serve as the exam.
    - *human*: the human score of each text, by the text's id.
    - *ends*: the lowest and the highest value of the human scale.
    - *measure*: how agreement is measured (`qualification`); *threshold*: the agreement that passes the exam.
    - *rules*, *alpha*: the rules that weight the examiners (`chair`); each rule gives one column of decisions.

    If no examiner passes, the columns hold problems instead of grades.
    """
    names = [name for name in human if name in exam_texts]
    scale = Scale(*ends)
    gold = [human[name] for name in names]
    if measure == "squared_error":
        gold = [value for value in stretched(gold, scale) if value is not None]
    exams = [
        exam(
            slot.column.title, _given(slot.column, slot.examiner, names, measure), gold=gold,
            again=_given(*slot.second, names, measure) if slot.second else None,
            measure=measure, threshold=threshold,
        )
        for slot in examiner_slots
    ]  # fmt: skip
    due = [name for name in human if name not in exam_texts]
    given = {slot.column.title: _given(slot.column, slot.examiner, due, "squared_error") for slot in examiner_slots}
    out = Panel(exams, {}, [])
    for rule in rules:
        try:
            out.weights[rule] = weights(exams, rule, alpha)
            grades = [
                Grade(name, decision.value, decision.problem)
                for name, decision in zip(due, decide(given, out.weights[rule]), strict=True)
            ]
        except SettingsError as error:
            out.weights[rule] = {}
            grades = [Grade(name, None, Problem("no_panel", str(error))) for name in due]
        different = len({grade.value for grade in grades if grade.value is not None})
        excluded = dict.fromkeys(names, EXAM)
        title = f"panel of {len(out.weights[rule])}, {rule} weights"
        out.columns.append(Column(title, "", "panel", tuple(grades), excluded, different, different))
    return out


def _given(column: Column, examiner: Examiner, names: Sequence[str], measure: Measure) -> list[float | None]:
    values = column.values
    column_values = [values.get(name) for name in names]
    return stretched(column_values, examiner.form.scale) if measure == "squared_error" else column_values

"""Chooses the members of a study's panel and the texts of their exam (`gre_bench.examiners.panel.panel`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gre_bench.core.errors import SettingsError
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.panel.panel import ExaminerSlot, Panel, convene, questions
from gre_bench.examiners.results.column import Column
from gre_bench.studies.examiners.grid import Grid
from gre_bench.studies.examiners.inputs import GradedItems
from gre_bench.studies.examiners.settings import PanelSettings


def check_panel(settings: PanelSettings, chosen: Grid) -> None:
    """Checks the *settings* of a panel against the study's examiners, the grid *chosen*.

    Raises `SettingsError` if *settings* name an examiner that is not in the grid. If agreement is measured as equal
    scores, an examiner and its second prompt must also have the same scale. Raises `SettingsError` if they do not.
    """
    for name in (*(settings.examiners or ()), *settings.second, *settings.second.values()):
        if name not in chosen.examiners:
            raise SettingsError(f"panel: no examiner {name}; there are: {', '.join(chosen.examiners)}")
    for name, other in settings.second.items():
        scales = {chosen.examiners[member].form.scale for member in (name, other)}
        if settings.measure == "exact" and len(scales) > 1:
            raise SettingsError(
                f"panel.second: {name} and {other} have different scales, whose scores are never equal: measure = "
                '"squared_error"'
            )


def panel_of(
    settings: PanelSettings, material: GradedItems, chosen: Grid, columns: Sequence[Column]
) -> tuple[Panel, set[str]]:
    """Returns the panel of the examiners that graded *columns*, and the ids of the texts in its exam.

    *material*: the texts with human scores. *chosen*: the study's grid. Raises `SettingsError` if a human score lies
    outside the range in *settings*.
    """
    known = [text for text in material.texts if text.item_id not in material.lacks]
    human = {text.item_id: text.human for text in known if text.human is not None}
    low, high = settings.human
    if outside := [name for name, score in human.items() if not low <= score <= high]:
        raise SettingsError(
            f"panel.human = [{low:g}, {high:g}], and the human score of {outside[0]} is {human[outside[0]]:g}"
        )
    exam_texts = questions({text.item_id: text.group for text in known}, settings.questions, settings.seed)
    by_name = {(column.name, column.by): column for column in columns if column.kind == "examiner"}
    examiner_slots = [
        ExaminerSlot(column, chosen.examiners[name], _second(settings, chosen, by_name, name, by))
        for (name, by), column in by_name.items()
        if name in chosen.examiners and _sits(settings, name, chosen.examiners[name])
    ]
    panel = convene(
        examiner_slots,
        exam_texts,
        human,
        settings.human,
        settings.measure,
        settings.threshold,
        settings.rules,
        settings.alpha,
    )
    lacking = [replace(column, excluded={**column.excluded, **material.lacks}) for column in panel.columns]
    return replace(panel, columns=lacking), exam_texts


def _sits(settings: PanelSettings, name: str, examiner: Examiner) -> bool:
    return examiner.form.answer != "nothing" and (settings.examiners is None or name in settings.examiners)


def _second(
    settings: PanelSettings, chosen: Grid, by_name: Mapping[tuple[str, str], Column], name: str, by: str
) -> tuple[Column, Examiner] | None:
    other = settings.second.get(name)
    return None if other is None else (by_name[other, by], chosen.examiners[other])

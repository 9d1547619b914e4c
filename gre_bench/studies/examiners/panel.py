"""The panel of a study: which columns sit on it, on what they are examined (`gre_bench.examiners.panel.panel`)."""

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
    """`SettingsError` for a name that is no examiner, and for two prompts whose scores can never be equal."""
    for name in (*(settings.examiners or ()), *settings.second, *settings.second.values()):
        if name not in chosen.examiners:
            raise SettingsError(f"panel: no examiner {name}; there are: {', '.join(chosen.examiners)}")
    for name, other in settings.second.items():
        scales = {chosen.examiners[one].form.scale for one in (name, other)}
        if settings.measure == "exact" and len(scales) > 1:
            raise SettingsError(
                f"panel.second: {name} and {other} have different scales, whose scores are never equal: measure = "
                '"squared_error"'
            )


def panel_of(
    settings: PanelSettings, material: GradedItems, chosen: Grid, columns: Sequence[Column]
) -> tuple[Panel, set[str]]:
    """The panel that the examiners among *columns* make, and the texts of its exam."""
    known = [text for text in material.texts if text.item_id not in material.lacks]
    human = {text.item_id: text.human for text in known if text.human is not None}
    low, high = settings.human
    if outside := [name for name, score in human.items() if not low <= score <= high]:
        raise SettingsError(
            f"panel.human = [{low:g}, {high:g}], and the human score of {outside[0]} is {human[outside[0]]:g}"
        )
    asked = questions({text.item_id: text.group for text in known}, settings.questions, settings.seed)
    found = {(column.name, column.by): column for column in columns if column.kind == "examiner"}
    examiner_slots = [
        ExaminerSlot(column, chosen.examiners[name], _second(settings, chosen, found, name, by))
        for (name, by), column in found.items()
        if name in chosen.examiners and _sits(settings, name, chosen.examiners[name])
    ]
    panel = convene(
        examiner_slots,
        asked,
        human,
        settings.human,
        settings.measure,
        settings.threshold,
        settings.rules,
        settings.alpha,
    )
    lacking = [replace(one, excluded={**one.excluded, **material.lacks}) for one in panel.columns]
    return replace(panel, columns=lacking), asked


def _sits(settings: PanelSettings, name: str, examiner: Examiner) -> bool:
    return examiner.form.answer != "nothing" and (settings.examiners is None or name in settings.examiners)


def _second(
    settings: PanelSettings, chosen: Grid, found: Mapping[tuple[str, str], Column], name: str, by: str
) -> tuple[Column, Examiner] | None:
    other = settings.second.get(name)
    return None if other is None else (found[other, by], chosen.examiners[other])

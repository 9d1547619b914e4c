"""Writes the files of an examiner study to ``state/studies/examiners/NAME``.

grades.csv         one row per examiner, LM and text
outcomes.csv       one row per examiner and LM
differences.csv    one row per two examiners that are compared
tables.md          all tables, also in the papers' layouts
rationales-*.csv   sheets for a human to fill in
study.json         settings, sources and all numbers

Each file is replaced in one step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gre_bench.examiners.panel.panel import Panel
from gre_bench.examiners.results.column import Column
from gre_bench.examiners.results.differences import Difference, differences
from gre_bench.examiners.results.error_sheet import sheet as error_sheet
from gre_bench.examiners.results.outcomes import ExaminerResult, outcome
from gre_bench.examiners.results.tables import filled
from gre_bench.studies.examiners.grid import Grid
from gre_bench.studies.examiners.inputs import GradedItems
from gre_bench.studies.examiners.panel_tables import pairs_sheets, panel_sheet
from gre_bench.studies.examiners.settings import StudySettings
from gre_bench.studies.examiners.tables import (
    Sheet,
    agreement_sheet,
    cost_sheet,
    markdown,
    published_sheet,
    without_grade,
)
from gre_bench.studies.guidelines.results import RECORD, put, study_folder, table

KIND = "examiners"


@dataclass(frozen=True, slots=True)
class Study:
    """All results of a study.

    - *material*: the study's texts.
    - *columns*: the grades, one column per examiner and LM.
    - *played*: the reports of `pairs.reports`.
    - *signatures*: column → how the column was graded.
    - *written*: examiner → the instructions that an LM wrote for it.
    """

    name: str
    settings: StudySettings
    material: GradedItems
    grid: Grid
    columns: Sequence[Column]
    panel: Panel | None
    played: Sequence[Mapping[str, Any]]
    signatures: Mapping[str, Mapping[str, Any]]
    written: Mapping[str, str]


def keep(study: Study, state: Path) -> dict[str, Any]:
    """Computes the outcomes of *study*, writes its files under the folder *state*, and returns the summary.

    The summary is also the contents of ``study.json``. Raises `SettingsError` if the folder holds another study.
    """
    folder = study_folder(state, study.name, study.material.source, KIND)
    texts, settings = study.material.texts, study.settings
    human = {text.item_id: text.human for text in texts if text.human is not None}
    groups = {text.item_id: text.group for text in texts}
    bootstrap = {"resamples": settings.resamples, "seed": settings.seed}
    outcomes = [outcome(column, human, groups, **bootstrap) for column in study.columns]
    tests = differences(study.columns, outcomes, human, groups, **bootstrap)
    missing = sum(item.missing for item in outcomes if item.kind != "panel")
    sheets = list(sheets_of(study, outcomes, tests))
    summary = {
        "study": study.name, "folder": str(folder), "outcome": "incomplete" if missing else "done",
        "message": _message(study.columns, missing), "source": dict(study.material.source),
        "texts": len(texts), "sources": len(set(groups.values())), "settings": settings.model_dump(mode="json"),
        "signatures": {name: dict(signed) for name, signed in study.signatures.items()},
        "instructions": dict(study.written), "outcomes": [asdict(item) for item in outcomes],
        "differences": [asdict(test) for test in tests],
        "panel": study.panel and {"exams": list(map(asdict, study.panel.exams)), "weights": study.panel.weights},
        "pairs": [dict(report) for report in study.played],
        "rows": {name: dict(rows) for name, rows in study.grid.rows.items()},
        "tables": [asdict(sheet) for sheet in sheets], "lacking": without_grade(outcomes),
    }  # fmt: skip
    put(folder / "grades.csv", table(_grade_rows(study.columns, human)))
    put(folder / "outcomes.csv", table(map(_flat, outcomes)))
    put(folder / "differences.csv", table(map(asdict, tests)))
    put(folder / "tables.md", markdown(sheets, without_grade(outcomes)))
    items = study.material.items
    for column in study.columns:
        if column.kind != "examiner":
            continue
        if rows := error_sheet(items, column.grades, settings.rationales, settings.seed):
            put(folder / f"rationales-{re.sub(r'[^A-Za-z0-9._-]+', '-', column.title)}.csv", table(rows))
    put(folder / RECORD, json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False))
    return summary


def sheets_of(study: Study, outcomes: Sequence[ExaminerResult], tests: Sequence[Difference]) -> Iterable[Sheet]:
    """Yields all tables of a *study*, in the order in which they are shown.

    *outcomes*: one result per examiner and LM. *tests*: the differences between examiners.
    """
    yield agreement_sheet(outcomes, tests)
    yield cost_sheet(outcomes)
    if study.panel:
        yield panel_sheet(study.panel)
    if study.played:
        yield from pairs_sheets(study.played)
    for name, rows in study.grid.rows.items():
        yield published_sheet(filled(name, rows, outcomes))


def _grade_rows(columns: Sequence[Column], human: Mapping[str, float]) -> Iterable[dict[str, Any]]:
    for column in columns:
        ids = {"examiner": column.name, "lm": column.by}
        for grade in column.grades:
            problem = grade.problem
            state = "scored" if problem is None else "failed" if problem.final else "missing"
            yield {
                **ids, "item_id": grade.item_id, "state": state, "grade": grade.value,
                "human": human.get(grade.item_id), "filtered": grade.filtered or None,
                "parts": json.dumps(grade.parts) if grade.parts else None,
                "reason": f"{problem.code}: {problem.message}" if problem else None,
            }  # fmt: skip
        for name, reason in column.excluded.items():
            yield {**ids, "item_id": name, "state": "excluded", "human": human.get(name), "reason": reason}


def _flat(outcome: ExaminerResult) -> dict[str, Any]:
    whole = asdict(outcome)
    for name in ("kendall", "spearman", "pearson"):
        estimate = whole.pop(name) or {}
        whole |= {name if key == "value" else f"{name}_{key}": value for key, value in estimate.items()}
    return whole | {"reasons": "; ".join(f"{reason} ({count})" for reason, count in outcome.reasons.items())}


def _message(columns: Sequence[Column], missing: int) -> str:
    if not missing:
        return ""
    problems = (grade.problem for column in columns if column.kind != "panel" for grade in column.grades)
    problem = next(item for item in problems if item is not None and not item.final)
    return f"{missing} grades are still missing: {problem.message}; run it again to try them"

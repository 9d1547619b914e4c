"""Compares a study of examiners or of guidelines with a published table, cell by cell.

A cell of a published table is one row for one LM. LMs are matched by the names and aliases in ``data/models.toml``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gre_bench.catalogs.models import known_as
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.published import printed
from gre_bench.core.strict import load_json
from gre_bench.examiners.tables import LAYOUTS, layout
from gre_bench.guidelines.tables import GROUPS, VENUES
from gre_bench.prompts.conditions import RUBRIC
from gre_bench.ranking.published import Figure
from gre_bench.reports.comparisons.sides import Side
from gre_bench.studies.guidelines.results import RECORD

GUIDELINES = ("002_table1", "002_table2")
TABLES = (*LAYOUTS, *GUIDELINES)
_CONDITIONS = {title: name for name, title in VENUES.items()} | {title: name for name, title in GROUPS.items()}


def printed_study(table: str) -> Side:
    """Returns the published *table* of a study, such as ``001_table1``.

    In each of its figures, *metric* is the name of the LM, and *item* is the name of the table's row.
    """
    figures = []
    for cell in printed(table):
        lm, item = _cell(table, cell.row, cell.column)
        figures.append(
            Figure(
                _lm(lm), item, cell.value, table=table, row=cell.row, column=cell.column, anomaly=cell.anomaly,
                note=cell.note,
            )
        )  # fmt: skip
    return Side(table, "effects", tuple(figures))


def run_study(name: str, table: str, state: Path, every: bool = False) -> Side:
    """Returns the results of the study *name* for the cells of *table*.

    - *name*: the study's name, its folder, or its ``study.json``.
    - *every*: for a study of guidelines, also include conditions that *table* lacks.

    Raises `SettingsError` if there is no such study, or if the study has no cell of *table*. Raises `SourceError` for a
    file that is no record of a study.
    """
    study = _record(name, state, "guidelines" if table in GUIDELINES else "examiners")
    try:
        figures = tuple(_of_guidelines(study) if table in GUIDELINES else _of_examiners(study, table))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(f"{name}: not the record of such a study ({type(error).__name__}: {error})") from None
    if not figures:
        raise SettingsError(f"{name} has no cell of {table}; a study of examiners needs it among its layouts")
    if table in GUIDELINES and not every:
        wanted = {figure.item for figure in printed_study(table).figures}
        figures = tuple(figure for figure in figures if figure.item in wanted)
    return Side(name, "effects", figures)


def _cell(table: str, row: str, column: str) -> tuple[str, str]:
    """Returns the LM of one cell of a published table, and the cell's name in a study's results.

    *row*, *column*: where *table* prints the cell.
    """
    if table not in GUIDELINES:
        # Kotonya et al. print one column, for the LM of their submission.
        return (column if table.startswith("001") else "Orca-7B"), row
    first, second = row.split(": ")
    name = _CONDITIONS.get(column, "none")
    if table == "002_table1":
        return second, f"{name}_official" if first == "official" and name != "none" else name
    return first, name + (RUBRIC if second == "w/ Rubric" else "")


def _of_examiners(study: Mapping[str, Any], table: str) -> Iterator[Figure]:
    rows = study["rows"].get(table, {})
    for row in layout(table).rows:
        for outcome in study["outcomes"]:
            if row in rows and outcome["name"] == rows[row] and outcome["kind"] == "examiner" and outcome["kendall"]:
                tau = outcome["kendall"]
                yield Figure(_lm(outcome["by"] or "none"), row, tau["value"], tau["low"], tau["high"], table=table)


def _of_guidelines(study: Mapping[str, Any]) -> Iterator[Figure]:
    for outcome in study["outcomes"]:
        close = outcome["closeness"]
        if close:
            rmse = close["rmse"]
            yield Figure(_lm(outcome["model"]), outcome["condition"], rmse["value"], rmse["low"], rmse["high"])


def study_file(name: str, state: Path, kind: str) -> Path | None:
    """Returns the record of the study *name*, its name, folder or file; None if there is no such study of *kind*."""
    given = Path(name)
    places = [given, given / RECORD, state / "studies" / kind / name / RECORD]
    return next((file for file in places if file.is_file()), None)


def _record(name: str, state: Path, kind: str) -> Mapping[str, Any]:
    path = study_file(name, state, kind)
    if path is None:
        raise SettingsError(f"no study {name} of {kind} under {state}; name it, its folder or its {RECORD}")
    try:
        return load_json(read_bytes(path))
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {path}: {error}") from None


def _lm(name: str) -> str:
    return _known().get(name.lower(), name)


@cache
def _known() -> dict[str, str]:
    return known_as()

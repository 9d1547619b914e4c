"""Compares two leaderboards by rank, and a leaderboard with other public benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gre_bench.catalogs.models import known_as
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError
from gre_bench.ranking import published
from gre_bench.ranking.exposure import entry_of
from gre_bench.reports.comparisons.benchmarks import read_benchmarks
from gre_bench.reports.comparisons.sides import Side

_FIELDS = ("evaluation_lm", "lm_digest", "writer", "synopsis_writer", "form", "ascii_fold")


def ranked(first: Side, second: Side) -> dict[str, Any]:
    """Returns how consistently two boards rank candidates, for each metric that both boards have.

    If exactly one board is a published table, the result also lists both boards' scores side by side. Raises
    `SettingsError` if the two boards have no metric in common.
    """
    rows = published.consistency(first.figures, second.figures)
    metrics = [row.metric for row in rows]
    if not rows:
        raise SettingsError(f"{first.name} and {second.name} have no metric in common")
    printed = published.printed_consistency(first.name, second.name)
    result: dict[str, Any] = {"consistency": [{**asdict(row), "printed": printed.get(row.metric)} for row in rows]}
    if first.signatures is not None and second.signatures is not None:
        result["differ_in"] = _differences(first.signatures.get(metrics[0], {}), second.signatures.get(metrics[0], {}))
    if (first.signatures is None) != (second.signatures is None):
        figures = ([figure for figure in side.figures if figure.metric in metrics] for side in (first, second))
        beside = [asdict(row) for row in published.beside(*figures)]
        if not _same_lms(*((first, second) if first.signatures is None else (second, first)), metrics):
            # Scores of different signatures: their ranks can be compared, but their differences mean nothing.
            no_difference = {"difference": None, "overlap": None, "within": None}
            beside = [{**row, **no_difference} for row in beside]
        result["beside"] = beside
    return result


def _same_lms(table: Side, run: Side, metrics: Sequence[str]) -> bool:
    """Returns whether *run* used the same evaluation LM and writer as the published *table*.

    The answer is true only if both LMs match in every one of *metrics*.
    """
    models = load_models()
    wanted = published.LMS.get(table.name)
    if wanted is None or not run.signatures:
        return False
    for metric in metrics:
        signed = run.signatures.get(metric, {})
        for name, printed in zip((signed.get("evaluation_lm"), signed.get("writer")), wanted, strict=True):
            model = entry_of(name, models) if name else None
            if model is None or model.name != known_as(models)[printed.lower()]:
                return False
    return bool(metrics)


def _differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Returns the fields in which two signatures differ: field → [value in *first*, value in *second*]."""
    return {name: [first.get(name), second.get(name)] for name in _FIELDS if first.get(name) != second.get(name)}


def correlated(sides: Sequence[Side], benchmarks: Path) -> dict[str, Any]:
    """Returns the correlations of a board with other benchmarks, beside those that Xu et al. 2025 print in table 5.

    *sides* must hold exactly one board. *benchmarks*: the CSV file of `read_benchmarks`. Raises `SettingsError` if
    *sides* holds anything else, and `SourceError` for an unusable file.
    """
    if len(sides) != 1 or sides[0].kind != "board":
        raise SettingsError("--benchmarks takes one leaderboard: an edition, a file, or --published table6")
    values, blank = read_benchmarks(benchmarks)
    models = {figure.item for figure in sides[0].figures}
    unknown = sorted({model for of_models in values.values() for model in of_models} - models)
    table5 = {(figure.metric, figure.item): figure.value for figure in published.load("table5")}
    return {
        "benchmarks": [
            {**asdict(row), "printed": table5.get((row.metric, row.benchmark.lower().replace("-", "_")))}
            for row in published.with_benchmarks(sides[0].figures, values)
        ],
        "blank_entries": blank,
        "models_not_on_the_board": unknown,
    }

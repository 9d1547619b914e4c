"""Reads scores of models on other public benchmarks from a user's file (Xu et al. 2025, A.2)."""

from __future__ import annotations

import math
from pathlib import Path

from gre_bench.core.errors import SourceError
from gre_bench.ingest.records.row_files import read_all_rows, shown

COLUMNS = ("model", "benchmark", "value")


def read_benchmarks(path: Path) -> tuple[dict[str, dict[str, float]], int]:
    """Returns benchmark → model → value from a CSV file, and the number of entries without a value.

    The file *path* has the columns model, benchmark and value. Raises `SourceError` for an unusable line, or a second
    value for the same model and benchmark.
    """
    values: dict[str, dict[str, float]] = {}
    blank = 0
    rows, columns = read_all_rows(path)
    if missing := [name for name in COLUMNS if name not in columns]:
        raise SourceError(f"{path}: no column {', '.join(missing)}; it needs model,benchmark,value")
    for number, row in rows:
        where = f"{path}, row {number}"
        model, benchmark, text = ((row[name] or "").strip() for name in COLUMNS)
        if not model or not benchmark:
            raise SourceError(f"{where}: model and benchmark must be given")
        of_models = values.setdefault(benchmark, {})
        if not text:
            blank += 1
        elif of_models.setdefault(model, _number(text, where)) != _number(text, where):
            raise SourceError(f"{where}: {model} has two values of {benchmark}; keep one")
    return values, blank


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SourceError(f"{where}: '{shown(text)}' is no number; leave a missing value blank")
    return value

"""Reads scores of models on other public benchmarks from a user's file (Xu et al. 2025, A.2)."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from gre_bench.core.errors import SourceError

COLUMNS = ("model", "benchmark", "value")


def read_benchmarks(path: Path) -> tuple[dict[str, dict[str, float]], int]:
    """Returns benchmark → model → value from a CSV file, and the number of entries without a value.

    The file *path* has the columns model, benchmark and value. Raises `SourceError` for an unusable line, or a second
    value for the same model and benchmark.
    """
    values: dict[str, dict[str, float]] = {}
    blank = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines)
            if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
                raise SourceError(f"{path}: no column {', '.join(missing)}; it needs model,benchmark,value")
            for row in rows:
                where = f"{path}, line {rows.line_num}"
                model, benchmark, text = ((row[name] or "").strip() for name in COLUMNS)
                if not model or not benchmark:
                    raise SourceError(f"{where}: model and benchmark must be given")
                of_models = values.setdefault(benchmark, {})
                if not text:
                    blank += 1
                elif of_models.setdefault(model, _number(text, where)) != _number(text, where):
                    raise SourceError(f"{where}: {model} has two values of {benchmark}; keep one")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"cannot read {path}: {error}") from None
    return values, blank


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SourceError(f"{where}: {text!r} is no number; leave a missing value blank")
    return value

"""Prints the included validation records of one evaluation LM and edition as a Markdown table.

    python -m tests.bench.validation_table EVALUATION_LM EDITION [WRITER]

WRITER is the writer of judgments, for an evaluation LM that was validated with several. GEM-raw reads none. Cells are
Cohen's d with the verdict on the perturbation. `docs/measurements.md` contains these tables, and a test compares them.
"""

from __future__ import annotations

import sys
from typing import Any

from gre_bench.core.metrics import find_recipe
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.pipeline.validation_records import SHIPPED, ValidationRecord, load_validation_record

MARKS = {"pass": "✓", "fail": "✗", "undecided": "?"}
METRICS = ("gem", "gem_s_abstract", "gem_s_assw", "gem_raw")
AT_LENGTH = {"sentence_deletion", "generic"}
"""Perturbations that shorten a review, so that length alone may lower the score; d at fixed length is shown too."""


def load_shipped_records(edition: str) -> list[ValidationRecord]:
    """Returns the shipped records of *edition*, one per signature, sorted by signature id."""
    return [load_validation_record(file) for file in sorted((SHIPPED / edition).glob("[!.]*.json"))]


def number(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def cell(record: ValidationRecord, change: str) -> str:
    """Returns d and its verdict, or a dash for a perturbation that was not tested."""
    d = record.effects.get(change, {}).get("d")
    return "–" if d is None else f"{number(d)} {MARKS[record.changes[change]]}"


def at_length(record: ValidationRecord, change: str) -> str:
    """Returns d at fixed length, and its interval."""
    effect = record.effects.get(change, {})
    d, low, high = (effect.get(name) for name in ("length_d", "length_low", "length_high"))
    return "–" if d is None or low is None or high is None else f"{number(d)} ({number(low)}, {number(high)})"


def table(lm: str, edition: str, writer: str | None = None) -> str:
    """Returns the table of the evaluation LM *lm* on *edition*: one column per metric, one row per perturbation.

    *writer*: the writer of judgments; None: any.
    """
    by_metric = {
        record.signature["metric"]: record
        for record in load_shipped_records(edition)
        if record.signature["evaluation_lm"] == lm
        and record.effects
        and (writer in (None, record.signature["writer"]) or record.signature["metric"] == "gem_raw")
    }
    records = [by_metric[metric] for metric in METRICS if metric in by_metric]
    rows: list[list[Any]] = [["d", *(find_recipe(str(one.signature["metric"])).title for one in records)]]
    rows.append(["---"] * (len(records) + 1))
    for change in PERTURBATIONS.values():
        cells = [cell(record, change.name) for record in records]
        if set(cells) != {"–"}:
            rows.append([change.title, *cells])
            if change.name in AT_LENGTH:
                rows.append(["the same, length held fixed", *(at_length(record, change.name) for record in records)])
    rows.append(["papers", *(record.papers for record in records)])
    rows.append(["verdict", *(record.verdict for record in records)])
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(f"{__doc__}\nknown editions: {', '.join(sorted(path.name for path in SHIPPED.glob('*-*')))}")
    print(table(*sys.argv[1:]))

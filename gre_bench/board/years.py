"""Compares editions side by side: each candidate's difference from the anchors, and how this difference changed.

An anchor is a candidate that every edition scores. A row is about one candidate in one edition. Its columns are
*edition*, *venue*, *metric*, *signature_id*, *candidate*, *kind*, *difference* (from the anchors), *se* (the standard
error of the difference), *papers* and *units*. *units* is the number of independent units: papers, or groups of papers
that exchanged reviews for chance scores. A candidate's rows are in the order of their editions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from gre_bench.core.records import parse_edition_key
from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.intervals import SampleMean, compare_means_by_welch
from gre_bench.store import Row


def tabulate_candidates_by_edition(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns one table of *rows* per venue, sample, metric and signature; rows of different tables are not comparable.

    A line of a table belongs to one candidate. Its *years* has one entry per edition: the candidate's row, or None.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        sample = parse_edition_key(row["edition"]).sample
        groups.setdefault((row["venue"], sample, row["metric"], row["signature_id"]), []).append(row)
    compared_lines: list[dict[str, Any]] = []
    for (venue, sample, metric, signature_id), group in sorted(groups.items(), key=lambda item: item[0]):
        editions = list(dict.fromkeys(row["edition"] for row in group))
        cells = {(row["candidate"], row["edition"]): row for row in group}
        last = {name: next(cells[name, key]["difference"] for key in reversed(editions) if (name, key) in cells)
                for name, _ in cells}  # fmt: skip
        lines = [{"candidate": name, "years": [cells.get((name, key)) for key in editions]}
                 for name in sorted(last, key=lambda name: (-last[name], name))]  # fmt: skip
        compared_lines.append({"venue": venue, "sample": sample, "metric": metric, "signature_id": signature_id,
                      "editions": editions, "lines": lines})  # fmt: skip
    return compared_lines


def compute_changes_between_editions(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns how each candidate's difference from the anchors changed from one edition to the next.

    Controls are left out. Only editions of one venue, sample and signature are compared. *p_holm* in a result: the
    p-value, Holm-corrected over all changes.
    """
    series: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        sample = parse_edition_key(row["edition"]).sample
        series.setdefault((row["venue"], sample, row["signature_id"], row["candidate"]), []).append(row)
    found_changes: list[dict[str, Any]] = []
    for line in series.values():
        for earlier, later in pairwise(line):
            errors = earlier["se"], later["se"]
            if earlier["kind"] == "control" or None in errors or not sum(errors) > 0:
                continue
            before, after = (SampleMean(row["difference"], row["se"], row["units"]) for row in (earlier, later))
            found_changes.append(
                {**{name: earlier[name] for name in ("metric", "signature_id", "candidate")},
                 "from": earlier["edition"], "to": later["edition"], **asdict(compare_means_by_welch(before, after))}
            )  # fmt: skip
    adjusted = adjust_by_holm([row["p"] for row in found_changes])
    return [row | {"p_holm": p} for row, p in zip(found_changes, adjusted, strict=True)]

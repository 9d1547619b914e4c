"""Measures whether the mean of two evaluation LMs' scores distinguishes candidates better than either LM alone.

    python -m tests.bench.bench_committee EDITION CONTRASTS --state STATE

The edition has scores by both LMs on the same pairs. For each contrast of the file CONTRASTS and each metric it prints
|difference| / standard error, paired by paper, for each LM and for the mean of both. It also prints the geometric mean
of the committee's gain over the better LM.
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

from gre_bench.core.known_names import require_known_name
from gre_bench.ranking.rank_statistics import ScoredPairs
from gre_bench.reports.contrasts import compute_paired_test, load_contrasts, load_score_columns
from gre_bench.store import Store
from gre_bench.store.queries import PLANNED_SIGNATURES


def committees(store: Store, contrasts: Path) -> list[dict[str, Any]]:
    """Returns a row per metric, two LMs and contrast: |difference| / standard error of each LM and of their mean."""
    plain = [row for row in store.read(PLANNED_SIGNATURES) if row["form"] == "as_written" and row["chance"] == "none"]
    rows: list[dict[str, Any]] = []
    for one, other in combinations(plain, 2):
        if one["metric"] != other["metric"] or one["evaluation_lm"] == other["evaluation_lm"]:
            continue
        values = [
            {(c, p, r): v for c, p, r, v, _ in zip(*load_score_columns(store, each), strict=True)}
            for each in (one, other)
        ]
        shared = sorted(values[0].keys() & values[1].keys())
        columns = [list(column) for column in zip(*shared, strict=True)]
        sides = {one["evaluation_lm"]: [values[0][key] for key in shared],
                 other["evaluation_lm"]: [values[1][key] for key in shared]}  # fmt: skip
        sides["mean of both"] = [(a + b) / 2 for a, b in zip(*list(sides.values()), strict=True)]
        for item in load_contrasts(contrasts).contrasts:
            names = [
                require_known_name(name, sorted(set(columns[0])), "no scores of candidate")
                for name in (item.first, item.second)
            ]
            row: dict[str, Any] = {"metric": one["metric"], "contrast": item.name}
            for lm, scores in sides.items():
                test = compute_paired_test(ScoredPairs(*columns, scores).of_candidates(names), names)
                assert test is not None
                row[lm] = abs(test.difference) / (test.sd / math.sqrt(test.papers))
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edition")
    parser.add_argument("contrasts", type=Path)
    parser.add_argument("--state", type=Path, default=Path("state"))
    asked = parser.parse_args()
    rows = committees(Store(asked.state, asked.edition), asked.contrasts)
    gains: dict[str, list[float]] = {}
    for row in rows:
        *own, mean = (value for value in row.values() if isinstance(value, float))
        gains.setdefault(row["metric"], []).append(math.log(mean / max(own)))
        print(*(f"{value:.2f}" if isinstance(value, float) else value for value in row.values()), sep=" | ")
    gained = {metric: math.exp(sum(logs) / len(logs)) for metric, logs in gains.items()}
    print(json.dumps({"rows": rows, "mean over the better LM": gained}, indent=1))


if __name__ == "__main__":
    main()

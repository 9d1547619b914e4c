"""Prints how well scores agree if two different writers made the judgments of the same reviews.

    python -m tests.bench.bench_writers FIRST.jsonl SECOND.jsonl

Both files are a KEPT.jsonl of `tests.bench.bench_evaluation_lm`, for the same papers. Each kind of candidate counts as
one candidate. Differences are in standard errors by paper, so that writers with different units are comparable.
"""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy import stats

from tests.bench.bench_evaluation_lm import KINDS

PAPERS = (30, 100)
DRAWS = 2000


def read(file: Path) -> dict[int, np.ndarray]:
    """Returns the mean score of each kind by paper."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {row["paper"]: np.array(row["pmi"]).mean(axis=0) for row in rows}


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    first, second = (read(Path(name)) for name in sys.argv[1:])
    papers = sorted(first.keys() & second.keys())
    one, two = (np.array([scores[paper] for paper in papers]) for scores in (first, second))
    orders = [[KINDS[place] for place in np.argsort(-scores.mean(axis=0))] for scores in (one, two)]
    print(f"{len(papers)} papers; order: {' > '.join(orders[0])} and {' > '.join(orders[1])}")
    for place, kind in enumerate(KINDS):
        print(f"{kind}: Spearman's rho over papers {stats.spearmanr(one[:, place], two[:, place])[0]:.2f}")
    rng = np.random.default_rng(0)
    for a, b in combinations(range(len(KINDS)), 2):
        gaps = [scores[:, a] - scores[:, b] for scores in (one, two)]
        errors = [gap.mean() / (gap.std(ddof=1) / np.sqrt(len(gap))) for gap in gaps]
        agree = []
        for count in PAPERS:
            drawn = rng.integers(0, len(papers), (DRAWS, count))
            agree.append(np.mean(np.sign(gaps[0][drawn].mean(axis=1)) == np.sign(gaps[1][drawn].mean(axis=1))))
        shares = ", ".join(f"{share:.0%} of {count} papers" for share, count in zip(agree, PAPERS, strict=True))
        print(f"{KINDS[a]} - {KINDS[b]}: {errors[0]:+.1f} and {errors[1]:+.1f} standard errors; same sign in {shares}")


if __name__ == "__main__":
    main()

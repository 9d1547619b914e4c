"""Prints the smallest differences between candidates that a board can detect, by numbers of papers and references.

    python -m tests.bench.power EDITION METRIC --state STATE

The difference of two candidates on one (paper, reference) pair is a sum: their true difference, a paper effect and a
reference effect. A one-way analysis of variance, for every two ranked candidates, gives the standard deviations of both
effects. With n papers of R references each, the standard error is sqrt((paper² + reference² / R) / n). The smallest
difference is detected by a two-sided test by paper with probability 80%: alone (at 5%), or as one of all tests of the
board (at 5% divided by their number, as in Holm's first step). The last lines compare two references with all.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

import gre_bench

PAPERS = (50, 100, 300, 1000)
REFERENCES = (1, 2, 4)
POWER = 0.8
SUBSETS = 100


class EffectDeviations(NamedTuple):
    """The standard deviations of the paper effect and reference effect of a difference, in nats."""

    paper: float
    reference: float

    def error(self, papers: int, references: float) -> float:
        """Returns the standard error of a mean difference over *papers* papers with *references* references each."""
        return float(np.sqrt((self.paper**2 + self.reference**2 / references) / papers))


def terms(groups: Sequence[np.ndarray]) -> EffectDeviations | None:
    """Estimates both terms from the differences, one array per paper; None if no paper has two differences."""
    sizes = np.array([len(group) for group in groups], float)
    total, count = sizes.sum(), len(groups)
    if total <= count or count < 2:
        return None
    means = np.array([group.mean() for group in groups])
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups) / (total - count)
    grand = float((sizes * means).sum() / total)
    between = float((sizes * (means - grand) ** 2).sum() / (count - 1))
    typical = (total - (sizes**2).sum() / total) / (count - 1)
    return EffectDeviations(float(np.sqrt(max(0.0, (between - within) / typical))), float(np.sqrt(within)))


def least(error: float, papers: int, tests: int) -> float:
    """Returns the smallest difference that a test with the standard error *error* detects with probability `POWER`."""
    free = papers - 1
    return float(stats.t.ppf(1 - 0.025 / tests, free) + stats.t.ppf(POWER, free)) * error


def measured(groups: Iterable[np.ndarray], rng: np.random.Generator, references: int | None) -> float:
    """Returns the standard error of the mean over papers, with *references* random references each (None: all)."""
    means = [float((group if references is None else rng.permutation(group)[:references]).mean()) for group in groups]
    return float(np.std(means, ddof=1) / np.sqrt(len(means)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edition")
    parser.add_argument("metric")
    parser.add_argument("--state", type=Path, default=Path("state"))
    asked = parser.parse_args()
    board = gre_bench.leaderboard(asked.edition, asked.metric, asked.state)
    ranked = board[board["group_name"].isna() & (board["kind"] == "model") & board["rank"].notna()]
    names = [str(name) for name in ranked["candidate"]]
    rows = gre_bench.pairs(asked.edition, asked.metric, state=asked.state)
    rows = rows[(rows["state"] == "scored") & rows["candidate"].isin(names)]
    scores = rows.pivot(index=["paper_id", "reference_id"], columns="candidate", values="score")
    found: list[tuple[EffectDeviations, list[np.ndarray]]] = []
    for first, second in combinations(names, 2):
        differences = (scores[first] - scores[second]).dropna()
        papers: dict[str, list[float]] = defaultdict(list)
        for (paper, _), value in differences.items():
            papers[paper].append(float(value))
        groups = [np.array(values) for values in papers.values()]
        if (estimate := terms(groups)) is not None:
            found.append((estimate, groups))
    middle = EffectDeviations(*np.median([estimate for estimate, _ in found], axis=0).tolist())
    tests = len(found) + len(names)
    print(f"{asked.edition} {asked.metric}: {len(found)} differences of {len(names)} candidates")
    print(f"standard deviation (median): of the paper {middle.paper:.2f}, of the reference {middle.reference:.2f} nats")
    for title, number in (("alone", 1), (f"one of {tests} tests", tests)):
        print(f"| {title}: papers | {' | '.join(f'{count} a paper' for count in REFERENCES)} |")
        for count in PAPERS:
            cells = (f"{least(middle.error(count, each), count, number):.2f}" for each in REFERENCES)
            print(f"| {count} | {' | '.join(cells)} |")
    rng = np.random.default_rng(0)
    two = [np.mean([measured(groups, rng, 2) for _ in range(SUBSETS)]) for _, groups in found]
    whole = [measured(groups, rng, None) for _, groups in found]
    gains = 1 - np.array(whole) / np.array(two)
    each = np.mean([len(group) for _, groups in found for group in groups])
    print(f"standard error, all references ({each:.1f} a paper) against two: {-np.median(gains):+.0%} (median), ")
    print(f"from {-gains.max():+.0%} to {-gains.min():+.0%} over the differences")


if __name__ == "__main__":
    main()

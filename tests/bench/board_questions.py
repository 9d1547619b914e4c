"""Prints what a board of language models can tell: contrasts fixed beforehand, their power, and the stability of ranks.

    python -m tests.bench.board_questions EDITION METRIC --state STATE --contrast A B [--contrast A B ...]

Every contrast is paired by paper: mean difference, 95% interval, Student's p (Holm over the contrasts). It also has the
smallest difference that so many papers show with probability 80%. At equal length, each score is moved along the common
slope of log words to the human length; the slope is taken as known. Stability is Spearman's rho of the ranked
candidates between halves, over 200 seeded splits of the papers, and of the references of each paper.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import stats

import gre_bench
from gre_bench.ranking.rank_statistics import Pairs
from gre_bench.stats.effects import holm
from gre_bench.stats.length import adjusted, human_length, length_controlled
from gre_bench.store import Store
from gre_bench.store.queries import BOARD_LENGTHS, CURRENT_SIGNATURES

SPLITS = 200
POWER = 0.8


def words_of(store: Store, metric: str) -> dict[tuple[str, str], int]:
    """Returns the words of the scored judgments by candidate and paper."""
    signature = next(row for row in store.read(CURRENT_SIGNATURES) if row["metric"] == metric)
    rows = store.read(BOARD_LENGTHS, source="judgments", writer=signature["writer"], form=signature["form"], cut=10**9)
    return {tuple(row.values())[:2]: tuple(row.values())[2] for row in rows}  # pyright: ignore[reportReturnType]


def by_paper(pairs: Pairs, values: np.ndarray) -> dict[str, dict[str, float]]:
    """Returns the mean value by candidate and paper."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, paper, value in zip(pairs.candidates, pairs.papers, values, strict=True):
        found[name][paper].append(float(value))
    return {name: {paper: sum(own) / len(own) for paper, own in papers.items()} for name, papers in found.items()}


def contrast(means: dict[str, dict[str, float]], first: str, second: str) -> dict[str, float]:
    """Returns the paired difference of two candidates, and the smallest that its papers show with probability `POWER`."""
    shared = sorted(means[first].keys() & means[second].keys())
    differences = np.array([means[first][paper] - means[second][paper] for paper in shared])
    error = float(differences.std(ddof=1) / np.sqrt(len(shared)))
    free = len(shared) - 1
    t = float(stats.t.ppf(0.975, free))
    mean = float(differences.mean())
    p = float(2 * stats.t.sf(abs(mean) / error, free))
    least = (t + float(stats.t.ppf(POWER, free))) * error
    return {"mean": mean, "low": mean - t * error, "high": mean + t * error, "p": p, "least": least, "n": len(shared)}


def stability(pairs: Pairs, names: list[str], split: str, rng: np.random.Generator) -> np.ndarray:
    """Returns Spearman's rho of the candidates' means between random halves of the papers, or of each paper's
    references.
    """
    papers = sorted(set(pairs.papers))
    references = {paper: sorted({r for p, r in zip(pairs.papers, pairs.references, strict=True) if p == paper})
                  for paper in papers}  # fmt: skip
    found = []
    for _ in range(SPLITS):
        if split == "papers":
            chosen = set(rng.permutation(papers)[: len(papers) // 2])
            first = [paper in chosen for paper in pairs.papers]
        else:
            kept = {paper: str(rng.choice(refs)) for paper, refs in references.items()}
            first = [kept[p] == r for p, r in zip(pairs.papers, pairs.references, strict=True)]
        halves = []
        for half in (True, False):
            sums: dict[str, list[float]] = defaultdict(list)
            for mine, name, value in zip(first, pairs.candidates, pairs.values, strict=True):
                if mine is half:
                    sums[name].append(value)
            halves.append([np.mean(sums[name]) for name in names])
        found.append(stats.spearmanr(*halves)[0])
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edition")
    parser.add_argument("metric")
    parser.add_argument("--state", type=Path, default=Path("state"))
    parser.add_argument("--contrast", nargs=2, action="append", default=[])
    asked = parser.parse_args()
    store = Store(asked.state, asked.edition)
    board = gre_bench.leaderboard(asked.edition, asked.metric, asked.state)
    ranked = board[board["group_name"].isna() & (board["kind"] == "model") & board["rank"].notna()]
    names = [str(name) for name in ranked["candidate"]]
    rows = gre_bench.pairs(asked.edition, asked.metric, state=asked.state)
    rows = rows[(rows["state"] == "scored") & rows["candidate"].isin([*names, "human"])]
    columns = [rows[name].tolist() for name in ("candidate", "paper_id", "reference_id", "value")]
    pairs = Pairs(*columns)
    words = words_of(store, asked.metric)
    lengths = [words[name, paper] for name, paper in zip(pairs.candidates, pairs.papers, strict=True)]
    human = human_length([count for (name, _), count in words.items() if name == "human" and count])
    control = length_controlled(pairs.values, lengths, pairs.papers, human, pairs.candidates)
    plain = by_paper(pairs, np.array(pairs.values))
    equal = by_paper(pairs, adjusted(pairs.values, lengths, control))
    print(
        f"{asked.edition} {asked.metric}: {len(set(pairs.papers))} papers; slope {control.slope.value:+.2f} nats a unit of log words"
    )
    for title, means in (("plain", plain), ("at equal length", equal)):
        tests = [contrast(means, *pair) for pair in asked.contrast]
        for (first, second), test, p in zip(asked.contrast, tests, holm([test["p"] for test in tests]), strict=True):
            print(f"{title}: {first} - {second}: {test['mean']:+.2f} ({test['low']:+.2f}, {test['high']:+.2f}), "
                  f"p {p:.2g} (Holm), {test['n']:.0f} papers could show {test['least']:.2f}")  # fmt: skip
    rng = np.random.default_rng(0)
    for split in ("papers", "references"):
        rho = stability(pairs.of_candidates(names), names, split, rng)
        print(
            f"split {split}: rho {np.mean(rho):.3f} (5% to 95% of splits: {np.quantile(rho, 0.05):.3f} to {np.quantile(rho, 0.95):.3f})"
        )


if __name__ == "__main__":
    main()

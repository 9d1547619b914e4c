"""Measures how much of what a reviewer tells another one has told, and what a committee of reviewers tells together.

    python -m tests.bench.bench_beyond EDITION REVIEWER --state STATE [--backend cache-ngram]

EDITION has reviews by several candidates, with judgments by one writer. All figures are mean nats by paper.

- *beyond*: what a candidate's review tells of a human one beyond a review by REVIEWER of the same paper.
- *beyond another paper's*: the same beyond a review by REVIEWER of the next paper. What this takes from the plain score
  is common style; *shared* is only what the review of the same paper takes more.
- The committee's curve: what the first k reviewers tell together. Their order is chosen greedily on half of the papers,
  and the curve measured on the other half, both ways. *human*: what the human baseline tells beyond all of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import HUMAN, Prediction
from gre_bench.core.settings import load
from gre_bench.lm.catalog import open_lm
from gre_bench.lm.protocol import EvaluationLM, results_of
from gre_bench.metrics.cases import Entry
from gre_bench.metrics.scoring import prompt_of
from gre_bench.pipeline.planning import sample
from gre_bench.stats.intervals import paired_test
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES

PROMPT = prompt_of(recipe_of("gem_s_beyond"), load(None).scoring)


class Teller:
    """log P(y | x, z) of the human reviews of each paper, and its mean by paper; what was asked is kept."""

    def __init__(self, lm: EvaluationLM, entries: Sequence[Entry], writer: str):
        self.lm, self.entries, self.writer = lm, entries, writer
        self.kept: dict[Prediction, float] = {}

    def judgments(self, entry: Entry, name: str) -> str:
        response = entry.human if name == HUMAN else entry.responses[name]
        return response.judgments[self.writer]

    def means(self, x: str | None, z: Sequence[str], after: int = 0, places: Sequence[int] | None = None) -> np.ndarray:
        """Returns the mean log-probability of each paper's references given x and z.

        *after*: how many papers further on the reviews z are taken. *places*: of the papers; None: all.
        """
        chosen = range(len(self.entries)) if places is None else places
        asked: list[list[Prediction]] = []
        for k in chosen:
            entry, other = self.entries[k], self.entries[(k + after) % len(self.entries)]
            own = None if x is None else self.judgments(entry, x)
            known = "\n".join(self.judgments(other, name) for name in z) or None
            asked.append([Prediction(own, known, each.judgments[self.writer], PROMPT) for each in entry.references])
        due = list(dict.fromkeys(each for of_paper in asked for each in of_paper if each not in self.kept))
        for each, span in zip(due, results_of(self.lm, due), strict=True):
            self.kept[each] = span.total
        return np.array([np.mean([self.kept[each] for each in of_paper]) for of_paper in asked])


def interval(values: np.ndarray) -> str:
    test = paired_test(values.tolist())
    return f"{test.value:+.1f} ±{test.high - test.value:.1f}".replace("-", "−")


def beyond(teller: Teller, names: Sequence[str], reviewer: str) -> None:
    nothing, known, style = (teller.means(None, z, after) for z, after in (((), 0), ((reviewer,), 0), ((reviewer,), 1)))
    print("| candidate | alone | beyond another paper's | beyond | shared |\n| --- | --- | --- | --- | --- |")
    for name in names:
        if name != reviewer:
            columns = (
                teller.means(name, ()) - nothing,
                teller.means(name, (reviewer,), 1) - style,
                teller.means(name, (reviewer,)) - known,
            )
            print(f"| {name} | {' | '.join(map(interval, (*columns, columns[1] - columns[2])))} |", flush=True)


def committee(teller: Teller, names: Sequence[str]) -> None:
    """Prints the curve: the mean over both halves, and who was chosen in each."""
    places = np.random.default_rng(0).permutation(len(teller.entries))
    halves = [sorted(half.tolist()) for half in np.array_split(places, 2)]
    curves: list[Mapping[str, np.ndarray]] = []
    orders: list[list[str]] = []
    for chosen_on, drawn_on in (halves, halves[::-1]):
        order: list[str] = []
        while len(order) < len(names):
            left = [name for name in names if name not in order]
            order.append(max(left, key=lambda name: teller.means(None, [*order, name], 0, chosen_on).mean()))
        nothing = teller.means(None, (), 0, drawn_on)
        curve = {str(k): teller.means(None, order[:k], 0, drawn_on) - nothing for k in range(1, len(order) + 1)}
        curve["human"] = teller.means(HUMAN, order, 0, drawn_on) - teller.means(None, order, 0, drawn_on)
        curves.append(curve)
        orders.append(order)
    print("\n| reviewers | together | chosen on one half | on the other |\n| --- | --- | --- | --- |")
    for k in curves[0]:
        added = [order[int(k) - 1] for order in orders] if k.isdigit() else ["", ""]
        together = interval(np.concatenate([curve[k] for curve in curves]))
        print(f"| {k if k.isdigit() else 'human, beyond all'} | {together} | {added[0]} | {added[1]} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edition")
    parser.add_argument("reviewer")
    parser.add_argument("--state", type=Path, default=Path("state"))
    parser.add_argument("--backend", default="cache-ngram")
    parser.add_argument("--without", default="quis/", help="beginning of the names that are left out")
    asked = parser.parse_args()
    store = Store(asked.state, asked.edition)
    writer = next(row["writer"] for row in store.read(CURRENT_SIGNATURES))
    entries = [entry for entry in sample(store, {}, None, None) if entry.references]
    every = set.intersection(*(set(entry.responses) for entry in entries))
    names = sorted(name for name in every if not name.startswith((asked.without, "extractive")))
    teller = Teller(open_lm(load(None, (f"evaluation_lm.backend={asked.backend}",)).evaluation_lm), entries, writer)
    print(f"{len(entries)} papers, {sum(len(entry.references) for entry in entries)} references\n")
    beyond(teller, [HUMAN, *names], asked.reviewer)
    committee(teller, names)


if __name__ == "__main__":
    main()

"""Measures how much of a reviewer's information another reviewer has already given.

    python -m tests.bench.bench_beyond EDITION REVIEWER --state STATE [--backend cache-ngram]

EDITION has reviews by several candidates, with judgments by one writer. All figures are mean nats by paper.

- *beyond*: the information of a candidate's review about a human review, beyond REVIEWER's review of the same paper.
- *beyond another paper's*: the same, beyond REVIEWER's review of the next paper. The difference from the plain score is
  common style. *shared* is the further difference to *beyond*: the information that both reviews share.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN, Prediction
from gre_bench.core.settings import load
from gre_bench.lm.opening import open_lm
from gre_bench.lm.protocol import EvaluationLM, compute_checked_span_logprobs
from gre_bench.metrics.cases import SampledPaper
from gre_bench.metrics.scoring import choose_prompt_name
from gre_bench.pipeline.planning import load_sample_entries
from gre_bench.stats.intervals import paired_test
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES

PROMPT = choose_prompt_name(find_recipe("gem_s_beyond"), load(None).scoring)


class LogprobCache:
    """Computes log P(y | x, z) of the human reviews of each paper, and its mean by paper; results are cached."""

    def __init__(self, lm: EvaluationLM, entries: Sequence[SampledPaper], writer: str):
        self.lm, self.entries, self.writer = lm, entries, writer
        self.kept: dict[Prediction, float] = {}

    def judgments(self, entry: SampledPaper, name: str) -> str:
        response = entry.human if name == HUMAN else entry.responses[name]
        return response.judgments[self.writer]

    def means(self, x: str | None, z: Sequence[str], after: int = 0) -> np.ndarray:
        """Returns the mean log-probability of each paper's references given x and z.

        *after*: how many papers further on the reviews z are taken.
        """
        asked: list[list[Prediction]] = []
        for k, entry in enumerate(self.entries):
            other = self.entries[(k + after) % len(self.entries)]
            own = None if x is None else self.judgments(entry, x)
            known = "\n".join(self.judgments(other, name) for name in z) or None
            asked.append([Prediction(own, known, each.judgments[self.writer], PROMPT) for each in entry.references])
        due = list(dict.fromkeys(each for of_paper in asked for each in of_paper if each not in self.kept))
        for each, span in zip(due, compute_checked_span_logprobs(self.lm, due), strict=True):
            self.kept[each] = span.total
        return np.array([np.mean([self.kept[each] for each in of_paper]) for of_paper in asked])


def interval(values: np.ndarray) -> str:
    test = paired_test(values.tolist())
    return f"{test.value:+.1f} ±{test.high - test.value:.1f}".replace("-", "−")


def print_table(teller: LogprobCache, names: Sequence[str], reviewer: str) -> None:
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
    entries = [entry for entry in load_sample_entries(store, {}, None, None) if entry.references]
    every = set.intersection(*(set(entry.responses) for entry in entries))
    names = sorted(name for name in every if not name.startswith((asked.without, "extractive")))
    teller = LogprobCache(
        open_lm(load(None, (f"evaluation_lm.backend={asked.backend}",)).evaluation_lm), entries, writer
    )
    print(f"{len(entries)} papers, {sum(len(entry.references) for entry in entries)} references\n")
    print_table(teller, [HUMAN, *names], asked.reviewer)


if __name__ == "__main__":
    main()

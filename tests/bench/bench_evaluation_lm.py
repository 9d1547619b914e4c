"""Measures how well an evaluation LM distinguishes real judgments, for the figures in its model card.

Run it as `python -m tests.bench.bench_evaluation_lm judgments.parquet FIRST:END KEPT.jsonl [setting=value ...]`, with
settings of ``evaluation_lm``. ``part=0/2`` and ``part=1/2`` divide the papers between two processes, each with its own
KEPT.jsonl. The command on the concatenation of both files then prints the figures.

x is the second review; y is the first and the third. The x of the *same* paper is compared with four others. *other*:
the second review of the paper half the list away. *moved*: the human score by chance, from second reviews of similar
length that exchange papers. *deleted*: x without every other line. *generic*: one fixed list.

Figures are in nats per pair, with 95% intervals clustered by paper. KEPT.jsonl has one line per scored paper, so that a
stopped run continues. A line by another evaluation LM is refused.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gre_bench.core.controls import GENERIC_JUDGMENTS, pick_item_half_a_list_away
from gre_bench.core.records import Prediction
from gre_bench.core.settings import load
from gre_bench.lm.opening import open_lm
from gre_bench.metrics.cases import MovableReview, plan_moves
from gre_bench.pipeline.training import judged_papers
from gre_bench.stats.auc import compute_auc

KINDS = ("same", "other", "moved", "deleted", "generic")


def drop_every_other_line(text: str) -> str:
    """Returns *text* without every other non-blank line; the first line stays."""
    between = "\n\n" if "\n\n" in text else "\n"
    return between.join([line for line in text.split(between) if line.strip()][::2])


def make_candidates(papers: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Returns the x of each of `KINDS`, for each paper."""
    named = ((str(place), len(paper[1].split())) for place, paper in enumerate(papers))
    reviews = [MovableReview(name, name, frozenset({name}), words) for name, words in named]
    source = {move.key: papers[int(move.source)][1] for move in plan_moves(reviews, 0)}
    return [
        (
            paper[1],
            pick_item_half_a_list_away(papers, place)[1],
            source[str(place)],
            drop_every_other_line(paper[1]),
            GENERIC_JUDGMENTS,
        )
        for place, paper in enumerate(papers)
    ]


def scored(lm, papers: Sequence[Sequence[str]], kept: Path, part: str) -> tuple[np.ndarray, float]:
    """Returns PMI by paper, reference and kind, shape (papers, 2, 5), and the mean seconds per pair."""
    done: dict[int, list[list[float]]] = {}
    seconds = 0.0
    for line in kept.read_text().splitlines() if kept.exists() else ():
        row = json.loads(line)
        if row["lm"] != lm.identity.digest:
            sys.exit(f"{kept} is of another evaluation LM; name another file")
        done[row["paper"]], seconds = row["pmi"], seconds + row["seconds"]
    begun = time.perf_counter()
    number, parts = map(int, part.split("/"))
    due = [place for place in range(len(papers)) if place not in done and place % parts == number]
    texts = make_candidates(papers)
    for count, place in enumerate(due, 1):
        began = time.perf_counter()
        asked = [Prediction(x, None, y) for y in (papers[place][0], papers[place][2]) for x in texts[place]]
        terms = [term for one in asked for term in (one, replace(one, x=None))]
        totals = np.array([answer.total for answer in lm.logprob(terms)]).reshape(2, len(KINDS), 2)
        done[place] = (totals[:, :, 0] - totals[:, :, 1]).tolist()
        row = {"lm": lm.identity.digest, "paper": place, "pmi": done[place], "seconds": time.perf_counter() - began}
        seconds += row["seconds"]
        with kept.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        left = (time.perf_counter() - begun) / count * (len(due) - count)
        print(f"\r{count}/{len(due)} papers, {left / 60:.0f} min left ", end="", file=sys.stderr, flush=True)
    if len(done) < len(papers):
        sys.exit(f"{len(done)} of {len(papers)} papers are done; run the other parts")
    return np.array([done[place] for place in range(len(papers))]), seconds / (2 * len(KINDS) * len(papers))


def effect(moved: np.ndarray, same: np.ndarray) -> float:
    """Returns the standardised mean difference of *moved* and *same*."""
    return float((moved.mean() - same.mean()) / np.sqrt((moved.var(ddof=1) + same.var(ddof=1)) / 2))


def print_figures(pmi: np.ndarray, seconds: float) -> None:
    """Prints the figures of *pmi*, one per line."""
    papers = [str(place) for place in range(len(pmi)) for _ in range(2)]
    by_kind = dict(zip(KINDS, pmi.reshape(-1, len(KINDS)).T, strict=True))
    same, strange = by_kind["same"], by_kind["other"]
    auc = compute_auc(same.tolist(), papers, strange.tolist(), papers)
    random = np.random.default_rng(0)
    drawn = [pmi[random.integers(0, len(pmi), len(pmi))].reshape(-1, len(KINDS)) for _ in range(2000)]

    def between(values: Sequence[float]) -> str:
        return "({:+.2f}, {:+.2f})".format(*np.quantile(values, [0.025, 0.975]))

    print(f"\n{len(papers)} pairs of {len(pmi)} papers; {1 / seconds:.1f} pairs a second")
    for place, (kind, values) in enumerate(by_kind.items()):
        interval = between([one[:, place].mean() for one in drawn])
        print(f"{kind:8} mean {values.mean():+.2f} {interval}, above zero {(values > 0).mean():.3f}")
    print(f"AUC same against other {auc.auc:.3f} ({auc.low:.3f}, {auc.high:.3f})")
    print(f"pairs with same > other {(same > strange).mean():.3f}, same > moved {(same > by_kind['moved']).mean():.3f}")
    difference = same - strange
    print(f"(same - other) / its sd {difference.mean() / difference.std(ddof=1):.2f}")
    for place, kind in enumerate(KINDS[1:], 1):
        values = [effect(one[:, place], one[:, 0]) for one in drawn]
        print(f"d of {kind} against same {effect(by_kind[kind], same):+.2f} {between(values)}")
    interval = between([(one[:, 0] - one[:, 2]).mean() for one in drawn])
    print(f"above chance (same - moved) {(same - by_kind['moved']).mean():+.2f} {interval}")


def main() -> None:
    file, rows, kept, *settings = sys.argv[1:]
    part = next((one.removeprefix("part=") for one in settings if one.startswith("part=")), "0/1")
    named = tuple(f"evaluation_lm.{one}" for one in settings if not one.startswith("part="))
    lm = open_lm(load(None, named).evaluation_lm)
    judged = judged_papers(Path(file), rows, several=True)
    papers = [list(paper.judgments) for paper in judged if len(paper.judgments) == 3]
    print_figures(*scored(lm, papers, Path(kept), part))


if __name__ == "__main__":
    main()

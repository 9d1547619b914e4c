"""Compares the speed of our BERTScore and ROUGE-L with the simplest computation, one pair at a time.

Run it as `python -m tests.bench.bench_bertscore [papers]` (default 10). It uses the real ICLR 2023 reviews if they are
on this machine, else the sample's. Candidates of a paper are its human review, that review without every other
sentence, and the reviews of two other papers. Each is compared with two references. Both ways must give equal scores.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gre_bench.core.records import Case
from gre_bench.lm.embedders import Embedder, HashedNgramEmbedder
from gre_bench.metrics.bertscore import BertScore, compute_precision_recall_f1, split_into_sentences
from gre_bench.metrics.overlap import ROUGE_L, OverlapMetric
from tests.conftest import ROOT, SHARED

REAL = SHARED / "iclr2023" / "human_reviews.parquet"


def reviews() -> list[list[str]]:
    """Returns the first three reviews of each paper that has three."""
    papers: dict[str, list[str]] = {}
    if REAL.is_file():
        import pyarrow.parquet as parquet

        rows = parquet.read_table(REAL, filters=[("row", ">=", 900)]).to_pylist()
    else:
        rows = [json.loads(line) for line in (ROOT / "data" / "sample" / "reviews.jsonl").read_text().splitlines()]
    for row in rows:
        if row["review"]:
            papers.setdefault(row["paper_id"], []).append(row["review"])
    return [texts[:3] for texts in papers.values() if len(texts) >= 3]


def cases(papers: Sequence[Sequence[str]]) -> list[Case]:
    made = []
    for place, (human, *references) in enumerate(papers):
        others = [papers[(place + step) % len(papers)][0] for step in (1, 2)]
        candidates = {
            "human": human,
            "deleted": " ".join(split_into_sentences(human)[::2]),
            "other": others[0],
            "another": others[1],
        }
        made += [
            Case(f"p{place}", name, f"r{number}", "review", text, reference)
            for name, text in candidates.items()
            for number, reference in enumerate(references)
        ]
    return made


def pair_by_pair(embedder: Embedder, asked: Sequence[Case]) -> list[float]:
    """Returns BERTScore with both sides of each pair embedded separately."""
    found = []
    for case in asked:
        ours = embedder.embed(split_into_sentences(case.candidate), query=True)
        theirs = embedder.embed(split_into_sentences(case.reference))
        found.append(compute_precision_recall_f1(ours @ theirs.T).f1)
    return found


def library(asked: Sequence[Case]) -> list[float]:
    """Returns ROUGE-L by the library rouge-score, used as in its documentation."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    return [scorer.score(case.reference, case.candidate)["rougeL"].fmeasure for case in asked]


def run_and_time(run: Callable[[], list[float]]) -> tuple[float, list[float]]:
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def compare(name: str, ours: Callable[[], list[float]], naive: Callable[[], list[float]]) -> None:
    slow, expected = run_and_time(naive)
    fast, found = run_and_time(ours)
    apart = float(np.abs(np.subtract(found, expected)).max())
    print(f"{name:46} {slow:7.2f} s pair by pair {fast:7.2f} s ours {slow / fast:6.1f} times  apart by {apart:.1e}")


def main() -> None:
    papers = reviews()[: int(sys.argv[1]) if len(sys.argv) > 1 else 10]
    asked = cases(papers)
    print(f"{len(papers)} papers, {len(asked)} pairs, {'ICLR 2023' if REAL.is_file() else 'sample'}\n")
    embedders: dict[str, Embedder] = {"hashed-ngrams": HashedNgramEmbedder()}
    try:
        from gre_bench.lm.embedders import SentenceEmbedder
        from tests.lm.sentence_models import build_sentence_model

        with tempfile.TemporaryDirectory() as folder:
            embedders["tiny sentence-transformers model"] = SentenceEmbedder.open(
                build_sentence_model(Path(folder) / "model"), "cpu"
            )
    except ImportError:
        print("sentence-transformers is not installed: without its row")
    for name, embedder in embedders.items():
        embedder.embed(split_into_sentences(asked[0].candidate))

        def together(embedder: Embedder = embedder) -> list[float]:
            return [score.value for score in BertScore(embedder, "bench").score(asked)]

        def alone(embedder: Embedder = embedder) -> list[float]:
            return pair_by_pair(embedder, asked)

        compare(f"BERTScore, {name}", together, alone)
    compare(
        "ROUGE-L",
        lambda: [score.value for score in OverlapMetric(ROUGE_L, "bench").score(asked)],
        lambda: library(asked),
    )


if __name__ == "__main__":
    main()

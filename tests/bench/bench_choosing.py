"""Measures evaluation LMs on the papers that are kept aside to choose on: what they predict, and what they tell apart.

    python -m tests.bench.bench_choosing FILES NEVER FOLDER... [--papers 20] [--dtype bfloat16]

FILES is what `python -m tests.gpu.training_files` wrote. Papers of the file NEVER, such as notes of OpenReview, are left
out. For each FOLDER (a model, or an adapter) and set of papers it prints −log P(y) in nats with x of the same paper, with
x of another paper and without x; and the AUC of same against other paper with its 95% interval by paper. x is the second
review, y the first and the third; the other paper is half the list away.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from gre_bench.core.records import Prediction
from gre_bench.core.settings import load
from gre_bench.flows.tune_evaluation_lm import judged_papers
from gre_bench.ingest.records.sampling import evaluation_set
from gre_bench.lm.catalog import open_lm
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.stats.auc import separation
from gre_bench.writing.rules.synopsis import assw_of, assw_text

SETS = (("by_rule", "0:60", "none"), ("by_rule", "0:60", "abstract"), ("by_rule", "0:60", "assw"),
        ("by_gpt4o", "900:1000", "none"))  # fmt: skip
"""File of judgments, its rows kept aside, and the synopsis."""


def synopses(files: Path, wanted: frozenset[str]) -> dict[str, dict[str, str]]:
    """Returns paper → kind of synopsis → text for the *wanted* papers, as far as their texts are known."""
    made: dict[str, dict[str, str]] = {}
    for line in (files / "papers.jsonl").read_text().splitlines():
        paper = json.loads(line)
        if paper["paper_id"] in wanted:
            made[paper["paper_id"]] = {"abstract": paper["abstract"]} if paper.get("abstract") else {}
            lists = assw_of(paper.get("abstract"), paper["text"]) if paper.get("text") else ([], [])
            if any(lists):
                made[paper["paper_id"]]["assw"] = assw_text(*lists)
    return made


def sets(files: Path, never: Path, most: int) -> Iterator[tuple[str, list[tuple[str, tuple[str, ...], str | None]]]]:
    """Yields each set of `SETS`: its name, and at most *most* papers with id, three judgments and synopsis."""
    barred = evaluation_set(never)
    for file, rows, kind in SETS:
        papers = judged_papers(files / f"{file}.parquet", rows, None)
        hit = barred.learnt([paper.texts for paper in papers])
        papers = [paper for paper in papers if len(paper.judgments) >= 3 and paper.paper_id not in hit][:most]
        known: Mapping[str, Mapping[str, str]] = (
            {} if kind == "none" else synopses(files, frozenset(paper.paper_id for paper in papers))
        )
        found = [(paper.paper_id, paper.judgments[:3], known.get(paper.paper_id, {}).get(kind)) for paper in papers]
        yield f"{file}, {kind}", [one for one in found if kind == "none" or one[2]]


def figures(lm: EvaluationLM, papers: list[tuple[str, tuple[str, ...], str | None]]) -> str:
    """Returns the line that the module describes, for one set of papers."""
    totals = []
    for place, (_, (first, second, third), synopsis) in enumerate(papers):
        other = papers[(place + len(papers) // 2) % len(papers)][1][1]
        for y in (first, third):
            asked = [Prediction(x, synopsis, y) for x in (second, other, None)]
            totals.append([answer.total for answer in lm.logprob(asked)])
    same, strange, alone = np.array(totals).T
    ids = [paper_id for paper_id, *_ in papers for _ in range(2)]
    auc = separation((same - alone).tolist(), ids, (strange - alone).tolist(), ids)
    losses = " / ".join(f"{-each.mean():.1f}" for each in (same, strange, alone))
    return f"{len(papers)} papers, −log P {losses}, AUC {auc.auc:.3f} ({auc.low:.3f}, {auc.high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path)
    parser.add_argument("never", type=Path)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--papers", type=int, default=20)
    parser.add_argument("--dtype", default="bfloat16")
    asked = parser.parse_args()
    for folder in asked.folders:
        named = ("backend=transformers", f"folder={folder}", f"dtype={asked.dtype}")
        lm = open_lm(load(None, tuple(f"evaluation_lm.{one}" for one in named)).evaluation_lm)
        for name, papers in sets(asked.files, asked.never, asked.papers):
            print(f"{folder}: {name}: {figures(lm, papers)}", flush=True)


if __name__ == "__main__":
    main()

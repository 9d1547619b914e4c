"""Measures evaluation LMs on the papers held out for model selection: their predictions, and what they distinguish.

    python -m tests.bench.bench_choosing FILES NEVER FOLDER... [--papers 20] [--dtype bfloat16] [--judge]
    python -m tests.bench.bench_choosing STATE STATE --edition ICLR-2020

FILES: the output of `python -m tests.gpu.training_files`. Papers in the file NEVER, such as OpenReview notes, are left
out. For each FOLDER (a model or an adapter) and set of papers, it prints:

- −log P(y) in nats with x of the same paper, with x of another paper, and without x
- the AUC of same against other paper with its 95% interval by paper
- the effect d on the score if x keeps only every other line, or is replaced by the judgments of the synopsis
- for each FOLDER after the first, the gain in AUC over the first

x is the second review; y is the first and the third. The other paper is half the list away. With --judge, the papers
are rows 0-299, which are reserved for testing a finished model.

With --edition, it compares two states in which `study validate` scored one edition with two LMs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import duckdb
import numpy as np
from scipy.stats import rankdata

from gre_bench.core.records import Prediction
from gre_bench.core.settings import load
from gre_bench.ingest.records.sampling import build_evaluation_set_register
from gre_bench.lm.opening import open_lm
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.pipeline.training import judged_papers
from gre_bench.stats.auc import compute_auc
from gre_bench.stats.effects import compute_effect_size
from gre_bench.store import Store
from gre_bench.writing.rules.judgments import write_rule_judgments
from gre_bench.writing.rules.synopsis import assw_text, extract_assw_sentences

SETS = (("by_rule", "0:60", "none"), ("by_rule", "0:60", "abstract"), ("by_rule", "0:60", "assw"),
        ("by_gpt4o", "900:1000", "none"))  # fmt: skip
"""(file of judgments, its held-out rows, kind of synopsis)."""
JUDGING = (("rows_0_299", "0:300", "none"),)
SCORES = """select h.paper_id, h.reference_id, h.value, o.value
from pairs h join pairs o using (signature_id, paper_id, reference_id) join signatures s using (signature_id)
where s.metric = $metric and h.candidate_id = 'human' and o.candidate_id = 'other-paper'
and h.state = 'scored' and o.state = 'scored'"""


def synopses(files: Path, wanted: frozenset[str]) -> dict[str, dict[str, str]]:
    """Returns paper → kind of synopsis → text, for the *wanted* papers with known texts."""
    made: dict[str, dict[str, str]] = {}
    for line in (files / "papers.jsonl").read_text().splitlines():
        paper = json.loads(line)
        if paper["paper_id"] in wanted:
            made[paper["paper_id"]] = {"abstract": paper["abstract"]} if paper.get("abstract") else {}
            lists = extract_assw_sentences(paper.get("abstract"), paper["text"]) if paper.get("text") else ([], [])
            if any(lists):
                made[paper["paper_id"]]["assw"] = assw_text(*lists)
    return made


def read_sets(
    files: Path, never: Path, most: int, chosen: Iterable[tuple[str, str, str]]
) -> Iterator[tuple[str, list[tuple[str, tuple[str, ...], str | None]]]]:
    """Yields (name, papers) of each set in *chosen*: at most *most* papers with id, three judgments and synopsis."""
    barred = build_evaluation_set_register(never)
    for file, rows, kind in chosen:
        papers = judged_papers(files / f"{file}.parquet", rows)
        hit = barred.trained_on([paper.texts for paper in papers])
        papers = [paper for paper in papers if len(paper.judgments) >= 3 and paper.paper_id not in hit][:most]
        known: Mapping[str, Mapping[str, str]] = (
            {} if kind == "none" else synopses(files, frozenset(paper.paper_id for paper in papers))
        )
        found = [(paper.paper_id, paper.judgments[:3], known.get(paper.paper_id, {}).get(kind)) for paper in papers]
        yield f"{file}, {kind}", [one for one in found if kind == "none" or one[2]]


def scored(lm: EvaluationLM, papers: list[tuple[str, tuple[str, ...], str | None]]) -> tuple[np.ndarray, list[str]]:
    """Returns (log P(y) for each x, one row per y; the paper of each row).

    The x are: the same paper's review, another paper's, none, every other line of the first, and judgments of a
    synopsis.
    """
    totals, ids = [], []
    for place, (paper_id, (first, second, third), synopsis) in enumerate(papers):
        other = papers[(place + len(papers) // 2) % len(papers)][1][1]
        texts = [second, other, None, "\n".join(second.splitlines()[::2])]
        texts += [write_rule_judgments(synopsis) or None] if synopsis else []
        for y in (first, third):
            totals.append([answer.total for answer in lm.logprob([Prediction(x, synopsis, y) for x in texts])])
            ids.append(paper_id)
    return np.array(totals), ids


def edition_scores(state: Path, edition: str, metric: str) -> dict[tuple[str, str], np.ndarray]:
    """Returns (paper, reference) → scores of the human reviews of the paper and of another paper, in an edition."""
    with duckdb.connect(str(Store(state, edition).read_file), read_only=True) as run:
        rows = run.execute(SCORES, {"metric": metric}).fetchall()
    return {(paper_id, reference): np.array([same, other]) for paper_id, reference, same, other in rows}


def gain(before: np.ndarray, after: np.ndarray, ids: list[str], resamples: int = 4000) -> str:
    """Returns the AUC of *after* minus the AUC of *before*, with a 95% interval by a bootstrap of papers.

    Both have one row per y, with the scores of the same paper and of another paper. *ids*: the paper of each row.
    """

    def auc(scores: np.ndarray) -> float:
        ranks = rankdata(scores.T.ravel())[: len(scores)]
        return float((ranks.sum() - len(scores) * (len(scores) + 1) / 2) / len(scores) ** 2)

    rows_of = {paper_id: [row for row, one in enumerate(ids) if one == paper_id] for paper_id in dict.fromkeys(ids)}
    papers, random = list(rows_of), np.random.default_rng(0)
    gains = []
    for _ in range(resamples):
        rows = [row for drawn in random.integers(len(papers), size=len(papers)) for row in rows_of[papers[drawn]]]
        gains.append(auc(after[rows]) - auc(before[rows]))
    low, high = np.quantile(gains, (0.025, 0.975))
    return f"AUC {auc(before):.3f} -> {auc(after):.3f}, {auc(after) - auc(before):+.3f} ({low:+.3f}, {high:+.3f})"


def compare_states(states: list[Path], edition: str) -> None:
    """Prints for each metric how much better the second state's LM distinguishes the reviews of *edition*."""
    for metric in ("gem", "gem_s_abstract", "gem_s_assw"):
        before, after = (edition_scores(state, edition, metric) for state in states)
        keys = sorted(before.keys() & after.keys())
        if keys:
            old, new = (np.array([scores[key] for key in keys]) for scores in (before, after))
            told = gain(old, new, [paper_id for paper_id, _ in keys])
            means = ", ".join(f"{each.mean():+.1f}" for each in (*old.T, *new.T))
            print(f"{edition}: {metric}: {len(keys)} pairs of {len({key[0] for key in keys})} papers: {told}; {means}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path)
    parser.add_argument("never", type=Path)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--papers", type=int, default=20)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--edition")
    asked = parser.parse_args()
    if asked.edition:
        compare_states([asked.files, asked.never], asked.edition)
        return
    first: dict[str, np.ndarray] = {}
    for folder in asked.folders:
        named = ("backend=transformers", f"folder={folder}", f"dtype={asked.dtype}")
        lm = open_lm(load(None, tuple(f"evaluation_lm.{one}" for one in named)).evaluation_lm)
        for name, papers in read_sets(asked.files, asked.never, asked.papers, JUDGING if asked.judge else SETS):
            totals, ids = scored(lm, papers)
            same, strange, alone, *changed = totals.T
            auc = compute_auc((same - alone).tolist(), ids, (strange - alone).tolist(), ids)
            losses = " / ".join(f"{-each.mean():.1f}" for each in totals.T)
            line = f"{len(papers)} papers, −log P {losses}, AUC {auc.auc:.3f} ({auc.low:.3f}, {auc.high:.3f})"
            for change, answer in zip(("half", "synopsis"), changed, strict=False):
                d = compute_effect_size((same - alone).tolist(), (answer - alone).tolist(), ids, resamples=1000, seed=0)
                line += f", d {change} {d.value:+.2f} ({d.low:+.2f}, {d.high:+.2f})"
            scores = np.stack([same - alone, strange - alone], axis=1)
            if name in first:
                line += f"; against {asked.folders[0]}: {gain(first[name], scores, ids)}"
            first.setdefault(name, scores)
            print(f"{folder}: {name}: {line}", flush=True)


if __name__ == "__main__":
    main()

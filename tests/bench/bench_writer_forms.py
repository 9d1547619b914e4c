"""Compares rule-based writers of judgments on the papers held out for model selection, each with an LM of its own form.

    python -m tests.bench.bench_writer_forms FILES NEVER WRITER=FOLDER... [--changes stuffed,copied,half,elongated]

FILES: the output of `python -m tests.gpu.training_files`; papers in the file NEVER are left out. A WRITER is one of
`WRITERS`, and FOLDER holds the `cache-ngram` that scores its judgments. For each set it prints:

- the AUC of same against other paper, and its gain over the first WRITER with the 95% interval by paper
- d and the share of pairs, the means in nats, and tokens and lines per review
- for each perturbation, d with its 95% interval

Candidates are second reviews, and references are first and third reviews. Another paper is half the list away.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gre_bench.core.records import Prediction
from gre_bench.core.training_registers import PaperTexts
from gre_bench.ingest.records.sampling import build_evaluation_set_register
from gre_bench.lm.ngram.cache_ngram import CacheNgram
from gre_bench.lm.ngram.segmentation import split_into_tokens
from gre_bench.perturbations import edits
from gre_bench.perturbations.material import PerturbationInput
from gre_bench.stats.auc import compute_auc
from gre_bench.stats.effects import compute_effect_size
from gre_bench.writing.rules.judgments import WRITER, write_rule_judgments
from gre_bench.writing.rules.writer import summarise_stances
from tests.bench.bench_choosing import gain

WRITERS: dict[str, Callable[[str], str]] = {WRITER: write_rule_judgments}
"""Name → writer; add another here to compare it."""
Reviewed = tuple[PaperTexts, str]
"""(paper with its reviews and abstract, its title)."""


def sets(files: Path, never: Path) -> list[tuple[str, list[Reviewed], bool]]:
    """Returns (name, papers with three reviews, whether the abstract is given) of each set."""
    known = pd.read_json(files / "papers.jsonl", lines=True).set_index("paper_id")
    barred = build_evaluation_set_register(never)

    def papers(file: str, first: int, end: int) -> list[Reviewed]:
        rows = pd.read_parquet(files / file, columns=["row", "paper_id", "slot", "review"])
        rows = rows[(rows["row"] >= first) & (rows["row"] < end)].sort_values(["row", "slot"])
        found = []
        for name, group in rows.groupby("paper_id", sort=False):
            about = known.loc[name].dropna().to_dict() if name in known.index else {}
            reviews = tuple(group["review"][:3])
            found.append((PaperTexts(str(name), about.get("abstract"), reviews), about.get("title", "")))
        hit = barred.trained_on([paper for paper, _ in found])
        return [each for each in found if len(each[0].reviews) == 3 and each[0].paper_id not in hit]

    chosen = papers("by_rule.parquet", 0, 60)
    return [("rows 900-999", papers("by_gpt4o.parquet", 900, 1000), False), ("60 papers", chosen, False),
            ("60 papers, abstract", chosen, True)]  # fmt: skip


def perturb_review(change: str, paper: PaperTexts, title: str) -> str:
    """Returns the second review of *paper* after the perturbation *change*; unchanged if it has no sections."""
    review = PerturbationInput(paper.paper_id, paper.reviews[1], title or "this", paper.abstract)
    if change == "stuffed":
        return edits.stuff_keywords(review)
    if change == "copied":
        return paper.abstract or ""
    if change == "half":
        return edits.delete_even_sentences(review)
    phrases = summarise_stances(review.text)
    return (
        edits.add_section_openings(review, *phrases)
        if all(phrases) and edits.has_sections_with_openings(review)
        else review.text
    )


def compare(
    write: Callable[[str], str], lm: CacheNgram, papers: Sequence[Reviewed], given: bool, changes: Sequence[str]
) -> tuple[np.ndarray, list[str], float, float]:
    """Returns (log P(y) given each x, one row per y; paper of each row; tokens per review; lines per review)."""
    written = [[write(review) for review in paper.reviews] for paper, _ in papers]
    rows, ids = [], []
    for place, (paper, title) in enumerate(papers):
        first, second, third = written[place]
        synopsis = paper.abstract if given else None
        xs = [second, written[(place + len(papers) // 2) % len(papers)][1], None]
        xs += [write(perturb_review(change, paper, title)) or None for change in changes]
        for y in (first, third):
            if second and y:
                rows.append([answer.total for answer in lm.logprob([Prediction(x, synopsis, y) for x in xs])])
                ids.append(paper.paper_id)
    texts = [text for three in written for text in three]
    tokens = float(np.mean([len(split_into_tokens(text).words) for text in texts]))
    return np.array(rows), ids, tokens, float(np.mean([len(text.splitlines()) for text in texts]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path)
    parser.add_argument("never", type=Path)
    parser.add_argument("writers", nargs="+")
    parser.add_argument("--changes", default="")
    asked = parser.parse_args()
    first: dict[str, tuple[np.ndarray, list[str]]] = {}
    chosen = sets(asked.files, asked.never)
    for named in asked.writers:
        name, _, folder = named.partition("=")
        lm, start = CacheNgram.load(Path(folder)), time.process_time()
        for title, papers, given in chosen:
            changes = [change for change in asked.changes.split(",") if change]
            changes = [change for change in changes if papers[0][0].abstract or change in ("half", "elongated")]
            totals, ids, tokens, lines = compare(WRITERS[name], lm, papers, given, changes)
            same, other, alone, *after = totals.T
            same, other = same - alone, other - alone
            auc = compute_auc(same.tolist(), ids, other.tolist(), ids)
            d = compute_effect_size(other.tolist(), same.tolist(), ids, resamples=500).value
            line = f"AUC {auc.auc:.3f} ({auc.low:.3f}, {auc.high:.3f}), d {d:.2f}, pairs {(same > other).mean():.3f}, "
            line += f"same {same.mean():+.1f}, other {other.mean():+.1f}, {tokens:.0f} tokens, {lines:.1f} lines"
            for change, answer in zip(changes, after, strict=True):
                moved = compute_effect_size(same.tolist(), (answer - alone).tolist(), ids, resamples=500)
                line += f"; {change} {moved.value:+.2f} ({moved.low:+.2f}, {moved.high:+.2f})"
            scores = np.stack([same, other], axis=1)
            if title in first:
                both = [row for row, key in enumerate(_keys(ids)) if key in set(_keys(first[title][1]))]
                before = [row for row, key in enumerate(_keys(first[title][1])) if key in set(_keys(ids))]
                line += f"; {gain(first[title][0][before], scores[both], [ids[row] for row in both])}"
            first.setdefault(title, (scores, ids))
            print(f"{name}: {title}: {line}", flush=True)
        print(f"{name}: {time.process_time() - start:.0f} CPU s", flush=True)


def _keys(ids: Sequence[str]) -> list[tuple[str, int]]:
    """Returns (paper, number of earlier rows of that paper) for each row."""
    return [(name, ids[:row].count(name)) for row, name in enumerate(ids)]


if __name__ == "__main__":
    main()

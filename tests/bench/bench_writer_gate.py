"""Tests a rule-based writer and its LM on test papers: GPT-4o's wording, and passages copied from papers.

    python -m tests.bench.bench_writer_gate rows ROWS WRITER=FOLDER...
    python -m tests.bench.bench_writer_gate copies STATE TEXTS EDITION... -- WRITER=FOLDER...

A WRITER is one of `tests.bench.bench_writer_forms.WRITERS`, and FOLDER holds the `cache-ngram` of its form. d is the
effect of replacing the candidate by another text, with its 95% interval by paper. Candidates are the second reviews of
ROWS, and the first reviews of an EDITION.

- *rows*: ROWS is rows_0_299.parquet of `tests.gpu.training_files`. It prints the AUC by GPT-4o's judgments. By the
  writer's own judgments, it prints the AUC, the effect of GPT-4o's wording of the same review, and gains over the first
  WRITER.
- *copies*: the human reviews and abstracts of each EDITION in STATE, and TEXTS, a table of full texts. It prints the
  effect of 600 words of the paper's body as a review, and of a review by the rule `extractive-full`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from gre_bench.core.records import Prediction
from gre_bench.lm.ngram.cache_ngram import CacheNgram
from gre_bench.stats.auc import compute_auc
from gre_bench.stats.effects import compute_effect_size
from gre_bench.store import Store
from gre_bench.writing.rules.extractive import write_extractive_review
from gre_bench.writing.rules.synopsis import assw_text, extract_assw_sentences
from tests.bench.bench_choosing import gain
from tests.bench.bench_writer_forms import WRITERS

MOST = 100
"""The largest number of papers of an edition."""
COPIED = 600
REVIEWS = """select p.paper_id, p.title, p.abstract, list(r.text order by r.review_id)
from papers p join reviews r using (paper_id) where r.candidate = 'human' group by all having count(*) >= 3 order by 1"""

Scores = tuple[np.ndarray, list[str]]
"""(PMI of each x, one row per y; the paper of each row)."""


def pmi(lm: CacheNgram, ys: Sequence[str], xs: Sequence[str], synopsis: str | None = None) -> list[list[float]]:
    """Returns the PMI of each of *ys* (rows) with each of *xs* (columns)."""
    rows = []
    for y in ys:
        *given, alone = lm.logprob([Prediction(x, synopsis, y) for x in (*(x or None for x in xs), None)])
        rows.append([answer.total - alone.total for answer in given])
    return rows


def format_effect(scores: np.ndarray, ids: list[str], column: int) -> str:
    d = compute_effect_size(scores[:, 0].tolist(), scores[:, column].tolist(), ids, resamples=2000)
    return f"d {d.value:+.2f} ({d.low:+.2f}, {d.high:+.2f})"


def told(name: str, now: Scores, first: Scores | None) -> str:
    """Returns a line with the AUC of *now* (columns 0 and 1: same and other paper) and its gain over *first*."""
    scores, ids = now
    auc = compute_auc(scores[:, 0].tolist(), ids, scores[:, 1].tolist(), ids)
    line = f"{name}: {len(ids)} pairs, AUC {auc.auc:.3f} ({auc.low:.3f}, {auc.high:.3f})"
    return line if first is None or first[1] != ids else f"{line}; {gain(first[0][:, :2], scores[:, :2], ids)}"


def rows(file: Path, writers: Sequence[tuple[str, Callable[[str], str], CacheNgram]]) -> None:
    table = pd.read_parquet(file).sort_values(["row", "slot"])
    papers = [
        (str(name), list(of["review"]), list(of["judgments"])) for name, of in table.groupby("paper_id", sort=False)
    ]
    papers = [paper for paper in papers if len(paper[1]) == 3]
    first: list[Scores] = []
    for name, write, lm in writers:
        by_gpt, own, ids, own_ids = [], [], [], []
        for place, (paper, reviews, judged) in enumerate(papers):
            _, other, other_judged = papers[(place + len(papers) // 2) % len(papers)]
            by_gpt += pmi(lm, (judged[0], judged[2]), (judged[1], other_judged[1]))
            ids += [paper] * 2
            written = [write(review) for review in reviews]
            if all(written):
                own += pmi(lm, (written[0], written[2]), (written[1], write(other[1]), judged[1]))
                own_ids += [paper] * 2
        now = [(np.array(by_gpt), ids), (np.array(own), own_ids)]
        print(told(f"{name}, GPT-4o's judgments", now[0], first[0] if first else None), flush=True)
        wording = format_effect(now[1][0], own_ids, 2)
        print(told(f"{name}, own judgments", now[1], first[1] if first else None) + f"; GPT-4o's wording {wording}")
        first = first or now


def copies(
    state: Path, texts: Path, editions: Sequence[str], writers: Sequence[tuple[str, Callable[[str], str], CacheNgram]]
) -> None:
    bodies: dict[str, str] = pd.read_parquet(texts).set_index("paper_id")["markdown"].to_dict()
    papers = []
    for edition in editions:
        with duckdb.connect(str(Store(state, edition).read_file), read_only=True) as run:
            found = [row for row in run.execute(REVIEWS).fetchall() if row[2] and row[0] in bodies]
        random.Random(4).shuffle(found)
        papers += found[:MOST]
    for name, write, lm in writers:
        for kind in ("abstract", "assw"):
            scores, ids = [], []
            for paper, title, abstract, reviews in papers:
                text = bodies[paper]
                synopsis = abstract if kind == "abstract" else assw_text(*extract_assw_sentences(abstract, text))
                body = " ".join(text[len(text) // 4 :].split()[:COPIED])
                first, second, third = map(write, reviews[:3])
                if first and second and third:
                    xs = (first, write(body), write(write_extractive_review(title, abstract, text, "full")))
                    scores += pmi(lm, (second, third), xs, synopsis)
                    ids += [paper] * 2
            table = np.array(scores)
            line = f"{name}, GEM-S ({kind}), {len(set(ids))} papers of {'+'.join(editions)}: human {table[:, 0].mean():+.1f}"
            print(
                f"{line}; body {format_effect(table, ids, 1)}; extractive-full {format_effect(table, ids, 2)}",
                flush=True,
            )


def main() -> None:
    if len(sys.argv) < 4 or sys.argv[1] not in ("rows", "copies"):
        raise SystemExit(__doc__)
    kind, *given = sys.argv[1:]
    split = given.index("--") if "--" in given else 0
    named = [writer.partition("=") for writer in given[split + 1 :]]
    writers = [(name, WRITERS[name], CacheNgram.load(Path(folder))) for name, _, folder in named]
    if kind == "rows":
        rows(Path(given[0]), writers)
    else:
        copies(Path(given[0]), Path(given[1]), given[2:split], writers)


if __name__ == "__main__":
    main()

"""Trains the weights of the judgments by rule on the judgments that GPT-4o wrote from real ICLR 2023 reviews.

Run it as `python -m tests.bench.fit_judgments [first] [last] [file]`. By default it reads rows 300-899 and writes
`data/judgments/weights.tsv`. The same rows give the same file. A sentence gets the stance of the line with the most
similar words; a sentence without such a line judges nothing. Nor does any sentence of a paper: 1,200 words of each text,
and all abstracts, of the training papers that the embedded LM has learnt. Papers that also stand among the notes under
`openreview` judge evaluation LMs and are left out. The register beside the weights, `learnt_from.txt`, also holds rows
900-999, on which the settings of the writer were chosen.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, sparse

from gre_bench.core.review_text import Kind
from gre_bench.core.training_registers import PaperTexts, Register, load_named_registers, write_register
from gre_bench.ingest.records.sampling import build_evaluation_set_register
from gre_bench.writing.rules.judgments import split_into_review_sentences
from gre_bench.writing.rules.stances import NONE, SCALE, STANCES, ReviewSentence, extract_features
from tests.bench.bench_rule_judgments import judged, parse_row_range, real_rows, words
from tests.conftest import ROOT, SHARED

ALIKE, SOURCE = 0.5, 0.3
"""Cosines from which a sentence matches a line: any sentence, and the sentence most similar to that line."""

SEEN = 8
"""The fewest sentences that must have a feature."""

EMBEDDED = "cache-ngram-3"
FEWEST_CHARACTERS = 5000
"""Shorter texts of papers are abstracts or fragments."""

CHOSEN_ON = (900, 999)
"""The rows on which the settings of the writer were chosen."""

PENALTY = 12.0
"""The coefficient of the L2 penalty (half the square of each weight)."""

SLIGHT = 0.05
"""A feature is dropped if none of its weights is larger than this."""


_SAME = {"clari": "clear", "writi": "writt", "ease": "easy", "origi": "novel", "confu": "uncle"}
"""Stems of words that GPT-4o uses interchangeably."""


def stems(text: str) -> frozenset[str]:
    found = (word[:5] for word in words("The reviewer says " + text.replace("-", " ")))
    return frozenset(_SAME.get(stem, stem) for stem in found)


def stances_of(sentences: Sequence[ReviewSentence], lines: Sequence[str], rarity: dict[str, float]) -> list[int]:
    """Returns for each sentence the index of its stance in `STANCES`, or `NONE`."""
    if not sentences or not lines:
        return [NONE] * len(sentences)
    texts = [[stems(sentence.text) for sentence in sentences], [stems(line.split(" ", 3)[-1]) for line in lines]]
    sizes = [np.sqrt([1 + sum(rarity[stem] for stem in one) for one in side]) for side in texts]
    shared = np.array([[sum(rarity[stem] for stem in one & two) for two in texts[1]] for one in texts[0]])
    alike = shared / sizes[0][:, None] / sizes[1]
    best, source = alike.argmax(axis=1), alike.argmax(axis=0)
    found = []
    for place, line in enumerate(best):
        enough = SOURCE if source[line] == place else ALIKE
        found.append(STANCES.index(lines[line].split()[2]) if alike[place, line] >= enough else NONE)
    return found


def of_papers(shapes: Sequence[tuple[Kind, int]]) -> tuple[list[set[str]], list[PaperTexts]]:
    """Returns the features of sentences of training papers that the embedded LM has learnt, and these papers.

    Each sentence stands in a kind of section, and in a review of a length, taken at random from *shapes*.
    """
    table = pd.read_parquet(SHARED / "training" / "papers.parquet").fillna("")
    table = table[(table["abstract"] != "") | (table["text"] != "")]
    known = [PaperTexts(name, about or None) for name, about in zip(table["paper_id"], table["abstract"], strict=True)]
    trained_on = load_named_registers([EMBEDDED])[0].trained_on(known)
    papers = [paper for paper in known if paper.paper_id in trained_on]
    texts = table[table["paper_id"].isin(trained_on)]["text"]
    chance, named = random.Random(7), []

    def add(sentences: Sequence[ReviewSentence]) -> None:
        for sentence in sentences:
            kind, count = chance.choice(shapes)
            named.append(extract_features(replace(sentence, kind=kind), count))

    for text in texts:
        if len(text) > FEWEST_CHARACTERS:
            words = text.split()
            start = chance.randrange(max(1, len(words) - 700))
            sentences = split_into_review_sentences(" ".join(words[start : start + 1200]))
            chance.shuffle(sentences)
            add(sentences)
    sentences = [sentence for paper in papers for sentence in split_into_review_sentences(paper.abstract or "")]
    chance.shuffle(sentences)
    add(sentences)
    return named, papers


def fitted(seen: sparse.csr_matrix, classes: np.ndarray) -> np.ndarray:
    """Returns the weights (features, 5) of an L2-penalised log-linear model of *classes*."""
    target = np.eye(NONE + 1)[classes]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(seen.shape[1], -1)
        scores = seen @ weights
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        slope = seen.T @ (np.exp(logs) - target) + PENALTY * weights
        return float(-(target * logs).sum() + PENALTY * (flat @ flat) / 2), slope.ravel()

    start = np.zeros(seen.shape[1] * (NONE + 1))
    return optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x.reshape(-1, NONE + 1)


def rows_of(first: int, last: int, sets: Sequence[Register]) -> tuple[list[dict[str, Any]], int]:
    """Returns (reviews of the rows *first* to *last* without the papers of *sets*, number of reviews before that)."""
    rows = real_rows(first, last)
    barred = frozenset().union(*(one.trained_on(papers_of(rows)) for one in sets))
    return [row for row in rows if row["paper_id"] not in barred], len(rows)


def papers_of(rows: Sequence[dict[str, Any]]) -> list[PaperTexts]:
    """Returns the papers of *rows* in the form that registers record."""
    texts: dict[str, list[str]] = {}
    for row in rows:
        texts.setdefault(row["paper_id"], []).append(row["review"] or "")
    return [PaperTexts(paper_id, None, tuple(reviews)) for paper_id, reviews in texts.items()]


def main() -> None:
    first, last = parse_row_range(300, 899)
    out = Path(sys.argv[3]) if len(sys.argv) > 3 else ROOT / "data" / "judgments" / "weights.tsv"
    sets = [build_evaluation_set_register(file) for file in sorted((SHARED / "openreview").glob("*.notes.jsonl.gz"))]
    rows, given = rows_of(first, last, sets)
    start = time.perf_counter()
    read = [(split_into_review_sentences(row["review"] or ""), judged(row["judgments"] or "")) for row in rows]
    counts = Counter(
        stem
        for sentences, lines in read
        for text in [*(sentence.text for sentence in sentences), *(line.split(" ", 3)[-1] for line in lines)]
        for stem in stems(text)
    )
    rarity = {stem: float(np.log(1 + counts.total() / 20 / number)) for stem, number in counts.items()}
    classes = np.array([one for sentences, lines in read for one in stances_of(sentences, lines, rarity)])
    named = [extract_features(sentence, len(sentences)) for sentences, _ in read for sentence in sentences]
    often = Counter(name for names in named for name in names)
    vocabulary = sorted(name for name, number in often.items() if number >= SEEN)
    places = {name: place for place, name in enumerate(vocabulary)}
    shapes = [(sentence.kind, len(sentences)) for sentences, _ in read for sentence in sentences]
    of_texts, papers = of_papers(shapes)
    named, classes = named + of_texts, np.append(classes, [NONE] * len(of_texts))
    held = [sorted(places[name] for name in names if name in places) for names in named]
    ends = np.cumsum([0, *map(len, held)])
    seen = sparse.csr_matrix((np.ones(ends[-1]), np.concatenate(held), ends), shape=(len(held), len(vocabulary)))
    whole = np.rint(SCALE * fitted(seen, classes)).astype(int)
    kept = [place for place in range(len(vocabulary)) if abs(whole[place]).max() >= SLIGHT * SCALE]
    out.parent.mkdir(parents=True, exist_ok=True)
    table = ["\t".join(["feature", *STANCES, "none"])]
    table += ["\t".join([vocabulary[place], *map(str, whole[place])]) for place in kept]
    out.write_text("\n".join(table) + "\n", "utf-8")
    chosen_on, _ = rows_of(*CHOSEN_ON, sets)
    write_register(out.parent, [*papers_of([*rows, *chosen_on]), *papers])
    shares = ", ".join(f"{name} {np.mean(classes == place):.2f}" for place, name in enumerate([*STANCES, "none"]))
    print(f"{given - len(rows)} of {given} reviews left out: they judge evaluation LMs")
    print(f"{len(rows)} reviews, {len(classes)} sentences ({shares}), {len(kept)} of {len(vocabulary)} features, "
          f"{out.stat().st_size / 1e6:.2f} MB, {time.perf_counter() - start:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()

"""Trains the weights of the judgments by rule on the judgments that GPT-4o wrote from real ICLR 2023 reviews.

Run it as `python -m tests.bench.fit_judgments [first] [last] [file]`. By default it reads rows 300-899 and writes
`data/judgments/weights.tsv`. The same rows give the same file. A clause gets the stance of the line with the most
similar words; a clause without such a line has no stance. Papers that also occur in the notes under `openreview` serve
to test evaluation LMs and are left out. The register next to the weights, `learnt_from.txt`, also contains rows
900-999, on which the settings of the writer were chosen.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, sparse

from gre_bench.core.learnt_from import PaperTexts, Register, write_register
from gre_bench.ingest.records.sampling import evaluation_set
from gre_bench.writing.rules.clauses import NONE, SCALE, STANCES, Clause, clauses_of, features
from tests.bench.bench_rule_judgments import asked, judged, real_rows, words
from tests.conftest import ROOT, SHARED

ALIKE, SOURCE = 0.5, 0.3
"""The least cosines at which a clause matches a line: for any clause, and for the clause most similar to that line."""

SEEN = 8
"""The fewest clauses in which a feature must occur."""

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


def stances_of(clauses: Sequence[Clause], lines: Sequence[str], rarity: dict[str, float]) -> list[int]:
    """Returns the index in `STANCES` of each clause's stance, or `NONE`."""
    if not clauses or not lines:
        return [NONE] * len(clauses)
    texts = [[stems(clause.text) for clause in clauses], [stems(line.split(" ", 3)[-1]) for line in lines]]
    sizes = [np.sqrt([1 + sum(rarity[stem] for stem in one) for one in side]) for side in texts]
    shared = np.array([[sum(rarity[stem] for stem in one & two) for two in texts[1]] for one in texts[0]])
    alike = shared / sizes[0][:, None] / sizes[1]
    best, source = alike.argmax(axis=1), alike.argmax(axis=0)
    found = []
    for place, line in enumerate(best):
        enough = SOURCE if source[line] == place else ALIKE
        found.append(STANCES.index(lines[line].split()[2]) if alike[place, line] >= enough else NONE)
    return found


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
    barred = frozenset().union(*(one.learnt(papers_of(rows)) for one in sets))
    return [row for row in rows if row["paper_id"] not in barred], len(rows)


def papers_of(rows: Sequence[dict[str, Any]]) -> list[PaperTexts]:
    """Returns the papers of *rows* in the form that registers record."""
    texts: dict[str, list[str]] = {}
    for row in rows:
        texts.setdefault(row["paper_id"], []).append(row["review"] or "")
    return [PaperTexts(paper_id, None, tuple(reviews)) for paper_id, reviews in texts.items()]


def main() -> None:
    first, last = asked(300, 899)
    out = Path(sys.argv[3]) if len(sys.argv) > 3 else ROOT / "data" / "judgments" / "weights.tsv"
    sets = [evaluation_set(file) for file in sorted((SHARED / "openreview").glob("*.notes.jsonl.gz"))]
    rows, given = rows_of(first, last, sets)
    start = time.perf_counter()
    read = [(clauses_of(row["review"] or ""), judged(row["judgments"] or "")) for row in rows]
    counts = Counter(
        stem
        for clauses, lines in read
        for text in [*(clause.text for clause in clauses), *(line.split(" ", 3)[-1] for line in lines)]
        for stem in stems(text)
    )
    rarity = {stem: float(np.log(1 + counts.total() / 20 / number)) for stem, number in counts.items()}
    classes = np.array([one for clauses, lines in read for one in stances_of(clauses, lines, rarity)])
    named = [features(clause, len(clauses)) for clauses, _ in read for clause in clauses]
    often = Counter(name for names in named for name in names)
    vocabulary = sorted(name for name, number in often.items() if number >= SEEN)
    places = {name: place for place, name in enumerate(vocabulary)}
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
    write_register(out.parent, papers_of([*rows, *chosen_on]))
    shares = ", ".join(f"{name} {np.mean(classes == place):.2f}" for place, name in enumerate([*STANCES, "none"]))
    print(f"{given - len(rows)} of {given} reviews left out: they judge evaluation LMs")
    print(f"{len(rows)} reviews, {len(classes)} clauses ({shares}), {len(kept)} of {len(vocabulary)} features, "
          f"{out.stat().st_size / 1e6:.2f} MB, {time.perf_counter() - start:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()

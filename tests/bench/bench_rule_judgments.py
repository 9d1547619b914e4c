"""Compares the judgments by rule with those that GPT-4o wrote from the same real ICLR 2023 reviews.

Run it as `python -m tests.bench.bench_rule_judgments [first] [last]`; the default rows are 900-966 (201 reviews). Lines
are aligned greedily by the overlap of their content words. The last table shows the value of each set of judgments for
the embedded evaluation LM: the AUC of the PMI with a review of the same paper against a review of another paper.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gre_bench.core.controls import pick_item_half_a_list_away
from gre_bench.core.judgments import OPENINGS
from gre_bench.core.records import Prediction
from gre_bench.lm.ngram.cache_ngram import CacheNgram
from gre_bench.writing.rules.judgments import WRITER, write_rule_judgments
from tests.conftest import ROOT, SHARED

FILE = SHARED / "iclr2023" / "human_reviews.parquet"
STANCES = [opening.split()[-1] for opening in OPENINGS]
NONE = "(none)"
ALIGNED = 0.15
"""The least Jaccard overlap of content words at which two lines count as the same judgment."""

_STOP = frozenset({
    "the", "a", "an", "of", "to", "in", "for", "and", "or", "is", "are", "be", "that", "this", "it", "with", "as", "on",
    "by", "from", "not", "at", "which", "their", "its", "paper", "authors", "reviewer", "how", "whether", "if", "more",
    "has", "have", "was", "than", "can", "would", "could", "should", "does", "do", "what", "why",
})  # fmt: skip
KINDS = {
    "praise of clarity or writing": r"appreciates.*(?:clear|clarity|writ|present|organi|easy|read)",
    "praise of novelty or interest": r"appreciates.*(?:novel|original|interest|new)",
    "praise of experiments or results": r"appreciates.*(?:experiment|result|evaluation|empiric|performance|baseline|ablation)",
    "praise of reproducibility, code, details": r"appreciates.*(?:reproduc|code|detail|implementation)",
    "other praise": r"appreciates",
    "typos and wording": r".*(?:typo|correcting|grammar|replacing|wording|notation|caption|figure \d|equation \d)",
    "verdicts": r".*(?:accept|reject|score|rating|rebuttal|concerns? (?:were|was|have been))",
    "novelty questioned": r".*(?:novel|incremental|contribution|original)",
    "missing comparison or experiment": r".*(?:compar|baseline|experiment|ablation|dataset|evaluat)",
    "unclear or missing explanation": r".*(?:clar|clear|explain|explan|detail|justif|motivation|discuss|definition)",
    "other": r"",
}


def real_rows(first: int, last: int) -> list[dict[str, Any]]:
    """Returns the rows *first* to *last* of `FILE`; ends the program if the file is missing."""
    if not FILE.is_file():
        print("the real ICLR 2023 reviews are not on this machine")
        sys.exit()
    import pyarrow.parquet as parquet

    return parquet.read_table(FILE, filters=[("row", ">=", first), ("row", "<=", last)]).to_pylist()


def parse_row_range(first: int, last: int) -> tuple[int, int]:
    """Returns the first and the last row that the command line names, or *first* and *last*."""
    return (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (first, last)


def words(line: str) -> frozenset[str]:
    """Returns the content words of *line*, without its opening."""
    return frozenset(re.findall(r"[a-z0-9][a-z0-9-]*", " ".join(line.split()[3:]).lower())) - _STOP


def judged(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith(OPENINGS)]


def aligned(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Returns pairs of line indices, each line at most once, the most similar pairs first."""
    pairs = []
    for i, one in enumerate(map(words, ours)):
        for j, two in enumerate(map(words, theirs)):
            overlap = len(one & two) / max(1, len(one | two))
            if overlap >= ALIGNED:
                pairs.append((-overlap, i, j))
    taken: list[tuple[int, int]] = []
    for _, i, j in sorted(pairs):
        if all(i != one and j != two for one, two in taken):
            taken.append((i, j))
    return taken


def agreement(rows: list[dict[str, Any]]) -> None:
    """Prints the numbers of lines, the stances, the overlap, and what the rule misses."""
    confusion: Counter[tuple[str, str]] = Counter()
    missed: Counter[str] = Counter()
    counts, overlaps = [], []
    for row in rows:
        ours, theirs = judged(row["rule"]), judged(row["judgments"])
        pairs = aligned(ours, theirs)
        counts.append((len(ours), len(theirs), len(pairs)))
        confusion.update((theirs[j].split()[2], ours[i].split()[2]) for i, j in pairs)
        left = set(range(len(theirs))) - {j for _, j in pairs}
        confusion.update((theirs[j].split()[2], NONE) for j in left)
        confusion.update((NONE, ours[i].split()[2]) for i in set(range(len(ours))) - {i for i, _ in pairs})
        missed.update(next(kind for kind, cue in KINDS.items() if re.match(cue, theirs[j][13:], re.I)) for j in left)
        one, two = frozenset().union(*map(words, ours)), frozenset().union(*map(words, theirs))
        if one and two:
            overlaps.append((len(one & two) / len(one), len(one & two) / len(two), len(one & two) / len(one | two)))
    totals, same = np.sum(counts, axis=0), sum(confusion[stance, stance] for stance in STANCES)
    print(
        f"lines a review: rule {totals[0] / len(rows):.1f}, GPT-4o {totals[1] / len(rows):.1f}; "
        f"reviews with none: rule {sum(not one for one, _, _ in counts)}, GPT-4o {sum(not two for _, two, _ in counts)}"
    )
    print(
        f"lines aligned: {totals[2] / totals[0]:.3f} of the rule's, {totals[2] / totals[1]:.3f} of GPT-4o's; "
        f"same stance: {same / totals[2]:.3f} of these"
    )
    print("content words: precision {:.3f}, recall {:.3f}, Jaccard {:.3f}".format(*np.mean(overlaps, axis=0)))
    print(
        "\nGPT-4o \\ rule" + "".join(f"{stance:>13}" for stance in [*STANCES, NONE]) + "        share   (share, rule)"
    )
    for stance in [*STANCES, NONE]:
        row_total = sum(confusion[stance, one] for one in [*STANCES, NONE])
        column = sum(confusion[one, stance] for one in [*STANCES, NONE])
        shares = f"{row_total / totals[1]:13.3f}{column / totals[0]:13.3f}" if stance != NONE else ""
        print(f"{stance:13}" + "".join(f"{confusion[stance, one]:13d}" for one in [*STANCES, NONE]) + shares)
    print("\nGPT-4o's lines without a counterpart, by kind")
    for kind, number in missed.most_common():
        print(f"  {number:5d}  {kind}")


def auc(rows: list[dict[str, Any]], x: str, y: str) -> None:
    """Prints how well the PMI of *x* (slot 2) with *y* (slots 1 and 3) distinguishes the same paper from another."""
    papers: dict[int, dict[int, dict[str, Any]]] = {}
    for row in rows:
        papers.setdefault(row["row"], {})[row["slot"]] = row
    listed = [papers[key] for key in sorted(papers)]
    pairs: list[Prediction] = []
    for place, paper in enumerate(listed):
        texts = paper[2][x], pick_item_half_a_list_away(listed, place)[2][x]
        for slot in (1, 3):
            if paper[slot][y] and all(texts):
                pairs += [Prediction(text, None, paper[slot][y]) for text in (*texts, None)]
    answers = CacheNgram.load(ROOT / "data" / "evaluation_lm" / "cache-ngram-3").logprob(pairs)
    same, different, marginal = np.array([answer.total for answer in answers]).reshape(-1, 3).T
    same, different = same - marginal, different - marginal
    area = (same[:, None] > different).mean() + (same[:, None] == different).mean() / 2
    print(
        f"x {x:10} y {y:10} {len(same):4d} pairs: same {same.mean():+6.2f}, other {different.mean():+6.2f} nats, AUC {area:.3f}"
    )


def main() -> None:
    first, last = parse_row_range(900, 966)
    rows = real_rows(first, last)
    start = time.perf_counter()
    for row in rows:
        row["rule"] = write_rule_judgments(row["review"] or "")
        row["judgments"] = row["judgments"] or ""
    spent = time.perf_counter() - start
    print(f"{WRITER} on rows {first}-{last}: {len(rows)} reviews, {1000 * spent / len(rows):.1f} ms each\n")
    agreement(rows)
    print("\nSame paper against another paper, GEM by cache-ngram (trained on GPT-4o's judgments of rows 300-899)")
    for x, y in (("rule", "rule"), ("judgments", "judgments"), ("rule", "judgments"), ("judgments", "rule")):
        auc(rows, x, y)


if __name__ == "__main__":
    main()

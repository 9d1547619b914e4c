"""Estimates the share of AI-like sentences after Liang et al. (arXiv 2403.07183), and tests this with planted shares.

    python -m tests.bench.ai_like STATE HUMAN AI [OTHER...]

HUMAN: Parquet of reviews written before LMs could (column `review`). AI: Parquet of reviews by LMs (`paper_id`,
`candidate`, `review`). STATE: a folder with the editions ICLR-2020 and ICLR-2023, whose human reviews are in neither.
OTHER: more Parquet files like AI, and `.notes.jsonl.gz` of OpenReview, in which each signature is read as a whole.

A sentence is represented by its set of descriptive words (by endings such as *-ive* or *-ly*), which are modelled as
independent. Its probability is (1 − α) P + α Q, with P from HUMAN and Q from AI. α maximises the likelihood over all
sentences. Intervals are 95%, by resampling papers.

The first table mixes reviews from AI, of papers or by LMs that Q has not seen, into human reviews of either year, until
the intended share of sentences is reached. A cell has the mean estimate of 10 plantings, and how many of the intervals
contain the truth. The second table estimates the share for whole files of known origin.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from pyarrow import parquet

from gre_bench.store import Store

DESCRIBING = re.compile(r"[a-z]*(?:ly|al|ive|ous|ful|able|ible|ic|less|ary|(?<!m)ent|ant)")
SHARES = (0.0, 0.1, 0.2, 0.3)
REVIEWS, PLANTINGS, RESAMPLES = 200, 10, 100
FEWEST, LIMIT = 5, 30.0
"""The fewest sentences per side in which a word must occur, and the largest log ratio of a sentence."""


def sentences(text: str) -> list[frozenset[str]]:
    """Returns the descriptive words of each sentence of *text*; headings and sentences under four words are skipped."""
    parts = [re.findall(r"[a-z]{3,}", part) for part in re.split(r"[.!?\n]+", text.lower()) if len(part.split()) > 3]
    return [frozenset(filter(DESCRIBING.fullmatch, part)) for part in parts]


class Wording:
    """The log-likelihood ratio log Q − log P of a sentence by an AI against a human, from reviews of both sides."""

    def __init__(self, human: Iterable[str], ai: Iterable[str]):
        sides = [[words for text in side for words in sentences(text)] for side in (human, ai)]
        (people, by_people), (machines, by_machines) = (
            (Counter(word for words in side for word in words), len(side)) for side in sides
        )
        self.weights: dict[str, float] = {}
        self.none = 0.0
        for word in sorted(people.keys() & machines.keys()):
            if min(people[word], machines[word]) >= FEWEST:
                p, q = people[word] / by_people, machines[word] / by_machines
                self.none += np.log1p(-q) - np.log1p(-p)
                self.weights[word] = float(np.log(q / p) - np.log1p(-q) + np.log1p(-p))

    def ratios(self, text: str) -> np.ndarray:
        """Returns log Q − log P of each sentence of *text*."""
        found = [self.none + sum(self.weights.get(word, 0.0) for word in words) for words in sentences(text)]
        return np.clip(found, -LIMIT, LIMIT)


def share(ratios: np.ndarray) -> float:
    """Returns the α of the largest likelihood, by a search for the zero of its slope: the likelihood is concave."""
    gain = np.expm1(ratios)
    low, high = 0.0, 1.0
    for _ in range(15):
        middle = (low + high) / 2
        low, high = (middle, high) if (gain / (1 + middle * gain)).sum() > 0 else (low, middle)
    return low


def interval(by_paper: Sequence[np.ndarray], seed: int = 0) -> tuple[float, float, float]:
    """Returns (share, low, high) with its interval. *by_paper*: the ratios of each paper's sentences."""
    random, size = np.random.default_rng(seed), len(by_paper)
    resampled = [share(np.concatenate([by_paper[i] for i in random.integers(size, size=size)]))
                 for _ in range(RESAMPLES)]  # fmt: skip
    return share(np.concatenate(by_paper)), *np.quantile(resampled, [0.025, 0.975])


def human_reviews(state: Path, edition: str) -> dict[str, list[tuple[str, str]]]:
    """Returns paper id → [(review id, text)] of the human reviews of each sampled paper."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    with Store(state, edition).reading() as connection:
        sql = ("select distinct paper_id, review_id, text from reviews join (select distinct paper_id from sample) "
               "using (paper_id) where candidate = 'human' and text is not null order by all")  # fmt: skip
        for paper, review, text in connection.execute(sql).fetchall():
            found[paper].append((review, text))
    return found


def by_paper(wording: Wording, texts: Iterable[tuple[str, str]]) -> list[np.ndarray]:
    """Returns the ratios of the sentences of each paper. *texts*: (paper, review) pairs."""
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    for paper, text in texts:
        found[paper].append(wording.ratios(text))
    return [np.concatenate(each) for each in found.values()]


def planted(human: list[np.ndarray], ai: list[np.ndarray], wanted: float, number: int) -> tuple[float, float, bool]:
    """Mixes reviews of *ai* into *human*; returns (true share, estimate, whether the interval contains the truth)."""
    random = np.random.default_rng(number)
    kept = [human[i] for i in random.permutation(len(human))[:REVIEWS]]
    sizes = sum(map(len, kept))
    put: list[np.ndarray] = []
    for i in random.permutation(len(ai)):
        count = sum(map(len, put))
        if count >= wanted * (sizes + count):
            break
        put.append(ai[i])
    true = sum(map(len, put)) / (sizes + sum(map(len, put)))
    found, low, high = interval([*kept, *put], number)
    return true, found, low <= true <= high


def texts_of(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Returns candidate → [(paper, text)] of the reviews in the file *path*."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    if path.suffix == ".parquet":
        for row in parquet.read_table(path, columns=["paper_id", "candidate", "review"]).to_pylist():
            found[row["candidate"]].append((row["paper_id"], row["review"]))
        return found
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for note in map(json.loads, stream):
            if note.get("replyto"):
                texts = [field["value"] for field in note["content"].values() if isinstance(field["value"], str)]
                name = note["signatures"][0].rpartition("/")[2]
                found[name if name.startswith("Reviewer_AIRev") else "human"].append((note["forum"], "\n".join(texts)))
    return found


def known_text_rows(wording: Wording, files: Iterable[Path]) -> list[list[str]]:
    """Returns a row for each candidate in *files*: file, candidate, reviews, and the share of AI-like sentences."""
    lines = []
    for path in files:
        for name, texts in sorted(texts_of(path).items()):
            if len(texts) > 20:
                cells = "{:.0%} ({:.0%}, {:.0%})".format(*interval(by_paper(wording, texts)))
                lines.append([path.name, name, str(len(texts)), cells])
    return lines


def planted_rows(state: Path, human: Sequence[str], ai: Mapping[str, list[tuple[str, str]]]) -> list[list[str]]:
    """Returns a row for each test with planted reviews: which reviews, mixed into which, and each of `SHARES`."""
    papers = sorted({paper for texts in ai.values() for paper, _ in texts})
    kept = set(np.random.default_rng(0).permutation(papers)[: len(papers) // 2])
    splits = {"the same LMs, other papers": ([text for texts in ai.values() for paper, text in texts if paper in kept],
                                             [text for texts in ai.values() for paper, text in texts if paper not in kept])}  # fmt: skip
    families = {"4o": "gpt-4o", "gemini": "gemini-1.5-pro", "o1": "o1-mini", "sonnet": "claude-3.5-sonnet"}
    for mark, family in families.items():
        sides = [[text for name, texts in ai.items() if (mark in name) == planted for _, text in texts]
                 for planted in (False, True)]  # fmt: skip
        splits[f"{family}, never seen"] = sides[0], sides[1]
    lines = []
    for title, (seen, unseen) in splits.items():
        wording = Wording(human, seen)
        put = [wording.ratios(text) for text in unseen]
        for year in (2020, 2023):
            reviews = [text for each in human_reviews(state, f"ICLR-{year}").values() for _, text in each]
            people = [wording.ratios(text) for text in reviews]
            cells = []
            for wanted in SHARES:
                found = [planted(people, put, wanted, number) for number in range(PLANTINGS)]
                held = sum(each for _, _, each in found)
                cells.append(f"{np.mean([estimate for _, estimate, _ in found]):.0%} ({held} of {PLANTINGS})")
            lines.append([title, str(year), *cells])
    return lines


def show(head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    for line in (head, ["---"] * len(head), *lines):
        print("|", " | ".join(line), "|")
    print()


def sides(human: Path, ai: Path) -> tuple[list[str], dict[str, list[tuple[str, str]]]]:
    """Returns (human reviews, AI reviews by candidate) from the two files."""
    return [text for text in parquet.read_table(human, columns=["review"])["review"].to_pylist() if text], texts_of(ai)


def main() -> None:
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    state, *files = map(Path, sys.argv[1:])
    human, ai = sides(*files[:2])
    show(["planted", "among human reviews of", *(f"{wanted:.0%}" for wanted in SHARES)], planted_rows(state, human, ai))
    wording = Wording(human, [text for texts in ai.values() for _, text in texts])
    show(["file", "written by", "reviews", "read as an AI's"], known_text_rows(wording, files[2:]))


if __name__ == "__main__":
    main()

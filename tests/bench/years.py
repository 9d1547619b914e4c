"""Prints how much human reviews of a paper predict each other, year by year, and whether AI-like words explain it.

    python -m tests.bench.years STATE HUMAN AI [--stance criticizes]
    python -m tests.bench.years STATE HUMAN AI --second LM KEPT [--papers 30] [--years 2020 2026]

STATE: a folder with an edition of each year, with the metrics GEM and GEM-S (abstract). `edition.avoid_trained_on` excludes
papers that the LM or the writer by rule was trained on. A paper has one human candidate and two references, so that no
year has more references than another. HUMAN, AI: as for `tests.bench.ai_like`.

- *above chance*: the score of the human candidate minus the score of a human review of another paper, on the same
  reference, in nats. Intervals are 95%; papers that exchange reviews form one cluster.
- *per 100 words*: all nats divided by all words of the references' judgments. *of 150 to 350 words*: only pairs in
  which the judgments of both reviews have that many words.
- *words*, *judged*: the words of a review and of its judgments, means by paper.

The second table has the share of AI-like sentences, and the share of reviews of which more than half are AI-like. The
third table shows pairs of the reviews of a year by these shares.

With --stance, only judgments of this stance count, and the edition's LM scores them again. With --second, the table has
the first --papers papers of each year that LM was not trained on, with one reference each, by both LMs. The scores are
stored in the file KEPT, so that a stopped run continues.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from gre_bench.api import open_lm
from gre_bench.core.metrics import find_recipe, find_specific_form_signature_id
from gre_bench.core.records import HUMAN, Prediction, parse_edition_key
from gre_bench.core.training_registers import PaperTexts, load_named_registers
from gre_bench.lm.protocol import compute_checked_span_logprobs
from gre_bench.stats.intervals import clustered_error, compute_t_interval_and_p, paired_test
from gre_bench.store import Store, find_editions
from gre_bench.store.queries import PLANNED_SIGNATURES
from tests.bench.ai_like import Wording, human_reviews, interval, share, show, sides
from tests.bench.chance_terms import read_scores, score_one_stance

METRICS = ("gem_s_abstract", "gem")
LEVEL, WINDOW = 0.95, (150, 350)
TAUGHT_HUMAN = 2020
"""The last year of papers in HUMAN; shares are estimated from the reviews of this year on, of other papers."""
LEAST, MOST = 0.1, 0.5
"""Shares of AI-like sentences: a review below the first has few, and above the second has many."""


class Pair(NamedTuple):
    """A human candidate and a reference. *unit*: the exchange of reviews. *words*: the words of both judgments."""

    year: int
    paper: str
    unit: str
    reviews: tuple[str, str]
    words: tuple[int, int]
    value: float


class YearEdition(NamedTuple):
    """An edition. *reviews*: id and text by paper. *judged*: id → judgments. *moved*: paper → the exchanged review."""

    store: Store
    lm: str
    reviews: dict[str, list[tuple[str, str]]]
    judged: dict[str, str]
    moved: dict[str, str]
    abstracts: dict[str, str]
    pairs: dict[str, list[Pair]]


def read(state: Path, key: str) -> YearEdition:
    """Returns the edition *key* of the folder *state*."""
    store, year = Store(state, key), parse_edition_key(key).year
    planned = store.read(PLANNED_SIGNATURES)
    pairs: dict[str, list[Pair]] = {}
    signatures = {row["metric"]: row for row in planned}
    writer = signatures[METRICS[0]]["writer"]
    with store.reading() as connection:

        def rows(sql: str, *values: str) -> list[Any]:
            return connection.execute(sql, values).fetchall()

        judged = dict(rows("select review_id, text from judgments where writer = ?", writer))
        sql = "select paper_id, review_id, swap from moved where candidate_id = ? and writer = ?"
        moved = {paper: (review, swap) for paper, review, swap in rows(sql, HUMAN, writer)}
        own = dict(rows("select paper_id, review_id from sample where role = 'candidate'"))
        abstracts = dict(rows("select paper_id, abstract from papers where abstract is not null"))
    for metric in METRICS:
        signature = signatures[metric]
        specific_id = find_specific_form_signature_id(signature, planned)
        assert specific_id is not None
        pairs[metric] = [
            Pair(year, paper, f"{year} {moved[paper][1]}", (own[paper], reference),
                 (len(judged[own[paper]].split()), len(judged[reference].split())), above)
            for (name, paper, reference), (_, above) in sorted(read_scores(store, signature, specific_id).items())
            if name == HUMAN
        ]  # fmt: skip
    lm = signatures[METRICS[0]]["evaluation_lm"]
    return YearEdition(store, lm, human_reviews(state, key), judged, {paper: name for paper, (name, _) in moved.items()},
                abstracts, pairs)  # fmt: skip


def mean(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Returns (mean over papers, half of its interval)."""
    by_paper: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_paper[pair.paper].append(pair)
    means = [fmean(pair.value for pair in each) for each in by_paper.values()]
    return _halved(fmean(means), means, [each[0].unit for each in by_paper.values()])


def per_words(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Returns (all nats per 100 of all words of the references' judgments, half of its interval)."""
    values, words = (np.array(each, dtype=float) for each in zip(*((p.value, p.words[1]) for p in pairs), strict=True))
    ratio = values.sum() / words.sum()
    influence = ratio + (values - ratio * words) / words.mean()
    value, half = _halved(float(ratio), influence.tolist(), [pair.unit for pair in pairs])
    return 100 * value, 100 * half


def _halved(value: float, values: Sequence[float], units: Sequence[str]) -> tuple[float, float]:
    error, size = clustered_error(values, units)
    return value, compute_t_interval_and_p(value, error, size - 1, LEVEL)[1] - value if size > 1 else float("nan")


def cell(pairs: Sequence[Pair], form: Callable[[Sequence[Pair]], tuple[float, float]], digits: int) -> str:
    """Returns a mean with half of its interval; empty for fewer than five exchanges of reviews."""
    if len({pair.unit for pair in pairs}) < 5:
        return ""
    value, half = form(pairs)
    return f"{value:+.{digits}f} ±{abs(half):.{digits}f}".replace("-", "−")


def pairs_in_window(pairs: Iterable[Pair]) -> list[Pair]:
    return [pair for pair in pairs if all(WINDOW[0] <= count <= WINDOW[1] for count in pair.words)]


def agreement(known: dict[int, YearEdition]) -> Iterator[list[str]]:
    """Yields one row per year: agreement by each metric, and words."""
    for year, each in known.items():
        cells: list[str] = []
        for metric in METRICS:
            pairs = each.pairs[metric]
            cells += [cell(pairs, mean, 1), cell(pairs, per_words, 1), cell(pairs_in_window(pairs), per_words, 1)]
        papers = {pair.paper for pair in each.pairs[METRICS[0]]}
        reviews = {paper: [len(text.split()) for _, text in each.reviews[paper]] for paper in papers}
        judged = {paper: [len(each.judged[name].split()) for name, _ in each.reviews[paper] if name in each.judged]
                  for paper in papers}  # fmt: skip
        for counts in (reviews, judged):
            test = paired_test([fmean(own) for own in counts.values()], LEVEL)
            cells.append(f"{test.value:.0f} ±{test.high - test.value:.0f}")
        yield [str(year), str(len(papers)), *cells]


def ai_like(
    known: dict[int, YearEdition], shares: dict[int, dict[str, float]], wording: Wording
) -> Iterator[list[str]]:
    """Yields one row per year: the share of AI-like sentences, and of reviews of which more than half are AI-like."""
    for year, own in shares.items():
        texts = known[year].reviews.values()
        found = interval([np.concatenate([wording.ratios(text) for _, text in each]) for each in texts])
        over = fmean(value > MOST for value in own.values())
        yield [str(year), str(len(own)), "{:.0%} ({:.0%}, {:.0%})".format(*found), f"{over:.1%}"]


def by_likeness(known: dict[int, YearEdition], shares: dict[int, dict[str, float]]) -> Iterator[list[str]]:
    """Yields one row per year and kind of pairs: nats per 100 words if reviews have few or many AI-like sentences."""
    kinds = {"both few": lambda a, b: max(a, b) < LEAST, "others": lambda a, b: max(a, b) >= LEAST and min(a, b) <= MOST,
             "both many": lambda a, b: min(a, b) > MOST}  # fmt: skip
    for year, own in shares.items():
        for title, holds in kinds.items():
            chosen = {metric: [pair for pair in known[year].pairs[metric] if holds(*(own[name] for name in pair.reviews))]
                      for metric in METRICS}  # fmt: skip
            cells = [cell(pairs, per_words, 1) for pairs in chosen.values()]
            if all(cells):
                yield [str(year), title, str(len(chosen[METRICS[0]])), *cells]


def stance_rows(known: dict[int, YearEdition], stance: str) -> Iterator[list[str]]:
    """Yields one row per year: agreement by only the judgments of one *stance*, in reviews and references."""
    start = f"The reviewer {stance}"
    for year, each in known.items():
        cells: list[str] = []
        for metric in METRICS:
            signature = next(row for row in each.store.read(PLANNED_SIGNATURES) if row["metric"] == metric)
            scores, _, _ = score_one_stance(each.store, signature, [HUMAN], stance, each.lm.rpartition("-")[0])
            pairs = []
            for pair in each.pairs[metric]:
                if both := scores.get((HUMAN, pair.paper, pair.reviews[1])):
                    lines = [line for line in each.judged[pair.reviews[1]].splitlines() if line.startswith(start)]
                    words = pair.words[0], len(" ".join(lines).split())
                    pairs.append(pair._replace(value=both[1], words=words))
            cells += [str(len(pairs)), cell(pairs, mean, 1), cell(pairs, per_words, 1)]
        yield [str(year), *cells]


def second(known: dict[int, YearEdition], lm: str, kept: Path, papers: int) -> Iterator[list[str]]:
    """Yields rows of the first *papers* papers of each year, one reference each, by the edition's LM and by *lm*."""
    opened = open_lm(lm).lm
    registers = load_named_registers([opened.identity.name])
    lines = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    scores = {(line["year"], line["paper"]): line["above"] for line in lines}
    chosen: dict[int, list[Pair]] = {}
    for year, each in known.items():
        texts = [PaperTexts(paper, each.abstracts.get(paper), tuple(text for _, text in own))
                 for paper, own in each.reviews.items()]  # fmt: skip
        taught = frozenset[str]().union(*(register.trained_on(texts) for register in registers))
        first = {pair.paper: pair for pair in each.pairs[METRICS[0]] if pair.paper not in taught}
        chosen[year] = [first[paper] for paper in sorted(first)[:papers]]
    for place in range(papers):
        for year, pairs in chosen.items():
            if place < len(pairs) and (year, pairs[place].paper) not in scores:
                each, pair = known[year], pairs[place]
                asked = [Prediction(each.judged[name], each.abstracts[pair.paper], each.judged[pair.reviews[1]])
                         for name in (pair.reviews[0], each.moved[pair.paper])]  # fmt: skip
                own, other = (span.total for span in compute_checked_span_logprobs(opened, asked))
                scores[year, pair.paper] = own - other
                with kept.open("a") as stream:
                    stream.write(json.dumps({"year": year, "paper": pair.paper, "above": own - other}) + "\n")
    for year, pairs in chosen.items():
        both = pairs, [pair._replace(value=scores[year, pair.paper]) for pair in pairs]
        yield [str(year), str(len(pairs)), *(cell(each, form, 1) for each in both for form in (mean, per_words))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("state", "human", "ai"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--stance")
    parser.add_argument("--second", nargs=2, metavar=("LM", "KEPT"))
    parser.add_argument("--papers", type=int, default=30)
    parser.add_argument("--years", type=int, nargs="+", help="only these")
    asked = parser.parse_args()
    known = {parse_edition_key(key).year: read(asked.state, key) for key in sorted(find_editions(asked.state))
             if not asked.years or parse_edition_key(key).year in asked.years}  # fmt: skip
    titles = [find_recipe(metric).title for metric in METRICS]
    if asked.second:
        lm, kept = asked.second
        head = [
            f"{titles[0]} by `{name}`{form}" for name in (known[max(known)].lm, lm) for form in ("", ", per 100 words")
        ]
        show(["ICLR", "papers", *head], second(known, lm, Path(kept), asked.papers))
        return
    if asked.stance:
        head = [column for title in titles for column in ("pairs", title, f"{title}, per 100 words")]
        show(["ICLR", *head], stance_rows(known, asked.stance))
        return
    forms = ("", ", per 100 words", ", of 150 to 350 words")
    show(["ICLR", "papers", *(f"{title}{form}" for title in titles for form in forms), "words", "judged"],
         agreement(known))  # fmt: skip
    human, ai = sides(asked.human, asked.ai)
    wording = Wording(human, [text for texts in ai.values() for _, text in texts])
    shares = {year: {name: share(ratios) for own in each.reviews.values() for name, text in own
                     if len(ratios := wording.ratios(text))}
              for year, each in known.items() if year >= TAUGHT_HUMAN}  # fmt: skip
    show(["ICLR", "reviews", "AI-like sentences", "reviews of over half"], ai_like(known, shares, wording))
    show(["ICLR", "AI-like sentences", "pairs", *(f"{title}, per 100 words" for title in titles)],
         by_likeness(known, shares))  # fmt: skip


if __name__ == "__main__":
    main()

"""Prints how many contrasts of LM reviewers each term of a score distinguishes, and in which form.

    python -m tests.bench.chance_terms EDITION [--state STATE] [--stance criticizes] [--lm cache-ngram]

The chance term of a pair is the score of the candidate's review of another paper. The score minus the chance term is
the score above chance. Every two ranked models of the largest group are compared by Student's test by paper,
Holm-corrected over all contrasts of one line. In the last two terms, papers that exchange reviews depend on each other.
A line counts the contrasts significant at 5%, in four forms: plain, per judgment of the reference, at equal length with
one slope of log words for all, and at equal length where the models' own slopes agree too (`gre_bench.stats.length`).
The last line of a metric has Spearman's correlation of each term with the words of a review, over these models.

With --stance, such as ``criticizes``, only judgments of this stance count, in reviews and references. The pairs are
then scored again by --lm.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from scipy import stats

from gre_bench.api import open_lm
from gre_bench.core.metrics import find_recipe, find_specific_form_signature_id
from gre_bench.core.records import HUMAN, Prediction
from gre_bench.pipeline.ranking import build_scored_text_key, index_word_counts
from gre_bench.reports.contrasts import load_score_columns
from gre_bench.reports.signatures import shown_signatures
from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.length import contrast_at_length, estimate_length_slope
from gre_bench.stats.pair_tests import run_candidate_tests
from gre_bench.store import Store
from gre_bench.store.queries import BOARD_LENGTHS, LEADERBOARD, PLANNED_SIGNATURES, SignatureRow

Key = tuple[str, str, str]
"""(candidate, paper, reference)."""
TERMS = ("score", "chance", "above chance")
FORMS = ("", "per judgment of the reference", "at equal length", "at equal length in both forms")
"""The forms of a contrast; the first is the plain form."""


def models_of(store: Store, signature: SignatureRow) -> list[str]:
    """Returns the ranked models of the largest group of the board."""
    groups: dict[str | None, list[str]] = defaultdict(list)
    for row in store.read(LEADERBOARD, signature_ids=[signature["signature_id"]]):
        if row["kind"] == "model" and row["rank"] is not None:
            groups[row["group_name"]].append(row["candidate"])
    return max(groups.values(), key=len)


def read_scores(store: Store, signature: SignatureRow, specific_id: str) -> dict[Key, tuple[float, float]]:
    """Returns (score, score above chance) of each pair that has both."""
    specific = next(row for row in store.read(PLANNED_SIGNATURES) if row["signature_id"] == specific_id)
    first, second = (
        {(c, p, r): v for c, p, r, v, _ in zip(*load_score_columns(store, row), strict=True)}
        for row in (signature, specific)
    )
    return {key: (value, second[key]) for key, value in first.items() if key in second}


def score_one_stance(
    store: Store, signature: SignatureRow, names: Iterable[str], stance: str, lm_name: str
) -> tuple[dict[Key, tuple[float, float]], dict[tuple[str, str], int], dict[str, int]]:
    """Scores the pairs of the candidates *names* by judgments of one *stance* only.

    Returns (score, score above chance) of each pair, the words of each candidate's text by candidate and paper, and the
    number of judgments of each reference.
    """
    lm = open_lm(lm_name).lm
    with store.reading() as connection:

        def rows(sql: str) -> list[Any]:
            return connection.execute(f"{sql} where writer = ?", [signature["writer"]]).fetchall()

        texts = dict(rows("select review_id, text from judgments"))
        moved = {(c, p): r for c, p, r in rows("select candidate_id, paper_id, review_id from moved")}
        reviews = connection.execute("select candidate, paper_id, review_id from reviews").fetchall()
        chosen = connection.execute("select paper_id, review_id from sample where role = 'candidate'").fetchall()
        own = {(c, p): r for c, p, r in reviews} | {(HUMAN, p): r for p, r in chosen}
        abstracts = dict(connection.execute("select paper_id, abstract from papers").fetchall())
    kept = {
        name: "\n".join(line for line in text.splitlines() if line.startswith(f"The reviewer {stance}"))
        for name, text in texts.items()
    }
    wanted = set(names)
    keys = [(c, p, r) for c, p, r, *_ in zip(*load_score_columns(store, signature), strict=True) if c in wanted]
    scores: dict[Key, tuple[float, float]] = {}
    for count, (candidate, paper, reference) in enumerate(keys, 1):
        x, other, y = (
            kept.get(name or "", "") for name in (own.get((candidate, paper)), moved.get((candidate, paper)), reference)
        )
        if not (x and other and y):
            continue
        synopsis = abstracts[paper] if signature["metric"] == "gem_s_abstract" else None
        totals = [span.total for span in lm.logprob([Prediction(each, synopsis, y) for each in (x, other, None)])]
        scores[candidate, paper, reference] = totals[0] - totals[2], totals[0] - totals[1]
        if count % 100 == 0:
            print(f"{count}/{len(keys)} pairs", file=sys.stderr, flush=True)
    words = {(c, p): len(kept[own[c, p]].split()) for c, p, _ in scores}
    return scores, words, {r: len(kept[r].splitlines()) for _, _, r in scores}


def terms_of(scores: Mapping[Key, tuple[float, float]], term: str) -> dict[Key, float]:
    """Returns the *term*, one of `TERMS`, of each pair."""
    take = {"score": lambda s, _: s, "chance": lambda s, above: s - above, "above chance": lambda _, above: above}[term]
    return {key: take(*both) for key, both in scores.items()}


def count_significant(
    scores: Mapping[Key, tuple[float, float]],
    words: Mapping[tuple[str, str], int],
    judgments: Mapping[str, int],
    names: list[str],
    swaps: Mapping[tuple[str, str], str],
) -> dict[str, dict[str, int]]:
    """Returns form → term → the number of contrasts of *names* that the term distinguishes.

    *swaps*: (candidate, paper) → the exchange of reviews, which papers that exchange reviews share.
    """
    counts: dict[str, dict[str, int]] = {form: {} for form in FORMS}
    for term in TERMS:
        for form in FORMS:
            by_text: dict[tuple[str, str], list[float]] = defaultdict(list)
            for (name, paper, reference), value in terms_of(scores, term).items():
                scale = judgments[reference] if form == FORMS[1] else 1
                by_text[name, paper].append(value / scale)
            means = {key: fmean(values) for key, values in by_text.items()}
            known = [key for key in means if words.get(key) and (key[0] in names or key[0] == "human")]
            slope = estimate_length_slope(
                [means[key] for key in known], [words[key] for key in known],
                [paper for _, paper in known], candidates=[name for name, _ in known],
            )  # fmt: skip
            exchanged = None if term == "score" else swaps
            if not form.startswith("at equal length"):
                own = [key for key in known if key[0] in names]
                units = [exchanged[key] for key in own] if exchanged else None
                values, (candidates, papers) = [means[key] for key in own], zip(*own, strict=True)
                ps = [test.p for test in run_candidate_tests(values, papers, candidates, exchanges=units)]
                counts[form][term] = sum(p < 0.05 for p in adjust_by_holm(ps))
                continue
            ps = []
            for pair in combinations(names, 2):
                papers = [paper for name, paper in known if name == pair[0] and (pair[1], paper) in known]
                sides = [[means[name, paper] for paper in papers] for name in pair]
                lengths = [[words[name, paper] for paper in papers] for name in pair]
                units = tuple([exchanged[name, paper] for paper in papers] for name in pair) if exchanged else None
                contrast = contrast_at_length(slope, papers, sides[0], sides[1], lengths[0], lengths[1], units)
                ps.append(contrast.common.p if form == FORMS[2] else contrast.p)
            counts[form][term] = sum(p < 0.05 for p in adjust_by_holm(ps))
    return counts


def rows(
    store: Store, stance: str | None = None, lm: str = "cache-ngram", lms: Sequence[str] = ()
) -> Iterator[list[str]]:
    """Yields the head and rows of the table, for every metric of the board that has scores above chance.

    *lms*: evaluation LMs whose scores are used instead of the board's.
    """
    yield ["contrasts told apart by", "score", "by chance", "above chance"]
    planned = store.read(PLANNED_SIGNATURES)
    shown = [row for row in planned if row["evaluation_lm"] in lms and row["chance"] == "none"]
    if lms and not shown:
        raise SystemExit(f"{store.key} has no scores by {', '.join(lms)}")
    for signature in shown or shown_signatures(store, None):
        if (specific_id := find_specific_form_signature_id(signature, planned)) is None:
            continue
        names = models_of(store, signature)
        if stance:
            scores, words, judgments = score_one_stance(store, signature, [*names, "human"], stance, lm)
        else:
            scores = read_scores(store, signature, specific_id)
            lengths = store.read(BOARD_LENGTHS, **build_scored_text_key(signature)._asdict())
            words = dict(index_word_counts(zip(*(row.values() for row in lengths), strict=True)))
            with store.reading() as connection:
                judgments = dict(connection.execute(
                    "select review_id, lines from judgments where writer = ?", [signature["writer"]]
                ).fetchall())  # fmt: skip
        title = find_recipe(signature["metric"]).title + (
            f", only judgments that {stance.rstrip('s')}" if stance else ""
        )
        with store.reading() as connection:
            asked = "select candidate_id, paper_id, swap from moved where writer = ?"
            swaps = {(c, p): swap for c, p, swap in connection.execute(asked, [signature["writer"]]).fetchall()}
        counts = count_significant(scores, words, judgments, names, swaps)
        for form in FORMS:
            yield [f"{title}, {form}" if form else title, *(str(counts[form][term]) for term in TERMS)]
        length = [fmean(words[key] for key in words if key[0] == name) for name in names]
        correlations = []
        for term in TERMS:
            by_text: dict[tuple[str, str], list[float]] = defaultdict(list)
            for key, value in terms_of(scores, term).items():
                by_text[key[:2]].append(value)
            means = [fmean(fmean(by_text[key]) for key in by_text if key[0] == name) for name in names]
            correlations.append(f"{stats.spearmanr(means, length).statistic:+.2f}".replace("-", "−"))
        yield [f"{title}: ρ with the words of a review", *correlations]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edition")
    parser.add_argument("--state", type=Path, default=Path("state"))
    parser.add_argument("--stance")
    parser.add_argument("--lm", default="cache-ngram", help="evaluation LM that scores the judgments of one stance")
    asked = parser.parse_args()
    head, *lines = rows(Store(asked.state, asked.edition), asked.stance, asked.lm)
    for line in (head, ["---"] * len(head), *lines):
        print("|", " | ".join(line), "|")


if __name__ == "__main__":
    main()

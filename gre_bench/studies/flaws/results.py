"""Reads what the reviews of an edition of flaws tell of each flaw, from the scores of its pairs.

GEM's marginal is the same for all reviews of a paper's texts, so it cancels in differences. The scores of the edition
therefore hold everything that `gre_bench.stats.detection` needs.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gre_bench.changes import scripted
from gre_bench.changes.flaws import HARMLESS
from gre_bench.core.controls import CONTROLS
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import HUMAN
from gre_bench.core.whole_files import put
from gre_bench.metrics.flaws import share_of_words
from gre_bench.pipeline.intake import known_reviews
from gre_bench.pipeline.runs.job import Job
from gre_bench.reports.correctness import Results, ReviewerResult, Tested, results_file
from gre_bench.stats.detection import ALPHA, Correctness, FlawScores, correctness, detected, rate
from gre_bench.stats.intervals import PairedTest
from gre_bench.store import ReadCopy, Store
from gre_bench.store.queries import CURRENT_SIGNATURES, FINISHED_PAIRS, JUDGMENTS
from gre_bench.studies.flaws.edition import AS_IS, METRICS, FlawStudy, elsewhere, reference_of, variant_of
from gre_bench.writing.catalog import EXTRACTIVE

WORDS = "words"
"""Stands for a metric in the results: the share of a description's words that a review has."""
SURE = f"{scripted.PREFIX}plain-100"
"""The script that names every flaw in plain words: its share of detected flaws is that of true detections."""

Values = Mapping[tuple[str, str], float]
"""(text, reference) → score of one reviewer."""


def study_results(job: Job, record: Mapping[str, Any]) -> Results:
    """Returns the results of each metric and reviewer, from the scores of the edition with this *record*.

    A paper counts for a reviewer if all four of its texts have their scores. The words of reviews are compared as well.
    """
    store = ReadCopy(job.state, job.settings.edition.edition)
    signatures = [row for row in store.read(CURRENT_SIGNATURES) if row["metric"] in METRICS]
    values: dict[str, dict[str, dict[tuple[str, str], float]]] = {}
    for signature in signatures:
        by_candidate = values.setdefault(signature["metric"], defaultdict(dict))
        for row in store.read(FINISHED_PAIRS, signature_id=signature["signature_id"]):
            if row["value"] is not None:
                by_candidate[row["candidate_id"]][row["paper_id"], row["reference_id"]] = row["value"]
    if signatures:
        values[WORDS] = _by_words(store, signatures[0]["writer"], values[signatures[0]["metric"]])
    rows: list[ReviewerResult] = []
    for metric, by_candidate in values.items():
        scores = {name: flaw_scores(own, record) for name, own in by_candidate.items()}
        true = detected(scores[SURE]) if scores.get(SURE) else None
        for name in sorted(scores, key=lambda name: (is_control(name), name)):
            if len(scores[name]) > 2:
                rows.append(_row(metric, name, correctness(scores[name]), len(scores[name]) // 2, true))
    planted = Counter(place["flaw"] for places in record["papers"].values() for place in places[:2])
    return {
        "edition": record["source"], "flaws_edition": store.key, "papers": len(record["papers"]),
        "signatures": {row["metric"]: row["signature_id"] for row in signatures},
        "alpha": ALPHA, "flaws": dict(sorted(planted.items())), "left_out": record["left_out"],
        "not_plantable": record["not_plantable"], "rows": rows,
    }  # fmt: skip


def flaw_scores(values: Values, record: Mapping[str, Any]) -> list[FlawScores]:
    """Returns what a reviewer's four reviews tell of each flaw, two a paper, for the papers that have all scores."""
    papers = {paper: places[:2] for paper, places in record["papers"].items()}
    ring = elsewhere({paper: [place["flaw"] for place in places] for paper, places in papers.items()})
    scores: list[FlawScores] = []
    for paper, places in papers.items():
        rows = []
        for place, other in (places, reversed(places)):
            flaw = place["flaw"]
            own = [
                _mean(values, variant_of(paper, name), paper, flaw, record["wordings"][flaw])
                for name in (flaw, other["flaw"], AS_IS, HARMLESS)
            ]
            known = [value for value in own if value is not None]
            if len(known) == len(own):
                abroad = ring.get((paper, flaw))
                same = (
                    _mean(values, variant_of(abroad, flaw), paper, flaw, record["wordings"][flaw]) if abroad else None
                )
                rows.append(FlawScores(paper, flaw, place["family"], *known, elsewhere=same))
        scores += rows if len(rows) == 2 else []
    return scores


def _mean(values: Values, variant: str, paper: str, flaw: str, wordings: int) -> float | None:
    """Returns the mean score of the descriptions of *flaw* by the review of *variant*; None if one has no score."""
    own = [values.get((variant, reference_of(variant, paper, flaw, number))) for number in range(wordings)]
    known = [value for value in own if value is not None]
    return sum(known) / wordings if len(known) == wordings else None


def _by_words(store: Store, writer: str, scored: Mapping[str, Values]) -> dict[str, dict[tuple[str, str], float]]:
    """Returns candidate → (text, reference) → share of the description's words in the review, for *scored* pairs.

    *writer*: the writer of the judgments. Candidates without judgments of their own are left out.
    """
    texts = {row["review_id"]: row["text"] for row in store.read(JUDGMENTS) if row["writer"] == writer}
    ids = {(review.candidate, review.paper_id): review.review_id for review in known_reviews(store)
           if review.candidate != HUMAN or review.slot == 0}  # fmt: skip
    shares: dict[str, dict[tuple[str, str], float]] = {}
    for candidate, pairs in scored.items():
        own = {place: (texts.get(ids.get((candidate, place[0]), "")), texts.get(place[1])) for place in pairs}
        if all(x is not None and y is not None for x, y in own.values()):
            shares[candidate] = {place: share_of_words(x or "", y or "") for place, (x, y) in own.items()}
    return shares


def _row(metric: str, candidate: str, result: Correctness, papers: int, true: float | None) -> ReviewerResult:
    return {
        "metric": metric, "title": "Words in common" if metric == WORDS else recipe_of(metric).title,
        "candidate": candidate, "control": is_control(candidate), "papers": papers, "score": _test(result.score),
        "other": _test(result.other), "again": _test(result.again),
        "specific": _test(result.specific) if result.specific else None,
        "families": {name: _test(test, holm) for name, (test, holm) in result.families.items()},
        "nulls": result.nulls, "detected": result.detected, "true": true, "rate": rate(result.detected, true, ALPHA),
    }  # fmt: skip


def is_control(candidate: str) -> bool:
    """Whether *candidate* is the human baseline, a control or a script: no model whose result is unknown."""
    return candidate == HUMAN or candidate in (*CONTROLS, *EXTRACTIVE) or scripted.is_script(candidate)


def _test(test: PairedTest, holm: float | None = None) -> Tested:
    return {"value": test.value, "low": test.low, "high": test.high, "p": test.p, "p_holm": holm}


def write_results(job: Job, study: FlawStudy, results: Results) -> Path:
    """Writes *results* beside the store of the source, where its board finds them; returns the file."""
    file = results_file(Store(job.state, study.source))
    put(file, json.dumps(results, indent=1, allow_nan=False).encode())
    return file

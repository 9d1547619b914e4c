"""Measures how much a board would change if AI had written some human references, or if a human reviewer were missing.

A *stand-in* is an LM candidate whose review takes the place of a human reference, as if AI had written the reference.
Each LM candidate is scored with the reviews of all other LM candidates as stand-ins. A human reference is *AI-like* if
LM candidates score high on it, compared with other human reviews. All these scores are stored paper by paper, so a
study that was interrupted continues.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import accumulate, chain, islice
from operator import sub
from pathlib import Path
from typing import Any

import numpy as np

from gre_bench.board.family import group_ranked_rows, read_scored_pairs
from gre_bench.board.tipping import compute_ai_reference_tipping_points
from gre_bench.board.words import LIKELY, choose_headline_signature
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.judgments import Form
from gre_bench.core.metrics import Recipe, find_recipe
from gre_bench.core.records import HUMAN, Candidate, Case, Score, SpanLogprob
from gre_bench.ingest.records.row_files import read_rows_without_refusals
from gre_bench.metrics.cases import SampledPaper, add_judgments_as_beyond_synopses, plan_edition_pairs
from gre_bench.metrics.scoring import MetricCases, ScoringResult
from gre_bench.pipeline.pair_scoring import read_known_spans
from gre_bench.pipeline.planning import load_sample_entries
from gre_bench.pipeline.runs.workers import run_with_workers
from gre_bench.ranking.reference_dependence import (
    NO_HUMAN,
    compute_differences_without_ai_like_references,
    compute_reference_likeness,
    describe_tipping_points,
    shifts_by_lm_likelihood,
    shifts_without_each_reviewer,
)
from gre_bench.reports.explanations import ScoringRun, find_scoring_run
from gre_bench.reports.signatures import headline_metric, shown_signatures
from gre_bench.store import ReadersCopyStore, Store
from gre_bench.store.queries import LEADERBOARD, REFERENCE_LENGTHS, SAMPLE, SPANS_OF, STAND_INS, SignatureRow
from gre_bench.tasks.backends import SignMetrics

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def measure_reference_dependence(
    state: Path, edition: str, metrics: list[str] | None, likelihood: Path | None, threshold: float
) -> dict[str, Any]:
    """Returns how much a board depends on its references, for each of its signatures.

    Each report says up to which share of AI-written references two candidates keep their order. It also says how ranks
    shift if one human reviewer at a time is left out. An edition loaded from a release is only read, not scored.

    *metrics*: None means only the headline metric. *likelihood*: a file with the likelihood that an LM wrote each
    reference. *threshold*: the likelihood from which a reference counts as LM-written.

    Raises `SettingsError` without a human baseline, or if the evaluation LM is not the one that scored the board.
    Raises `SourceError` for a faulty file.
    """
    likely = read_lm_authorship_likelihoods(likelihood) if likelihood else None
    store = ReadersCopyStore(state, edition)
    reports, outcome = [], "done"
    for signature in find_studied_signatures(store, metrics):
        missing = 0
        if HUMAN not in read_scored_pairs(store.read, signature["signature_id"]).candidates:
            lacking = f"{signature['metric']} has no score of the human baseline, which leads are over ({LIKELY})"
            raise SettingsError(f"edition {store.key}: {lacking}")
        if find_recipe(signature["metric"]).formula == "pmi" and not store.is_from_release:
            missing = _score_missing_cases(store, signature)
            outcome = "incomplete" if missing else outcome
        reports.append(build_reference_report(store, signature, likely, threshold) | {"missing": missing})
    return {"edition": store.key, "outcome": outcome, "metrics": reports}


def find_studied_signatures(store: Store, metrics: list[str] | None) -> list[SignatureRow]:
    """Returns the board's signatures of *metrics*; if None, only the headline metric's."""
    signatures = shown_signatures(store, metrics)
    if metrics:
        return signatures
    rows = store.rows(LEADERBOARD, signature_ids=[row["signature_id"] for row in signatures])
    first = choose_headline_signature(rows, headline_metric(store))
    return [row for row in signatures if row["signature_id"] == first]


def build_reference_report(
    store: Store, signature: SignatureRow, likely: Mapping[str, float] | None = None, threshold: float = 0.5
) -> dict[str, Any]:
    """Returns the report on one signature, from the scores in *store*; nothing is scored.

    A stand-in is an LM candidate whose review takes the place of a human reference.

    - *line*: the sentence that the board shows; None if no candidate is scored on stand-ins.
    - *orders*: one row per two LM candidates (see `compute_ai_reference_tipping_points`): which is ahead, and up to
      which share of AI-written references. *trimmed*: their difference without the most AI-like references.
    - *human*: why the human baseline has no row.
    - *likeness*: quantiles, over all references, of how AI-like they are.
    - *reviewers*: how far the ranked candidates' leads over the human baseline shift when one human reviewer at a time
      is left out.
    - *strata*: how far these leads shift with the likelihood that an LM wrote the reference.
    - *unranked*: candidate without a rank → why it has none; controls are left out.
    """
    pairs = read_scored_pairs(store.read, signature["signature_id"])
    place_of = {row["review_id"]: row["place"] for row in store.read(SAMPLE) if row["role"] == "reference"}
    stand_ins = store.read(STAND_INS, signature_id=signature["signature_id"])
    board = store.read(LEADERBOARD, signature_ids=[signature["signature_id"]])
    points = compute_ai_reference_tipping_points(store.read, signature["signature_id"], board)
    like = compute_reference_likeness(pairs, stand_ins)[0]
    known = [value for value in like.values() if not math.isnan(value)]
    groups = [[row["candidate"] for row in group] for group in group_ranked_rows(board)]
    ranked = pairs.of_candidates([HUMAN, *chain.from_iterable(groups)])
    return {
        "metric": signature["metric"],
        "signature_id": signature["signature_id"],
        "evaluation_lm": signature["evaluation_lm"],
        "line": describe_tipping_points(points),
        "orders": [
            asdict(row)
            | {
                "trimmed": [
                    asdict(each)
                    for each in compute_differences_without_ai_like_references(pairs, stand_ins, row.first, row.second)
                ]
            }
            for row in points
        ],
        "human": NO_HUMAN,
        "likeness": {
            "references": len(known),
            "quantiles": dict(zip(map(str, QUANTILES), np.quantile(known, QUANTILES).tolist(), strict=True))
            if known
            else {},
        },
        "reviewers": [asdict(row) for row in shifts_without_each_reviewer(ranked, place_of, groups)],
        "strata": [] if likely is None else [asdict(row) for row in shifts_by_lm_likelihood(ranked, likely, threshold)],
        "unranked": {
            row["candidate"]: row["unranked"] for row in board if row["rank"] is None and row["kind"] != "control"
        },
    }


def read_lm_authorship_likelihoods(file: Path) -> dict[str, float]:
    """Returns review id → likelihood that an LM wrote the review, from a file with these two columns."""
    likelihood: dict[str, float] = {}
    for number, row in read_rows_without_refusals(file)[0]:
        try:
            likelihood[row["review_id"]] = float(row["likelihood"])
        except (KeyError, TypeError, ValueError):
            raise SourceError(f"{file}, row {number}: needs review_id and a number in likelihood") from None
        if not math.isfinite(likelihood[row["review_id"]]):
            raise SourceError(f"{file}, row {number}: the likelihood is no finite number")
    return likelihood


def yield_stand_in_cases(
    entries: Sequence[SampledPaper], recipe: Recipe, writer: str, form: Form, everyone: bool = False
) -> Iterator[tuple[str, Case]]:
    """Yields (author of the reference, case) for every two reviews of a paper by two LM candidates or by two people.

    One of the two reviews is scored, and the other is its reference. If a person wrote the scored review, the case has
    the review's id as its candidate. *everyone*: whether to also score people's reviews on those of LM candidates. A
    review that the metric *recipe* cannot read has no case.
    """
    for entry in entries:
        humans = (entry.human, *entry.references)
        models = {name: each for name, each in entry.responses.items() if each.review_id != entry.human.review_id}
        for author, references, names in (
            (HUMAN, humans, {each.review_id: each for each in humans}),
            *((name, (each,), models | ({h.review_id: h for h in humans} if everyone else {}))
              for name, each in models.items()),
        ):  # fmt: skip
            own = replace(entry, references=tuple(references), responses=names, human_is_reference=False)
            for pair in plan_edition_pairs([own], [Candidate(name, "graded") for name in names], recipe, writer, form):
                if pair.case and names[pair.candidate_id].review_id != pair.reference_id:
                    yield author, pair.case


def average_score_over_prefixes(case_spans: Sequence[SpanLogprob], lengths: Sequence[int]) -> float | None:
    """Returns the mean score over *lengths*; each score covers only that many tokens at the start of the reference.

    *case_spans*: the log-probabilities of a PMI's two predictions. Returns None if these differ in their number of
    tokens, or if there are no lengths.
    """
    given, alone = case_spans
    if len(given.logprobs) != len(alone.logprobs) or not lengths or not given.logprobs:
        return None
    gains = list(accumulate(map(sub, given.logprobs, alone.logprobs)))
    return math.fsum(gains[min(length, len(gains)) - 1] for length in lengths) / len(lengths)


def _score_missing_cases(store: Store, signature: SignatureRow) -> int:
    """Computes and stores missing scores of *signature*, in chunks of papers; returns how many are still missing."""
    source = find_scoring_run(store, signature, HUMAN, store.folder.parent.parent)
    if not (due := _find_due_stand_in_cases(store, signature, source)):
        return 0
    with run_with_workers(source.job, "references") as (edition, workers, progress):
        due = _find_due_stand_in_cases(edition, signature, source)
        identity = require_same_lm(store.key, signature, workers.sign_metrics, source)
        lengths: dict[str, list[int]] = defaultdict(list)
        for row in edition.rows(REFERENCE_LENGTHS, signature_id=signature["signature_id"], lm_id=identity):
            lengths[row["paper_id"]].append(row["tokens"])
        progress.stage("scoring on stand-ins")
        progress.expect(sum(map(len, due.values())))
        papers = iter(due.values())
        chunks = iter(lambda: list(islice(papers, source.settings.run.chunk_papers)), [])
        scoring, left = source.settings.scoring, 0

        def build_score_arguments(chunk: Sequence[Sequence[tuple[str, str, Case]]]) -> dict[str, Any]:
            cases = tuple(case for paper in chunk for *_, case in paper)
            works = [MetricCases(signature["metric"], signature["signature_id"], cases)]
            known = read_known_spans(edition, scoring, identity, works)
            return {"name": cases[0].paper_id, "backends": source.job.backends, "scoring": scoring, "works": works,
                    "known": known}  # fmt: skip

        for chunk, result in workers.score_chunks(chunks, build_score_arguments):
            authors = {
                (case.candidate_id, case.reference_id): (by, name) for paper in chunk for by, name, case in paper
            }
            scores = result.scores if isinstance(result, ScoringResult) else []
            spans = result.spans if isinstance(result, ScoringResult) else {}
            kept = [item for item in scores if item.problem is None or item.problem.final]
            left += sum(map(len, chunk)) - len(kept)
            needed = {name for item in kept for name in item.predictions} - spans.keys()
            known = spans | _load_spans(edition, identity, sorted(needed))
            rows = [_build_stand_in_row(item, authors, known, lengths, progress.run_id) for item in kept]
            added = [{"lm_id": identity, "prediction": name, **asdict(span)} for name, span in spans.items()]
            edition.write(("add_new_spans", added), ("add_stand_ins", rows))
            progress.advance(len(scores))
        progress.end("incomplete" if left else "done", f"{left} cases have no score; run it again" if left else "")
    return left


def _find_due_stand_in_cases(
    store: Store, signature: SignatureRow, source: ScoringRun
) -> dict[str, list[tuple[str, str, Case]]]:
    """Returns paper → its cases that *store* does not have, as (author of the reference, id of the review, case).

    The review is the scored one.
    """
    recipe, scoring = find_recipe(signature["metric"]), source.settings.scoring
    assw_by = signature["synopsis_writer"] if recipe.synopsis == "assw" else None
    entries = load_sample_entries(store, {}, None, assw_by, scoring.synopsis_of)
    if recipe.synopsis == "beyond":
        entries = add_judgments_as_beyond_synopses(entries, scoring.beyond, signature["writer"], signature["form"])
    scored = {(row["review_id"], row["reference_id"]) for row in
              store.rows(STAND_INS, signature_id=signature["signature_id"])}  # fmt: skip
    ids = {entry.paper.paper_id: {name: each.review_id for name, each in entry.responses.items()} for entry in entries}
    due: dict[str, list[tuple[str, str, Case]]] = defaultdict(list)
    for author, case in yield_stand_in_cases(entries, recipe, signature["writer"], signature["form"]):
        review_id = ids[case.paper_id].get(case.candidate_id, case.candidate_id)
        if (review_id, case.reference_id) not in scored:
            due[case.paper_id].append((author, review_id, case))
    return due


def require_same_lm(key: str, signature: SignatureRow, sign: SignMetrics, source: ScoringRun) -> str:
    """Returns the evaluation LM's id; raises `SettingsError` unless the same LM and engine scored the board."""
    scoring = source.settings.scoring.model_copy(update={"metrics": (signature["metric"],)})
    assw_by = signature["synopsis_writer"] if find_recipe(signature["metric"]).synopsis == "assw" else None
    identity, signatures = sign(source.job.backends, scoring, signature["writer"], assw_by)
    today = signatures[signature["metric"]]
    if different := [name for name, value in signature.items() if getattr(today, name) != value]:
        changes = "; ".join(
            # pyrefly: ignore[bad-typed-dict-key]
            f"{name}: {signature[name]} then, {getattr(today, name)} now"
            for name in different
            if name != "signature_id"
        )
        raise SettingsError(
            f"edition {key}: scores on stand-ins need the evaluation LM and engine that scored the board ({changes}); "
            "use these, or refresh the edition by the new ones"
        )
    return identity.lm_id


def _load_spans(store: Store, lm_id: str, predictions: Sequence[str]) -> dict[str, SpanLogprob]:
    rows = store.rows(SPANS_OF, lm_id=lm_id, predictions=predictions) if predictions else []
    return {
        row["prediction"]: SpanLogprob(row["total"], tuple(row["ids"]), tuple(row["logprobs"]), row["escaped"])
        for row in rows
    }


def _build_stand_in_row(
    score: Score, authors: Mapping[tuple[str, str], tuple[str, str]], spans: Mapping[str, SpanLogprob],
    lengths: Mapping[str, Sequence[int]], run_id: str,
) -> dict[str, Any]:  # fmt: skip
    author, review_id = authors[score.candidate_id, score.reference_id]
    cut = None
    if author != HUMAN and score.value is not None:
        cut = average_score_over_prefixes([spans[name] for name in score.predictions], lengths.get(score.paper_id, ()))
    return {
        "signature_id": score.signature_id, "paper_id": score.paper_id,
        "candidate_id": HUMAN if author == HUMAN else score.candidate_id, "review_id": review_id,
        "reference_by": author, "reference_id": score.reference_id, "value": score.value, "cut": cut,
        "problem": score.problem.code if score.problem else None, "predictions": score.predictions, "run_id": run_id,
    }  # fmt: skip

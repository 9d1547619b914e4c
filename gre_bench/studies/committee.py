"""Scores committees of reviewers (a board's LM candidates taken together), and how much a human review adds to them.

A committee's judgments are joined into one review, each line once, and scored with the board's metric, LM and prompt.
The committee's curve is its mean score by its number of members. Scores are stored paper by paper, so a study that was
interrupted continues.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

from gre_bench.board.committee_curve import (
    JOINED,
    group_scores_by_committee,
    list_ranked_models,
    read_scores_by_committee_size,
)
from gre_bench.core.errors import SettingsError
from gre_bench.core.judgments import prepare_judgments
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN, Candidate, Case
from gre_bench.metrics.cases import ReviewWithJudgments, SampledPaper, plan_edition_pairs
from gre_bench.metrics.scoring import MetricCases, ScoringResult
from gre_bench.pipeline.pair_scoring import read_known_spans
from gre_bench.pipeline.planning import load_sample_entries
from gre_bench.pipeline.runs.workers import run_with_workers
from gre_bench.ranking.committees import Members, choose_joining_orders, sort_members
from gre_bench.reports.explanations import find_scoring_run
from gre_bench.store import ReadersCopyStore, Store
from gre_bench.store.queries import COMMITTEES, LEADERBOARD, SignatureRow
from gre_bench.studies.references import find_studied_signatures, require_same_lm

Work = Mapping[tuple[str, str, str], tuple[Case, int]]
"""(paper, reference, committee's name) → the case to score, and the number of repeated lines left out of its review."""


def study_reviewer_committee(state: Path, edition: str, metrics: list[str] | None) -> dict[str, Any]:
    """Returns, for each of *metrics*, the curve of the committee of all ranked LM candidates; computes missing scores.

    The curve gives a committee's mean score by its number of members. If *metrics* is None, uses the headline metric.
    An edition loaded from a release is only read, not scored. For any other edition, raises `SettingsError` if a metric
    is no PMI of judgments or has the synopsis ``beyond``. Also raises it for fewer than two ranked LM candidates, and
    if the evaluation LM is not the one that scored the board.
    """
    store = ReadersCopyStore(state, edition)
    reports, outcome = [], "done"
    for signature in find_studied_signatures(store, metrics):
        missing = 0 if store.is_from_release else _score_missing_committee_cases(store, signature)
        outcome = "incomplete" if missing else outcome
        board = store.read(LEADERBOARD, signature_ids=[signature["signature_id"]])
        curve = read_scores_by_committee_size(store.read, signature["signature_id"], board)
        about = {name: signature[name] for name in ("metric", "evaluation_lm")}
        reports.append(about | {"missing": missing, "curve": curve})
    return {"edition": store.key, "outcome": outcome, "metrics": reports}


def join_distinct_lines(texts: Sequence[str]) -> tuple[str, int]:
    """Returns the lines of *texts* in order, each once, and the number of repeats left out."""
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    once = dict.fromkeys(lines)
    return "\n".join(once), len(lines) - len(once)


def _score_missing_committee_cases(store: Store, signature: SignatureRow) -> int:
    """Computes and stores the missing scores of *signature* for a committee's curve; returns how many remain missing.

    The curve is the committee's mean score by its number of members.
    """
    name = signature["signature_id"]
    recipe = find_recipe(signature["metric"])
    models = list_ranked_models(store.read(LEADERBOARD, signature_ids=[name]))
    of_judgments = recipe.formula == "pmi" and recipe.source == "judgments" and recipe.synopsis != "beyond"
    if not of_judgments or len(models) < 2:
        why = "is no GEM of judgments alone" if not of_judgments else "ranks fewer than two LM candidates"
        raise SettingsError(f"edition {store.key}: {signature['metric']} {why}, so there is no committee to score")
    source = find_scoring_run(store, signature, HUMAN, store.folder.parent.parent)
    with run_with_workers(source.job, "committee") as (edition, workers, progress):
        identity = require_same_lm(store.key, signature, workers.sign_metrics, source)
        assw_by = signature["synopsis_writer"] if recipe.synopsis == "assw" else None
        every = load_sample_entries(edition, {}, None, assw_by, source.settings.scoring.synopsis_of)
        entries = {entry.paper.paper_id: entry for entry in every if {*models} <= {*entry.responses}}
        before: object = None
        progress.stage("scoring committees")
        while (due := _find_missing_committee_cases(edition, signature, models, entries)) and due.keys() != before:
            before = due.keys()
            progress.expect(len(due))
            chunks = _split_by_papers(due, source.settings.run.chunk_papers)

            def build_score_arguments(chunk: Sequence[tuple[str, str, str]], due: Work = due) -> dict[str, Any]:
                works = [MetricCases(signature["metric"], name, tuple(due[key][0] for key in chunk))]
                known = read_known_spans(edition, source.settings.scoring, identity, works)
                return {"name": chunk[0][0], "backends": source.job.backends, "scoring": source.settings.scoring,
                        "works": works, "known": known}  # fmt: skip

            for _, result in workers.score_chunks(chunks, build_score_arguments):
                if not isinstance(result, ScoringResult):
                    continue
                scores = [item for item in result.scores if item.problem is None or item.problem.final]
                rows = [{"signature_id": name, "paper_id": item.paper_id, "reference_id": item.reference_id,
                         "members": item.candidate_id, "value": item.value,
                         "repeats": due[item.paper_id, item.reference_id, item.candidate_id][1],
                         "problem": item.problem.code if item.problem else None, "predictions": item.predictions,
                         "run_id": progress.run_id} for item in scores]  # fmt: skip
                added = [{"lm_id": identity, "prediction": key, **asdict(span)} for key, span in result.spans.items()]
                edition.write(("add_new_spans", added), ("add_committees", rows))
                progress.advance(len(scores))
        missing = len(due)
        progress.end("incomplete" if missing else "done", f"{missing} have no score; run it again" if missing else "")
    return missing


def _split_by_papers(due: Work, papers: int) -> Iterator[list[tuple[str, str, str]]]:
    """Yields the keys of *due* in chunks of at most *papers* papers."""
    own: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for key in due:
        own[key[0]].append(key)
    keys = iter(own.values())
    while some := list(islice(keys, papers)):
        yield [key for of_paper in some for key in of_paper]


def _find_missing_committee_cases(
    store: Store, signature: SignatureRow, models: Sequence[str], entries: Mapping[str, SampledPaper]
) -> dict[tuple[str, str, str], tuple[Case, int]]:
    """Returns the cases that the next step of computing a committee's curve needs and that *store* does not have.

    The curve is the committee's mean score by its number of members. The first step needs only one committee: all
    *models* and the human baseline.
    """
    rows = store.rows(COMMITTEES, signature_id=signature["signature_id"])
    known = {(row["paper_id"], row["reference_id"], row["members"]) for row in rows}
    scores, papers, problems = group_scores_by_committee(store.rows, signature["signature_id"], rows, models)
    lacking = {(sort_members(*models, HUMAN), paper) for paper in entries} if not rows else set()
    if rows:
        lacking = choose_joining_orders(scores, models, papers, frozenset(problems))[1]
    due: dict[tuple[str, str, str], tuple[Case, int]] = {}
    for who, paper in sorted(lacking):
        due |= _build_committee_cases(entries[paper], who, signature)
    return {key: value for key, value in due.items() if key not in known}


def _build_committee_cases(
    entry: SampledPaper, who: Members, signature: SignatureRow
) -> dict[tuple[str, str, str], tuple[Case, int]]:
    """Returns the cases of the committee *who* on a paper's references; {} if a member has no judgments.

    The human baseline's review is not one of these references.
    """
    writer, form = signature["writer"], signature["form"]
    reviews = [entry.human if name == HUMAN else entry.responses[name] for name in who]
    texts = [prepare_judgments(review.judgments.get(writer, ""), form, False) for review in reviews]
    if not all(text.strip() for text in texts):
        return {}
    text, repeats = join_distinct_lines(texts)
    label = JOINED.join(who)
    own = replace(entry, responses={label: ReviewWithJudgments(label, "", {writer: text})}, human_is_reference=False)
    planned = plan_edition_pairs([own], [Candidate(label, "graded")], find_recipe(signature["metric"]), writer, form)
    return {(entry.paper.paper_id, pair.reference_id, label): (pair.case, repeats) for pair in planned if pair.case}

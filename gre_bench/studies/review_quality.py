"""Grades human reviews by five criteria, sorts them into groups, and makes a guideline from a group.

    notes → fields → points by rule → points by an LM → totals → Good, Middle, Bad → a guideline from each

A field is an entry of the venue's review form. A sample is drawn from each group. Reviews whose total cannot be
computed are in no group. The method is from "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated
Peer Review", appendix A.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import Problem, parse_edition_key
from gre_bench.core.settings import BudgetSettings
from gre_bench.guidelines.quality_points import (
    CRITERIA,
    GROUPS,
    NAMES,
    SAMPLED,
    FieldedReview,
    Points,
    ReviewQuality,
    compute_mean_review_date,
    compute_median_length,
    compute_review_qualities,
    sample_review_ids_by_group,
    select_group_members,
)
from gre_bench.ingest.records.notes import list_review_fields
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.records.venues import check_verified, find_venue_entry
from gre_bench.pipeline.importing import file_sha256
from gre_bench.pipeline.runs.running_studies import estimate_request_cost, list_exceeded_budgets, run_within_budget
from gre_bench.studies.guidelines import KIND, format_rows_as_csv, make_study_folder, write_text_file
from gre_bench.tasks import examine, steps
from gre_bench.writing.writers import WriterContext, study_account


@dataclass(frozen=True, slots=True)
class QualityJob:
    """A study of the quality of reviews.

    - *notes*: a file of OpenReview notes with the reviews. *edition*: their venue and year.
    - *judge*: the LM that gives points; if None, only rules give points.
    - *size*, *seed*: the number of reviews to sample from each group, and the seed of this sampling.
    - *unverified_venue*: whether to go on with a venue whose review form has not been verified.
    """

    name: str
    notes: Path
    edition: str
    judge: str | None = None
    size: int = SAMPLED
    seed: int = 0
    models_file: Path | None = None
    unverified_venue: bool = False
    again: bool = False
    state: Path = Path("state")
    budget: BudgetSettings = field(default_factory=BudgetSettings)

    @property
    def writer_context(self) -> WriterContext:
        return WriterContext(self.state / "replies", self.models_file, self.again,
                    account=study_account(KIND, self.name), budget=self.budget)  # fmt: skip


def grade(job: QualityJob) -> dict[str, Any]:
    """Gives points to reviews, groups them, and samples each group, as *job* says.

    Returns a summary with counts. Files in the study's folder hold each review's points and the sampled reviews.
    """
    source = {"notes": file_sha256(job.notes) if job.notes.is_file() else "", "edition": job.edition}
    reviews = load_fielded_reviews(job)
    if job.judge:
        examine.open_examiner_lm(job.judge, job.writer_context)
    folder = make_study_folder(job.state, job.name, source)
    with run_within_budget(job.writer_context, folder) as say:
        verdicts: dict[tuple[str, str], Points] = {}
        for name, able in _select_judgeable_reviews(job, reviews).items():
            if not (able and job.judge):
                continue
            answers = steps.judge_reviews(job.judge, job.writer_context, name, able)
            for review, answer in zip(able, answers, strict=True):
                verdicts[review.review_id, name] = answer.read
        qualities = compute_review_qualities(reviews, verdicts)
        groups = sample_review_ids_by_group(qualities, job.size, job.seed)
        summary = _build_quality_summary(job, source, reviews, qualities, groups) | {"folder": str(folder)}
        write_text_file(folder / "quality.csv", format_rows_as_csv(map(_build_quality_row, qualities)))
        by_id = {review.review_id: review for review in reviews}
        for group, ids in groups.items():
            lines = [json.dumps(asdict(by_id[review_id]), ensure_ascii=False) for review_id in ids]
            write_text_file(folder / f"{group}.jsonl", "".join(f"{line}\n" for line in lines))
        write_text_file(folder / "study.json", json.dumps(summary, indent=1, ensure_ascii=False))
        say(summary["outcome"], summary["message"])
    return summary


def estimate_grading_cost(job: QualityJob) -> dict[str, Any]:
    """Returns the estimated number and cost of the requests to the job's *judge* (an LM) that are still needed.

    Sends nothing. ``models`` has one row (see `estimate_request_cost`), or none without a judge. ``over_budget`` has
    one line for each limit that may be exceeded.
    """
    reviews = load_fielded_reviews(job)
    rows = []
    if job.judge:
        lm = examine.open_examiner_lm(job.judge, job.writer_context)
        chats = [
            CRITERIA[name].chat(review)
            for name, able in _select_judgeable_reviews(job, reviews).items()
            for review in able
        ]
        rows.append(estimate_request_cost(job.judge, [(lm.writer, chats, lm.sampling)]))
    return {"study": job.name, "reviews": len(reviews), "models": rows,
            "over_budget": list_exceeded_budgets(job.writer_context, rows)}  # fmt: skip


def _select_judgeable_reviews(job: QualityJob, reviews: Sequence[FieldedReview]) -> dict[str, list[FieldedReview]]:
    """Returns criterion → the reviews with all form fields that the criterion needs; {} if the job has no judge LM."""
    if job.judge is None:
        return {}
    return {name: [review for review in reviews if not review.lacking(criterion.needs)]
            for name, criterion in CRITERIA.items()}  # fmt: skip


def load_fielded_reviews(job: QualityJob) -> list[FieldedReview]:
    """Returns the human reviews in the job's notes, split into form fields; raises `SourceError` if there are none."""
    edition = parse_edition_key(job.edition)
    venue = find_venue_entry(edition.venue, edition.year)
    check_verified(venue, job.unverified_venue)
    reviews = list_review_fields(read_notes_file(job.notes), venue)
    if not reviews:
        raise SourceError(f"{job.notes.name} has no human reviews of {venue.name}")
    return [FieldedReview(item.review_id, item.paper_id, item.fields, item.written_ms) for item in reviews]


def generate_group_guideline(
    name: str, group: str, model: str, out: Path, writer_context: WriterContext, state: Path
) -> dict[str, Any]:
    """Has *model* make a guideline from the sampled reviews of a *group*, and writes the guideline to *out*.

    *name*: the study of review quality, in the folder *state*, that sampled the reviews. Returns the file, the number
    of reviews, and the LM's identity. Raises `SettingsError` if the group is unknown or empty, or if *out* cannot be
    written. Raises `SourceError` if the LM returned no usable guideline.
    """
    if group not in GROUPS:
        raise SettingsError(f"no group {group!r}; the groups are {', '.join(GROUPS)}")
    path = state / "studies" / "guidelines" / name / f"{group}.jsonl"
    if not path.is_file():
        raise SettingsError(
            f"no study {name} with a group {group} in {state}; make it: gre-bench study guidelines quality"
        )
    reviews = [FieldedReview(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    if not reviews:
        raise SettingsError(f"group {group} of study {name} has no reviews: no computed total falls into it")
    with run_within_budget(writer_context, path.parent) as say:
        guideline = steps.generate_guideline(model, writer_context, reviews).read
        say("incomplete" if isinstance(guideline, Problem) and not guideline.final else "done")
    if isinstance(guideline, Problem):
        raise SourceError(f"{model} gave no guideline for group {group}: {guideline.code}: {guideline.message}")
    try:
        write_text_file(out, f"{guideline}\n")
    except OSError as error:
        raise SettingsError(f"{out} cannot be written: {error.strerror}; choose another --out") from None
    return {"guideline": str(out), "group": group, "reviews": len(reviews), "model": model,
            "writer": examine.open_examiner_lm(model, writer_context).writer.identity}  # fmt: skip


def _build_quality_summary(
    job: QualityJob, source: Mapping[str, str], reviews: Sequence[FieldedReview], qualities: Sequence[ReviewQuality],
    groups: Mapping[str, Sequence[str]],
) -> dict[str, Any]:  # fmt: skip
    totals = Counter(quality.total for quality in qualities if quality.total is not None)
    middle, mean = compute_median_length(reviews), compute_mean_review_date(reviews)
    waiting = [problem for quality in qualities for problem in quality.lacking.values() if not problem.final]
    missing = [problem for problem in waiting if problem.code != "not_asked"]
    return {
        "study": job.name, "source": dict(source), "reviews": len(reviews), "judge": job.judge,
        "outcome": "incomplete" if missing else "done",
        "message": f"{len(missing)} verdicts are still missing: {missing[0].message}; run it again" if missing else "",
        "computable": sum(totals.values()), "not_computable": len(reviews) - sum(totals.values()),
        "median_characters": None if middle is None else float(middle),
        "mean_date_ms": None if mean is None else float(mean),
        "points": {name: _count_values(quality.points[name] for quality in qualities) for name in NAMES},
        "totals": dict(sorted(totals.items())), "seed": job.seed,
        "groups": {group: {"reviews": len(select_group_members(qualities, group)), "drawn": list(ids)}
                   for group, ids in groups.items()},
    }  # fmt: skip


def _count_values(points: Any) -> dict[str, int]:
    """Returns how often each value of *points* occurs; a value is a number, or the reason why there is none."""
    counts = Counter(f"{item.code}: {item.message}" if isinstance(item, Problem) else str(item) for item in points)
    return dict(sorted(counts.items()))


def _build_quality_row(quality: ReviewQuality) -> dict[str, Any]:
    points = {name: points if isinstance(points, int) else None for name, points in quality.points.items()}
    why = "; ".join(f"{name}: {problem.message}" for name, problem in quality.lacking.items())
    total = "not computable" if quality.total is None else quality.total
    return {"review_id": quality.review_id, "paper_id": quality.paper_id, "characters": quality.length, **points,
            "total": total, "group": quality.group, "why": why}  # fmt: skip

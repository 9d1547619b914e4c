"""Which human reviews are good: the five criteria, three groups, and a guideline made from a group.

    notes → fields → points by rule → points by an LM → totals → Good, Middle, Bad → a guideline of each

"Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review", appendix A. What is not
computable stays so: no group holds a review whose total is missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import Problem
from gre_bench.core.settings import BudgetSettings, edition_of
from gre_bench.guidelines.review_points import FieldedReview, mean_date, median_length
from gre_bench.guidelines.review_quality import (
    CRITERIA,
    GROUPS,
    NAMES,
    SAMPLED,
    Points,
    Quality,
    judge,
    members,
    sampled,
)
from gre_bench.ingest.records.review_fields import review_fields
from gre_bench.ingest.records.source_files import read_notes_file
from gre_bench.ingest.records.venues import check_verified, venue_of
from gre_bench.pipeline.intake import file_sha256
from gre_bench.pipeline.runs.endings import ended
from gre_bench.pipeline.runs.quote import over_budget, quoted
from gre_bench.pipeline.runs.studies import bounded
from gre_bench.studies.guidelines.results import KIND, put, study_folder, table
from gre_bench.tasks import examine, steps
from gre_bench.tasks.protocol import Steps
from gre_bench.writing.catalog import WriterContext, study_account


@dataclass(frozen=True, slots=True)
class QualityJob:
    """Reviews of the venue-year of *edition* in the file *notes*, judged by the LM *judge* (None: by rule only).

    *dated*: False where the dates of the notes are not to be believed. *size* reviews are drawn of each group.
    """

    name: str
    notes: Path
    edition: str
    judge: str | None = None
    dated: bool = True
    size: int = SAMPLED
    seed: int = 0
    models_file: Path | None = None
    unverified_venue: bool = False
    again: bool = False
    state: Path = Path("state")
    budget: BudgetSettings = field(default_factory=BudgetSettings)

    @property
    def writer_context(self) -> WriterContext:
        """Where the models and the reply archive are, and who pays."""
        return WriterContext(self.state / "replies", self.models_file, self.again,
                    account=study_account(KIND, self.name), budget=self.budget)  # fmt: skip


@flow(name="review-quality", flow_run_name="{job.name}", validate_parameters=False, persist_result=False)
def review_quality(job: QualityJob) -> dict[str, Any]:
    """Judges reviews and draws the groups; the summary has counts, the folder the rest."""
    return ended(judged, job, steps.under_prefect())


def judged(job: QualityJob, run: Steps) -> dict[str, Any]:
    """`review_quality` with the steps given: ``steps.under_prefect()`` or ``steps.undecorated()``."""
    source = {"notes": file_sha256(job.notes) if job.notes.is_file() else "", "edition": job.edition}
    reviews = fielded(job)
    if job.judge:
        examine.guided(job.judge, job.writer_context)
    folder = study_folder(job.state, job.name, source)
    with bounded(job.writer_context, folder) as standing:
        summary = _judged(job, run, source, reviews, folder)
        standing.say(summary["outcome"], summary["message"])
    return summary


def _judged(
    job: QualityJob, run: Steps, source: Mapping[str, str], reviews: Sequence[FieldedReview], folder: Path
) -> dict[str, Any]:
    """Everything that is asked, and what comes of it, into *folder*."""
    verdicts: dict[tuple[str, str], Points] = {}
    for name, able in _asked(job, reviews).items():
        answers = run.judge_reviews(job.judge, job.writer_context, name, able) if able else []
        verdicts |= {
            (review.review_id, name): answer.problem if answer.value is None else answer.value
            for review, answer in zip(able, answers, strict=True)
        }
    qualities = judge(reviews, verdicts, job.dated)
    groups = sampled(qualities, job.size, job.seed)
    summary = _summary(job, source, reviews, qualities, groups) | {"folder": str(folder)}
    put(folder / "quality.csv", table(map(_row, qualities)))
    by_id = {review.review_id: review for review in reviews}
    for group, ids in groups.items():
        lines = [json.dumps(asdict(by_id[review_id]), ensure_ascii=False) for review_id in ids]
        put(folder / f"{group}.jsonl", "".join(f"{line}\n" for line in lines))
    put(folder / "study.json", json.dumps(summary, indent=1, ensure_ascii=False))
    return summary


def estimate(job: QualityJob) -> dict[str, Any]:
    """What the judge would still be asked for, about what it would cost, and which bounds it may break."""
    reviews = fielded(job)
    rows = []
    if job.judge:
        lm = examine.guided(job.judge, job.writer_context)
        chats = [CRITERIA[name].chat(review) for name, able in _asked(job, reviews).items() for review in able]
        rows.append(quoted(job.judge, [(lm.writer, chats, lm.sampling)]))
    return {
        "study": job.name,
        "reviews": len(reviews),
        "models": rows,
        "over_budget": over_budget(job.writer_context, rows),
    }


def _asked(job: QualityJob, reviews: Sequence[FieldedReview]) -> dict[str, list[FieldedReview]]:
    """The reviews that the judge is asked about, by criterion."""
    if job.judge is None:
        return {}
    return {name: [review for review in reviews if not review.lacking(criterion.needs)]
            for name, criterion in CRITERIA.items()}  # fmt: skip


def fielded(job: QualityJob) -> list[FieldedReview]:
    """The human reviews of the notes by their fields; `SourceError` if there are none."""
    edition = edition_of(job.edition)
    venue = venue_of(edition.venue, edition.year)
    check_verified(venue, job.unverified_venue)
    found = review_fields(read_notes_file(job.notes), venue)
    if not found:
        raise SourceError(f"{job.notes.name} has no human reviews of {venue.name}")
    return [FieldedReview(one.review_id, one.paper_id, one.fields, one.written_ms) for one in found]


def generate(
    name: str, group: str, model: str, out: Path, writer_context: WriterContext, run: Steps, state: Path
) -> dict[str, Any]:
    """Writes a guideline made from the *group* of the study *name* by *model* to *out*; how it was made.

    `SettingsError` if there is no such group or it is empty; `SourceError` if the LM gave no checklist.
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
        raise SettingsError(f"group {group} of study {name} has no reviews: no points that are computable belong to it")
    with bounded(writer_context, path.parent) as standing:
        answer = run.generate_guideline(model, writer_context, reviews)
        standing.say("done" if answer.problem is None or answer.problem.final else "incomplete")
    if answer.value is None:
        raise SourceError(
            f"{model} gave no guideline for group {group}: {answer.problem.code}: {answer.problem.message}"
        )
    try:
        put(out, f"{answer.value}\n")
    except OSError as error:
        raise SettingsError(f"{out} cannot be written: {error.strerror}; choose another --out") from None
    return {"guideline": str(out), "group": group, "reviews": len(reviews), "model": model,
            "writer": examine.guided(model, writer_context).writer.identity}  # fmt: skip


def _summary(
    job: QualityJob,
    source: Mapping[str, str],
    reviews: Sequence[FieldedReview],
    qualities: Sequence[Quality],
    groups: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    totals = Counter(quality.total for quality in qualities if quality.total is not None)
    middle, mean = median_length(reviews), mean_date(reviews) if job.dated else None
    waiting = [problem for quality in qualities for problem in quality.lacking.values() if not problem.final]
    missing = [problem for problem in waiting if problem.code != "not_asked"]
    return {
        "study": job.name, "source": dict(source), "reviews": len(reviews), "judge": job.judge,
        "outcome": "incomplete" if missing else "done",
        "message": f"{len(missing)} verdicts are still missing: {missing[0].message}; run it again" if missing else "",
        "computable": sum(totals.values()), "not_computable": len(reviews) - sum(totals.values()),
        "median_characters": None if middle is None else float(middle),
        "mean_date_ms": None if mean is None else float(mean),
        "points": {name: _counts(quality.points[name] for quality in qualities) for name in NAMES},
        "totals": dict(sorted(totals.items())), "seed": job.seed,
        "groups": {group: {"reviews": len(members(qualities, group)), "drawn": list(ids)}
                   for group, ids in groups.items()},
    }  # fmt: skip


def _counts(points: Any) -> dict[str, int]:
    """How often each number of points, or each reason for none, was given."""
    found = Counter(f"{one.code}: {one.message}" if isinstance(one, Problem) else str(one) for one in points)
    return dict(sorted(found.items()))


def _row(quality: Quality) -> dict[str, Any]:
    points = {name: points if isinstance(points, int) else None for name, points in quality.points.items()}
    why = "; ".join(f"{name}: {problem.message}" for name, problem in quality.lacking.items())
    total = "not computable" if quality.total is None else quality.total
    return {"review_id": quality.review_id, "paper_id": quality.paper_id, "characters": quality.length, **points,
            "total": total, "group": quality.group, "why": why}  # fmt: skip

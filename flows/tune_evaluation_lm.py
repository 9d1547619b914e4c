"""Trains and fine-tunes evaluation LMs on judgments of real reviews (Xu et al. 2025, appendix E)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import HUMAN, Paper
from gre_bench.core.settings import BudgetSettings
from gre_bench.ingest.records.tables import papers_from, reviews_from
from gre_bench.pipeline.intake import row_range
from gre_bench.pipeline.runs.endings import ended
from gre_bench.pipeline.runs.studies import bounded
from gre_bench.tasks import steps
from gre_bench.tasks.protocol import Steps
from gre_bench.tuning import record
from gre_bench.tuning.pairs import SYNOPSES, JudgedPaper, Metric
from gre_bench.tuning.settings import TuningSettings
from gre_bench.writing.catalog import WriterContext, study_account


@dataclass(frozen=True, slots=True)
class TuningJob:
    """A fine-tuning of an evaluation LM on judgments of human reviews.

    - *base*: the folder of the model to fine-tune.
    - *judgments*: files of judgments.
    - *train*: the rows to train on, one range ``FIRST:END`` for each file of *judgments*.
    - *out*: the folder for the new model.
    - *choose*: the held-out rows of the first file; None holds out no rows.
    - *writer*: use only judgments by this writer.
    - *papers*: a file with the papers' abstracts, and with their texts if a metric needs texts.
    - *state*: the folder that keeps the replies of LM writers.
    """

    base: Path
    judgments: tuple[Path, ...]
    train: tuple[str, ...]
    out: Path
    choose: str | None = None
    writer: str | None = None
    papers: Path | None = None
    settings: TuningSettings = field(default_factory=TuningSettings)
    state: Path = Path("state")
    budget: BudgetSettings = field(default_factory=BudgetSettings)

    @property
    def writer_context(self) -> WriterContext:
        """What LM writers need: reply archive, spending account and budget."""
        return WriterContext(self.state / "replies", account=study_account("tuning", self.out.name), budget=self.budget)


@flow(name="tune-cache-ngram", flow_run_name="cache-ngram", persist_result=False)
def tune_cache_ngram(
    judgments: Path, train: str, choose: str | None, out: Path, writer: str | None = None
) -> dict[str, Any]:
    """Trains `cache-ngram` on the human judgments in a file, and saves it in the folder *out*.

    - *train*: the rows to train on, as ``FIRST:END``.
    - *choose*: the rows to choose the model's weights on, as ``FIRST:END``. If None, every sixth training paper is held
      out for this.
    - *writer*: use only judgments by this writer.

    The result has the model's scores on the held-out papers.
    """
    return ended(tune, judgments, train, choose, out, writer, steps.under_prefect())


def tune(judgments: Path, train: str, choose: str | None, out: Path, writer: str | None, run: Steps) -> dict[str, Any]:
    """Does the work of `tune_cache_ngram` with the steps *run*, and returns its result.

    *run*: the steps, as Prefect tasks (`steps.under_prefect`) or as plain functions (`steps.undecorated`). If *out*
    already holds a model trained in the same way on the same inputs, returns the recorded result of that training.
    """
    papers, kept = texts_apart(judgments, train, choose, writer)
    inputs = {"judgments": _sha256(judgments), "rows": train, "rows kept aside": choose, "writer": writer}

    def work() -> dict[str, Any]:
        figures = run.train_cache_ngram(papers, kept, out)
        return {"trained_on": len(papers), "chosen_on": len(kept or ()), "held_out": asdict(figures)}

    training = record.once(out, inputs, work)
    return {"folder": str(out), **{name: training[name] for name in ("trained_on", "chosen_on", "held_out")}}


@flow(name="tune-evaluation-lm", flow_run_name="fine-tune", persist_result=False)
def tune_evaluation_lm(job: TuningJob) -> dict[str, Any]:
    """Fine-tunes an evaluation LM as *job* says; returns its training record and its folder."""
    return ended(tune_lm, job, steps.under_prefect())


def tune_lm(job: TuningJob, run: Steps) -> dict[str, Any]:
    """Does the work of `tune_evaluation_lm` with the steps *run*, and returns its result.

    *run*: the steps, as Prefect tasks (`steps.under_prefect`) or as plain functions (`steps.undecorated`). Raises
    `SettingsError` if a paper is both trained on and held out. Raises `SourceError` for unusable files.
    """
    learnt = _learnt(job)
    kept = judged_papers(job.judgments[0], job.choose, job.writer) if job.choose else []
    check_apart(_ids(learnt), _ids(kept), ", ".join(job.train), job.choose)
    known = {paper.paper_id: paper for paper in papers_from(job.papers, {}).papers} if job.papers else {}
    if job.papers and not any(paper.paper_id in known and known[paper.paper_id].abstract for paper in learnt):
        rows = ", ".join(job.train)
        raise SourceError(f"{job.papers.name} has no abstract of a paper of rows {rows}; leave it out, or fill it")
    metrics = _metrics(job, known)
    learnt, kept = (_with_synopses(some, known, metrics, job, run) for some in (learnt, kept))
    data = {
        "judgments": [_sha256(file) for file in job.judgments],
        "rows": list(job.train),
        "rows kept aside": job.choose,
        "writer": job.writer,
        "papers": _sha256(job.papers) if job.papers else None,
    }
    training = run.fine_tune_lm(job.base, learnt, kept, metrics, job.settings, job.out, data)
    return {"folder": str(job.out), "trained_on": len(learnt), "kept_aside": len(kept), **training}


def _learnt(job: TuningJob) -> list[JudgedPaper]:
    """Returns the papers to train on, in the order of the files; raises `SettingsError` if a paper is in two files."""
    if len(job.judgments) != len(job.train):
        raise SettingsError(
            f"{len(job.judgments)} files of judgments and {len(job.train)} ranges of rows; "
            "give one --train for each --judgments, in their order"
        )
    papers: dict[str, JudgedPaper] = {}
    for file, rows in zip(job.judgments, job.train, strict=True):
        for paper in judged_papers(file, rows, job.writer):
            if paper.paper_id in papers:
                raise SettingsError(f"paper {paper.paper_id} of {file.name} is in an earlier --judgments too; drop it")
            papers[paper.paper_id] = paper
    return list(papers.values())


def papers_of(file: Path, rows: str, writer: str | None) -> list[list[str]]:
    """Returns one list per paper in *rows* of *file*: the texts of the judgments of its human reviews.

    *writer*: use only judgments by this writer; None means all writers. Papers without such judgments are left out.
    Raises `SourceError` if fewer than two papers remain.
    """
    return _texts(_several(file, rows, writer))


def texts_apart(
    file: Path, train: str, choose: str | None, writer: str | None
) -> tuple[list[list[str]], list[list[str]] | None]:
    """Returns two lists of papers of *file*: those in the rows *train*, and those in the rows *choose*.

    A paper is the list of its judgments, as in `papers_of`. The second list is None if *choose* is None. Raises
    `SettingsError` if a paper is in both lists.
    """
    learnt = _several(file, train, writer)
    kept = _several(file, choose, writer) if choose else []
    check_apart(_ids(learnt), _ids(kept), train, choose)
    return _texts(learnt), _texts(kept) if choose else None


def check_apart(learnt: Iterable[str], kept: Iterable[str], train: str, choose: str | None) -> None:
    """Raises `SettingsError` if a paper id is both in *learnt* and in *kept*.

    *train*: the rows of the papers in *learnt*, for the message. *choose*: the rows of the papers in *kept*.
    """
    if both := set(learnt) & set(kept):
        raise SettingsError(f"paper {min(both)} is in rows {train} and {choose}; keep them apart")


def _several(file: Path, rows: str, writer: str | None) -> list[JudgedPaper]:
    papers = judged_papers(file, rows, writer, several=True)
    if len(papers) < 2:
        raise SourceError(f"{file.name}: rows {rows} have judgments of {len(papers)} papers; training needs at least 2")
    return papers


def _ids(papers: Iterable[JudgedPaper]) -> list[str]:
    return [paper.paper_id for paper in papers]


def _texts(papers: Iterable[JudgedPaper]) -> list[list[str]]:
    return [list(paper.judgments) for paper in papers]


def judged_papers(file: Path, rows: str, writer: str | None, *, several: bool = False) -> list[JudgedPaper]:
    """Returns the papers in *rows* of *file* that have judgments of human reviews, with these judgments.

    - *rows*: a range such as ``0:300``.
    - *writer*: use only judgments by this writer; None means any writer.
    - *several*: whether the judgments may be by several writers.

    Raises `SourceError` if there are no such papers. Raises `SettingsError` for several writers that are not allowed.
    """
    imported = reviews_from(
        file, {}, {}, (), by=HUMAN, writer=writer or "given", rows=row_range(rows), make_papers=True
    )
    human = {review.review_id: review.paper_id for review in imported.reviews if review.candidate == HUMAN}
    papers: dict[str, list[str]] = {}
    writers = set()
    for item in imported.judgments:
        if item.review_id in human and writer in (None, item.writer):
            papers.setdefault(human[item.review_id], []).append(item.text)
            writers.add(item.writer)
    if not papers:
        by = f" by {writer}" if writer else ""
        why = f"; first row refused: {imported.refusals[0].reason}" if imported.refusals else ""
        raise SourceError(f"{file.name}: rows {rows} have no human judgments{by}{why}")
    if len(writers) > 1 and not several:
        raise SettingsError(f"{file.name} has judgments by {', '.join(sorted(writers))}; choose one with --writer")
    return [JudgedPaper(paper_id, tuple(texts)) for paper_id, texts in papers.items()]


def _metrics(job: TuningJob, known: dict[str, Paper]) -> tuple[Metric, ...]:
    """Returns the metrics to train for.

    They are the metrics of the settings. If the settings name none, they are gem, and gem_s_abstract if a paper of
    *known* has an abstract. *known*: paper id → paper. Raises `SettingsError` if a metric of the settings needs
    abstracts and the job names no file of papers.
    """
    chosen = job.settings.metrics
    if chosen is None:
        return ("gem", "gem_s_abstract") if any(paper.abstract for paper in known.values()) else ("gem",)
    if job.papers is None and (lost := [metric for metric in chosen if SYNOPSES[metric] != "none"]):
        raise SettingsError(f"{lost[0]} needs the papers' abstracts; name their file with --papers-file")
    return chosen


def _with_synopses(
    papers: Sequence[JudgedPaper], known: dict[str, Paper], metrics: Sequence[Metric], job: TuningJob, run: Steps
) -> list[JudgedPaper]:
    """Returns *papers* with their abstracts and, if a metric needs them, their author-stated strengths and weaknesses.

    The writer that the settings name extracts the strengths and weaknesses from the papers' texts. *known*: paper id →
    paper with its text.
    """
    papers_known = {paper.paper_id: known[paper.paper_id] for paper in papers if paper.paper_id in known}
    assw: dict[str, str] = {}
    if "gem_s_assw" in metrics:
        folder = job.state / job.writer_context.account
        folder.mkdir(parents=True, exist_ok=True)
        with bounded(job.writer_context, folder) as status:
            written = run.write_assw(job.settings.assw, job.writer_context, list(papers_known.values()))
            status.say("done")
        assw = {item.item: item.text for item in written if item.text}
    synopses = {
        paper_id: {
            **({"abstract": paper.abstract} if paper.abstract else {}),
            **({"assw": assw[paper_id]} if paper_id in assw else {}),
        }
        for paper_id, paper in papers_known.items()
    }
    return [replace(paper, synopses=synopses.get(paper.paper_id, {})) for paper in papers]


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

"""Trains and fine-tunes evaluation LMs on judgments of real reviews (Xu et al. 2025, appendix E)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.learnt_from import FILE as REGISTER
from gre_bench.core.learnt_from import Register, write_register
from gre_bench.core.records import HUMAN, Judgments, Paper
from gre_bench.core.settings import BudgetSettings, EvaluationLMSettings
from gre_bench.ingest.records.sampling import evaluation_set
from gre_bench.ingest.records.tables import papers_from, reviews_from
from gre_bench.lm.catalog import register_of
from gre_bench.pipeline.intake import row_range
from gre_bench.pipeline.runs.endings import ended
from gre_bench.pipeline.runs.studies import bounded
from gre_bench.tasks import steps
from gre_bench.tasks.protocol import Steps
from gre_bench.tuning import record
from gre_bench.tuning.checkpoint import writing
from gre_bench.tuning.pairs import SYNOPSES, JudgedPaper, Metric
from gre_bench.tuning.settings import TuningSettings
from gre_bench.writing.catalog import WriterContext, register_of_writer, study_account


@dataclass(frozen=True, slots=True)
class TuningJob:
    """A fine-tuning of an evaluation LM on judgments of human reviews.

    - *base*: the folder of the model to fine-tune.
    - *judgments*: files of judgments.
    - *train*: the rows to train on, one range ``FIRST:END`` for each file of *judgments*.
    - *out*: the folder for the new model.
    - *choose*: the held-out rows of the first files, one range each; empty holds out no rows.
    - *writer*: use only judgments by this writer.
    - *papers*: a file with the papers' abstracts, and with their texts if a metric needs texts.
    - *state*: the folder that keeps the replies of LM writers.
    - *never*: evaluation sets; their papers are left out.
    """

    base: Path
    judgments: tuple[Path, ...]
    train: tuple[str, ...]
    out: Path
    choose: tuple[str, ...] = ()
    writer: str | None = None
    papers: Path | None = None
    settings: TuningSettings = field(default_factory=TuningSettings)
    state: Path = Path("state")
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    never: tuple[Path, ...] = ()

    @property
    def writer_context(self) -> WriterContext:
        """What LM writers need: reply archive, spending account and budget."""
        return WriterContext(self.state / "replies", account=study_account("tuning", self.out.name), budget=self.budget)


@flow(name="tune-cache-ngram", flow_run_name="cache-ngram", persist_result=False)
def tune_cache_ngram(
    judgments: Sequence[Path],
    train: Sequence[str],
    choose: Sequence[str],
    out: Path,
    writer: str | None = None,
    never: Sequence[Path] = (),
) -> dict[str, Any]:
    """Trains `cache-ngram` on the human judgments in some files, and saves it in the folder *out*.

    - *train*: the rows to train on, as ``FIRST:END``, one range for each file of *judgments*.
    - *choose*: the rows of the first files to choose the model's weights on, one range each. If empty, every sixth
      training paper is held out for this.
    - *writer*: use only judgments by this writer.
    - *never*: evaluation sets; their papers are left out.

    The result has the model's scores on the held-out papers.
    """
    return ended(tune, judgments, train, choose, out, writer, steps.under_prefect(), never)


def tune(
    judgments: Sequence[Path],
    train: Sequence[str],
    choose: Sequence[str],
    out: Path,
    writer: str | None,
    run: Steps,
    never: Sequence[Path] = (),
) -> dict[str, Any]:
    """Does the work of `tune_cache_ngram` with the steps *run*, and returns its result.

    *run*: the steps, as Prefect tasks (`steps.under_prefect`) or as plain functions (`steps.undecorated`). If *out*
    already holds a model trained in the same way on the same inputs, returns the recorded result of that training.
    """
    learnt, kept, refused = _papers_apart(judgments, train, choose, writer, never, several=True)
    inputs = _inputs(judgments, train, choose, writer, never)

    def work() -> dict[str, Any]:
        figures = run.train_cache_ngram(
            _texts(learnt), _texts(kept) if choose else None, out, (_writers(learnt), _writers(kept))
        )
        unknown = _register(out, learnt, kept)
        return {
            "trained_on": len(learnt),
            "chosen_on": len(kept),
            "held_out": asdict(figures),
            "refused": refused,
            "unknown": unknown,
        }

    training = record.once(out, inputs, work)
    return {"folder": str(out), **{name: training.get(name) for name in ("trained_on", "chosen_on", "held_out")},
            "refused": training.get("refused", {}), "unknown": training.get("unknown", [])}  # fmt: skip


@flow(name="tune-evaluation-lm", flow_run_name="fine-tune", persist_result=False)
def tune_evaluation_lm(job: TuningJob) -> dict[str, Any]:
    """Fine-tunes an evaluation LM as *job* says; returns its training record and its folder."""
    return ended(tune_lm, job, steps.under_prefect())


def tune_lm(job: TuningJob, run: Steps) -> dict[str, Any]:
    """Does the work of `tune_evaluation_lm` with the steps *run*, and returns its result.

    *run*: the steps, as Prefect tasks (`steps.under_prefect`) or as plain functions (`steps.undecorated`). Raises
    `SettingsError` if a paper is both trained on and held out. Raises `SourceError` for unusable files.
    """
    known = {paper.paper_id: paper for paper in papers_from(job.papers, {}).papers} if job.papers else {}
    abstracts = {paper_id: paper.abstract for paper_id, paper in known.items()}
    learnt, kept, refused = _papers_apart(
        job.judgments, job.train, job.choose, job.writer, job.never, abstracts=abstracts
    )
    if job.papers and not any(paper.paper_id in known and known[paper.paper_id].abstract for paper in learnt):
        rows = ", ".join(job.train)
        raise SourceError(f"{job.papers.name} has no abstract of a paper of rows {rows}; leave it out, or fill it")
    metrics = _metrics(job, known)
    learnt, kept = (_with_synopses(some, known, metrics, job, run) for some in (learnt, kept))
    data = _inputs(job.judgments, job.train, job.choose, job.writer, job.never)
    data["papers"] = _sha256(job.papers) if job.papers else None
    training = run.fine_tune_lm(job.base, learnt, kept, metrics, job.settings, job.out, data)
    base = register_of(EvaluationLMSettings(backend="transformers", folder=job.base))
    unknown = _register(job.out, learnt, kept, base)
    return {
        "folder": str(job.out),
        "trained_on": len(learnt),
        "kept_aside": len(kept),
        "refused": refused,
        "unknown": unknown,
        **training,
    }


def _inputs(
    judgments: Sequence[Path], train: Sequence[str], choose: Sequence[str], writer: str | None, never: Sequence[Path]
) -> dict[str, Any]:
    """Returns what a training record says of its data: digests of the files, and rows."""
    return {
        "judgments": [_sha256(file) for file in judgments],
        "rows": list(train),
        "rows kept aside": list(choose),
        "writer": writer,
        "evaluation sets": [_sha256(file) for file in never],
    }


def _register(
    folder: Path, learnt: Sequence[JudgedPaper], kept: Sequence[JudgedPaper], base: Register | None = None
) -> list[str]:
    """Writes what the model in *folder* was learnt from beside it.

    This includes the papers *kept* aside, on which it was chosen. It also includes the registers of its *base* and of
    the writers by rule of the judgments; *base* is None for a model as its makers published it. If any of these is
    unknown, the model gets no register. Returns one line for each that is unknown.
    """
    papers = [*learnt, *kept]
    writers = [register_of_writer(name) for name in sorted({name for paper in papers for name in paper.writers})]
    registers = [register for register in (*writers, base) if register]
    unknown = [register.problem for register in registers if register.problem]
    with writing(folder):
        if unknown:
            (folder / REGISTER).unlink(missing_ok=True)
        else:
            others = {entry for register in registers for entry in register.entries or ()}
            write_register(folder, [paper.texts for paper in papers], others)
    return unknown


def _papers_apart(
    files: Sequence[Path],
    train: Sequence[str],
    choose: Sequence[str],
    writer: str | None,
    never: Sequence[Path],
    several: bool = False,
    abstracts: Mapping[str, str | None] | None = None,
) -> tuple[list[JudgedPaper], list[JudgedPaper], dict[str, int]]:
    """Returns the papers to train on, those kept aside, and how many of both each evaluation set refused.

    - *files*: files of judgments. *train*: the rows to train on, one range for each file.
    - *choose*: the rows of the first files that are kept aside, one range each.
    - *never*: evaluation sets. A paper of one of them is left out, by its id or by any of its texts.
    - *several*: whether the judgments of a file may be by several writers.
    - *abstracts*: paper id → abstract, by which evaluation sets know a paper too.

    A paper may be in two files with judgments by two writers. Raises `SettingsError` if it is in two files with
    judgments by one writer, or both trained on and kept aside. Raises `SourceError` if fewer than two papers remain to
    train on.
    """
    if len(files) != len(train):
        raise SettingsError(
            f"{len(files)} files of judgments and {len(train)} ranges of rows; "
            "give one --train for each --judgments, in their order"
        )
    if len(choose) > len(files):
        raise SettingsError(f"{len(choose)} ranges of rows to choose on for {len(files)} files of judgments")
    sets, refused = [evaluation_set(file) for file in never], dict[str, int]()

    def allowed(papers: list[JudgedPaper]) -> list[JudgedPaper]:
        texts = [replace(paper.texts, abstract=(abstracts or {}).get(paper.paper_id)) for paper in papers]
        for barred in sets:
            hit = barred.learnt(texts)
            refused[barred.name] = refused.get(barred.name, 0) + sum(paper.paper_id in hit for paper in papers)
            papers = [paper for paper in papers if paper.paper_id not in hit]
        return papers

    learnt: dict[tuple[str, frozenset[str]], JudgedPaper] = {}
    for file, rows in zip(files, train, strict=True):
        for paper in allowed(judged_papers(file, rows, writer, several=several)):
            if (paper.paper_id, paper.writers) in learnt:
                raise SettingsError(f"paper {paper.paper_id} of {file.name} is in an earlier --judgments too; drop it")
            learnt[paper.paper_id, paper.writers] = paper
    kept = [
        paper
        for file, rows in zip(files, choose, strict=False)
        for paper in allowed(judged_papers(file, rows, writer, several=several))
    ]
    check_apart(_ids(learnt.values()), _ids(kept), ", ".join(train), ", ".join(choose))
    if len(learnt) < 2 and (several or never):
        barred = f"; {sum(refused.values())} are in evaluation sets" if any(refused.values()) else ""
        raise SourceError(
            f"{files[0].name}: rows {', '.join(train)} have judgments of {len(learnt)} papers; training needs at "
            f"least 2{barred}"
        )
    return list(learnt.values()), kept, refused


def papers_of(file: Path, rows: str, writer: str | None) -> list[list[str]]:
    """Returns one list per paper in *rows* of *file*: the texts of the judgments of its human reviews.

    *writer*: use only judgments by this writer; None means all writers. Papers without such judgments are left out.
    Raises `SourceError` if fewer than two papers remain.
    """
    papers = judged_papers(file, rows, writer, several=True)
    if len(papers) < 2:
        raise SourceError(f"{file.name}: rows {rows} have judgments of {len(papers)} papers; training needs at least 2")
    return _texts(papers)


def check_apart(learnt: Iterable[str], kept: Iterable[str], train: str, choose: str) -> None:
    """Raises `SettingsError` if a paper id is both in *learnt* and in *kept*.

    *train*: the rows of the papers in *learnt*, for the message. *choose*: the rows of the papers in *kept*.
    """
    if both := set(learnt) & set(kept):
        raise SettingsError(f"paper {min(both)} is in rows {train} and {choose}; keep them apart")


def _ids(papers: Iterable[JudgedPaper]) -> list[str]:
    return [paper.paper_id for paper in papers]


def _texts(papers: Iterable[JudgedPaper]) -> list[list[str]]:
    return [list(paper.judgments) for paper in papers]


def _writers(papers: Iterable[JudgedPaper]) -> list[str]:
    return [" ".join(sorted(paper.writers)) for paper in papers]


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
    human = {review.review_id: review for review in imported.reviews if review.candidate == HUMAN}
    papers: dict[str, list[Judgments]] = {}
    for item in imported.judgments:
        if item.review_id in human and writer in (None, item.writer):
            papers.setdefault(human[item.review_id].paper_id, []).append(item)
    writers = {item.writer for items in papers.values() for item in items}
    if not papers:
        by = f" by {writer}" if writer else ""
        why = f"; first row refused: {imported.refusals[0].reason}" if imported.refusals else ""
        raise SourceError(f"{file.name}: rows {rows} have no human judgments{by}{why}")
    if len(writers) > 1 and not several:
        raise SettingsError(f"{file.name} has judgments by {', '.join(sorted(writers))}; choose one with --writer")
    return [
        JudgedPaper(
            paper_id,
            tuple(item.text for item in items),
            reviews=tuple(text for item in items if (text := human[item.review_id].text)),
            writers=frozenset(item.writer for item in items),
        )
        for paper_id, items in papers.items()
    ]


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

"""Trains and fine-tunes evaluation LMs on judgments of real reviews (Xu et al. 2025, appendix E)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import HUMAN, Judgments, Paper
from gre_bench.core.settings import BudgetSettings, EvaluationLMSettings
from gre_bench.core.training_registers import FILE as REGISTER
from gre_bench.core.training_registers import Register, write_register
from gre_bench.ingest.records.sampling import build_evaluation_set_register
from gre_bench.ingest.records.tables import read_new_papers, read_new_reviews
from gre_bench.lm.opening import find_training_register
from gre_bench.pipeline.importing import file_sha256, parse_row_range
from gre_bench.pipeline.runs.running_studies import run_within_budget
from gre_bench.tasks import steps
from gre_bench.tuning import record
from gre_bench.tuning.pairs import SYNOPSES, JudgedPaper, Metric
from gre_bench.tuning.record import write_errors_as_settings_error
from gre_bench.tuning.tuning_settings import TuningSettings
from gre_bench.writing.rules.judgments import write_passage_judgments
from gre_bench.writing.writers import WriterContext, find_writer_register, study_account


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A training run: which judgments of human reviews to train on, and where to save the model.

    - *train*: the rows to train on, one range ``FIRST:END`` for each file of *judgments*.
    - *out*: the folder for the new model.
    - *choose*: the rows to hold out, on which the model is chosen: one range for each of the first files, or of all.
    - *never*: files of evaluation sets. A paper is left out if its id or any of its texts is in one of them.
    """

    judgments: tuple[Path, ...]
    train: tuple[str, ...]
    out: Path
    choose: tuple[str, ...] = ()
    never: tuple[Path, ...] = ()

    @property
    def inputs(self) -> dict[str, Any]:
        """What a training record says about the data.

        It has the digest of each file of judgments and of each evaluation set. It also has the ranges of
        rows to train on and to hold out.
        """
        return {
            "judgments": [file_sha256(file) for file in self.judgments],
            "rows": list(self.train),
            "rows kept aside": list(self.choose),
            "evaluation sets": [file_sha256(file) for file in self.never],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuningJob(TrainingJob):
    """A training run that fine-tunes the evaluation LM in the folder *base*.

    *papers*: a file with the papers' abstracts, and with their texts if a metric needs texts. *state*: the folder that
    keeps the replies of LM writers.
    """

    base: Path
    papers: Path | None = None
    settings: TuningSettings = field(default_factory=TuningSettings)
    state: Path = Path("state")
    budget: BudgetSettings = field(default_factory=BudgetSettings)

    @property
    def writer_context(self) -> WriterContext:
        return WriterContext(self.state / "replies", account=study_account("tuning", self.out.name), budget=self.budget)


def train_and_score_cache_ngram(job: TrainingJob) -> dict[str, Any]:
    """Trains the evaluation LM `cache-ngram` as *job* says; returns the result, with scores on held-out papers.

    If *job* holds no papers out, every sixth paper is held out for these scores. If the folder ``job.out`` has a model
    that was trained in the same way on the same inputs, returns that training's recorded result.
    """
    trained_on, kept, refused = _split_training_papers(job, several=True)

    def train_and_write_register() -> dict[str, Any]:
        texts, kept_texts = ([list(paper.judgments) for paper in papers] for papers in (trained_on, kept))
        names, kept_names = ([" ".join(sorted(paper.writers)) for paper in papers] for papers in (trained_on, kept))
        figures = steps.train_cache_ngram(texts, kept_texts if job.choose else None, job.out, (names, kept_names))
        unknown = _write_training_register(job.out, trained_on, kept)
        return {"trained_on": len(trained_on), "chosen_on": len(kept), "held_out": asdict(figures), "refused": refused,
                "unknown": unknown}  # fmt: skip

    training = record.train_unless_finished(job.out, job.inputs, train_and_write_register)
    return {"folder": str(job.out), **{name: training.get(name) for name in ("trained_on", "chosen_on", "held_out")},
            "refused": training.get("refused", {}), "unknown": training.get("unknown", [])}  # fmt: skip


def fine_tune_evaluation_lm(job: FineTuningJob) -> dict[str, Any]:
    """Fine-tunes an evaluation LM as *job* says; returns its training record and its folder.

    Raises `SettingsError` if a paper is both trained on and held out. Raises `SourceError` for unusable files.
    """
    known = {paper.paper_id: paper for paper in read_new_papers(job.papers, {}).papers} if job.papers else {}
    abstracts = {paper_id: paper.abstract for paper_id, paper in known.items()}
    trained_on, kept, refused = _split_training_papers(job, abstracts=abstracts)
    if job.papers and not any(paper.paper_id in known and known[paper.paper_id].abstract for paper in trained_on):
        rows = ", ".join(job.train)
        raise SourceError(f"{job.papers.name} has no abstract of a paper of rows {rows}; leave it out, or fill it")
    metrics = job.settings.metrics
    if metrics is None:
        with_abstracts = any(paper.abstract for paper in known.values())
        metrics = ("gem", "gem_s_abstract") if with_abstracts else ("gem",)
    elif job.papers is None and (lost := [metric for metric in metrics if SYNOPSES[metric] != "none"]):
        raise SettingsError(f"{lost[0]} needs the papers' abstracts; name their file with --papers-file")
    trained_on, kept = (_add_synopses(some, known, metrics, job) for some in (trained_on, kept))
    if job.settings.contrast:
        trained_on = [
            _add_passage_judgments(paper, known.get(paper.paper_id), job.settings.seed) for paper in trained_on
        ]
    data = job.inputs | {"papers": file_sha256(job.papers) if job.papers else None}
    training = steps.fine_tune_lm(job.base, trained_on, kept, metrics, job.settings, job.out, data)
    base = find_training_register(EvaluationLMSettings(backend="transformers", folder=job.base))
    unknown = _write_training_register(job.out, trained_on, kept, base)
    made = {"folder": str(job.out), "trained_on": len(trained_on), "kept_aside": len(kept), "refused": refused}
    return made | {"unknown": unknown} | training


def _write_training_register(
    folder: Path, trained_on: Sequence[JudgedPaper], kept: Sequence[JudgedPaper], base: Register | None = None
) -> list[str]:
    """Writes the training register of the model in *folder*, unless a register that it includes is unknown.

    The register includes the held-out papers *kept*, on which the model was chosen. It also includes the registers of
    the model's *base* and of the judgments' writers, if this program trained them. Returns one line for each of these
    registers that is unknown. *base*: None for a model as its makers published it.
    """
    papers = [*trained_on, *kept]
    writers = [find_writer_register(name) for name in sorted({name for paper in papers for name in paper.writers})]
    registers = [register for register in (*writers, base) if register]
    unknown = [register.problem for register in registers if register.problem]
    with write_errors_as_settings_error(folder):
        if unknown:
            (folder / REGISTER).unlink(missing_ok=True)
        else:
            others = {entry for register in registers for entry in register.entries or ()}
            write_register(folder, [paper.texts for paper in papers], others)
    return unknown


def _split_training_papers(
    job: TrainingJob, several: bool = False, abstracts: Mapping[str, str | None] | None = None
) -> tuple[list[JudgedPaper], list[JudgedPaper], dict[str, int]]:
    """Returns the papers to train on, the held-out papers, and evaluation set → the number of papers that it excluded.

    *several*: whether the judgments of a file may be by several writers. *abstracts*: paper id → abstract; a paper is
    also excluded if its abstract is in an evaluation set. A paper may be in two files if their judgments are by
    different writers.

    Raises `SettingsError` if a paper is in two files with judgments by one writer, or both trained on and held out.
    Raises `SourceError` if fewer than two papers remain to train on; checks this only if *several* is set or *job*
    names evaluation sets.
    """
    files, train, choose = job.judgments, job.train, job.choose
    if len(files) != len(train):
        raise SettingsError(
            f"{len(files)} files of judgments and {len(train)} ranges of rows; "
            "give one --train for each --judgments, in their order"
        )
    if len(choose) > len(files):
        raise SettingsError(f"{len(choose)} ranges of rows to choose on for {len(files)} files of judgments")
    sets, refused = [build_evaluation_set_register(file) for file in job.never], Counter[str]()

    def load_allowed_papers(file: Path, rows: str) -> list[JudgedPaper]:
        papers = judged_papers(file, rows, several=several)
        texts = [replace(paper.texts, abstract=(abstracts or {}).get(paper.paper_id)) for paper in papers]
        for barred in sets:
            hit = barred.trained_on(texts)
            refused[barred.name] += sum(paper.paper_id in hit for paper in papers)
            papers = [paper for paper in papers if paper.paper_id not in hit]
        return papers

    trained_on: dict[tuple[str, frozenset[str]], JudgedPaper] = {}
    for file, rows in zip(files, train, strict=True):
        for paper in load_allowed_papers(file, rows):
            if (paper.paper_id, paper.writers) in trained_on:
                raise SettingsError(f"paper {paper.paper_id} of {file.name} is in an earlier --judgments too; drop it")
            trained_on[paper.paper_id, paper.writers] = paper
    kept = [paper for file, rows in zip(files, choose, strict=False) for paper in load_allowed_papers(file, rows)]
    if both := {paper.paper_id for paper in trained_on.values()} & {paper.paper_id for paper in kept}:
        raise SettingsError(f"paper {min(both)} is in rows {', '.join(train)} and {', '.join(choose)}; keep them apart")
    if len(trained_on) < 2 and (several or job.never):
        barred = f"; {sum(refused.values())} are in evaluation sets" if any(refused.values()) else ""
        raise SourceError(
            f"{files[0].name}: rows {', '.join(train)} have judgments of {len(trained_on)} papers; training needs at "
            f"least 2{barred}"
        )
    return list(trained_on.values()), kept, dict(refused)


def judged_papers(file: Path, rows: str, *, several: bool = False) -> list[JudgedPaper]:
    """Returns the papers in *rows* (``0:300``) of *file* that have judgments of human reviews, with these judgments.

    *several*: whether the judgments may be by several writers. Raises `SourceError` if there are no such papers, and
    `SettingsError` if there are several writers but *several* is False.
    """
    imported = read_new_reviews(
        file, {}, {}, (), by=HUMAN, writer="given", rows=parse_row_range(rows), make_papers=True
    )
    human = {review.review_id: review for review in imported.reviews if review.candidate == HUMAN}
    papers: dict[str, list[Judgments]] = {}
    for item in imported.judgments:
        if item.review_id in human:
            papers.setdefault(human[item.review_id].paper_id, []).append(item)
    writers = {item.writer for items in papers.values() for item in items}
    if not papers:
        why = f"; first row refused: {imported.refusals[0].reason}" if imported.refusals else ""
        raise SourceError(f"{file.name}: rows {rows} have no human judgments{why}")
    if len(writers) > 1 and not several:
        by = ", ".join(sorted(writers))
        raise SettingsError(f"{file.name} has judgments by {by}; give a file with one writer's judgments")
    return [
        JudgedPaper(
            paper_id,
            tuple(item.text for item in items),
            reviews=tuple(text for item in items if (text := human[item.review_id].text)),
            writers=frozenset(item.writer for item in items),
        )
        for paper_id, items in papers.items()
    ]


def _add_passage_judgments(paper: JudgedPaper, known: Paper | None, seed: int) -> JudgedPaper:
    """Returns *paper* with judgments of a passage of its text; unchanged if *known*, its record, has no text.

    The judgments of the passage are as long as those of the paper's reviews are on average.
    """
    if not (known and known.text):
        return paper
    size = round(sum(map(len, paper.judgments)) / len(paper.judgments))
    return replace(paper, passage=write_passage_judgments(known.text, size, seed))


def _add_synopses(
    papers: Sequence[JudgedPaper], known: dict[str, Paper], metrics: Sequence[Metric], job: FineTuningJob
) -> list[JudgedPaper]:
    """Returns *papers* with their abstracts and, if a metric needs them, their author-stated strengths and weaknesses.

    The writer that the settings name extracts these from the texts in *known* (paper id → paper).
    """
    papers_known = {paper.paper_id: known[paper.paper_id] for paper in papers if paper.paper_id in known}
    assw: dict[str, str] = {}
    if "gem_s_assw" in metrics:
        folder = job.state / job.writer_context.account
        folder.mkdir(parents=True, exist_ok=True)
        with run_within_budget(job.writer_context, folder) as say:
            written = steps.write_assw(job.settings.assw, job.writer_context, list(papers_known.values()))
            say("done")
        assw = {item.item: item.text for item in written if item.text}

    def synopses(paper_id: str) -> dict[Any, str]:
        paper = papers_known.get(paper_id)
        texts = {"abstract": paper.abstract if paper else None, "assw": assw.get(paper_id)}
        return {kind: text for kind, text in texts.items() if text}

    return [replace(paper, synopses=synopses(paper.paper_id)) for paper in papers]

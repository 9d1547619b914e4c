"""Scores single reviews as an edition's board does: with the same writer of judgments, evaluation LM and references.

It reads the store's copy for readers and stores nothing. Many evaluations can therefore run during a refresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import Candidate, Paper
from gre_bench.metrics.cases import Entry, Response, plan
from gre_bench.metrics.scoring import MetricWork
from gre_bench.pipeline.intake import in_domain
from gre_bench.pipeline.own_reviews import limit_of, rule_edition_command, writer_of_boards
from gre_bench.pipeline.planning import sample, sampled_papers
from gre_bench.pipeline.runs.job import Job, settings_of
from gre_bench.pipeline.scoring import known_spans
from gre_bench.store import ReadCopy, Store, no_edition
from gre_bench.store.queries import CURRENT_SIGNATURES
from gre_bench.tasks import steps

METRICS = ("gem", "gem_s_abstract")
"""Metrics that score a single review against the references of its paper."""

REVIEWER = "model"
"""Name of the scored candidate; no score depends on it."""


@dataclass(frozen=True, slots=True)
class ReviewScore:
    """The scores of one review against the references of its paper, or the reason why it has none.

    *nats*: reference id → score in nats (`gre_bench.metrics.scoring`); references without a score are absent.
    *problem*: a code for why the review, or one of the references, has no score; empty if all references have one.
    *detail*: the problem in words.
    *judgments*: the review as judgments, which were scored; None if none could be written.
    """

    nats: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    detail: str = ""
    judgments: str | None = None


class ReviewBoard:
    """Scores single reviews as the board of *edition* does. Use `open_board` to open it.

    *state*: the folder that keeps everything a run makes. *edition*: the edition's name, such as ``ICLR-2025``.
    """

    def __init__(self, state: Path, edition: str):
        self._store = store = ReadCopy(state, edition)
        self.key = store.key
        self._job = job = in_domain(Job(settings_of(store), state))
        self._run = steps.undecorated()
        current = {row["metric"]: row["signature_id"] for row in store.read(CURRENT_SIGNATURES)}
        if not current:
            raise SettingsError(f"edition {store.key} has no board yet; run: gre-bench refresh --edition {store.key}")
        self.metrics = tuple(metric for metric in METRICS if metric in current)
        if not self.metrics:
            raise SettingsError(
                f"the board of {store.key} has neither {' nor '.join(METRICS)}; it has {', '.join(current)}"
            )
        self._writer, self._judged_by = self._writers()
        self._scoring = job.settings.scoring.model_copy(update={"metrics": self.metrics})
        self._lm, self.signatures = self._run.sign_metrics(job.backends, self._scoring, self._writer)
        for metric, signature in self.signatures.items():
            if signature.signature_id != current[metric]:
                raise SettingsError(
                    f"{metric} of {store.key} is signed {current[metric]}, and now would be {signature.signature_id}; "
                    f"scores of different signatures are never mixed: gre-bench refresh --edition {store.key}"
                )
        self._entries = {entry.paper.paper_id: entry for entry in self._read_entries()}
        self._lock = Lock()

    def papers(self, limit: int | None = None) -> list[Paper]:
        """Returns the first *limit* papers of the edition's sample; None: all papers that the board scores.

        Raises `SettingsError` for a limit below 1.
        """
        if limit is not None and limit < 1:
            raise SettingsError(f"limit {limit}: a review needs at least one paper")
        return sampled_papers(self._store, limit or limit_of(self._store))

    def score(self, metric: str, paper_id: str, review: str) -> ReviewScore:
        """Writes *review* as judgments and scores it by *metric* against the references of the paper *paper_id*.

        If the paper is not in the sample or the review cannot be scored, the result states the problem. Calls from
        several threads run one at a time, because they share one LM.
        """
        entry = self._entries.get(paper_id)
        if entry is None:
            return ReviewScore(problem="unknown_paper", detail=f"{paper_id} is no paper of the sample of {self.key}")
        with self._lock:
            (written,) = self._run.write_judgments(
                self._judged_by, self._job.writer_context, [(f"{paper_id}:{REVIEWER}", review)]
            )
            if not written.text:
                return ReviewScore(problem=written.outcome, detail=written.detail)
            return self._scored(metric, entry, review, written.text)

    def _scored(self, metric: str, entry: Entry, review: str, judgments: str) -> ReviewScore:
        response = Response(f"{entry.paper.paper_id}:{REVIEWER}", review, {self._writer: judgments})
        planned_pairs = plan(
            [replace(entry, responses={REVIEWER: response})],
            [Candidate(REVIEWER, "model")],
            recipe_of(metric),
            self._writer,
            self._scoring.form,
        )
        cases = tuple(pair.case for pair in planned_pairs if pair.case)
        lacking = next((pair for pair in planned_pairs if pair.case is None), None)
        problem, detail = (lacking.reason or "", lacking.detail or "") if lacking else ("", "")
        if not cases:
            return ReviewScore({}, problem, detail, judgments)
        works = [MetricWork(metric, self.signatures[metric].signature_id, cases)]
        known = known_spans(self._store, self._scoring, self._lm.lm_id, works)
        tools = self._job.backends
        scores = self._run.score_papers(entry.paper.paper_id, tools, self._scoring, works, known).scores
        for item in scores:
            if item.problem is not None:
                problem, detail = item.problem.code, item.problem.message
        nats = {item.reference_id: item.value for item in scores if item.value is not None}
        return ReviewScore(nats, problem, detail, judgments)

    def _writers(self) -> tuple[str, str]:
        """Returns (identity, name in the settings) of the writer of the board's judgments.

        Raises `SettingsError` if that writer is not available here.
        """
        writer, configured = writer_of_boards(self._store, self._job, self._run)
        name = self._job.settings.writing.judgments
        if writer is None or configured is None or name is None:
            raise SettingsError(
                f"{self.key} is scored with judgments by {writer}, which nothing here writes; make an edition of the "
                f"same papers whose judgments are written by rule: {rule_edition_command(self._job.settings)}"
            )
        return writer, name

    def _read_entries(self) -> Sequence[Entry]:
        return sample(self._store, {}, self._writer, None, self._scoring.synopsis_of)


def open_board(edition: str, state: str | Path = "state") -> ReviewBoard:
    """Returns the scorer of single reviews for *edition*, whose data lies in the folder *state*.

    Calls return the same object until the edition's data changes. Raises `SettingsError` in three cases: the edition
    does not exist, it has no board, or new scores would have other signatures than those on the board.
    """
    store = Store(Path(state).resolve(), edition)
    if not store.exists:
        raise no_edition(Path(state), store.key)
    written = store.read_file.stat().st_mtime_ns if store.read_file.is_file() else 0
    return _opened(Path(state).resolve(), store.key, written)


@lru_cache(maxsize=2)
def _opened(state: Path, key: str, written: int) -> ReviewBoard:
    return ReviewBoard(state, key)

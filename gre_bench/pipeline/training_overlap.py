"""Finds the papers of an edition on which its evaluation LM or its writer of judgments was trained.

Scores on papers that an LM was trained on prove little about a metric. These papers are therefore left out of
validations, of the agreement with grades, of the check that scores are symmetric, and of AUCs. Boards state how many
there are. The training registers of `gre_bench.core.training_registers` list the training papers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gre_bench.core.errors import SourceError
from gre_bench.core.records import HUMAN, Paper
from gre_bench.core.settings import Settings
from gre_bench.core.terminal import counted
from gre_bench.core.training_registers import PaperTexts, Register
from gre_bench.lm.opening import find_training_register
from gre_bench.pipeline.importing import read_known_papers, read_known_reviews
from gre_bench.ranking.contamination import Role
from gre_bench.store import ReadersCopyStore, Store
from gre_bench.store.queries import SAMPLE, TEXTS
from gre_bench.writing.writers import find_writer_register

Item = TypeVar("Item")
AT_ONCE = 1_000
"""The number of papers whose reviews are in memory at one time."""


@dataclass(frozen=True, slots=True)
class TrainingOverlap:
    """The papers of an edition on which its evaluation LM or its writer of judgments was trained.

    *compared*: how many papers were compared with the registers. *by_role*: role (``evaluation_lm`` or ``writer``) →
    the register of the LM or rule, and the ids of the papers that it was trained on. A role is absent if this program
    did not train its LM or rule, as with a published pretrained model or a writer without weights.
    """

    compared: int
    by_role: Mapping[Role, tuple[Register, frozenset[str]]]

    @property
    def papers(self) -> frozenset[str]:
        """The ids of the papers that any LM or rule was trained on."""
        return frozenset().union(*(papers for _, papers in self.by_role.values()))

    def get_papers_seen_by(self, evaluation_lm: str, writer: str) -> frozenset[str]:
        """Returns the ids of the papers that this LM or this writer, named as in a signature, was trained on."""
        named = {("evaluation_lm", evaluation_lm), ("writer", writer)}
        own = (papers for role, (register, papers) in self.by_role.items() if (role, register.name) in named)
        return frozenset().union(*own)

    def union_with(self, others: Iterable[TrainingOverlap]) -> TrainingOverlap:
        """Returns the union with *others*, which compare other papers with the same LM and writer."""
        count, by_role = self.compared, dict(self.by_role)
        for other in others:
            count += other.compared
            for role, (register, papers) in other.by_role.items():
                by_role[role] = register, papers | (by_role[role][1] if role in by_role else frozenset())
        return TrainingOverlap(count, by_role)

    @property
    def registers(self) -> dict[str, str]:
        """The name of each LM or rule → the digest of its register, or ``unknown``."""
        return {register.name: register.digest or "unknown" for register, _ in self.by_role.values()}

    @property
    def notes(self) -> list[str]:
        """One line per LM or rule that was trained on papers of the edition, or whose training papers are unknown."""
        unknown = [register.problem for register, _ in self.by_role.values() if register.problem]
        return unknown + [
            f"{register.name} was learnt from {len(papers)} of {counted(self.compared, 'paper')}"
            for register, papers in self.by_role.values()
            if papers
        ]

    def keep_untrained(self, items: Sequence[Item], ids: Iterable[str], what: str, edition: str) -> list[Item]:
        """Returns the *items* whose papers (*ids*) no LM or rule was trained on.

        *what*: the study, for the error's message. Raises `SourceError` if there are *items* but none is left.
        """
        kept = [item for item, paper_id in zip(items, ids, strict=True) if paper_id not in self.papers]
        if items and not kept:
            names = " or ".join(register.name for register, papers in self.by_role.values() if papers)
            raise SourceError(
                f"edition {edition}: {names} was learnt from all {counted(len(items), 'paper')}, so {what} would prove "
                "nothing; take another edition, or another evaluation LM and writer"
            )
        return kept


def find_training_overlap(
    store: Store, settings: Settings, writer: str | None = None, ids: Iterable[str] | None = None
) -> TrainingOverlap:
    """Returns which of the edition's papers its evaluation LM and its writer of judgments were trained on.

    *writer*: the writer's identity; None means the writer that the settings name. *ids*: the papers to compare; None
    means the sample, or all stored papers if there is no sample yet.
    """
    sampled = {row["paper_id"] for row in store.rows(SAMPLE)} if ids is None else set(ids)
    papers = [paper for paper in read_known_papers(store, bodies=False) if not sampled or paper.paper_id in sampled]
    first, *others = [
        _compare_with_registers(settings, writer, collect_paper_texts(store, papers[start : start + AT_ONCE]))
        for start in range(0, max(len(papers), 1), AT_ONCE)
    ]
    return first.union_with(others)


def _compare_with_registers(settings: Settings, writer: str | None, papers: Sequence[PaperTexts]) -> TrainingOverlap:
    registers: dict[Role, Register | None] = {
        "evaluation_lm": find_training_register(settings.evaluation_lm),
        "writer": find_writer_register(writer or settings.scoring.writer or settings.writing.judgments),
    }
    trained_on: dict[Role, tuple[Register, frozenset[str]]] = {}
    for role, register in registers.items():
        if register is not None:
            trained_on[role] = register, register.trained_on(papers)
    return TrainingOverlap(len(papers), trained_on)


def find_overlap_in_read_copy(settings: Settings, state: Path) -> TrainingOverlap:
    """Returns `find_training_overlap` for the edition's copy for readers under *state*; without a copy, for no papers.

    The copy for readers is the file that other processes read while a run writes.
    """
    store = ReadersCopyStore(state, settings.edition.edition)
    return find_training_overlap(store, settings) if store.is_readable else _compare_with_registers(settings, None, [])


def collect_paper_texts(store: Store, papers: Sequence[Paper]) -> list[PaperTexts]:
    """Returns the id, the abstract and the human reviews of each of *papers*, to compare with training registers."""
    ids = [paper.paper_id for paper in papers]
    read = {row["paper_id"]: row["abstract"] for row in store.rows(TEXTS, bodies=False, ids=ids)}
    reviews: dict[str, list[str]] = defaultdict(list)
    for review in read_known_reviews(store, papers=ids):
        if review.candidate == HUMAN and review.text:
            reviews[review.paper_id].append(review.text)
    return [
        PaperTexts(paper.paper_id, paper.abstract or read.get(paper.paper_id), tuple(reviews[paper.paper_id]))
        for paper in papers
    ]

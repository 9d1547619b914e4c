"""Who writes, by name: a rule of ours or an LM of the models file.

Each writes judgments, synopses, reviews and changes of reviews, as far as it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from gre_bench.catalogs.domains import PEER_REVIEW, domain_of
from gre_bench.changes.catalog import WriterTask
from gre_bench.changes.material import ChangeInput
from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Paper, Written
from gre_bench.core.settings import BudgetSettings
from gre_bench.prompts.conditions import condition, guided
from gre_bench.writing.fit import OverLong
from gre_bench.writing.lm_writer import LMTextWriter
from gre_bench.writing.rules.writer import EXTRACTIVE, NAMES, RuleTextWriter

if TYPE_CHECKING:
    from gre_bench.catalogs.models import Model
    from gre_bench.writing.budget import ModelBudget
    from gre_bench.writing.http_writer import HttpWriter

W = TypeVar("W", bound="HttpWriter")
GATES = "endpoints"
"""Folder of a state where all who ask an endpoint wait for their turn."""

STUDIES = "studies"
"""Account of what belongs to no edition and no study of a name of its own."""


@dataclass(frozen=True, slots=True)
class WriterContext:
    """Where LM writers find what they need: the models file (None: the shipped one) and the reply archive.

    *again*: refusals and empty replies of earlier runs are asked for anew. *domain*: what is reviewed. *account*: whose
    spending it is, within *budget*. *sampling*: by model, in the place of what the models file says. *over_long*: what
    is done with a paper that does not fit an LM's context.
    """

    archive: Path
    models: Path | None = None
    again: bool = False
    domain: str = PEER_REVIEW
    account: str = STUDIES
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    sampling: Mapping[str, Mapping[str, float | int | str]] = field(default_factory=dict)
    over_long: OverLong = "refuse"

    def model_budget(self, model: Model) -> ModelBudget:
        """What pays for asking *model*."""
        from gre_bench.writing.budget import ModelBudget
        from gre_bench.writing.spend_log import spend_log_of

        return ModelBudget(spend_log_of(self.archive.parent), self.account, self.budget, model)

    def writer(self, model: Model, kind: type[W]) -> W:
        """A writer of this *kind* for *model*; nothing is sent before there is something to ask."""
        from gre_bench.writing.archive import ReplyArchive

        rate_limiters = self.archive.parent / GATES
        return kind.open(
            model,
            ReplyArchive(self.archive),
            again=self.again,
            model_budget=self.model_budget(model),
            rate_limiters=rate_limiters,
        )


def study_account(kind: str, name: str) -> str:
    """Account of the study *name*, a folder below ``studies``; no edition's key has a slash."""
    return f"{STUDIES}/{kind}/{name}"


def by_rule(name: str) -> bool:
    """Whether the writer *name* needs no LM."""
    return name in NAMES


def writes_reviews(name: str, writer_context: WriterContext) -> bool:
    """Whether *name* is a reviewer by rule or an LM of the models file, under a guideline or not."""
    from gre_bench.catalogs.models import load as load_models

    return name in EXTRACTIVE or guided(name)[0] in load_models(writer_context.models)


class TextWriter(Protocol):
    """A writer of texts, one for each item and in the same order; `identity` of a task goes into signatures.

    `changed` gives the whole changed review under the item's key, or the reason why there is none: what a
    `ChangeError` says (no text, no abstract, no sections), or what became of the reply.
    """

    def identity(self, task: str) -> str: ...

    def judgments(self, reviews: Sequence[tuple[str, str]]) -> list[Written]: ...

    def assw(self, papers: Sequence[Paper]) -> list[Written]: ...

    def reviews(self, papers: Sequence[Paper]) -> list[Written]: ...

    def changed(self, task: WriterTask, items: Sequence[ChangeInput]) -> list[Written]: ...


def text_writer(name: str, writer_context: WriterContext) -> TextWriter:
    """The writer *name*; `SettingsError` names the known ones. ``MODEL@CONDITION`` reviews under that guideline."""
    return RuleTextWriter(name) if by_rule(name) else lm_text_writer(name, writer_context)[0]


def lm_text_writer(name: str, writer_context: WriterContext) -> tuple[LMTextWriter, Model]:
    """The writer *name* that asks an LM, and that LM; `SettingsError` names the known ones."""
    from gre_bench.catalogs.models import load as load_models
    from gre_bench.writing.http_writer import HttpWriter

    models = load_models(writer_context.models)
    model, guideline = guided(name)
    if model not in models:
        raise SettingsError(f"no writer {name!r}; known: {', '.join((*NAMES, *models))}")
    chosen = models[model].sampled(writer_context.sampling.get(model))
    writer = writer_context.writer(chosen, HttpWriter)
    asked = domain_of(writer_context.domain).judgments
    guide = condition(guideline) if guideline else None
    return LMTextWriter(writer, chosen.sampling, guide, asked, chosen, writer_context.over_long), chosen

"""Writers by name: a built-in rule or an LM of the models file.

A writer makes judgments, synopses, reviews and changes of reviews, or some of these.
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
"""Folder of a state that holds the rate limiters, which all requests to an endpoint share."""

STUDIES = "studies"
"""Account for work that belongs to no edition and no named study."""


@dataclass(frozen=True, slots=True)
class WriterContext:
    """What LM writers need: the models file (None: the shipped one), the reply archive, and the options below.

    *again*: ask again if earlier runs got refusals or empty replies. *domain*: the kind of reviewed thing. *account*:
    where spending is recorded, within *budget*. *sampling*: by model, overrides the models file. *over_long*: what
    happens to a paper that does not fit an LM's context.
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
        """Returns the budget that pays for requests to *model*."""
        from gre_bench.writing.budget import ModelBudget
        from gre_bench.writing.spend_log import spend_log_of

        return ModelBudget(spend_log_of(self.archive.parent), self.account, self.budget, model)

    def writer(self, model: Model, kind: type[W]) -> W:
        """Returns a writer of class *kind* for *model*; it sends nothing until it has something to write."""
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
    """Returns the account of the study *name*, a folder below ``studies``; an edition's key never holds a slash."""
    return f"{STUDIES}/{kind}/{name}"


def by_rule(name: str) -> bool:
    """Whether the writer *name* works without an LM."""
    return name in NAMES


def writes_reviews(name: str, writer_context: WriterContext) -> bool:
    """Whether *name* is a reviewer by rule or an LM of the models file, with or without a guideline."""
    from gre_bench.catalogs.models import load as load_models

    return name in EXTRACTIVE or guided(name)[0] in load_models(writer_context.models)


class TextWriter(Protocol):
    """Writes one text for each item, in the same order; a task's `identity` goes into signatures.

    `changed` returns the whole changed review under the item's key, or the reason for its absence. The reason comes
    from a `ChangeError` (no text, no abstract, no sections) or from the outcome of the reply.
    """

    def identity(self, task: str) -> str: ...

    def judgments(self, reviews: Sequence[tuple[str, str]]) -> list[Written]: ...

    def assw(self, papers: Sequence[Paper]) -> list[Written]: ...

    def reviews(self, papers: Sequence[Paper]) -> list[Written]: ...

    def changed(self, task: WriterTask, items: Sequence[ChangeInput]) -> list[Written]: ...


def text_writer(name: str, writer_context: WriterContext) -> TextWriter:
    """Opens the writer *name*; ``MODEL@CONDITION`` reviews under that guideline.

    `SettingsError` lists the known names.
    """
    return RuleTextWriter(name) if by_rule(name) else lm_text_writer(name, writer_context)[0]


def lm_text_writer(name: str, writer_context: WriterContext) -> tuple[LMTextWriter, Model]:
    """Opens the writer *name* with its LM, and returns both; `SettingsError` lists the known names."""
    from gre_bench.catalogs.models import load as load_models
    from gre_bench.writing.http_writer import HttpWriter

    models = load_models(writer_context.models)
    model, guideline = guided(name)
    if model not in models:
        raise SettingsError(f"no writer {name!r}; known: {', '.join((*NAMES, *models))}")
    chosen = models[model].sampled(writer_context.sampling.get(model))
    writer = writer_context.writer(chosen, HttpWriter)
    judging = domain_of(writer_context.domain).judgments
    guide = condition(guideline) if guideline else None
    return LMTextWriter(writer, chosen.sampling, guide, judging, chosen, writer_context.over_long), chosen

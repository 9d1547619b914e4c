"""Opens writers and examiners by name; a name is a built-in rule or an LM of the models file.

A writer can make some or all of four kinds of texts: judgments, synopses, reviews, and perturbed reviews.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from gre_bench.catalogs.domains import PEER_REVIEW, load_domain
from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import suggest_known_names
from gre_bench.core.records import LMIdentity, Paper, Sampling, WrittenText, digest
from gre_bench.core.settings import BudgetSettings
from gre_bench.core.training_registers import INCLUDED, Register, read_register
from gre_bench.perturbations.by_name import WriterTask
from gre_bench.perturbations.material import PerturbationInput
from gre_bench.prompts.conditions import load_condition, split_condition
from gre_bench.prompts.library import load
from gre_bench.writing.archive import ReplyArchive
from gre_bench.writing.fit import OverLong
from gre_bench.writing.http_writer import HttpWriter, LogprobWriter
from gre_bench.writing.inspect_writer import InspectWriter
from gre_bench.writing.lm_writer import LMTextWriter
from gre_bench.writing.rules.judgments import WRITER as RULE_JUDGMENTS
from gre_bench.writing.rules.writer import EXTRACTIVE, NAMES, RULE, RuleTextWriter
from gre_bench.writing.spend_log import ModelBudget, open_spend_log

W = TypeVar("W", bound=HttpWriter)
WRITERS: Mapping[str, type[HttpWriter]] = {"openai": HttpWriter, "inspect": InspectWriter}
"""Provider (the way to reach an LM) → the class of its writers."""

RATE_LIMITERS = "endpoints"
"""The folder, in the state's folder, that holds the rate limiters; all requests to an endpoint share one limiter."""

DEFAULT_ACCOUNT = "studies"
"""The account of the spend log for work that belongs neither to an edition nor to a named study."""


@dataclass(frozen=True, slots=True)
class WriterContext:
    """Everything needed to open a writer.

    - *archive*: the folder of the reply archive. *models*: the models file; None: the shipped one.
    - *again*: whether to repeat a request whose archived reply is an error, a refusal, empty or unparsable.
    - *domain*: the name of the domain, the kind of reviewed item.
    - *account*: the account of the spend log to charge. *budget*: its limits.
    - *sampling*: model name → sampling options that override those of the models file.
    - *over_long*: whether to refuse or to truncate a paper that does not fit an LM's context.
    """

    archive: Path
    models: Path | None = None
    again: bool = False
    domain: str = PEER_REVIEW
    account: str = DEFAULT_ACCOUNT
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    sampling: Mapping[str, Mapping[str, float | int | str]] = field(default_factory=dict)
    over_long: OverLong = "refuse"

    def model_budget(self, model: Model) -> ModelBudget:
        return ModelBudget(open_spend_log(self.archive.parent), self.account, self.budget, model)

    def writer(self, model: Model, kind: type[W]) -> W:
        archive, rate_limiters = ReplyArchive(self.archive), self.archive.parent / RATE_LIMITERS
        return kind(
            model, archive, again=self.again, model_budget=self.model_budget(model), rate_limiters=rate_limiters
        )


def study_account(kind: str, name: str) -> str:
    """Returns ``studies/KIND/NAME``, a study's account; no edition's key contains a slash."""
    return f"{DEFAULT_ACCOUNT}/{kind}/{name}"


def is_rule(name: str) -> bool:
    return name in NAMES


def find_writer_register(name: str | None) -> Register | None:
    """Returns the register of the texts that the rule *name*, a writer of judgments, was trained on.

    *name* may also be a rule's identity. Returns None for LMs and people, which this program did not train. For an
    earlier version of the rule, returns a register without entries that says why they are unknown.
    """
    if name in (RULE, RULE_JUDGMENTS):
        return read_register(INCLUDED[RULE_JUDGMENTS], RULE_JUDGMENTS)
    if name and name.startswith(RULE_JUDGMENTS.rstrip("0123456789")):
        why = f"it is unknown what {name} was learnt from: this version has the register of {RULE_JUDGMENTS} only"
        return Register(name, None, None, why)
    return None


def writes_reviews(name: str, writer_context: WriterContext) -> bool:
    """Whether *name* can write reviews: it is an extractive rule, or an LM as ``MODEL`` or ``MODEL@GUIDELINE``."""
    return name in EXTRACTIVE or split_condition(name)[0] in load_models(writer_context.models)


class TextWriter(Protocol):
    """A writer, by rule or with an LM. Each method except `identity` returns one result for each item, in order.

    - `write_judgments` takes pairs (review id, text of the review).
    - `write_assw` returns, for each paper, the strengths and weaknesses that its authors state.
    - `write_perturbed_reviews` applies the perturbation *task* to each review, and returns the whole changed review;
      the result's id is the item's key.
    - `identity` returns one line that names everything that determines the texts of a task, for use in signatures.

    If a text could not be made, the result holds the code of a `PerturbationError` or the outcome of the LM's reply
    instead.
    """

    def identity(self, task: str) -> str: ...

    def write_judgments(self, reviews: Sequence[tuple[str, str]]) -> list[WrittenText]: ...

    def write_assw(self, papers: Sequence[Paper]) -> list[WrittenText]: ...

    def write_reviews(self, papers: Sequence[Paper]) -> list[WrittenText]: ...

    def write_perturbed_reviews(self, task: WriterTask, items: Sequence[PerturbationInput]) -> list[WrittenText]: ...


def open_text_writer(name: str, writer_context: WriterContext) -> TextWriter:
    """Opens the writer *name*: a rule, ``MODEL`` or ``MODEL@GUIDELINE``; raises `SettingsError` if it is unknown."""
    return RuleTextWriter(name) if is_rule(name) else open_lm_text_writer(name, writer_context)[0]


def open_lm_text_writer(name: str, writer_context: WriterContext) -> tuple[LMTextWriter, Model]:
    """Returns the LM writer *name*, which is ``MODEL`` or ``MODEL@GUIDELINE``, and its model.

    The model is the LM's entry in the models file, with the sampling options of *writer_context* applied.
    """
    models = load_models(writer_context.models)
    model, guideline = split_condition(name)
    if model not in models:
        where = f" in {writer_context.models}" if writer_context.models else ""
        raise SettingsError(f"no writer {name!r}{where}; {suggest_known_names(name, (*NAMES, *models))}")
    chosen = models[model].override_sampling(writer_context.sampling.get(model))
    writer = writer_context.writer(chosen, WRITERS[chosen.provider])
    judging = load_domain(writer_context.domain).judgments
    guide = load_condition(guideline) if guideline else None
    return LMTextWriter(writer, chosen.sampling, guide, judging, chosen, writer_context.over_long), chosen


@dataclass(frozen=True, slots=True)
class ExaminerLM:
    """An LM that grades texts."""

    writer: HttpWriter
    sampling: Sampling

    def identity(self, prompt: str) -> LMIdentity:
        """Returns the identity of this LM and of the prompt named *prompt*, for use in signatures."""
        return LMIdentity(
            self.writer.identity, "as its endpoint states", f"sampling {digest(asdict(self.sampling))[:8]}",
            dtype="not stated", quantisation="not stated", attention="not stated",
            template_digest=f"prompt {load(prompt).sha256}",
        )  # fmt: skip


def open_examiner(name: str | None, writer_context: WriterContext) -> ExaminerLM:
    """Opens the LM *name* of the models file without sending anything; raises `SettingsError` if *name* is unknown."""
    models = load_models(writer_context.models)
    if name is None or name not in models:
        wrong = "grading needs an LM" if name is None else f"no LM {name!r} in the models file"
        raise SettingsError(f"{wrong}: --set scoring.examiner=NAME; known: {', '.join(models)}")
    model = models[name]
    return ExaminerLM(writer_context.writer(model, WRITERS[model.provider]), model.sampling)


def open_logprob_writer(name: str | None, writer_context: WriterContext) -> LogprobWriter:
    model = open_examiner(name, writer_context).writer.model
    if model.provider != "openai":
        raise SettingsError(f"log-probabilities need an OpenAI-compatible endpoint, and {model.name} has a provider")
    return writer_context.writer(model, LogprobWriter)

"""The settings of an examiner: how an LM grades a text.

The settings are template, granularity, demonstration, aggregation, rationale, filtering and binning (Kim et al. 2023,
§4), and the parts of the guideline in the prompt. Combinations that no paper defines are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import digest
from gre_bench.examiners.generated import findings
from gre_bench.examiners.templates import TEMPLATES, Template

ItemKind = Literal["summary", "review"]
Demonstration = Literal["none", "base_worst", "base_best", "reason_worst", "reason_best"]
Aggregation = Literal["direct", "logprob", "approximation"]

SAMPLES = 20
"""Number of replies that the aggregation ``approximation`` samples by default (Kim et al. 2023, §5.1)."""


class Binning(BaseModel):
    """How close scores are made equal: all scores in a bin are replaced by one value.

    - *method*: ``equal_width`` divides the scale into bins of equal width; ``quantile`` makes bins with equally many
      scores.
    - *bins*: the number of bins.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: Literal["equal_width", "quantile"] = Field(default="equal_width", description="how the bins are made")
    bins: int = Field(default=10, ge=2, le=1000, description="how many bins")


class Examiner(BaseModel, frozen=True, extra="forbid"):
    """The settings that say how an LM grades a text.

    None stands for a default:

    - *rationale*, *criteria*: those of the template.
    - *mass*: ``normalised``.
    - *samples*: `SAMPLES`.
    - *binning*, *instructions*: none.
    """

    template: str = Field(default="human", description="which prompt")
    item: ItemKind = Field(
        default="review", description="kind of graded text: a review of a paper, or a summary of a source"
    )
    granularity: Literal["coarse", "fine"] = Field(
        default="coarse", description="one score, or the mean of the aspects' scores"
    )
    demonstration: Demonstration = Field(default="none", description="one example for each aspect, score 1 or 5")
    aggregation: Aggregation = Field(default="direct", description="how replies become a score")
    mass: Literal["normalised", "raw"] | None = Field(
        default=None, description="logprob: normalised over the declared scores, or raw"
    )
    samples: int | None = Field(default=None, ge=1, le=1000, description="approximation: replies averaged; 20")
    rationale: bool | None = Field(default=None, description="whether to ask for reasons; default: the template's")
    filtering: bool = Field(default=False, description="give the lowest score to a text that the LM calls redundant")
    binning: Binning | None = Field(default=None, description="makes close scores equal")
    description: Literal["base", "expert", "short", "long"] = Field(
        default="base", description="guidelines: task description"
    )
    criteria: Literal["ad", "ad_gpt", "ht", "ht_gpt", "mt", "mt_gpt"] | None = Field(
        default=None, description="guidelines: criteria; ht for human, mt for model"
    )
    steps: Literal["base", "complex"] = Field(default="base", description="guidelines: evaluation steps")
    instructions: str | None = Field(
        default=None, min_length=1, description="generated: the instructions that an LM has written"
    )

    @model_validator(mode="after")
    def _possible(self) -> Examiner:
        if problem := next(self._problems(), None):
            raise ValueError(problem)
        return self

    @property
    def form(self) -> Template:
        """The `Template` that the setting *template* names."""
        return TEMPLATES[self.template]

    @property
    def aspects(self) -> tuple[str | None, ...]:
        """The aspects to grade, such as coherence, each in its own chat; None stands for the text as a whole."""
        return self.form.aspects if self.granularity == "fine" else (None,)

    @property
    def chosen_criteria(self) -> str | None:
        """The name of the set of criteria that the prompt states; None if the prompt has no criteria."""
        return self.criteria or self.form.criteria

    @property
    def times(self) -> int:
        """The number of replies that the LM gives to each chat: 1 unless the aggregation is ``approximation``."""
        return (self.samples or SAMPLES) if self.aggregation == "approximation" else 1

    @property
    def name(self) -> str:
        """A name for the settings, such as ``human-fine-logprob``.

        It joins the template, the granularity, and every other setting that differs from its default.
        """
        parts = [self.template, self.granularity, *(() if self.demonstration == "none" else (self.demonstration,))]
        if self.aggregation != "direct":
            parts.append(self.aggregation + ("-raw" if self.mass == "raw" else ""))
            parts += [f"n{self.samples}"] if self.samples else []
        parts += [digest(self.instructions)[:8]] if self.instructions else []
        for field in ("description", "criteria", "steps"):
            value = getattr(self, field)
            parts += [f"{field}_{value}"] if value not in ("base", None) else []
        parts += ["filtered"] if self.filtering else []
        parts += [f"{self.binning.method}_{self.binning.bins}"] if self.binning else []
        return "-".join(parts)

    @cached_property
    def identity(self) -> str:
        """``name#digest``; the digest covers every setting and every prompt text that the LM reads."""
        from gre_bench.examiners.wordings import sha256

        return f"{self.name}#{digest([self.model_dump(mode='json'), sha256(self)])[:12]}"

    def _problems(self) -> Iterator[str]:
        """Yields a message for each setting, or combination of settings, that is not allowed."""
        if self.template not in TEMPLATES:
            yield f"no template {self.template!r}; known: {', '.join(TEMPLATES)}"
            return
        yield from self._chat_problems()
        yield from self._score_problems()
        yield from self._wording_problems()

    def _chat_problems(self) -> Iterator[str]:
        """Yields a message for each choice of granularity or demonstration that the template does not allow.

        A template that asks no LM allows no other settings.
        """
        form, template = self.form, f"template {self.template}"
        if form.answer == "nothing" and self != Examiner.model_construct(template=self.template, item=self.item):
            yield f"{template} asks no LM: it takes no other settings"
        if self.granularity not in form.granularities:
            yield f'{template} is {form.granularities[0]} only: set granularity = "{form.granularities[0]}"'
        if self.demonstration != "none":
            if not form.demonstrations:
                yield f"{template} takes no demonstration; human, model and rationale do"
            if self.granularity != "fine":
                yield 'a demonstration shows one aspect: set granularity = "fine"'

    def _score_problems(self) -> Iterator[str]:
        """Yields a message for each choice of aggregation, *mass* or *samples* that the template does not allow."""
        form, template = self.form, f"template {self.template}"
        if self.aggregation == "logprob" and not form.scale.declared:
            yield f"{template} declares no scores that could have a probability: use direct or approximation"
        if self.aggregation == "logprob" and not form.bare:
            yield f"{template} asks for more than a score: logprob needs a reply that is the score alone"
        if self.mass is not None and self.aggregation != "logprob":
            yield f"mass belongs to aggregation logprob, not to {self.aggregation}"
        if self.samples is not None and self.aggregation != "approximation":
            yield f"samples belongs to aggregation approximation, not to {self.aggregation}"

    def _wording_problems(self) -> Iterator[str]:
        """Yields a message for each option of the wording that the template does not allow.

        The options are the rationale, the parts of a guideline, and generated instructions.
        """
        form, template = self.form, f"template {self.template}"
        guideline = self.template in ("human", "model")
        if self.rationale is not None and self.rationale != form.rationale:
            yield f"{template} {'asks' if form.rationale else 'does not ask'} for a rationale: leave rationale out" + (
                "" if form.rationale else ", or take template rationale (or p9, explanation)"
            )
        if not guideline and (self.description != "base" or self.steps != "base"):
            yield f"{template} has no task description and steps to vary; human and model have"
        if (self.instructions is None) == (self.template == "generated"):
            yield "instructions belong to template generated, which needs them"
        if self.instructions is not None and (faults := findings(self.instructions)):
            yield f"the generated instructions are not sound: {faults[0]}"
        if self.criteria is not None and not (guideline or self.template == "rationale"):
            yield f"{template} has no criteria to vary; human, model and rationale have"
        if self.template == "human" and self.steps == "complex" and self.description != "base":
            yield 'the complex steps of template human hold their own task description: leave description = "base"'


def examiner_of(tree: dict[str, Any], origin: str = "examiner") -> Examiner:
    """Returns the examiner with the settings *tree*, a mapping of names to values.

    *origin* says where the settings come from, and is named in errors. Raises `SettingsError` if a setting is unknown
    or a combination is refused.
    """
    try:
        return Examiner.model_validate(tree)
    except ValidationError as error:
        problems = "; ".join(_line(item) for item in error.errors())
        raise SettingsError(f"{origin}: {problems}") from None


def _line(error: Any) -> str:
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"unknown setting {name}; known here: {', '.join(Examiner.model_fields)}"
    message = error["msg"].removeprefix("Value error, ")
    return f"setting {name}: {message}" if name else message

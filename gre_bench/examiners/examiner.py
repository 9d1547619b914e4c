"""Examiners: the settings for grading a text with an LM, and the prompts that follow from the settings.

The settings are template, granularity, demonstration, aggregation, rationale, filtering and binning (Kim et al. 2023,
§4). More settings choose the task description, criteria and steps in the prompt. Combinations that no paper defines are
refused.

An LM may write or improve instructions for grading. Kotonya et al. 2023, §5.2, found two kinds of faults in such
instructions by manual inspection. One is numbering such as 2, 3, 4, 4 where the original has 1, 2, 3, 4. The other is a
stray "Answer:" in the middle of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from gre_bench.core.errors import ReplyError, SettingsError
from gre_bench.core.records import Chat, digest
from gre_bench.core.replies import ends_in_loop
from gre_bench.examiners.templates import TEMPLATES, Template
from gre_bench.prompts.library import fill_prompt, load

ItemKind = Literal["summary", "review"]
Demonstration = Literal["none", "base_worst", "base_best", "reason_worst", "reason_best"]
Aggregation = Literal["direct", "logprob", "approximation"]
Mass = Literal["normalised", "raw"]
Criteria = Literal["ad", "ad_gpt", "ht", "ht_gpt", "mt", "mt_gpt"]
Phrase = Literal["improve", "rewrite", "precise", "best"]
"""The names of the four prompts that ask for better instructions (Kotonya et al. 2023, §3.2, Table 5)."""

SAMPLES = 20
"""The default number of replies that the aggregation ``approximation`` samples (Kim et al. 2023, §5.1)."""
COARSE = ("relevance", "consistency", "fluency", "coherence")
"""The order of the aspects in a prompt about all of them (Kotonya et al. 2023, Table 3)."""
ADJECTIVES = {"coherence": "coherent", "consistency": "consistent", "fluency": "fluent", "relevance": "relevant"}

_FIELD = re.compile(r"\{(\w+)\}")
_NUMBERED = re.compile(r"^[ \t]{0,8}(\d{1,3})[.)](?=\s)", re.MULTILINE)
_ANSWER = re.compile(r"^[ \t]*Answer[ \t]*:", re.IGNORECASE | re.MULTILINE)


class Binning(BaseModel, frozen=True, extra="forbid"):
    """Makes close scores equal: all scores in a bin are replaced by one value.

    ``equal_width``: bins of equal width divide the scale. ``quantile``: all bins hold about equally many scores.
    """

    method: Literal["equal_width", "quantile"] = Field(default="equal_width", description="how the bins are made")
    bins: int = Field(default=10, ge=2, le=1000, description="how many bins")


class Examiner(BaseModel, frozen=True, extra="forbid"):
    """The settings for grading a text with an LM.

    For four settings, None means a default. For *rationale* and *criteria*, the template states the default. For
    *mass*, it is ``normalised``. For *samples*, it is `SAMPLES`.
    """

    template: str = Field(default="human", description="which prompt")
    item: ItemKind = Field(default="review", description="kind of text: a review of a paper, or a summary of a source")
    granularity: Literal["coarse", "fine"] = Field(default="coarse", description="one score, or the mean over aspects")
    demonstration: Demonstration = Field(default="none", description="one example for each aspect, score 1 or 5")
    aggregation: Aggregation = Field(default="direct", description="how replies become a score")
    mass: Mass | None = Field(
        default=None, description="logprob: normalised over the declared scores (default), or raw"
    )
    samples: int | None = Field(default=None, ge=1, le=1000, description="approximation: replies averaged; default: 20")
    rationale: bool | None = Field(default=None, description="whether to ask for reasons; default: the template's")
    filtering: bool = Field(default=False, description="give the lowest score to a text that the LM calls redundant")
    binning: Binning | None = Field(default=None, description="makes close scores equal")
    description: Literal["base", "expert", "short", "long"] = Field(default="base", description="task description")
    criteria: Criteria | None = Field(default=None, description="guidelines: criteria; ht for human, mt for model")
    steps: Literal["base", "complex"] = Field(default="base", description="guidelines: evaluation steps")
    instructions: str | None = Field(default=None, min_length=1, description="generated: what an LM has written")

    @model_validator(mode="after")
    def _check_options_fit_template(self) -> Examiner:
        if self.template not in TEMPLATES:
            raise ValueError(f"no template {self.template!r}; known: {', '.join(TEMPLATES)}")
        form, template, guideline = self.form, f"template {self.template}", self.template in ("human", "model")
        default = Examiner.model_construct(template=self.template, item=self.item)
        asks = "asks" if form.rationale else "does not ask"
        instead = "" if form.rationale else ", or take template rationale (or p9, explanation)"
        faults = find_instruction_faults(self.instructions) if self.instructions is not None else []
        refused = (
            (form.answer == "nothing" and self != default,
             f"{template} asks no LM: it takes no other settings"),
            (self.granularity not in form.granularities,
             f'{template} is {form.granularities[0]} only: set granularity = "{form.granularities[0]}"'),
            (self.demonstration != "none" and not form.demonstrations,
             f"{template} takes no demonstration; human, model and rationale do"),
            (self.demonstration != "none" and self.granularity != "fine",
             'a demonstration shows one aspect: set granularity = "fine"'),
            (self.aggregation == "logprob" and not form.scale.declared,
             f"{template} declares no scores that could have a probability: use direct or approximation"),
            (self.aggregation == "logprob" and not form.bare,
             f"{template} asks for more than a score: logprob needs a reply that is the score alone"),
            (self.mass is not None and self.aggregation != "logprob",
             f"mass belongs to aggregation logprob, not to {self.aggregation}"),
            (self.samples is not None and self.aggregation != "approximation",
             f"samples belongs to aggregation approximation, not to {self.aggregation}"),
            (self.rationale not in (None, form.rationale),
             f"{template} {asks} for a rationale: leave rationale out{instead}"),
            (not guideline and (self.description != "base" or self.steps != "base"),
             f"{template} has no task description and steps to vary; human and model have"),
            ((self.instructions is None) == (self.template == "generated"),
             "instructions belong to template generated, which needs them"),
            (bool(faults), f"the generated instructions are not sound: {''.join(faults[:1])}"),
            (self.criteria is not None and not (guideline or self.template == "rationale"),
             f"{template} has no criteria to vary; human, model and rationale have"),
            (self.template == "human" and self.steps == "complex" and self.description != "base",
             'the complex steps of template human hold their own task description: leave description = "base"'),
        )  # fmt: skip
        for wrong, message in refused:
            if wrong:
                raise ValueError(message)
        return self

    @property
    def form(self) -> Template:
        return TEMPLATES[self.template]

    @property
    def aspects(self) -> tuple[str | None, ...]:
        """The aspects to grade, each in its own chat; None: the text as a whole."""
        return self.form.aspects if self.granularity == "fine" else (None,)

    @property
    def chosen_criteria(self) -> str | None:
        """The name of the set of criteria that the prompt states; None if the prompt has no criteria."""
        return self.criteria or self.form.criteria

    @property
    def times(self) -> int:
        """The number of replies requested for each chat: 1 unless the aggregation is ``approximation``."""
        return (self.samples or SAMPLES) if self.aggregation == "approximation" else 1

    @property
    def name(self) -> str:
        """A name such as ``human-fine-logprob``: template, granularity, and all settings that are not the default."""
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
        return f"{self.name}#{digest([self.model_dump(mode='json'), digest_prompts(self)])[:12]}"


def parse_examiner(tree: dict[str, Any], origin: str = "examiner") -> Examiner:
    """Returns the examiner with the settings *tree*. *origin*: where the settings come from, for error messages.

    Raises `SettingsError` if a setting is unknown or invalid, or if a combination is refused.
    """
    try:
        return Examiner.model_validate(tree)
    except ValidationError as error:
        known = f"; known here: {', '.join(Examiner.model_fields)}"
        raise SettingsError(f"{origin}: {format_validation_errors(error, known)}") from None


def format_validation_errors(error: ValidationError, known: str = "") -> str:
    """Returns one line that says what is wrong with the settings.

    *known*: the text that follows each unknown setting's name, such as a list of the valid names.
    """
    lines = []
    for item in error.errors():
        name = ".".join(str(part) for part in item["loc"])
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            lines.append(f"unknown setting {name}{known}")
        else:
            lines.append(f"setting {name}: {message}" if name else message)
    return "; ".join(lines)


@dataclass(frozen=True, slots=True)
class GradingItem:
    """A text to grade: *source* is the text that was summarised, or the paper that was reviewed."""

    item_id: str
    source: str
    text: str


def build_grading_chats(examiner: Examiner, item: GradingItem) -> list[Chat]:
    """Returns the chats that grade *item*, one for each of the examiner's aspects."""
    values = {"source": item.source, "text": item.text}
    prompts = [assemble_prompt(examiner, aspect) for aspect in examiner.aspects]
    return [Chat(each.system, _FIELD.sub(lambda name: values.get(name[1], name[0]), each.user)) for each in prompts]


def build_redundant_text_filter_chat(examiner: Examiner, item: GradingItem) -> Chat:
    return fill_prompt(f"dsba/{examiner.item}/filtering", text=item.text)


def digest_prompts(examiner: Examiner) -> str:
    """Returns the SHA-256 of all prompts of *examiner*. The prompts do not depend on the aggregation."""
    if examiner.form.answer == "nothing":
        return digest([])
    worded = [assemble_prompt(examiner, aspect) for aspect in examiner.aspects]
    filtering = [load(f"dsba/{examiner.item}/filtering").sha256] if examiner.filtering else []
    return digest([[each.system, each.user] for each in worded] + filtering)


@cache
def assemble_prompt(examiner: Examiner, aspect: str | None) -> Chat:
    """Returns the prompt about *aspect* (None: the text as a whole); ``{source}`` and ``{text}`` are not filled in."""
    names = _list_prompt_files(examiner, aspect)
    prompt = load(names["frame"])
    parts = {part: load(name).user for part, name in names.items() if part not in ("frame", "description")}
    parts["instructions"] = examiner.instructions or ""
    parts["description"] = load(names["description"]).user + "\n" if "description" in names else ""
    parts["criteria"] = "\n".join(text for part, text in parts.items() if part.startswith("criteria"))
    parts["demonstration"] = parts["demonstration"] + "\n" if "demonstration" in parts else ""
    parts["aspect"] = aspect or f"{', '.join(COARSE[:-1])}, and {COARSE[-1]}"
    parts["Aspect"] = aspect.capitalize() if aspect else "Overall"
    several = f"{', '.join(ADJECTIVES[adjective] for adjective in COARSE[:-1])} and coherent"
    parts["adjective"] = ADJECTIVES.get(aspect or "", several)
    user = prompt.user.replace("{description}\n", "{description}")
    for _ in range(2):  # steps and frames name the aspect, so a part may itself contain a field
        user = _FIELD.sub(lambda field: parts.get(field[1], field[0]), user)
    return Chat(prompt.system, user)


def _list_prompt_files(examiner: Examiner, aspect: str | None) -> dict[str, str]:
    """Returns role (such as ``frame``) → prompt file, for the files that make up the prompt about *aspect*."""
    folder, form = f"dsba/{examiner.item}", examiner.form
    frame = form.prompt.format(item=examiner.item)
    names = {"frame": f"{frame}_fine" if examiner.template == "base" and aspect else frame}
    if criteria := examiner.chosen_criteria:
        # Numbered, so that the criteria of several aspects keep their order.
        for index, each in enumerate((aspect,) if aspect else COARSE):
            names[f"criteria{index}"] = f"{folder}/criteria/{criteria}_{each}"
    if examiner.template in ("human", "model"):
        own = examiner.template == "human" and examiner.steps == "complex"
        names |= {} if own else {"description": f"{folder}/descriptions/{examiner.template}_{examiner.description}"}
        steps = f"{folder}/steps/{examiner.template}_{examiner.steps}"
        names["steps"] = steps if examiner.template == "human" else f"{steps}_{aspect or 'overall'}"
    if examiner.demonstration != "none":
        names["demonstration"] = f"{folder}/demonstrations/{examiner.demonstration}_{aspect}"
    return names


def build_instruction_chat(item: ItemKind) -> Chat:
    """Returns the chat that asks an LM to write new instructions for grading (Kotonya et al. 2023, Table 4)."""
    return fill_prompt("little_giants/generate" if item == "summary" else "little_giants/generate_review")


def build_improvement_chat(instructions: str, phrase: Phrase = "improve") -> Chat:
    return fill_prompt(f"little_giants/{phrase}", instructions=instructions)


def extract_instructions(reply: str) -> str:
    """Returns the instructions in *reply*, without enclosing quotation marks; raises `ReplyError` for a fault."""
    instructions = reply.strip().strip('"“”').strip()
    if faults := find_instruction_faults(instructions):
        raise ReplyError(faults[0])
    return instructions


def find_instruction_faults(instructions: str) -> list[str]:
    """Returns the faults of *instructions* that an LM wrote, each in a few words.

    The numbers of a list must rise by one. They may restart at 1, because an example within the instructions has its
    own numbering.
    """
    faults = []
    before = 0
    for number in map(int, _NUMBERED.findall(instructions)):
        if number not in (before + 1, 1):
            faults.append(f"number {number} follows {before}" if before else f"the numbering begins with {number}")
        before = number
    if stray := len(_ANSWER.findall(instructions)):
        faults.append(f'{stray} stray "Answer:"')
    if field := _FIELD.search(instructions):
        faults.append(f"a field {field[0]} is left in the text")
    if ends_in_loop(instructions):
        faults.append("it ends in a loop")
    return faults if re.search(r"[^\W\d_]", instructions) else ["there is no text"]

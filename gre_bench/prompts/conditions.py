"""Conditions: variants of the prompt for reviews. Each has one guideline for reviewers; ``none`` has no guideline.

Two kinds of guideline are shipped: instructions made from a conference's guideline, and guidelines that imitate human
reviewers. The shipped guidelines are listings 7 to 12 in "Evaluating the Impact of Reviewer Guideline Design on
LLM-Based Automated Peer Review". The prompts that present a guideline are listings 5, 6 and 13. Any other guideline,
such as a conference's official text, comes from a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Chat, digest
from gre_bench.prompts.library import fill_prompt, load

Kind = Literal["none", "instruction", "official", "imitating"]

INSTRUCTION = ("arr", "neurips", "iclr")
"""Official guidelines rewritten as instructions (listings 7 to 9)."""

IMITATING = ("good", "middle", "bad")
"""Guidelines made from reviews of good, middle and bad quality (listings 10 to 12)."""

RUBRIC = "+rubric"
"""The suffix of a condition whose rating is computed from a checklist (listing 13)."""

CHECKLIST = "peer_review_behavior_checklist:"
"""The line that marks a guideline made to imitate reviewers."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")


@dataclass(frozen=True, slots=True)
class GuidelineCondition:
    """A variant of the prompt for reviews: with the text *guideline*, or without any guideline.

    *name*: such as ``none``, ``iclr`` or ``good+rubric``. *kind*: ``none``, ``instruction`` (made from a conference's
    guideline), ``imitating`` (made to imitate human reviewers, with a checklist) or ``official`` (any other text from a
    file). *rubric*: whether the LM must compute its rating from its answers to the guideline's checklist.
    """

    name: str
    kind: Kind
    guideline: str = ""
    rubric: bool = False

    @property
    def template(self) -> str:
        """The name of the prompt that presents the guideline: listing 5 if there is none, 13 with a rubric, else 6."""
        return "guideline_none" if self.kind == "none" else "guideline_rubric" if self.rubric else "guideline_review"

    @property
    def sha256(self) -> str:
        """The SHA-256 of the prompt and the guideline: everything that the LM reads except the paper."""
        return digest([load(self.template).sha256, self.guideline])

    def chat(self, content: str) -> Chat:
        """Returns the chat that asks the LM to review a paper under this condition. *content*: the paper's text."""
        if self.kind == "none":
            return fill_prompt(self.template, content=content)
        field = "reviewer_imitating_guideline" if self.rubric else "reviewer_guideline"
        return fill_prompt(self.template, **{"content": content, field: self.guideline})


SHIPPED = ("none", *INSTRUCTION, *IMITATING, *(f"{name}{RUBRIC}" for name in IMITATING))
"""The names of the conditions that need no file."""


def split_condition(candidate: str) -> tuple[str, str | None]:
    """Splits a candidate's name of the form ``MODEL@CONDITION``; returns (model, condition).

    Returns (candidate, None) if the name does not end with @ and the name of a shipped condition (see `SHIPPED`).
    """
    model, _, name = candidate.rpartition("@")
    return (model, name) if model and name in SHIPPED else (candidate, None)


def load_condition(name: str, texts: Mapping[str, str] | None = None) -> GuidelineCondition:
    """Returns the condition *name*: a shipped one, or one with the user's guideline from *texts* (name → guideline).

    The suffix ``+rubric`` asks the LM to compute its rating from the guideline's checklist. Raises `SettingsError` for
    an unknown name, for a malformed or shipped name in *texts*, for an empty guideline, and for a rubric without a
    checklist.
    """
    texts = texts or {}
    base, rubric = name.removesuffix(RUBRIC), name.endswith(RUBRIC)
    for given in texts:
        if not _NAME.fullmatch(given) or given in SHIPPED:
            raise SettingsError(
                f"a guideline of your own cannot be called {given!r}: small letters, digits and . _ -, "
                f"and none of {', '.join(SHIPPED)}"
            )
    if base in texts:
        own = texts[base].strip()
        if not own:
            raise SettingsError(f"the guideline {base} is empty")
        base_condition = GuidelineCondition(base, "imitating" if CHECKLIST in own else "official", own)
    elif base == "none":
        base_condition = GuidelineCondition("none", "none")
    elif base in (*INSTRUCTION, *IMITATING):
        base_condition = GuidelineCondition(
            base, "instruction" if base in INSTRUCTION else "imitating", load(f"guideline_{base}").user
        )
    else:
        raise SettingsError(f"no guideline condition {name!r}; there are: {', '.join((*SHIPPED, *texts))}")
    if not rubric:
        return base_condition
    if base_condition.kind != "imitating":
        raise SettingsError(f"condition {name}: a rubric counts the questions of a checklist, and {base} has none")
    return GuidelineCondition(name, "imitating", base_condition.guideline, rubric=True)

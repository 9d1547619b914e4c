"""The perturbations by name, in the order of the tables, and functions that check and apply a perturbation.

They are the degradations and manipulations of Xu et al. 2025 (§4.2, §4.3, D.3, D.4). The perturbations marked "ours"
are not in that paper; they are tricks of a reviewer who wants a high score. Installed packages add perturbations as
entry points of the group ``gre_bench.changes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from gre_bench.changes import edits
from gre_bench.changes.graded import DEGREES, HARMS, harmed
from gre_bench.changes.material import ChangeInput
from gre_bench.core import controls
from gre_bench.core.errors import ChangeError
from gre_bench.core.extensions import Catalogue
from gre_bench.core.records import HUMAN, digest

Family = Literal["degradation", "manipulation"]
Level = Literal["review", "judgments"]
Need = Literal["text", "abstract", "keywords", "other", "others", "sections"]
WriterTask = Literal["completion", "abstract_only", "rephrase", "elongation"]
_MARK = "~"
"""The separator in the name of a perturbed candidate, such as ``human~injection``; other names cannot contain it."""


@dataclass(frozen=True, slots=True)
class Change:
    """A perturbation of a review, or of its judgments if no writer can make judgments of the perturbed review.

    - *family*: ``degradation`` (must lower a score) or ``manipulation`` (must not raise it).
    - *source*: the paper and section that define the perturbation, or ``ours``.
    - *made_by*: ``rule``, ``writer`` (an LM, by *task*) or ``control`` (the review of *control* replaces it).
    - *rules*: level → the function that takes a `ChangeInput` and returns the perturbed text.
    - *needs*: the parts of a `ChangeInput` that the perturbation needs.
    - *version*: increased when the rule's output changes.
    """

    name: str
    title: str
    family: Family
    source: str
    level: Literal["review", "judgments", "both"]
    made_by: Literal["rule", "writer", "control"]
    task: WriterTask | None = None
    control: str | None = None
    needs: tuple[Need, ...] = ("text",)
    version: int = 1
    rules: Mapping[Level, Callable[[ChangeInput], str]] = field(
        default_factory=dict[Level, Callable[[ChangeInput], str]]
    )

    def at(self, level: Level) -> bool:
        """Whether the perturbation can be applied to a text at *level*: a review, or judgments."""
        return self.level in (level, "both")


_PAPER = "Xu et al. 2025, {}"
_OURS = "ours"
_LEVELS: tuple[Level, ...] = ("review", "judgments")

_OWN = (
    Change("sentence_deletion", "Sentence Deletion", "degradation", _PAPER.format("D.3.1"), "review", "rule",
           rules={"review": edits.deleted}),
    Change("completion", "Deletion & Completion", "degradation", _PAPER.format("D.3.2"), "review", "writer",
           task="completion"),
    Change("abstract_only", "Abstract-only Review", "degradation", _PAPER.format("D.3.3"), "review", "writer",
           task="abstract_only", needs=("abstract",)),
    Change("random_replacement", "Random Replacement", "degradation", _PAPER.format("A.4"), "both", "control",
           control=controls.OTHER_PAPER, needs=("other",),
           rules=dict.fromkeys(_LEVELS, lambda material: material.others[0])),
    Change("line_deletion", "Line Deletion", "degradation", _OURS, "judgments", "rule",
           rules={"judgments": edits.deleted_lines}),
    Change("generic", "Generic Review", "degradation", _OURS, "both", "control", control=controls.GENERIC,
           needs=(),
           rules=dict.fromkeys(_LEVELS, lambda material: controls.GENERIC_JUDGMENTS)),
    Change("copied_abstract", "Copied Abstract", "degradation", _OURS, "review", "rule", needs=("abstract",),
           rules={"review": lambda material: (material.abstract or "").strip()}),
    Change("rephrase_1", "Rephrase 1", "manipulation", _PAPER.format("D.4.1"), "review", "writer",
           task="rephrase"),
    Change("rephrase_2", "Rephrase 2", "manipulation", _PAPER.format("D.4.1"), "review", "writer",
           task="rephrase"),
    Change("elongation", "Meaningless Elongation", "manipulation", _PAPER.format("D.4.2"), "review", "writer",
           task="elongation", needs=("text", "sections")),
    Change("keyword_stuffing", "Keyword Stuffing", "manipulation", _OURS, "both", "rule",
           needs=("text", "keywords"),
           rules={"review": edits.stuffed, "judgments": edits.stuffed_judgments}),
    Change("concatenation", "Concatenation", "manipulation", _OURS, "both", "rule", needs=("text", "others"),
           rules={"review": edits.concatenated, "judgments": edits.concatenated_judgments}),
    Change("injection", "Injection", "manipulation", _OURS, "both", "rule",
           rules={"review": edits.injected, "judgments": edits.injected_judgments}),
    Change("shuffled_lines", "Shuffled Lines", "manipulation", _OURS, "both", "rule",
           rules={"review": edits.shuffled_sentences, "judgments": edits.shuffled_lines}),
)  # fmt: skip
CHANGES = Catalogue(
    "gre_bench.changes",
    {change.name: change for change in _OWN},
    lambda name, entry: isinstance(entry, Change) and entry.name == name,
)

GRADED = {
    f"{harm.name}-{degree}0": Change(
        f"{harm.name}-{degree}0", f"{harm.name.capitalize()}, {degree}0%", harm.family, _OURS, "both", "rule",
        needs=harm.needs, rules={level: partial(harmed, harm, degree, level) for level in _LEVELS},
    )
    for harm in HARMS.values() for degree in DEGREES
}  # fmt: skip
"""The degrees of each harm, such as ``garbling-30``: perturbations used only by certificates, not by validations."""

_MET: dict[Need, tuple[Callable[[ChangeInput], bool], str, str]] = {
    "text": (lambda material: bool(material.text.strip()), "no_text", "there is no text to change"),
    "abstract": (lambda material: bool((material.abstract or "").strip()), "no_abstract", "the paper has no abstract"),
    "keywords": (
        lambda material: bool(edits.keywords(material.title, material.abstract)),
        "no_keywords",
        "the paper has no title or abstract to take keywords from",
    ),
    "other": (lambda material: bool(material.others), "no_others", "there is no review of another paper"),
    "others": (
        lambda material: len(material.others) >= edits.OTHER_REVIEWS,
        "no_others",
        f"there are fewer than {edits.OTHER_REVIEWS} reviews of other papers",
    ),
    "sections": (edits.has_sections, "no_sections", "the review has no section that takes a fixed opening"),
}

UNCHANGEABLE = frozenset(code for _, code, _ in _MET.values())
"""The codes of a `ChangeError` that is not a failure: the text merely does not allow the perturbation."""


def named(name: str) -> Change:
    """Returns the perturbation or degree of a harm called *name*; raises `ChangeError` if there is none."""
    if name in GRADED:
        return GRADED[name]
    if name not in CHANGES:
        raise ChangeError("unknown", f"no change {name!r}; known: {', '.join(CHANGES)}")
    return CHANGES[name]


def check(name: str, level: Level, material: ChangeInput) -> Change:
    """Returns the perturbation *name* if it can be applied to *material* at *level*; raises `ChangeError` if not."""
    change = named(name)
    if not change.at(level):
        raise ChangeError("other_level", f"change {name} is made of a {change.level} text, not of {level}")
    for need in change.needs:
        met, code, why = _MET[need]
        if not met(material):
            raise ChangeError(code, f"{name} of {material.key}: {why}")
    return change


def apply(name: str, level: Level, material: ChangeInput) -> str:
    """Returns the text after the perturbation *name*; raises `ChangeError` if it is impossible or needs a writer."""
    change = check(name, level, material)
    if change.made_by == "writer":
        raise ChangeError("by_writer", f"change {name} is made by a writer, by its task {change.task}")
    return change.rules[level](material)


def identity(name: str, material: ChangeInput) -> str:
    """Returns a perturbation's name in signatures if it is made by rule: ``sentence_deletion-1 · authors 0c1d2e3f``.

    The parts are name, version, splitter, and a hash of the seed and the headings.
    """
    change = named(name)
    settings = digest([material.seed, list(material.headings)])[:8]
    return f"{change.name}-{change.version} · {material.splitter} {settings}"


def candidate_of(change: str, level: Level) -> str:
    """Returns the name of the candidate with the human reviews after *change*, or of the control that replaces them.

    It is ``human~injection``, or ``human~injection~judgments`` if judgments are perturbed.
    """
    if control := named(change).control:
        return control
    return _MARK.join([HUMAN, change] + (["judgments"] if level == "judgments" else []))


def is_changed(candidate: str) -> bool:
    """Whether *candidate* is the name of perturbed human reviews; controls do not count as perturbed."""
    return _MARK in candidate

"""The perturbations by name, in the order of the tables, and functions that check and apply a perturbation.

The perturbations are the degradations and manipulations of Xu et al. 2025 (§4.2, §4.3, D.3, D.4). Those marked "ours"
are not in that paper; most of them are tricks of a reviewer who wants a high score. Installed packages add
perturbations as entry points of the group ``gre_bench.perturbations``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from gre_bench.core import controls
from gre_bench.core.errors import PerturbationError
from gre_bench.core.extensions import Catalogue
from gre_bench.core.records import HUMAN, digest
from gre_bench.perturbations import edits
from gre_bench.perturbations.harms import DEGREES, HARMS, apply_harm
from gre_bench.perturbations.material import PerturbationInput

Family = Literal["degradation", "manipulation"]
Level = Literal["review", "judgments"]
Need = Literal["text", "abstract", "keywords", "other", "others", "sections"]
WriterTask = Literal["completion", "abstract_only", "rephrase", "elongation"]
_MARK = "~"
"""The separator in the name of a perturbed candidate, such as ``human~injection``; other names cannot contain it."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A perturbation of reviews, of judgments, or of both, as *level* states.

    - *family*: ``degradation`` (must lower a score) or ``manipulation`` (must not raise it).
    - *source*: the paper and section that define the perturbation, or ``ours``.
    - *made_by*: ``rule``, ``writer`` (an LM that does *task*) or ``control`` (the review by *control* replaces the
      original).
    - *rules*: level → the function that takes a `PerturbationInput` and returns the perturbed text.
    - *needs*: the parts of a `PerturbationInput` that the perturbation needs.
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
    rules: Mapping[Level, Callable[[PerturbationInput], str]] = field(
        default_factory=dict[Level, Callable[[PerturbationInput], str]]
    )

    def is_applicable_at(self, level: Level) -> bool:
        """Whether the perturbation can be applied to a text at *level*: a review, or judgments."""
        return self.level in (level, "both")


_PAPER = "Xu et al. 2025, {}"
_OURS = "ours"
_LEVELS: tuple[Level, ...] = ("review", "judgments")

_OWN = (
    Perturbation("sentence_deletion", "Sentence Deletion", "degradation", _PAPER.format("D.3.1"), "review", "rule",
           rules={"review": edits.delete_even_sentences}),
    Perturbation("completion", "Deletion & Completion", "degradation", _PAPER.format("D.3.2"), "review", "writer",
           task="completion"),
    Perturbation("abstract_only", "Abstract-only Review", "degradation", _PAPER.format("D.3.3"), "review", "writer",
           task="abstract_only", needs=("abstract",)),
    Perturbation("random_replacement", "Random Replacement", "degradation", _PAPER.format("A.4"), "both", "control",
           control=controls.OTHER_PAPER, needs=("other",),
           rules=dict.fromkeys(_LEVELS, lambda material: material.others[0])),
    Perturbation("line_deletion", "Line Deletion", "degradation", _OURS, "judgments", "rule",
           rules={"judgments": edits.delete_even_lines}),
    Perturbation("generic", "Generic Review", "degradation", _OURS, "both", "control", control=controls.GENERIC,
           needs=(),
           rules=dict.fromkeys(_LEVELS, lambda material: controls.GENERIC_JUDGMENTS)),
    Perturbation("copied_abstract", "Copied Abstract", "degradation", _OURS, "review", "rule", needs=("abstract",),
           rules={"review": lambda material: (material.abstract or "").strip()}),
    Perturbation("rephrase_1", "Rephrase 1", "manipulation", _PAPER.format("D.4.1"), "review", "writer",
           task="rephrase"),
    Perturbation("rephrase_2", "Rephrase 2", "manipulation", _PAPER.format("D.4.1"), "review", "writer",
           task="rephrase"),
    Perturbation("elongation", "Meaningless Elongation", "manipulation", _PAPER.format("D.4.2"), "review", "writer",
           task="elongation", needs=("text", "sections")),
    Perturbation("keyword_stuffing", "Keyword Stuffing", "manipulation", _OURS, "both", "rule",
           needs=("text", "keywords"),
           rules={"review": edits.stuff_keywords, "judgments": edits.stuff_keywords_into_judgments}),
    Perturbation("concatenation", "Concatenation", "manipulation", _OURS, "both", "rule", needs=("text", "others"),
           rules={"review": edits.append_reviews_of_other_papers, "judgments": edits.append_judgments_of_other_papers}),
    Perturbation("injection", "Injection", "manipulation", _OURS, "both", "rule",
           rules={"review": edits.inject_instruction, "judgments": edits.inject_instruction_as_judgments}),
    Perturbation("shuffled_lines", "Shuffled Lines", "manipulation", _OURS, "both", "rule",
           rules={"review": edits.shuffle_sentences, "judgments": edits.shuffle_lines}),
)  # fmt: skip
PERTURBATIONS = Catalogue(
    "gre_bench.perturbations",
    {change.name: change for change in _OWN},
    lambda name, entry: isinstance(entry, Perturbation) and entry.name == name,
)

HARM_DEGREES = {
    f"{harm.name}-{degree}0": Perturbation(
        f"{harm.name}-{degree}0", f"{harm.name.capitalize()}, {degree}0%", harm.family, _OURS, "both", "rule",
        needs=harm.needs, rules={level: partial(apply_harm, harm, degree, level) for level in _LEVELS},
    )
    for harm in HARMS.values() for degree in DEGREES
}  # fmt: skip
"""Name → perturbation, for each degree of each harm, such as ``garbling-30``. Only certificates use these."""

_MET: dict[Need, tuple[Callable[[PerturbationInput], bool], str, str]] = {
    "text": (lambda material: bool(material.text.strip()), "no_text", "there is no text to change"),
    "abstract": (lambda material: bool((material.abstract or "").strip()), "no_abstract", "the paper has no abstract"),
    "keywords": (
        lambda material: bool(edits.extract_keywords(material.title, material.abstract)),
        "no_keywords",
        "the paper has no title or abstract to take keywords from",
    ),
    "other": (lambda material: bool(material.others), "no_others", "there is no review of another paper"),
    "others": (
        lambda material: len(material.others) >= edits.OTHER_REVIEWS,
        "no_others",
        f"there are fewer than {edits.OTHER_REVIEWS} reviews of other papers",
    ),
    "sections": (
        edits.has_sections_with_openings,
        "no_sections",
        "the review has no section that takes a fixed opening",
    ),
}

UNCHANGEABLE = frozenset(code for _, code, _ in _MET.values())
"""The codes of a `PerturbationError` that is no failure: something that the perturbation needs is missing."""


def find_perturbation(name: str) -> Perturbation:
    """Returns the perturbation, or the degree of a harm, called *name*; raises `PerturbationError` if there is none."""
    if name in HARM_DEGREES:
        return HARM_DEGREES[name]
    if name not in PERTURBATIONS:
        raise PerturbationError("unknown", f"no change {name!r}; known: {', '.join(PERTURBATIONS)}")
    return PERTURBATIONS[name]


def find_applicable_perturbation(name: str, level: Level, material: PerturbationInput) -> Perturbation:
    """Returns the perturbation *name*; raises `PerturbationError` unless it can be applied to *material* at *level*."""
    change = find_perturbation(name)
    if not change.is_applicable_at(level):
        raise PerturbationError("other_level", f"change {name} is made of a {change.level} text, not of {level}")
    for need in change.needs:
        met, code, why = _MET[need]
        if not met(material):
            raise PerturbationError(code, f"{name} of {material.key}: {why}")
    return change


def apply_perturbation(name: str, level: Level, material: PerturbationInput) -> str:
    """Returns the text perturbed by *name*; raises `PerturbationError` if that is impossible or needs a writer."""
    change = find_applicable_perturbation(name, level, material)
    if change.made_by == "writer":
        raise PerturbationError("by_writer", f"change {name} is made by a writer, by its task {change.task}")
    return change.rules[level](material)


def build_perturbation_signature_name(name: str, material: PerturbationInput) -> str:
    """Returns a rule-made perturbation's name in signatures, such as ``sentence_deletion-1 · authors 0c1d2e3f``.

    The parts are name, version, splitter, and a hash of the seed and the headings.
    """
    change = find_perturbation(name)
    settings = digest([material.seed, list(material.headings)])[:8]
    return f"{change.name}-{change.version} · {material.splitter} {settings}"


def perturbed_candidate_name(change: str, level: Level) -> str:
    """Returns the id of the candidate that stands for the human reviews after the perturbation *change*.

    If *change* replaces the human reviews by the reviews of a control, the id is that of the control. Otherwise it is
    like ``human~injection``, or like ``human~injection~judgments`` if judgments are perturbed.
    """
    if control := find_perturbation(change).control:
        return control
    return _MARK.join([HUMAN, change] + (["judgments"] if level == "judgments" else []))


def is_perturbed_candidate(candidate: str) -> bool:
    """Whether *candidate* is the name of perturbed human reviews; controls do not count as perturbed."""
    return _MARK in candidate

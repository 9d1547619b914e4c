"""Graded harms: perturbations by rule in ten degrees. They show how much harm to reviews a metric detects.

A certificate reports the result. A text is a list of units: the lines of judgments, or the sentences of a review. The
headings of a review stay. There are six harms; degree k has these effects:

- ``garbling``: deletes k tenths of the units. One unit stays, because an empty review has no score.
- ``negation``: negates k tenths of the units. A judgment takes the opposite stance; a sentence of a review gets or
  loses its "not".
- ``invention``: replaces k tenths of the units by units from other papers' reviews, so no reviewer of this paper wrote
  them.
- ``laundering``: rephrases k tenths of the units (`gre_bench.perturbations.wording`) and reorders them. The content
  stays.
- ``padding``: adds sentences that are true of any paper, k for every ten units.
- ``copying``: adds the first k tenths of the abstract's sentences.

The changed units are chosen at random, by the seed and the text's key. A degree also changes all units that lower
degrees change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from gre_bench.core.judgments import OPENINGS
from gre_bench.core.review_text import join_sections, split_into_sections
from gre_bench.perturbations.edits import append_lines, list_lines
from gre_bench.perturbations.material import PerturbationInput, sentence_texts
from gre_bench.perturbations.wording import lower_first_letter, rephrase_sentence

DEGREES = range(1, 11)
Level = Literal["review", "judgments"]
Units = list[str | None]
"""The units of a text after a perturbation; None: the unit was deleted."""
Edited = tuple[Units, list[str]]
"""The changed units, and the added units."""

PADDING = (
    "The paper has a title.", "The paper has an abstract.", "The paper is made of sentences.",
    "The paper has a first page and a last page.", "The paper is about its topic.",
    "The text was written before it was reviewed.", "The paper names what it is about.",
    "The paper can be read from the beginning to the end.", "The sections of the paper follow each other.",
    "The words of the paper are printed in lines.",
)  # fmt: skip
"""Sentences that are true of any paper and say nothing about it."""

_AGREES = OPENINGS[0]
_OPPOSITE = dict(zip(OPENINGS, (OPENINGS[1], _AGREES, _AGREES, OPENINGS[1]), strict=True))
_NOT = re.compile(r"\b(is|are|was|were|does|do|did|has|have|had|can|could|will|would|should|may|might|must)( not\b)?")


class EditInput(NamedTuple):
    """The input of an edit. *chosen*: the indices of the units to change, in the order in which degrees add them."""

    units: list[str]
    chosen: list[int]
    degree: int
    level: Level
    material: PerturbationInput


@dataclass(frozen=True, slots=True)
class Harm:
    """A harm in ten degrees.

    - *family*: ``degradation`` (must lower a score) or ``manipulation`` (must not raise it).
    - *said*: the harm's name in a certificate's sentence. *needs*: as in `Perturbation`.
    """

    name: str
    said: str
    family: Literal["degradation", "manipulation"]
    needs: tuple[Literal["text", "abstract", "other"], ...]
    edit: Callable[[EditInput], Edited]


def apply_harm(harm: Harm, degree: int, level: Level, material: PerturbationInput) -> str:
    """Returns the text of *material* after *harm* of this *degree*, 1 to 10."""
    units = _split_into_units(material.text, level)
    order = list(range(len(units)))
    material.chance(harm.name).shuffle(order)
    changed, more = harm.edit(EditInput(units, order[: _scale_by_degree(len(units), degree)], degree, level, material))
    return append_lines(_join_units(material.text, level, changed), more)


def _scale_by_degree(number: int, degree: int) -> int:
    return (number * degree + 5) // 10


def _split_into_units(text: str, level: Level) -> list[str]:
    return (
        [line for line, _ in list_lines(text)]
        if level == "judgments"
        else list(sentence_texts(split_into_sections(text)))
    )


def _join_units(text: str, level: Level, units: Units) -> str:
    """Returns *text* with its units replaced by *units*; a line break after a deleted sentence stays."""
    new = iter(units)
    if level == "judgments":
        return "".join(unit + gap for _, gap in list_lines(text) if (unit := next(new)) is not None)
    sections = []
    for section in split_into_sections(text):
        sentences = []
        for sentence in section.sentences:
            unit = next(new) if sentence.text else ""
            if unit is not None:
                sentences.append(replace(sentence, text=unit) if sentence.text else sentence)
            elif "\n" in sentence.gap:
                sentences.append(replace(sentence, mark="", text=""))
        sections.append(replace(section, sentences=tuple(sentences)))
    return join_sections(sections)


def _delete_chosen_units(given: EditInput) -> Edited:
    lost = {*given.chosen[: len(given.units) - 1]}
    return [None if index in lost else unit for index, unit in enumerate(given.units)], []


def _negate_chosen_units(given: EditInput) -> Edited:
    return [negate_sentence(unit) if index in given.chosen else unit for index, unit in enumerate(given.units)], []


def negate_sentence(sentence: str) -> str:
    """Returns the negation of a judgment, or of a sentence of a review."""
    for opening, opposite in _OPPOSITE.items():
        if sentence.startswith(opening):
            return opposite + sentence.removeprefix(opening)
    changed, count = _NOT.subn(lambda verb: verb[1] if verb[2] else f"{verb[1]} not", sentence, count=1)
    return changed if count else f"It is not true that {lower_first_letter(sentence)}"


def _replace_by_foreign_units(given: EditInput) -> Edited:
    pool = [unit for other in given.material.others for unit in _split_into_units(other, given.level)]
    given.material.chance("inventions").shuffle(pool)
    changed: Units = list(given.units)
    for place, index in enumerate(given.chosen):
        changed[index] = pool[place % len(pool)]
    return changed, []


def _rephrase_and_reorder_units(given: EditInput) -> Edited:
    changed: Units = list(given.units)
    for index, source in zip(given.chosen, (*given.chosen[1:], *given.chosen[:1]), strict=True):
        changed[index] = rephrase_sentence(given.units[source], 1)
    return changed, []


def _add_generic_sentences(given: EditInput) -> Edited:
    order = list(PADDING)
    given.material.chance("padding sentences").shuffle(order)
    return list(given.units), [
        _format_unit(order[index % len(order)], given.level) for index in range(len(given.chosen))
    ]


def _add_abstract_sentences(given: EditInput) -> Edited:
    sentences = list(sentence_texts(split_into_sections(given.material.abstract or "")))
    return list(given.units), [
        _format_unit(text, given.level) for text in sentences[: _scale_by_degree(len(sentences), given.degree)]
    ]


def _format_unit(sentence: str, level: Level) -> str:
    return sentence if level == "review" else f"{_AGREES} that {lower_first_letter(sentence)}"


HARMS = {
    harm.name: harm
    for harm in (
        Harm("garbling", "garbling", "degradation", ("text",), _delete_chosen_units),
        Harm("negation", "negation", "degradation", ("text",), _negate_chosen_units),
        Harm("invention", "invention", "degradation", ("text", "other"), _replace_by_foreign_units),
        Harm("laundering", "rewording", "manipulation", ("text",), _rephrase_and_reorder_units),
        Harm("padding", "padding", "manipulation", ("text",), _add_generic_sentences),
        Harm("copying", "copying of the abstract", "manipulation", ("text", "abstract"), _add_abstract_sentences),
    )
}
"""The harms by name, in the order in which a certificate lists them."""

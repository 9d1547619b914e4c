"""Graded harms: perturbations by rule in ten degrees. They show how much harm to reviews a metric detects.

A certificate reports the result. A harm edits the sentences of a review, or the lines of judgments; this module calls
both *sentences*. The headings of a review stay. There are six harms; degree k has these effects:

- ``garbling``: deletes k tenths of the sentences. One sentence stays, because an empty review has no score.
- ``negation``: negates k tenths of the sentences. A judgment takes the opposite stance; a sentence of a review gets or
  loses its "not".
- ``invention``: replaces k tenths of the sentences by sentences from other papers' reviews.
- ``laundering``: rephrases k tenths of the sentences (`gre_bench.perturbations.wording`) and reorders them. The content
  stays.
- ``padding``: adds k sentences that are true of any paper for every ten sentences of the text.
- ``copying``: adds the first k tenths of the abstract's sentences.

The seed and the text's key determine which sentences are changed. A degree also changes all sentences that lower
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
from gre_bench.perturbations.material import PerturbationInput, iterate_sentence_texts
from gre_bench.perturbations.wording import lower_first_letter, rephrase_sentence

DEGREES = range(1, 11)
Level = Literal["review", "judgments"]
Sentences = list[str | None]
"""The sentences of a text after an edit; None: the sentence was deleted."""
Edited = tuple[Sentences, list[str]]
"""A pair: all sentences of the text after the edit, and the sentences to append to it."""

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
    """What the function `Harm.edit` takes. *units*: the sentences of the text.

    *chosen*: the indices of the sentences to change; a lower degree has only the first of them.
    """

    units: list[str]
    chosen: list[int]
    degree: int
    level: Level
    material: PerturbationInput


@dataclass(frozen=True, slots=True)
class Harm:
    """A harm to reviews, in ten degrees.

    - *family*: ``degradation`` (must lower a score) or ``manipulation`` (must not raise it).
    - *said*: the harm's name in a certificate's sentence.
    - *needs*: the parts of a `PerturbationInput` that the harm needs.
    - *edit*: the function that applies the harm.
    """

    name: str
    said: str
    family: Literal["degradation", "manipulation"]
    needs: tuple[Literal["text", "abstract", "other"], ...]
    edit: Callable[[EditInput], Edited]


def apply_harm(harm: Harm, degree: int, level: Level, material: PerturbationInput) -> str:
    """Returns the text of *material* after *harm* was applied to it in *degree*, 1 to 10."""
    units = _split_into_sentences(material.text, level)
    order = list(range(len(units)))
    material.make_random(harm.name).shuffle(order)
    changed, more = harm.edit(EditInput(units, order[: _scale_by_degree(len(units), degree)], degree, level, material))
    return append_lines(_join_sentences(material.text, level, changed), more)


def _scale_by_degree(number: int, degree: int) -> int:
    return (number * degree + 5) // 10


def _split_into_sentences(text: str, level: Level) -> list[str]:
    return (
        [line for line, _ in list_lines(text)]
        if level == "judgments"
        else list(iterate_sentence_texts(split_into_sections(text)))
    )


def _join_sentences(text: str, level: Level, units: Sentences) -> str:
    """Returns *text* with its sentences replaced by *units*; a line break after a deleted sentence stays."""
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


def _delete_chosen_sentences(given: EditInput) -> Edited:
    lost = {*given.chosen[: len(given.units) - 1]}
    return [None if index in lost else unit for index, unit in enumerate(given.units)], []


def _negate_chosen_sentences(given: EditInput) -> Edited:
    return [negate_sentence(unit) if index in given.chosen else unit for index, unit in enumerate(given.units)], []


def negate_sentence(sentence: str) -> str:
    """Returns the negation of a judgment, or of a sentence of a review."""
    for opening, opposite in _OPPOSITE.items():
        if sentence.startswith(opening):
            return opposite + sentence.removeprefix(opening)
    changed, count = _NOT.subn(lambda verb: verb[1] if verb[2] else f"{verb[1]} not", sentence, count=1)
    return changed if count else f"It is not true that {lower_first_letter(sentence)}"


def _replace_by_other_papers_sentences(given: EditInput) -> Edited:
    pool = [unit for other in given.material.others for unit in _split_into_sentences(other, given.level)]
    given.material.make_random("inventions").shuffle(pool)
    changed: Sentences = list(given.units)
    for place, index in enumerate(given.chosen):
        changed[index] = pool[place % len(pool)]
    return changed, []


def _rephrase_and_reorder_sentences(given: EditInput) -> Edited:
    changed: Sentences = list(given.units)
    for index, source in zip(given.chosen, (*given.chosen[1:], *given.chosen[:1]), strict=True):
        changed[index] = rephrase_sentence(given.units[source], 1)
    return changed, []


def _add_generic_sentences(given: EditInput) -> Edited:
    order = list(PADDING)
    given.material.make_random("padding sentences").shuffle(order)
    return list(given.units), [
        _format_sentence(order[index % len(order)], given.level) for index in range(len(given.chosen))
    ]


def _add_abstract_sentences(given: EditInput) -> Edited:
    sentences = list(iterate_sentence_texts(split_into_sections(given.material.abstract or "")))
    return list(given.units), [
        _format_sentence(text, given.level) for text in sentences[: _scale_by_degree(len(sentences), given.degree)]
    ]


def _format_sentence(sentence: str, level: Level) -> str:
    return sentence if level == "review" else f"{_AGREES} that {lower_first_letter(sentence)}"


HARMS = {
    harm.name: harm
    for harm in (
        Harm("garbling", "garbling", "degradation", ("text",), _delete_chosen_sentences),
        Harm("negation", "negation", "degradation", ("text",), _negate_chosen_sentences),
        Harm("invention", "invention", "degradation", ("text", "other"), _replace_by_other_papers_sentences),
        Harm("laundering", "rewording", "manipulation", ("text",), _rephrase_and_reorder_sentences),
        Harm("padding", "padding", "manipulation", ("text",), _add_generic_sentences),
        Harm("copying", "copying of the abstract", "manipulation", ("text", "abstract"), _add_abstract_sentences),
    )
}
"""The harms by name, in the order in which a certificate lists them."""

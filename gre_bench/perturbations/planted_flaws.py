"""Plants a known flaw in a paper by rule; the catalogue in ``data/flaws`` has one TOML file per flaw.

There are three kinds of flaws (*families*). A *contradiction* changes a number, a size or a comparison in one place
only. An *omission* deletes a paragraph. A *malpractice* adds a sentence that admits bad practice. The flaw ``harmless``
deletes a word that no review would miss: papers with this edit show the effect that any edit has.

A flaw's file names one of four rules and a regular expression, ``find``. Only paragraphs of prose are edited:

- ``digits``: the number that the regex group ``old`` matches gets another first digit. If the file sets ``twice``, the
  number must also occur elsewhere. If ``find`` has a group ``unit``, the same unit of measurement must follow there.
- ``words``: the file's table ``words`` gives the replacement of the text that the group ``old`` matches.
- ``paragraph``: the paragraph that matches is deleted, with its heading if no text would follow the heading. ``find``
  must match nothing else in the paper, not even a heading or a caption: otherwise nothing would be omitted.
- ``insert``: the file's sentence ``text`` is added after the sentence that matches.

A flaw is not planted if the file's regular expression ``unless`` matches the paper.

The sentences that state a flaw may use three placeholders: ``{old}`` and ``{new}``, the text before and after the
edit, and ``{topic}``, two words that are typical of the changed passage.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from gre_bench.core import strict
from gre_bench.core.errors import PerturbationError, SettingsError
from gre_bench.core.judgments import is_judgment
from gre_bench.core.resources import locate_resource

Family = Literal["contradiction", "omission", "malpractice", "harmless"]
HARMLESS = "harmless"
FIELDS = ("old", "new", "topic")
MARK = "~"
"""Separates a paper's id from the flaw that was planted in the paper."""
SHORTEST, LONGEST = 80, 1500
"""The minimum length of a paragraph that a rule edits, and the maximum length of one that it deletes, in characters."""

_SENTENCE = re.compile(r"(?<=[a-z\d)\]%][.!?])(?=\s|$)")
_NO_PROSE = re.compile(r"\s*(?:#|\||!|\$\$|<|\[\d|(?:Figure|Table|Fig\.|Algorithm)\b)")
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{5,}(?<!ly)\b")
_SEPARATOR = re.compile(r"\n\s*\n")
_PLAIN = frozenset(locate_resource("data", "flaws", "plain.txt").read_text(encoding="utf-8").split())
"""Words that say nothing about a passage's topic."""


class Flaw(BaseModel, frozen=True, extra="forbid"):
    """A flaw of the catalogue; the module's docstring describes its rule and the fields that the rule reads.

    - *judgments*: a judgment that states the flaw, and at least three rephrasings of this judgment.
    - *plain*: sentences of a review that name the flaw. *oblique*: sentences that only hint at it.
    - *source*: the SHA-256 of the file's parsed content.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str = Field(min_length=1)
    family: Family
    rule: Literal["digits", "words", "paragraph", "insert"]
    find: str = Field(min_length=1)
    twice: bool = False
    unless: str | None = None
    text: str = ""
    words: dict[str, str] = Field(default={})
    judgments: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    oblique: tuple[str, ...] = ()
    source: str = ""

    @field_validator("find", "unless")
    @classmethod
    def _check_pattern_compiles(cls, text: str | None) -> str | None:
        try:
            re.compile(text or "")
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from None
        return text

    @field_validator("judgments")
    @classmethod
    def _check_judgments(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        for line in lines:
            if not is_judgment(line) or "\n" in line:
                raise ValueError(f"no judgment: {line!r:.60}; a description opens as 'The reviewer criticizes' does")
        return lines

    @field_validator("judgments", "plain", "oblique")
    @classmethod
    def _check_placeholders(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        for line in lines:
            if unknown := sorted({*re.findall(r"\{(.*?)\}", line)} - {*FIELDS}):
                raise ValueError(f"no field {{{unknown[0]}}}; the fields are: {', '.join(FIELDS)}")
        return lines

    @model_validator(mode="after")
    def _check_completeness(self) -> Flaw:
        if self.rule in ("digits", "words") and "(?P<old>" not in self.find:
            raise ValueError(f"the rule {self.rule} needs a group named old in find")
        if (self.rule == "words" and not self.words) or (self.rule == "insert" and not self.text):
            raise ValueError(f"the rule {self.rule} needs {'words' if self.rule == 'words' else 'text'}")
        if self.family != "harmless" and (len(set(self.judgments)) < 4 or not self.plain or not self.oblique):
            raise ValueError("a flaw needs a judgment with three rephrasings, plain and oblique sentences")
        return self


@dataclass(frozen=True, slots=True)
class PlantedText:
    """A paper's *text* with one planted flaw.

    - *start*, *end*: the range of characters in the original text that the edit replaced.
    - *new_end*: the end of the replacement in *text*. The replacement begins at *start*.
    - *before*: the SHA-256 of the original text.
    - *fields*: placeholder → its value, for the sentences that state the flaw.
    """

    flaw: Flaw
    text: str
    start: int
    end: int
    new_end: int
    before: str
    fields: dict[str, str]

    def fill_placeholders(self, lines: Sequence[str]) -> list[str]:
        return [line.format(**self.fields) for line in lines]

    def describe_edit(self) -> dict[str, object]:
        return {"flaw": self.flaw.name, "family": self.flaw.family, "start": self.start, "end": self.end,
                "new_end": self.new_end, "before": self.before, "after": sha256(self.text)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _FlawEdit:
    start: int
    end: int
    new: str
    passage: tuple[int, int]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def load_flaws(folder: Path | None = None) -> tuple[dict[str, Flaw], list[str]]:
    """Returns name → flaw from the files ``*.toml`` in *folder*, and a message for each file without a valid flaw.

    If *folder* is None, the flaws are those in ``data/flaws``. Raises `SettingsError` if fewer than two flaws are
    valid, or if the harmless edit is missing.
    """
    known: dict[str, Flaw] = {}
    refused: list[str] = []
    for file in sorted((folder or locate_resource("data", "flaws")).glob("*.toml")):
        try:
            tree = strict.read_toml_with_title(file, "flaw")
            known[file.stem] = Flaw.model_validate({**tree, "name": file.stem, "source": sha256(repr(tree))})
        except SettingsError as error:
            refused.append(str(error))
        except ValidationError as error:
            refused.append(f"flaw {file.name}: {strict.format_validation_faults(error)[0]}")
    if HARMLESS not in known or len(known) < 3:
        why = f"; {refused[0]}" if refused else ""
        raise SettingsError(f"flaws {folder}: a study needs two flaws and {HARMLESS}.toml, as in data/flaws{why}")
    return known, refused


def plant_flaw(flaw: Flaw, text: str, key: str, seed: int = 0) -> PlantedText:
    """Plants *flaw* in *text*, the body of a paper. *seed* and *key*, such as the paper's id, determine the passage.

    Raises `PerturbationError` if the flaw does not fit. The error's code is one of these:

    - ``nowhere``: the flaw's rule fits no passage.
    - ``not_clean``: the flaw's ``unless`` matches the paper. Under the rule ``paragraph``, also if ``find`` would still
      match the paper after each possible deletion.
    - ``no_topic``: no matching passage has the two typical words that the placeholder ``{topic}`` needs.
    - ``nothing_changed``: the edit would change nothing.
    """
    if flaw.unless and re.search(flaw.unless, text):
        raise PerturbationError("not_clean", f"{flaw.name} of {key}: the paper says something like it already")
    chance = random.Random(f"{seed} {key} {flaw.name}")
    edits = list(_RULES[flaw.rule](flaw, text, chance))
    if not edits:
        raise PerturbationError("nowhere", f"{flaw.name} of {key}: no passage for it")
    edits = [edit for edit in edits if text[edit.start : edit.end] != edit.new]
    if not edits:
        raise PerturbationError("nothing_changed", f"{flaw.name} of {key}: the rule changes nothing")
    chance.shuffle(edits)
    for edit in edits:
        topic = _find_topic_words(text, edit)
        if topic is None and flaw.family != "harmless":
            continue
        changed = text[: edit.start] + edit.new + text[edit.end :]
        fields = {"old": text[edit.start : edit.end].strip(), "new": edit.new.strip(), "topic": topic or ""}
        return PlantedText(flaw, changed, edit.start, edit.end, edit.start + len(edit.new), sha256(text), fields)
    raise PerturbationError("no_topic", f"{flaw.name} of {key}: no passage with words of its own")


def _find_prose_paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yields (start, end) of each paragraph of *text* that is prose, not a heading, table, caption or formula."""
    start = 0
    for gap in (*_SEPARATOR.finditer(text), None):
        end = gap.start() if gap else len(text)
        if end - start >= SHORTEST and not _NO_PROSE.match(text[start:end]):
            yield start, end
        start = gap.end() if gap else end


def _find_flaw_matches(flaw: Flaw, text: str) -> Iterator[tuple[re.Match[str], tuple[int, int]]]:
    """Yields each match of the flaw's ``find`` outside formulas, with its paragraph."""
    pattern = re.compile(flaw.find)
    for start, end in _find_prose_paragraphs(text):
        for match in pattern.finditer(text, start, end):
            if text.count("$", start, match.start()) % 2 == 0:
                yield match, (start, end)


def _find_sentence_span(text: str, place: int, passage: tuple[int, int]) -> tuple[int, int]:
    """Returns (start, end) of the sentence around *place* in the paragraph *passage*."""
    ends = [match.start() for match in _SENTENCE.finditer(text, *passage)]
    start = max((end for end in ends if end <= place), default=passage[0])
    return start, min((end for end in ends if end > place), default=passage[1])


def _propose_digit_edits(flaw: Flaw, text: str, chance: random.Random) -> Iterator[_FlawEdit]:
    for match, passage in _find_flaw_matches(flaw, text):
        old = match["old"]
        unit = match.groupdict().get("unit")
        same = rf"(?= (?:\w+ )?{re.escape(unit)}\b)" if unit else ""
        whole = re.compile(rf"(?<![\w.,]){re.escape(old)}(?!\w|[.,]\d){same}")
        if flaw.twice and len(whole.findall(text)) < 2:
            continue
        # The first digit changes, so that no rounding explains the difference.
        others = [digit for digit in "123456789" if digit != old[0]]
        new = chance.choice(others) + old[1:]
        if not re.search(rf"(?<![\d.,]){re.escape(new)}(?!\d)", text):
            yield _FlawEdit(*match.span("old"), new, _find_sentence_span(text, match.start(), passage))


def _propose_word_edits(flaw: Flaw, text: str, chance: random.Random) -> Iterator[_FlawEdit]:
    for match, passage in _find_flaw_matches(flaw, text):
        if (new := flaw.words.get(match["old"])) is not None:
            yield _FlawEdit(*match.span("old"), new, _find_sentence_span(text, match.start(), passage))


def _propose_insertions(flaw: Flaw, text: str, chance: random.Random) -> Iterator[_FlawEdit]:
    for match, passage in _find_flaw_matches(flaw, text):
        start, end = _find_sentence_span(text, match.start(), passage)
        if text[end - 1 : end] in ".!?":
            yield _FlawEdit(end, end, f" {flaw.text}", (start, end))


def _propose_paragraph_deletions(flaw: Flaw, text: str, chance: random.Random) -> Iterator[_FlawEdit]:
    passages = list(dict.fromkeys(passage for _, passage in _find_flaw_matches(flaw, text)))
    clean = False
    for start, end in passages:
        after = _SEPARATOR.match(text, end)
        stop = after.end() if after else end
        heading = re.search(r"(?:^|\n)(#[^\n]*\n\s*)\Z", text[:start])
        if end - start > LONGEST:
            continue
        alone = heading and (stop == len(text) or text.startswith("#", stop))
        first = heading.start(1) if heading and alone else start
        if not re.search(flaw.find, text[:first] + text[stop:]):
            clean = True
            yield _FlawEdit(first, stop, "", (start, end))
    if passages and not clean:
        raise PerturbationError("not_clean", f"{flaw.name}: no paragraph can go so that nothing else speaks of it")


_RULES: dict[str, Callable[[Flaw, str, random.Random], Iterator[_FlawEdit]]] = {
    "digits": _propose_digit_edits, "words": _propose_word_edits, "insert": _propose_insertions,
    "paragraph": _propose_paragraph_deletions,
}  # fmt: skip


def _find_topic_words(text: str, edit: _FlawEdit) -> str | None:
    """Returns ``a and b``, the two words that are most typical of the edited passage; None if there are fewer.

    Only words that also occur in another paragraph count, and no words that the edit replaces or inserts. The most
    typical word has the highest product of its count in the passage and −log of the share of paragraphs with it.
    """
    paragraphs, shares = _count_paragraphs_with_words(text)
    own = Counter(_extract_terms(text[slice(*edit.passage)]))
    changed = {*_extract_terms(text[edit.start : edit.end]), *_extract_terms(edit.new)} if edit.new else set()
    weight = {word: count * math.log(paragraphs / shares[word])
              for word, count in own.items() if shares[word] > 1 and word not in changed}  # fmt: skip
    best = sorted(weight, key=lambda word: (-weight[word], word))[:2]
    return " and ".join(best) if len(best) == 2 else None


@lru_cache(maxsize=8)
def _count_paragraphs_with_words(text: str) -> tuple[int, Counter[str]]:
    """Returns the number of paragraphs of *text* plus 1, and word → the number of paragraphs that contain it."""
    paragraphs = _SEPARATOR.split(text)
    return len(paragraphs) + 1, Counter(word for each in paragraphs for word in set(_extract_terms(each)))


def _extract_terms(text: str) -> list[str]:
    words = (word.lower().strip("-") for word in _WORD.findall(re.sub(r"\$[^$]*\$", " ", text)))
    return [word for word in words if word not in _PLAIN]


def plant_two_flaws(
    text: str,
    key: str,
    catalogue: Sequence[Flaw],
    used: Counter[str],
    refusals: Counter[tuple[str, str]],
    seed: int = 0,
) -> tuple[PlantedText, PlantedText, PlantedText] | None:
    """Plants two flaws of different kinds, each in its own copy of *text*, and the harmless edit in a third copy.

    Chooses the flaws that fit and were planted least often. *used*: how often each flaw and each kind was planted.
    *refusals*: (flaw, reason) → how often the flaw did not fit. Both are updated. Returns None if flaws of fewer than
    two kinds fit, or if the harmless edit does not fit.
    """
    fitting: dict[str, PlantedText] = {}
    for flaw in catalogue:
        try:
            fitting[flaw.name] = plant_flaw(flaw, text, key, seed)
        except PerturbationError as error:
            refusals[flaw.name, error.code] += 1
    harmless = fitting.pop(HARMLESS, None)
    chance = random.Random(f"{seed} {key}")
    order = sorted(fitting.values(), key=lambda item: (used[item.flaw.family], used[item.flaw.name], chance.random()))
    second = next((item for item in order if item.flaw.family != order[0].flaw.family), None)
    if harmless is None or second is None:
        return None
    pair = order[0], second
    for item in pair:
        used.update((item.flaw.name, item.flaw.family))
    return (*pair, harmless) if chance.random() < 0.5 else (second, order[0], harmless)

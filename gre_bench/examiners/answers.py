"""Replies read strictly: a score is what the reply states once and without doubt, or there is none.

Tried in turn: a reply that is the score alone; a line with a label (``Score: 4``); a first line that is the score
alone; one single number in the sentences that speak of grading. Numbering, ranges (``1 to 5``) and denominators
(``out of 5``) are no scores, nor is a number that the text under examination may have given ("it has 3 errors").
An "Answer:" that should not be there is passed over (Kotonya et al. 2023, §5.2). Every function takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gre_bench.core.errors import ReplyError
from gre_bench.examiners.scales import Scale

_NUMBER = r"[-+−]?[0-9]{1,9}(?:\.[0-9]{1,9})?"
_OPEN = r"(?<![\w.,/])"
_SHUT = r"(?![\w/]|[.,][0-9])"
_OUT_OF = rf"(?:\s{{0,3}}(?:/|out of|of)\s{{0,3}}(?P<most>{_NUMBER})(?![\w/]|[.,][0-9]))?"
_SCORE = rf"{_OPEN}(?P<score>{_NUMBER})(?P<percent>\s?%)?{_OUT_OF}{_SHUT}"
_REMARK = r"(?:\([^()\n]{0,40}\)|[-–—] ?[^\n\d]{1,60})?"
_ALONE = re.compile(rf"(?:[^\W\d][^\n:=]{{0,40}}[:=]\s*)?{_SCORE}\s*{_REMARK}\s*\.?")
_LABELS = "scores?|ratings?|overall|coherence|consistency|fluency|relevance|factuality"
_LABELLED = re.compile(rf"\b(?:{_LABELS})\b[^\n:=\d]{{0,30}}[:=]\s*{_SCORE}", re.IGNORECASE)
_ANY = re.compile(_SCORE)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?!\s|\Z))+")
_GRADING = re.compile(r"\b(?:scor|rat(?:e|ing)|grad|giv|gave|assign|award|mark)", re.IGNORECASE)
_RANGE = re.compile(rf"{_OPEN}{_NUMBER}\s{{0,3}}(?:-|–|—|to)\s{{0,3}}{_NUMBER}{_SHUT}")
_NUMBERING = re.compile(r"^[ \t]{0,8}[0-9]{1,3}[.)](?=\s)", re.MULTILINE)
_ORNAMENT = re.compile(r"[*_`#]{1,3}")
_STRAY = re.compile(r"^[ \t>-]{0,8}Answer[ \t]{0,3}:[ \t]*", re.IGNORECASE | re.MULTILINE)
_REDUNDANT = re.compile(r"\bredundan(?:t|cy|cies)\b", re.IGNORECASE)
_NOT_REDUNDANT = re.compile(
    r"(?:\b(?:not|no|never|non|without)|n't|n’t)[\s-]{1,3}(?:[\w’']{1,20}\s){0,2}redundan(?:t|cy|cies)\b", re.IGNORECASE
)
_REASON = re.compile(r"\b(?:Rationale|Explanation|Reason|Reasons)\b[^\n:]{0,20}:\s*", re.IGNORECASE)


def score(text: str, scale: Scale) -> float:
    """The one score that *text* states; `ReplyError` with the reason if there is none that counts."""
    text = plain(text)
    if scale.words:
        return _word(text, scale)
    if alone := _ALONE.fullmatch(text):
        return _value(alone, scale)
    if labelled := list(_LABELLED.finditer(text)):
        return _agreed(labelled, scale, "ambiguous")
    first, _, _ = text.partition("\n")
    if alone := _ALONE.fullmatch(first.strip()):
        return _value(alone, scale)
    said = [part for part in _SENTENCE.findall(_NUMBERING.sub(" ", text)) if _GRADING.search(part)]
    found = list(_ANY.finditer(_RANGE.sub(" ", "\n".join(said))))
    if not found:
        raise ReplyError("no_score")
    return _agreed(found, scale, "ambiguous")


def aspects(text: str, scale: Scale, names: Sequence[str], *, repeats: bool = False) -> dict[str, float]:
    """The score of each of the aspects *names*; `ReplyError` names one that is missing or stated in two ways.

    *repeats*: an aspect is scored sentence by sentence, and the mean counts.
    """
    text = plain(text)
    found = {}
    for name in names:
        stated = list(_of_aspect(name).finditer(text))
        if not stated:
            raise ReplyError(f"missing_aspect: {name}")
        values = [_value(each, scale) for each in stated]
        if not repeats and len(set(values)) > 1:
            raise ReplyError(f"ambiguous_aspect: {name}")
        found[name] = sum(values) / len(values)
    return found


def rationale(text: str) -> str | None:
    """What *text* gives as its reasons: what follows the word that announces them, or all but a score's own line."""
    text = plain(text)
    if announced := _REASON.search(text):
        return text[announced.end() :].strip() or None
    rest = [line for line in text.splitlines() if not (_ALONE.fullmatch(line.strip()) or _LABELLED.fullmatch(line))]
    return "\n".join(rest).strip() or None


def yes_or_no(text: str) -> bool:
    """Whether the first word of *text*, which says whether a text is redundant, is Yes.

    `ReplyError`: ``neither_yes_nor_no``, and ``contradiction`` for a sentence that takes it back, such as "Yes, the
    review is not redundant".
    """
    opening = _NUMBERING.sub(" ", plain(text))[:200]
    words = re.findall(r"[^\W\d]+", opening)
    if not words or words[0].lower() not in ("yes", "no"):
        raise ReplyError("neither_yes_nor_no")
    said, first = words[0].lower() == "yes", _SENTENCE.findall(opening)[0]
    if _REDUNDANT.search(first) and said == bool(_NOT_REDUNDANT.search(first)):
        raise ReplyError("contradiction")
    return said


def choice(text: str) -> int:
    """0 if *text* chooses the first of two, 1 if the second; `ReplyError` if it does neither, or both.

    ``one``, ``'two'.``, ``Output: one`` and ``Summary two is better`` are choices; a text that has the word is not.
    """
    words = re.findall(r"[^\W_]+", plain(text).lower())
    named = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if word in _CHOICES and (len(words) == 1 or before in ("output", "summary", "review", "answer"))
    ]
    chosen = {_CHOICES[word] for word in named}
    if len(chosen) != 1:
        raise ReplyError("ambiguous" if chosen else "no_choice")
    return chosen.pop()


_CHOICES = {"one": 0, "two": 1, "1": 0, "2": 1}


def plain(text: str) -> str:
    """*text* without the marks of emphasis and headings, and without an "Answer:" at the head of a line."""
    return _STRAY.sub("", _ORNAMENT.sub("", text)).strip().strip("\"'“”‘’").strip()


def hallucinated_answers(text: str) -> int:
    """How many lines of *text* begin with an "Answer:", its own beginning excepted (Kotonya et al. 2023, Table 10)."""
    return len(_STRAY.findall(_ORNAMENT.sub("", text).strip(), 1))


def _of_aspect(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b[^\n:=\d]{{0,30}}[:=]\s*{_SCORE}", re.IGNORECASE)


def _agreed(found: Iterable[re.Match[str]], scale: Scale, problem: str) -> float:
    values = {_value(each, scale) for each in found}
    if len(values) > 1:
        raise ReplyError(problem)
    return values.pop()


def _value(found: re.Match[str], scale: Scale) -> float:
    """The number that was *found*, if it is a score of *scale*."""
    most = found["most"]
    if (most is not None and float(most) != scale.high) or (found["percent"] and scale.high != 100):
        raise ReplyError("other_scale")
    value = float(found["score"].replace("−", "-"))
    if scale.high == 100 and 0 < value < 1 and not found["percent"]:
        raise ReplyError("other_scale")  # 0.95 of 1, or next to nothing of 100: nobody can tell
    if not scale.low <= value <= scale.high:
        raise ReplyError("out_of_range")
    if not scale.admits(value):
        raise ReplyError("not_declared")
    return value


def _word(text: str, scale: Scale) -> float:
    """The one label that *text* holds, the longer of two that overlap, such as Very Poor; none behind a "not"."""
    worth = {spelling.lower(): value for spelling, value in scale.declared}
    longest_first = "|".join(map(re.escape, sorted(worth, key=len, reverse=True)))
    if re.search(rf"(?:\b(?:not|never)|n't|n’t)\s{{1,3}}(?:an?\s)?(?:{longest_first})(?!\w)", text, re.IGNORECASE):
        raise ReplyError("negated")
    found = {each.lower() for each in re.findall(rf"(?<!\w)(?:{longest_first})(?!\w)", text, re.IGNORECASE)}
    if len(found) != 1:
        raise ReplyError("ambiguous" if found else "no_label")
    return worth[found.pop()]

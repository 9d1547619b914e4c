"""Reads replies strictly: a score counts only if the reply states exactly one.

The score is read from the first of these forms that the reply has:

- a reply that is the score alone;
- a line with a label (``Score: 4``);
- a first line that is the score alone;
- a single number in the sentences that speak of grading ("I rate this 4.").

List numbers, ranges (``1 to 5``) and denominators (``out of 5``) are not scores. A number in a sentence about the
graded text ("it has 3 errors") is not a score either. "Answer:" at the start of a line is ignored, because LMs add it
without being asked (Kotonya et al. 2023, §5.2). Every function takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gre_bench.core.errors import ReplyError
from gre_bench.examiners.templates import Scale

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
_CHOICES = {"one": 0, "two": 1, "1": 0, "2": 1}
_REASON = re.compile(r"\b(?:Rationale|Explanation|Reason|Reasons)\b[^\n:]{0,20}:\s*", re.IGNORECASE)


def score(text: str, scale: Scale) -> float:
    """Returns the one score on *scale* that the reply states; raises `ReplyError` for none, or different ones."""
    text = plain(text)
    if scale.words:
        return _word(text, scale)
    if alone := _ALONE.fullmatch(text):
        return _value(alone, scale)
    if labelled := list(_LABELLED.finditer(text)):
        return _agreed(labelled, scale)
    first, _, _ = text.partition("\n")
    if alone := _ALONE.fullmatch(first.strip()):
        return _value(alone, scale)
    sentences = [part for part in _SENTENCE.findall(_NUMBERING.sub(" ", text)) if _GRADING.search(part)]
    matches = list(_ANY.finditer(_RANGE.sub(" ", "\n".join(sentences))))
    if not matches:
        raise ReplyError("no_score")
    return _agreed(matches, scale)


def aspects(text: str, scale: Scale, names: Sequence[str], *, repeats: bool = False) -> dict[str, float]:
    """Returns the score on *scale* that the reply *text* states for each of the aspects *names*.

    If *repeats*, an aspect may have several scores, and gets their mean. Raises `ReplyError` with the aspect's name if
    it has no score, or different ones without *repeats*.
    """
    text = plain(text)
    results = {}
    for name in names:
        stated = rf"\b{re.escape(name)}\b[^\n:=\d]{{0,30}}[:=]\s*{_SCORE}"
        values = [_value(each, scale) for each in re.finditer(stated, text, re.IGNORECASE)]
        if not values:
            raise ReplyError(f"missing_aspect: {name}")
        if not repeats and len(set(values)) > 1:
            raise ReplyError(f"ambiguous_aspect: {name}")
        results[name] = sum(values) / len(values)
    return results


def rationale(text: str) -> str | None:
    """Returns the reasons that the reply *text* gives for its score; None if it gives none.

    They are the text after a label such as "Rationale:", or else all lines except those that state the score.
    """
    text = plain(text)
    if announced := _REASON.search(text):
        return text[announced.end() :].strip() or None
    rest = [line for line in text.splitlines() if not (_ALONE.fullmatch(line.strip()) or _LABELLED.fullmatch(line))]
    return "\n".join(rest).strip() or None


def yes_or_no(text: str) -> bool:
    """Returns whether the reply *text* says Yes, which means that the LM calls the graded text redundant.

    Raises `ReplyError`: ``neither_yes_nor_no`` by the first word, or ``contradiction`` if the first sentence takes it
    back, as in "Yes, the review is not redundant".
    """
    opening = _NUMBERING.sub(" ", plain(text))[:200]
    words = re.findall(r"[^\W\d]+", opening)
    if not words or words[0].lower() not in ("yes", "no"):
        raise ReplyError("neither_yes_nor_no")
    yes, first = words[0].lower() == "yes", _SENTENCE.findall(opening)[0]
    if _REDUNDANT.search(first) and yes == bool(_NOT_REDUNDANT.search(first)):
        raise ReplyError("contradiction")
    return yes


def choice(text: str) -> int:
    """Returns which of two texts the reply *text* prefers: 0 for the first text, 1 for the second.

    ``one``, ``'two'.``, ``Output: one`` and ``Summary two is better`` are choices; "one" or "two" anywhere else in a
    longer reply is none. Raises `ReplyError` if the reply chooses neither text, or both.
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


def plain(text: str) -> str:
    """Returns *text* without Markdown emphasis, Markdown headings, enclosing quotes and "Answer:" at line starts."""
    return _STRAY.sub("", _ORNAMENT.sub("", text)).strip().strip("\"'“”‘’").strip()


def hallucinated_answers(text: str) -> int:
    """Returns how many lines after the first begin with "Answer:" (Kotonya et al. 2023, Table 10)."""
    return len(_STRAY.findall(_ORNAMENT.sub("", text).strip(), 1))


def _agreed(matches: Iterable[re.Match[str]], scale: Scale) -> float:
    values = {_value(each, scale) for each in matches}
    if len(values) > 1:
        raise ReplyError("ambiguous")
    return values.pop()


def _value(match: re.Match[str], scale: Scale) -> float:
    """Returns the number in *match*; raises `ReplyError` if *scale* has no such score, or another scale is named."""
    most = match["most"]
    if (most is not None and float(most) != scale.high) or (match["percent"] and scale.high != 100):
        raise ReplyError("other_scale")
    value = float(match["score"].replace("−", "-"))
    if scale.high == 100 and 0 < value < 1 and not match["percent"]:
        raise ReplyError("other_scale")  # 0.95 may be meant on a scale from 0 to 1 or from 0 to 100
    if not scale.low <= value <= scale.high:
        raise ReplyError("out_of_range")
    if not scale.admits(value):
        raise ReplyError("not_declared")
    return value


def _word(text: str, scale: Scale) -> float:
    """Returns the value of the label that *text* contains, on a *scale* whose scores are words such as Good.

    Raises `ReplyError` for no label, several labels, or a label after "not". Very Poor counts as one label, although it
    contains the label Poor.
    """
    worth = {spelling.lower(): value for spelling, value in scale.declared}
    longest_first = "|".join(map(re.escape, sorted(worth, key=len, reverse=True)))
    if re.search(rf"(?:\b(?:not|never)|n't|n’t)\s{{1,3}}(?:an?\s)?(?:{longest_first})(?!\w)", text, re.IGNORECASE):
        raise ReplyError("negated")
    labels = {each.lower() for each in re.findall(rf"(?<!\w)(?:{longest_first})(?!\w)", text, re.IGNORECASE)}
    if len(labels) != 1:
        raise ReplyError("ambiguous" if labels else "no_label")
    return worth[labels.pop()]

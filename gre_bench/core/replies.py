"""Extracts the useful parts of an LM's reply, and the number in a reply or in a cell of a table.

A reply may be hostile, so every function runs in linear time. The functions return None for an ambiguous number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.core.errors import ReplyError
from gre_bench.core.judgments import has_judgments

REVIEW_PARTS = ("summary", "strengths", "weaknesses", "questions")
"""The tags in a generated review (Xu et al. 2025, C.3)."""

ASSW_PARTS = ("strengths_claimed_by_the_paper", "weaknesses_claimed_by_the_paper")
"""The tags around author-stated strengths and weaknesses (Xu et al. 2025, C.4)."""

TIMES, LOOP, TAIL = 4, 200, 8000
"""A loop repeats one passage at least `TIMES` times and fills at least `LOOP` characters of the last `TAIL`."""

_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>think|thinking|thought|seed:think)>|\[(?P<close_2>/?)(?P<name_2>(?-i:THINK))\]"
    r"|<\|(?:START|(?P<close_3>END))_(?P<name_3>THINKING)\|>|◁(?P<close_4>/?)(?P<name_4>think)▷",
    re.IGNORECASE,
)
"""The tags around thinking, as chat templates of different LMs write them."""
_LINE_START = re.compile(r"(?:^|\n)[ \t]*\Z")
_IN_SENTENCE = re.compile(r"(?:[\w,(][ \t]+|\()\Z"), re.compile(r"[ \t]+[^\sA-Z\d<\[◁*#•-]|[ \t]*[.,;:?!)]")
_BLANK = re.compile(r"\s*")
_QUOTED = re.compile(r"[`'\"“‘«]\Z"), re.compile(r"[`'\"”’»]")
_NEAR = 40
"""How many characters before and after a tag are read to decide whether a sentence only mentions the tag."""
_CHANNELS = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>")
_FINAL = re.compile(r"<\|channel\|>final\b[^<]*<\|message\|>(.*?)(?:<\|(?:end|return|start)\|>|\Z)", re.DOTALL)
_BARE_CHANNELS = re.compile(r"\s*analysis.*?assistantfinal", re.DOTALL)
"""Channels (parts) of a gpt-oss reply: the start of a channel, the final channel, and the names of the channels, which
remain if special tokens are dropped."""

_DECIMAL_COMMA = re.compile(r"([+-]?)(\d+),(\d+)")
_LABELLED = re.compile(
    r"(-?\d+(?:[.,]\d+)?)(?:\s*(?P<sure>[:=])\s*|\s*[)(.,;|–—-]+\s*|\s+)"
    r"(?!(?:or|to|and|of|out|bis|oder|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b)(?P<label>[^\W\d_].*)",
    re.DOTALL | re.IGNORECASE,
)
"""A number and its label. A month is no label, because spreadsheets turn ``7-8`` into ``8-Jul``."""
_PERCENTAGE = re.compile(r"\d+(?:[.,]\d+)?\s*%")
_GOES_ON = re.compile(
    r"\s*(?:[-–—~/&+,:\u2212]|\.{2,}|…|(?:to|or|and|of|out of)\b)\s*[+-]?\d|[.,'’·]?\d|\s*[½¼¾%]", re.IGNORECASE
)


def require_judgments(text: str) -> str:
    """Returns *text* unchanged; raises ``ReplyError("no_judgments")`` if no line is a judgment."""
    if not has_judgments(text, "as_written"):
        raise ReplyError("no_judgments")
    return text


def extract_tags(text: str, names: Sequence[str]) -> dict[str, str]:
    """Returns tag → stripped content, for each tag of *names* that occurs in *text*.

    Tags in *text* may be in upper or lower case. A tag that is not closed ends at the next opening tag of *names*, or
    at the end of the text. If a tag occurs twice, the last occurrence counts.
    """
    mark = re.compile("<(/?)(" + "|".join(map(re.escape, names)) + r")\s*>", re.IGNORECASE)
    by_case = {name.lower(): name for name in names}
    parts: dict[str, str] = {}
    inside, start = None, 0
    for match in mark.finditer(text):
        name = by_case[match[2].lower()]
        if inside is not None and (not match[1] or name == inside):
            parts[inside] = text[start : match.start()].strip()
            inside = None
        if not match[1]:
            inside, start = name, match.end()
    if inside is not None:
        parts[inside] = text[start:].strip()
    return parts


def parse_assw(text: str) -> tuple[list[str], list[str]]:
    """Returns (strengths, weaknesses) from the reply *text*: two lists of points that the paper's authors state.

    Raises ``ReplyError("no_assw")`` if one of the two tags is missing, or if both lists are empty.
    """
    parts = extract_tags(text, ASSW_PARTS)
    if set(parts) != set(ASSW_PARTS):
        raise ReplyError("no_assw")
    strengths, weaknesses = ([line.strip() for line in parts[name].splitlines() if line.strip()] for name in ASSW_PARTS)
    if not strengths and not weaknesses:
        raise ReplyError("no_assw")
    return strengths, weaknesses


def ends_in_loop(text: str) -> bool:
    """Whether *text* ends in a loop: one passage repeated many times, as a small LM with greedy decoding may write.

    The loop has at least `TIMES` repetitions and `LOOP` characters. Its first and last passage may be incomplete.
    Method: reverse the text and compute the longest border of each prefix, in linear time (Knuth, Morris and Pratt
    1977). A border is a shorter prefix that is also a suffix. If the longest border of a prefix of length n has length
    b, the prefix repeats a passage of length n − b.
    """
    tail = text.rstrip()[: -TAIL - 1 : -1]
    borders = [0] * len(tail)
    border = 0
    for index in range(1, len(tail)):
        while border and tail[index] != tail[border]:
            border = borders[border - 1]
        border += tail[index] == tail[border]
        borders[index] = border
        length = index + 1
        if length >= LOOP and length >= TIMES * (length - border):
            return True
    return False


def without_thinking(text: str) -> tuple[str, int]:
    """Returns (*text* without the LM's thinking, number of characters removed).

    Thinking is a block between tags such as ``<think>``, ``<thinking>`` or ``[THINK]``, or a gpt-oss channel other than
    ``final``:

    - A block starts at the beginning of a line or right after another block.
    - It ends at the first closing tag that no sentence mentions, or else at the first closing tag. A block that is not
      closed runs to the end of the text.
    - The opening tag may be missing, because some chat templates put it into the prompt. Then all text before the
      closing tag is removed, unless a sentence mentions the tag. After another block, such a closing tag counts only
      at the start of a line.
    """
    if _CHANNELS.match(text):
        visible = "".join(_FINAL.findall(text)).strip()
        return visible, len(text) - len(visible)
    bare = _BARE_CHANNELS.match(text)
    kept, start, mentioned = [], bare.end() if bare else 0, 0
    text_start = _skip_blanks(text, start)
    tags = [_Tag.from_match(match) for match in _TAG.finditer(text, start)]
    index = 0
    while index < len(tags):
        tag = tags[index]
        index += 1
        if tag.closes:
            if mentioned:
                mentioned -= 1
                continue
            if tag.mentioned or (kept and not tag.starts_line):
                continue
            kept, start = [], tag.end
        elif tag.starts_line or tag.start <= text_start:
            kept.append(text[start : tag.start])
            index = _find_closing_tag(tags, index, tag.name)
            start = tags[index - 1].end if index <= len(tags) else len(text)
        else:
            mentioned += 1
            continue
        text_start = _skip_blanks(text, start)
    kept.append(text[start:])
    visible = "".join(kept)
    if len(visible) == len(text):
        return text, 0
    return visible.strip(), len(text) - len(visible)


@dataclass(frozen=True, slots=True)
class _Tag:
    """A tag around thinking, from *start* to *end*. *mentioned*: whether a sentence merely mentions the tag."""

    name: str
    closes: bool
    start: int
    end: int
    starts_line: bool
    mentioned: bool

    @classmethod
    def from_match(cls, match: re.Match[str]) -> _Tag:
        before = match.string[max(0, match.start() - _NEAR) : match.start()]
        after = match.string[match.end() : match.end() + _NEAR]
        mentioned = any(left.search(before) and right.match(after) for left, right in (_IN_SENTENCE, _QUOTED))
        groups = {key.partition("_")[0]: value for key, value in match.groupdict().items() if value}
        starts_line = bool(_LINE_START.search(before)) and (before.count("\n") > 0 or match.start() <= _NEAR)
        return cls(groups["name"].lower(), "close" in groups, *match.span(), starts_line, mentioned)


def _skip_blanks(text: str, start: int) -> int:
    blanks = _BLANK.match(text, start)
    return blanks.end() if blanks else start


def _find_closing_tag(tags: Sequence[_Tag], first: int, name: str) -> int:
    """Returns one more than the index of the tag that closes the block *name*; ``len(tags) + 1`` if no tag does.

    The search starts at the index *first*. A closing tag that a sentence merely mentions counts only if the search
    finds no other. After such a mention, the search ends at the next opening tag that starts a line.
    """
    mention = None
    for index in range(first, len(tags)):
        tag = tags[index]
        if tag.closes and tag.name == name:
            if not tag.mentioned:
                return index + 1
            mention = index + 1 if mention is None else mention
        elif mention and tag.starts_line and not tag.closes:
            break
    return len(tags) + 1 if mention is None else mention


def parse_number(value: object) -> float | None:
    """Returns *value* as a number if it is a finite number or a text that holds only a number; else None.

    A text may have a decimal comma. If three digits follow the comma, it may separate thousands. The result is then
    None, unless only zeros precede the comma.
    """
    if isinstance(value, str):
        value = value.strip().replace("\u2212", "-")
        if comma := _DECIMAL_COMMA.fullmatch(value):
            sign, whole, part = comma.groups()
            value = None if len(part) == 3 and whole.strip("0") else f"{sign}{whole}.{part}"
        elif "_" in value:
            return None
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def parse_rating(value: object) -> float | None:
    """Returns the number in *value*, as `parse_number` does, except that a label may follow, as in ``6: weak accept``.

    Returns None for a range, a fraction or a second number, such as ``7-8``, ``2/5`` or ``6 or 7``.
    """
    number = parse_number(value)
    match = _LABELLED.fullmatch(value.strip().replace("\u2212", "-")) if isinstance(value, str) else None
    if number is not None or match is None:
        return number
    if not match["sure"] and re.search(r"\d", _PERCENTAGE.sub("", match["label"])):
        return None
    return parse_number(match[1])


def text_continues_number(after: str) -> bool:
    """Whether the number before the text *after* is only a part of a decimal, percentage, range, fraction or list."""
    return _GOES_ON.match(after) is not None

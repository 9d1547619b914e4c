"""Splits an LM's reply into its parts. Replies are hostile input, so every function takes linear time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gre_bench.core.errors import ReplyError
from gre_bench.core.judgments import yields

REVIEW_PARTS = ("summary", "strengths", "weaknesses", "questions")
"""Tags of a generated review (Xu et al. 2025, C.3)."""

ASSW_PARTS = ("strengths_claimed_by_the_paper", "weaknesses_claimed_by_the_paper")
"""Tags of author-stated strengths and weaknesses (Xu et al. 2025, C.4)."""

TIMES, LOOP, TAIL = 4, 200, 8000
"""A loop repeats one passage at least `TIMES` times and fills at least `LOOP` characters of the last `TAIL`."""

_OPENING = re.compile(r"<think>", re.IGNORECASE)
_CLOSING = re.compile(r"</think>", re.IGNORECASE)
_LONE_CLOSING = re.compile(r"</think>[ \t]*(?:\n|\Z)", re.IGNORECASE)
_BLOCK = re.compile(r"^[ \t]*<think>", re.IGNORECASE | re.MULTILINE)
_NEXT_BLOCK = re.compile(r"\s*<think>", re.IGNORECASE)


def judgments(text: str) -> str:
    """Returns *text* unchanged; raises ``ReplyError("no_judgments")`` if no line of it is a judgment."""
    if not yields(text, "as_written"):
        raise ReplyError("no_judgments")
    return text


def tagged(text: str, names: Sequence[str]) -> dict[str, str]:
    """Returns the stripped content of each of the tags *names* that *text* has.

    Case is ignored. An unclosed tag ends where the next of *names* opens, or with the text. If a tag occurs twice, the
    last one counts.
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


def assw(text: str) -> tuple[list[str], list[str]]:
    """Returns the strengths and weaknesses that a paper claims, one point per item.

    Both tags must be present. Raises ``ReplyError("no_assw")`` if one is absent or there are no points.
    """
    parts = tagged(text, ASSW_PARTS)
    if set(parts) != set(ASSW_PARTS):
        raise ReplyError("no_assw")
    strengths, weaknesses = (_points(parts[name]) for name in ASSW_PARTS)
    if not strengths and not weaknesses:
        raise ReplyError("no_assw")
    return strengths, weaknesses


def repeats_itself(text: str) -> bool:
    """Whether *text* ends in a loop (see `TIMES`), as greedy decoding of a small LM may.

    The passage may be cut off at either end. Takes linear time: a prefix of length n of the reversed text, whose
    longest border has length b, has the period n − b (Knuth, Morris and Pratt 1977).
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
    """Returns *text* without its ``<think>`` blocks, and the number of characters removed.

    A block opens at the start of a line or where another closed, because a review may mention the tag inside a
    sentence. An unclosed block runs to the end. Chat templates may write the opening tag themselves. Text before an
    unopened closing tag at the end of a line is therefore thinking too.
    """
    kept, start = [], 0
    if (closing := _LONE_CLOSING.search(text)) and not _OPENING.search(text, 0, closing.start()):
        start = closing.end()
    while block := _NEXT_BLOCK.match(text, start) or _BLOCK.search(text, start):
        kept.append(text[start : block.start()])
        closing = _CLOSING.search(text, block.end())
        start = closing.end() if closing else len(text)
    kept.append(text[start:])
    visible = "".join(kept)
    if len(visible) == len(text):
        return text, 0
    return visible.strip(), len(text) - len(visible)


def _points(part: str) -> list[str]:
    return [line.strip() for line in part.splitlines() if line.strip()]

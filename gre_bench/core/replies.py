"""Extracts the useful parts of an LM's reply. A reply may be hostile, so every function runs in linear time."""

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
    """Returns *text* as it is; raises ``ReplyError("no_judgments")`` if no line is a judgment."""
    if not yields(text, "as_written"):
        raise ReplyError("no_judgments")
    return text


def tagged(text: str, names: Sequence[str]) -> dict[str, str]:
    """Returns a mapping from each tag of *names* that occurs in *text* to the tag's content, stripped.

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


def assw(text: str) -> tuple[list[str], list[str]]:
    """Returns (strengths, weaknesses) as the paper's authors state them, each as a list of points.

    Raises ``ReplyError("no_assw")`` if one of the two tags is missing or there are no points.
    """
    parts = tagged(text, ASSW_PARTS)
    if set(parts) != set(ASSW_PARTS):
        raise ReplyError("no_assw")
    strengths, weaknesses = ([line.strip() for line in parts[name].splitlines() if line.strip()] for name in ASSW_PARTS)
    if not strengths and not weaknesses:
        raise ReplyError("no_assw")
    return strengths, weaknesses


def repeats_itself(text: str) -> bool:
    """Whether *text* ends in a loop: one passage repeated many times, as a small LM with greedy decoding may write.

    The loop holds at least `TIMES` repetitions and `LOOP` characters. Its first and last passage may be cut off.
    Method: reverse the text and compute the longest border of each prefix, in linear time (Knuth, Morris and Pratt
    1977). A prefix of length n whose longest border has length b repeats a passage of length n − b.
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
    """Returns (*text* without its ``<think>`` blocks, number of characters removed).

    A block starts at the beginning of a line or right after another block. Elsewhere the tag may be part of a review's
    sentence. A block that is not closed runs to the end of the text. The opening tag may be missing, because some chat
    templates write it. If a closing tag ends a line and has no opening tag, all text before it is removed.
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

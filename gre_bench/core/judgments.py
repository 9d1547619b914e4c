"""Judgments: a review as lines that each open with one of four phrases (Xu et al. 2025, C.1)."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Form = Literal["as_written", "strict"]

OPENINGS = ("The reviewer appreciates", "The reviewer criticizes", "The reviewer questions", "The reviewer suggests")
_LISTED = re.compile(r"\s*(?:[-*\u2022]\s*|\d+[.)]\s*)?(?:" + "|".join(OPENINGS) + ")")


def count(text: str) -> tuple[int, int]:
    """How many lines of *text* open as judgments do, and how many other lines are not blank."""
    lines = [line for line in text.splitlines() if line.strip()]
    judgments = sum(is_judgment(line) for line in lines)
    return judgments, len(lines) - judgments


def is_judgment(line: str) -> bool:
    """Whether *line* starts with one of the four openings, blanks before it aside."""
    return line.lstrip().startswith(OPENINGS)


def yields(text: str, form: Form) -> bool:
    """Whether *text* judges anything in the *form* it is scored in; a review that does not is missing data.

    As written, a judgment behind a list mark ("- The reviewer ...") is one, as real writers leave them.
    """
    if form == "strict":
        return bool(strict(text))
    return any(_LISTED.match(line) for line in text.splitlines())


def strict(text: str) -> str:
    """Only the judgment lines of *text*, stripped, one newline between them."""
    return "\n".join(line.strip() for line in text.splitlines() if is_judgment(line))


def prepared(text: str, form: Form, ascii_fold: bool) -> str:
    """Judgments as they are scored: folded to ASCII if asked for, then in their *form*."""
    text = folded(text) if ascii_fold else text
    return strict(text) if form == "strict" else text


def folded(text: str) -> str:
    """*text* as ASCII, as the authors of GEM read it: NFKD, what remains dropped, double quotes to single."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().replace('"', "'")

"""Judgments: a review as lines that each open with one of four phrases (Xu et al. 2025, C.1)."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Form = Literal["as_written", "strict"]

OPENINGS = ("The reviewer appreciates", "The reviewer criticizes", "The reviewer questions", "The reviewer suggests")
_LISTED = re.compile(r"\s*(?:[-*\u2022]\s*|\d+[.)]\s*)?(?:" + "|".join(OPENINGS) + ")")


def count(text: str) -> tuple[int, int]:
    """Returns the number of lines of *text* that are judgments, and the number of other non-blank lines."""
    lines = [line for line in text.splitlines() if line.strip()]
    judgments = sum(is_judgment(line) for line in lines)
    return judgments, len(lines) - judgments


def is_judgment(line: str) -> bool:
    """Whether *line* starts with one of the four openings, after optional blanks."""
    return line.lstrip().startswith(OPENINGS)


def yields(text: str, form: Form) -> bool:
    """Whether *text* holds at least one judgment when read in its *form*. A review without any is missing data.

    In the form as written, a judgment may follow a list mark ("- The reviewer ...").
    """
    if form == "strict":
        return bool(strict(text))
    return any(_LISTED.match(line) for line in text.splitlines())


def strict(text: str) -> str:
    """Returns only the judgment lines of *text*, stripped, one newline between them."""
    return "\n".join(line.strip() for line in text.splitlines() if is_judgment(line))


def prepared(text: str, form: Form, ascii_fold: bool) -> str:
    """Returns judgments as they are scored: folded to ASCII if requested, then in their *form*."""
    text = folded(text) if ascii_fold else text
    return strict(text) if form == "strict" else text


def folded(text: str) -> str:
    """Returns *text* in ASCII, as the GEM authors' code makes it.

    Characters are decomposed (NFKD), those beyond ASCII are dropped, and double quotes become single ones.
    """
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().replace('"', "'")

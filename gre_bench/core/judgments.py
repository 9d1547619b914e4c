"""Judgments: a review rewritten as lines. Each line starts with one of four phrases (Xu et al. 2025, C.1)."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Form = Literal["as_written", "strict"]

OPENINGS = ("The reviewer appreciates", "The reviewer criticizes", "The reviewer questions", "The reviewer suggests")
_LISTED = re.compile(r"\s*(?:[-*\u2022]\s*|\d+[.)]\s*)?(?:" + "|".join(OPENINGS) + ")")


def count_judgments(text: str) -> tuple[int, int]:
    """Returns (number of judgments, number of other non-blank lines) in *text*."""
    lines = [line for line in text.splitlines() if line.strip()]
    judgments = sum(is_judgment(line) for line in lines)
    return judgments, len(lines) - judgments


def is_judgment(line: str) -> bool:
    return line.lstrip().startswith(OPENINGS)


def has_judgments(text: str, form: Form) -> bool:
    """Whether *text* has at least one judgment. A review without judgments counts as missing data.

    *form*: under ``as_written``, a judgment may follow a list mark ("- The reviewer ..."); under ``strict`` it may not.
    """
    if form == "strict":
        return bool(keep_only_judgments(text))
    return any(_LISTED.match(line) for line in text.splitlines())


def keep_only_judgments(text: str) -> str:
    """Returns only the judgments in *text*, stripped and joined by newlines."""
    return "\n".join(line.strip() for line in text.splitlines() if is_judgment(line))


def prepare_judgments(text: str, form: Form, ascii_fold: bool) -> str:
    """Returns *text*, which a writer of judgments returned, in the form that is scored.

    *form*: ``as_written`` keeps all lines, ``strict`` only judgments. *ascii_fold*: whether to convert to ASCII first.
    """
    text = fold_to_ascii(text) if ascii_fold else text
    return keep_only_judgments(text) if form == "strict" else text


def fold_to_ascii(text: str) -> str:
    """Returns *text* in ASCII, by the rule of the GEM authors' code.

    The rule is: apply NFKD, drop the characters that are still not ASCII, and turn double quotes into single quotes.
    """
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().replace('"', "'")

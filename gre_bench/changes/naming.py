"""Changed reviews as candidates: ``human~injection``, or ``human~injection~judgments`` where judgments are changed."""

from __future__ import annotations

from typing import Literal

from gre_bench.changes.catalog import CHANGES
from gre_bench.core.records import HUMAN

_MARK = "~"
"""Separator that no outside candidate's name can hold."""


def candidate_of(change: str, level: Literal["review", "judgments"]) -> str:
    """Returns the name of the candidate that *change* makes of the human candidate's texts.

    A control has its own name.
    """
    if CHANGES[change].control:
        return str(CHANGES[change].control)
    return _MARK.join([HUMAN, change] + (["judgments"] if level == "judgments" else []))


def is_changed(candidate: str) -> bool:
    """Whether *candidate* is a changed version of a human candidate's text; controls do not count."""
    return _MARK in candidate

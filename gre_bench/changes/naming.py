"""Changed reviews as candidates: ``human~injection``, or ``human~injection~judgments`` where judgments are changed."""

from __future__ import annotations

from typing import Literal

from gre_bench.changes.catalog import CHANGES
from gre_bench.core.records import HUMAN

_MARK = "~"
"""No name of a candidate from outside can hold it."""


def candidate_of(change: str, level: Literal["review", "judgments"]) -> str:
    """Name of the candidate that *change* makes of the human candidate's texts; a control has its own."""
    if CHANGES[change].control:
        return str(CHANGES[change].control)
    return _MARK.join([HUMAN, change] + (["judgments"] if level == "judgments" else []))


def is_changed(candidate: str) -> bool:
    """Whether *candidate* is made of a human candidate's text by a change, controls aside."""
    return _MARK in candidate

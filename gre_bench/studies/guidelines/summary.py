"""Converts the summary of a guideline study back to dataclasses.

The summary is the mapping that `results.keep` returns, or that mapping read from ``study.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gre_bench.guidelines.closeness import Closeness, Estimate
from gre_bench.guidelines.outcomes import ConditionResult, Yardstick
from gre_bench.guidelines.wording import Wording


def outcomes_of(summary: Mapping[str, Any]) -> list[ConditionResult]:
    """Returns the outcome of each model and condition in *summary*."""
    return [_outcome(row) for row in summary["outcomes"]]


def yardstick_of(summary: Mapping[str, Any]) -> Yardstick | None:
    """Returns the values with which an RMSE in *summary* can be compared; None if there are none."""
    row = summary["yardstick"]
    return Yardstick(**row | {"distribution": _counted(row["distribution"])}) if row else None


def _outcome(row: Mapping[str, Any]) -> ConditionResult:
    close = {name: row[name] and _closeness(row[name]) for name in ("closeness", "recomputed")}
    texts = row["wording"] and Wording(**row["wording"])
    return ConditionResult(**{**row, **close, "distribution": _counted(row["distribution"]), "wording": texts})


def _closeness(row: Mapping[str, Any]) -> Closeness:
    parts = {name: row[name] and Estimate(**row[name]) for name in ("rmse", "bias", "spearman")}
    return Closeness(**{**row, **parts})


def _counted(distribution: Mapping[Any, int]) -> dict[int, int]:
    """Returns *distribution* (rating → count) with the ratings as integers again; JSON has turned them into strings."""
    return {int(rating): count for rating, count in distribution.items()}

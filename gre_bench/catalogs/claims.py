"""What the papers claim, in words of our own: each claim with its source and its test, from ``data/claims.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from gre_bench.core import strict
from gre_bench.core.resources import resource
from gre_bench.stats.claims import Quantifier

Test = Literal[
    "larger", "newer", "human_leads", "human_is_passed", "falls", "rises", "does_not_rise", "costs_less", "agrees",
    "agrees_more", "cells",
]  # fmt: skip
ON_STUDIES = ("cells",)


class Claim(strict.NamedEntry, frozen=True):
    """One claim of a paper, and how it is tested. The head of ``data/claims.toml`` describes each *test*.

    *says*: the claim in words of our own. The fields after *metrics* belong to single tests.
    """

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    paper: str = Field(min_length=1)
    where: str = Field(min_length=1, description="section, table or figure")
    says: str = Field(min_length=1)
    test: Test
    quantifier: Quantifier = Field(default="all", description="whether all contrasts must be above zero, or any")
    metrics: tuple[str, ...] = Field(default=(), description="metrics that the claim is about")
    than: tuple[str, ...] = Field(default=(), description="agrees_more: the metrics that agree less")
    changes: tuple[str, ...] = Field(
        default=(), description="changes that falls, rises, does_not_rise or costs_less tests"
    )
    more: tuple[str, ...] = Field(default=(), description="costs_less: the changes that cost more")
    table: str | None = Field(default=None, description="cells: published table whose rows are compared")
    pairs: tuple[tuple[str, str], ...] = Field(default=(), description="cells: rows, the better one first")
    lower_is_better: bool = Field(default=False, description="cells: whether lower values are better, as for RMSE")
    note: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Claim:
        wanted = {
            "agrees_more": "than", "falls": "changes", "rises": "changes", "does_not_rise": "changes",
            "costs_less": "more", "cells": "pairs",
        }.get(self.test, "metrics")  # fmt: skip
        if not getattr(self, wanted):
            raise ValueError(f"a test of {self.test} needs {wanted}")
        if self.test not in ON_STUDIES and not self.metrics:
            raise ValueError(f"a test of {self.test} needs metrics")
        return self


def claims(path: Path | None = None) -> list[Claim]:
    """Returns the claims of *path* (None: ``data/claims.toml``) in order; raises `SettingsError` for a wrong entry."""
    return list(strict.read_entries(path or resource("data", "claims.toml"), "claims file", "claim", Claim).values())

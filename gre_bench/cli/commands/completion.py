"""Completions that the shell offers: names of editions, metrics, models, domains and published tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gre_bench.core.errors import GreBenchError


def editions(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Returns the names of the editions in the state folder; none if the folder cannot be read.

    The folder is the one that --state names, else the environment variable GRE_BENCH_STATE, else ``state``.
    """
    from gre_bench.store import find_editions

    state = ctx.params.get("state") or os.environ.get("GRE_BENCH_STATE") or "state"
    try:
        return sorted(find_editions(Path(state)))
    except (GreBenchError, OSError):
        return []


def metrics(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Returns the names of all metrics."""
    from gre_bench.core.metrics import METRICS

    return list(METRICS)


def pretrained(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Returns (name, title) of each model that can be downloaded."""
    from gre_bench.core.pretrained import entries

    return [(name, entry.title) for name, entry in entries().items()]


def domains(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Returns the names of the domains in ``data/domains.toml``."""
    from gre_bench.catalogs.domains import domains as known

    return list(known())


def published_tables(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Returns the names of the published tables of Xu et al. 2025."""
    from gre_bench.ranking.published import tables

    return list(tables())

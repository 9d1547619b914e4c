"""Names that the shell completes: of editions, metrics, models, domains and published tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gre_bench.core.errors import GreBenchError


def editions(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Returns the editions in the state folder; none if it cannot be read.

    The folder is that of --state, else of the environment variable GRE_BENCH_STATE, else ``state``.
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
    """Returns the names and titles of the models that can be downloaded."""
    from gre_bench.core.pretrained.entries import entries

    return [(name, entry.title) for name, entry in entries().items()]


def domains(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Returns the names of the domains in ``data/domains.toml``."""
    from gre_bench.catalogs.domains import domains as known

    return list(known())


def published_tables(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Returns the names of the published tables."""
    from gre_bench.ranking.published import tables

    return list(tables())

"""What kinds of papers an edition has, and how candidates score on each, for its page."""

from __future__ import annotations

from itertools import groupby

import duckdb

from gre_bench.release.database import rows
from gre_bench.release.pages.contents import Stratum, StratumCell


def strata(connection: duckdb.DuckDBPyConnection) -> tuple[Stratum, ...]:
    """Returns the strata of the sampled papers; with scores if a stratum has several values."""
    found = []
    for name, group in groupby(rows(connection, "strata"), key=lambda row: row["stratum"]):
        own = list(group)
        values = dict.fromkeys((row["value"], row["sampled"]) for row in own)
        titles = dict.fromkeys(row["title"] for row in own) if len(values) > 1 else ()
        tables = []
        for title in titles:
            here = [row for row in own if row["title"] == title]
            cells = {(row["candidate"], row["value"]): StratumCell(row["mean"], row["high"]) for row in here}
            names = dict.fromkeys(row["candidate"] for row in here)
            tables.append((title, tuple((who, tuple(cells.get((who, value)) for value, _ in values)) for who in names)))
        found.append(Stratum(name, tuple(values), tuple(tables)))
    return tuple(found)

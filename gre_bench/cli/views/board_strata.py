"""Prints scores by stratum. A stratum is a property of papers, such as the decision or the version of the PDF."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from gre_bench.board.words import with_half
from gre_bench.cli.views.fitted import Column, show
from gre_bench.cli.views.screen import plain, say
from gre_bench.stats.intervals import FEW, FEW_MEANS
from gre_bench.store import Row

SHOWN = 6
"""Largest number of values of a stratum that get a column; these are the values with the most papers."""


def show_strata(counts: Sequence[Row], rows: Sequence[Row], metrics: dict[str, str]) -> None:
    """Prints, for each stratum, how many sampled papers have each of its values, and the scores on these papers.

    For the stratum ``area``, for instance, the values are the areas. A stratum with one value gets no scores.

    - *counts*: rows of the query ``sampled_strata``.
    - *rows*: rows of the query ``strata``.
    - *metrics*: the metric of each signature, by the signature's id.
    """
    sizes: dict[str, dict[str, int]] = {}
    for row in counts:
        sizes.setdefault(row["stratum"], {})[row["value"]] = row["papers"]
    for stratum, values in sizes.items():
        parts = [f"{value} {papers:,}" for value, papers in values.items()]
        more = f", and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
        say(f"papers by {stratum}: {', '.join(parts[:SHOWN])}{more}")
    small = {
        f"{value} {papers}" for values in sizes.values() if len(values) > 1 for value, papers in values.items()
        if papers < FEW
    }  # fmt: skip
    by_table = itemgetter("signature_id", "stratum")
    for (signature_id, stratum), group in groupby(sorted(rows, key=by_table), key=by_table):
        if len(sizes.get(stratum, ())) > 1:
            _table(f"{metrics[signature_id]} by {stratum}, ± half of the 90% interval by paper", list(group))
    if small:
        first = sorted(small)[:SHOWN]
        more = f", and {len(small) - SHOWN} more" if len(small) > SHOWN else ""
        say(f"few papers: {', '.join(first)}{more}. {FEW_MEANS}")


def _table(title: str, rows: Sequence[Row]) -> None:
    papers: dict[str, int] = {}
    for row in rows:
        papers[row["value"]] = max(row["papers"], papers.get(row["value"], 0))
    values = sorted(papers, key=lambda value: (-papers[value], value))[:SHOWN]
    cells = {(row["candidate"], row["value"]): with_half(row["score"], row["high"]) for row in rows}
    names = list(dict.fromkeys(row["candidate"] for row in rows))
    columns = [Column("candidate", [plain(name) for name in names], kind="name")]
    for order, value in enumerate(values):
        own = [cells.get((name, value), "–") for name in names]
        columns.append(Column(f"{plain(value)} ({papers[value]})", own, max(0, order - 1)))
    show(title, columns, ["bold" if name == "human" else "" for name in names])

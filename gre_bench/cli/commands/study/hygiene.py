"""``gre-bench study hygiene``: measures how much the ranks on a board depend on the reference reviews."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import escape, say
from gre_bench.reports.signatures import shown_signatures, the_edition
from gre_bench.store import Row, Store

Candidates = Annotated[
    list[str] | None,
    typer.Option("--candidate", "-c", metavar="NAME", help="Candidate whose reviews replace references; repeatable."),
]
Papers = Annotated[
    int, typer.Option("--papers", metavar="N", min=0, help="Papers of the swap test, scored again; 0: no swap test.")
]
Likelihood = Annotated[
    Path | None,
    typer.Option("--likelihood", metavar="FILE", help="CSV of review_id,likelihood: how likely an LM wrote it."),
]
LIKELY = 0.5
"""The likelihood from which a reference counts as written by an LM."""
TITLES = {
    "reviewers": "one human reviewer left out",
    "swap": "a tenth of the references replaced by a candidate's (×: its own text, an upper bound)",
    "strata": "references that an LM likely wrote against the others",
}


def hygiene(
    edition: options.OneEdition = None,
    metric: options.Metric = None,
    candidate: Candidates = None,
    papers: Papers = 30,
    likelihood: Likelihood = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Measure how much the ranks depend on the references.

    Measures the lead over the human baseline without each reviewer, and with a candidate's reviews in place of a tenth
    of the references. It also splits the references by how likely an LM wrote them.
    """
    from gre_bench.pipeline.runs.prefect_engine import configure_prefect

    configure_prefect(state)
    from gre_bench.reports.hygiene import hygiene as measured
    from gre_bench.tasks import steps

    store = Store(state, the_edition(edition, state))
    run = steps.undecorated()
    reports = [
        measured(state.resolve(), store.key, signature, run, candidate, papers, likelihood, LIKELY)
        for signature in shown_signatures(store, metric)
    ]
    if as_json:
        return screen.print_json({"edition": store.key, "metrics": reports})
    for item in reports:
        say(f"{store.key} · {item['metric']}: shifts of the lead over the human baseline, 90% intervals by paper")
        for kind, title in TITLES.items():
            if item[kind]:
                say(f"\n{title}")
                _table(item[kind])
        say("")


def _table(rows: Sequence[Row]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", "candidate", "lead", "shift", "90%", "rank", "papers"):
        table.add_column(name, justify="left" if name in ("", "candidate") else "right")
    for row in rows:
        has_moved = row["rank"] is not None and row["new_rank"] is not None and row["rank"] != row["new_rank"]
        table.add_row(
            escape(row["what"]), escape(row["candidate"]), f"{row['lead']:+.2f}",
            f"{row['shift']:+.2f}" + (" ×" if row["upper_bound"] else ""), _ends(row),
            f"{row['rank']} → {row['new_rank']}" if has_moved else str(row["rank"] or ""), str(row["papers"]),
        )  # fmt: skip
    screen.out.print(table)


def _ends(row: Row) -> str:
    return "" if row["low"] is None else f"{row['low']:+.2f} to {row['high']:+.2f}"

"""``gre-bench agree`` and ``symmetry``: metrics against human grades, an evaluation LM against itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from gre_bench.cli.commands import options
from gre_bench.cli.commands.options import EXIT_CODES
from gre_bench.cli.views import screen
from gre_bench.core.settings import Settings
from gre_bench.metrics.catalog import in_order, recipe_of
from gre_bench.pipeline.runs.prefect_engine import perform, settle
from gre_bench.store import Store

Row = dict[str, Any]
_NAMES = {"spearman": "Spearman's ρ", "kendall": "Kendall's τ-b", "pearson": "Pearson's r"}


def register(app: typer.Typer, settings_of: Any, drawn: Any, exit_codes: dict[str, int]) -> None:
    """Adds the commands to *app*."""

    @app.command(epilog=EXIT_CODES)
    def agree(
        settings: options.SettingsFile = None,
        edition: options.Edition = None,
        override: options.Set = None,
        retry_failed: options.RetryFailed = False,
        engine: options.Engine = True,
        wait: options.Wait = 0.0,
        state: options.State = Path("state"),
        as_json: options.Json = False,
    ) -> None:
        """Correlate metrics with human grades of reviews (import them first: gre-bench import graded).

        A review's score is the mean over the other reviews of its item. Intervals resample items with their reviews;
        beside each coefficient stand that within items, that with length held fixed, and its distance to mere length.
        """
        chosen = settings_of(settings, edition, override, state)
        summary = _run(chosen, state, retry_failed, wait, engine, as_json, drawn)
        screen.print_json(summary) if as_json else show(summary)
        raise typer.Exit(exit_codes[summary["outcome"]])

    @app.command(epilog=EXIT_CODES)
    def symmetry(
        settings: options.SettingsFile = None,
        edition: options.Edition = None,
        override: options.Set = None,
        limit: options.Limit = None,
        wait: options.Wait = 0.0,
        state: options.State = Path("state"),
        as_json: options.Json = False,
    ) -> None:
        """Check whether the evaluation LM gives two human reviews the same joint probability both ways round.

        Scores all ordered pairs of an edition's human reviews by GEM; Spearman by paper (Xu et al. 2025, A.5).
        """
        chosen = settings_of(settings, edition, override, state)
        settle(state)
        with drawn(Store(state, chosen.edition.edition), as_json):
            from gre_bench.pipeline.runs.job import Job
            from gre_bench.studies.symmetry import check_symmetry
            from gre_bench.tasks import steps

            job = Job(chosen, state.resolve(), None, limit, False, wait)
            summary = check_symmetry(job, steps.undecorated())
        screen.print_json(summary) if as_json else show_symmetry(summary)
        raise typer.Exit(exit_codes[summary["outcome"]])


def _run(
    chosen: Settings, state: Path, retry: bool, wait: float, engine: bool, quiet: bool, drawn: Any
) -> dict[str, Any]:
    settle(state)
    with drawn(Store(state, chosen.edition.edition), quiet):
        from gre_bench.flows.agree_with_humans import agree, agree_with_humans
        from gre_bench.flows.annual_refresh import usable
        from gre_bench.pipeline.runs.job import Job
        from gre_bench.tasks import steps

        job = Job(chosen, state.resolve(), None, None, retry, wait)
        usable(job)
        return perform(
            engine,
            lambda: agree_with_humans(chosen, state.resolve(), retry, wait),
            lambda: agree(job, steps.undecorated()),
        )


def show(summary: dict[str, Any]) -> None:
    """One table a coefficient, then what has no score and why."""
    for kind, name in _NAMES.items():
        rows = [row for row in summary["agreements"] if row["kind"] == kind]
        screen.out.print(_table(name, rows, summary))
    lacking = [row for row in summary["reasons"] if row["reason"]]
    for row in lacking:
        screen.say(f"{row['metric']}: {row['pairs']} pairs {row['state']}, {row['reason']}")
    for note in summary["notes"]:
        screen.say(note)
    if summary["message"]:
        screen.say(summary["message"])


def show_symmetry(summary: dict[str, Any]) -> None:
    """Both correlations, and what they rest on."""
    table = Table(
        title=f"Symmetry of {screen.escape(summary['evaluation_lm'])} on {screen.escape(summary['edition'])}",
        caption="Spearman over pairs of human reviews; 95% intervals, papers resampled. Xu et al. 2025, A.5: 0.943 as "
        "printed, over 5,328 ordered pairs",
    )
    for head in ("Quantities", "ρ", "95%", "pairs", "papers"):
        table.add_column(head)
    named = {
        "joint": "log P(x) + log P(y|x) against log P(y) + log P(x|y)",
        "printed": "as printed: log P(x) + log P(x|y) against log P(y) + log P(y|x)",
        "joint_ordered": "the first, each pair in both orders",
        "printed_ordered": "as printed, each pair in both orders (the paper's)",
    }
    for name, title in named.items():
        row = summary["symmetry"][name]
        interval = f"({row['low']:.3f}, {row['high']:.3f})"
        table.add_row(title, f"{row['value']:.3f}", interval, str(row["items"]), str(row["groups"]))
    screen.out.print(table)
    for line in (*summary["notes"], summary["message"]):
        if line:
            screen.say(line)


def _table(name: str, rows: list[Row], summary: dict[str, Any]) -> Table:
    table = Table(
        title=f"{name} with the grades · {screen.escape(summary['edition'])}, {summary['items']} items",
        caption=f"95% intervals, items resampled · judgments by {screen.escape(summary['writer'])}",
    )
    for head in ("Metric", "all reviews", "p", "within items", "length held fixed", "less that of length", "n"):
        table.add_column(head, justify="left" if head == "Metric" else "right")
    order = in_order(row["metric"] for row in rows)
    for row in sorted(rows, key=lambda row: order.index(row["metric"])):
        title = recipe_of(row["metric"]).title
        if row["value"] is None:
            table.add_row(title, screen.escape(row["problem"]), "–", "–", "–", "–", str(row["reviews"]))
            continue
        table.add_row(
            title, _cell(row, "value", "low", "high"), f"{row['p']:.1e}",
            *(_cell(row, what, f"{what}_low", f"{what}_high") for what in ("within", "at_length", "over_length")),
            str(row["reviews"]),
        )  # fmt: skip
    return table


def _cell(row: Row, value: str, low: str, high: str) -> str:
    return "–" if row[value] is None else f"{row[value]:+.3f} ({row[low]:+.3f}, {row[high]:+.3f})"

"""``gre-bench compare``: a run beside published numbers, two boards by rank, a board with other benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.boards.compare_benchmarks import read_benchmarks
from flows.boards.compare_sides import Side, from_run, from_table
from flows.commands import options
from flows.screens import comparison as shown
from flows.screens import screen
from tasks import comparison, published
from tasks.errors import SettingsError

_FIELDS = ("evaluation_lm", "lm_digest", "writer", "synopsis_writer", "form", "ascii_fold")

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN]...", help="Edition, or a file of leaderboard --json or validate --json; with --in: candidates."
    ),
]
Published = Annotated[
    list[str] | None,
    typer.Option("--published", help="Table of Xu et al. 2025: table1 to table14; repeatable."),
]
Boards = Annotated[
    list[str] | None, typer.Option("--board", help="Leaderboard: edition, or file of leaderboard --json; repeatable.")
]
Benchmarks = Annotated[
    Path | None, typer.Option("--benchmarks", help="CSV of model,benchmark,value: correlations as in table 5.")
]
Inside = Annotated[
    str | None, typer.Option("--in", help="Edition; the two things compared are candidates of it, paired by paper.")
]


def register(app: typer.Typer) -> None:
    """Adds the command to *app*."""
    app.command(epilog=options.EXIT_CODES)(compare)


def compare(
    runs: Runs = None,
    table: Published = None,
    board: Boards = None,
    benchmarks: Benchmarks = None,
    inside: Inside = None,
    metric: options.Metric = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Compare two things: published tables, leaderboards, candidates, a run's effects; a board with other benchmarks.

    Two leaderboards: Spearman per metric over the models that both rank, with what the paper's text prints. Effects of
    changes (tables 2-4, 8, 9, 11-14) or grades (table 1): side by side. With --benchmarks and one leaderboard:
    Spearman and Pearson per metric and benchmark; missing entries are left out and counted.
    """
    if inside is not None:
        from flows.boards.compare_candidates import compare_candidates

        told = compare_candidates(state, inside, list(runs or ()), metric)
        return screen.print_json(told) if as_json else shown.show_candidates(told)
    tables = [from_table(name) for name in table or ()]
    kind = "effects" if any(side.kind == "effects" for side in tables) and benchmarks is None else "board"
    sides = [
        *tables,
        *(from_run(name, "board", state) for name in board or ()),
        *(from_run(name, kind, state) for name in runs or ()),
    ]
    if benchmarks is not None:
        found = _correlate(sides, benchmarks)
    elif len(sides) != 2:
        raise SettingsError(
            f"compare sets two things beside each other, got {len(sides)}; see: gre-bench compare --help"
        )
    elif {side.kind for side in sides} == {"board"}:
        found = _rank(*sides)
    elif len({side.kind for side in sides}) == 1:
        found = {"beside": [asdict(row) for row in comparison.beside(*(side.figures for side in sides))]}
    else:
        raise SettingsError(f"{sides[0].name} and {sides[1].name} do not hold the same kind of number")
    left_out = {side.name: side.left_out for side in sides if side.left_out}
    found = {"compared": [side.name for side in sides], **found, "left_out": left_out}
    if as_json:
        return screen.print_json(found)
    shown.show(found)


def _rank(one: Side, other: Side) -> dict[str, Any]:
    """Consistency of two boards, per metric; beside a published one also the scores themselves."""
    rows = comparison.consistency(one.figures, other.figures)
    metrics = [row.metric for row in rows]
    if not rows:
        raise SettingsError(f"{one.name} and {other.name} have no metric in common")
    printed = published.printed_consistency(one.name, other.name)
    found: dict[str, Any] = {"consistency": [{**asdict(row), "printed": printed.get(row.metric)} for row in rows]}
    if one.signatures is not None and other.signatures is not None:
        found["differ_in"] = _differences(one.signatures.get(metrics[0], {}), other.signatures.get(metrics[0], {}))
    if (one.signatures is None) != (other.signatures is None):
        figures = ([figure for figure in side.figures if figure.metric in metrics] for side in (one, other))
        # Scores of different signatures: their ranks compare, a difference of theirs says nothing.
        no_difference = {"difference": None, "overlap": None}
        found["beside"] = [{**asdict(row), **no_difference} for row in comparison.beside(*figures)]
    return found


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Which parts of two signatures of a metric differ, and how."""
    return {name: [one.get(name), other.get(name)] for name in _FIELDS if one.get(name) != other.get(name)}


def _correlate(sides: Sequence[Side], benchmarks: Path) -> dict[str, Any]:
    if len(sides) != 1 or sides[0].kind != "board":
        raise SettingsError("--benchmarks takes one leaderboard: an edition, a file, or --published table6")
    values, blank = read_benchmarks(benchmarks)
    models = {figure.item for figure in sides[0].figures}
    unknown = sorted({model for of_models in values.values() for model in of_models} - models)
    table5 = {(figure.metric, figure.item): figure.value for figure in published.load("table5")}
    return {
        "benchmarks": [
            {**asdict(row), "printed": table5.get((row.metric, row.benchmark.lower().replace("-", "_")))}
            for row in comparison.with_benchmarks(sides[0].figures, values)
        ],
        "blank_entries": blank,
        "models_not_on_the_board": unknown,
    }

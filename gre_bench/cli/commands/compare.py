"""``gre-bench compare``: runs beside published numbers, boards, releases, candidates, evaluation LMs, benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import comparison as shown
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError
from gre_bench.ranking import comparison
from gre_bench.reports.compare_boards import correlated, ranked
from gre_bench.reports.compare_sides import from_run, from_table
from gre_bench.store import Store

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN]...",
        help="Edition, release, or a file of leaderboard --json or validate --json; with --in: candidates or LMs.",
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
    str | None, typer.Option("--in", help="Edition; compared are two candidates of it, or two of its evaluation LMs.")
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
    """Compare two things: published tables, leaderboards, releases, candidates, evaluation LMs, a run's effects.

    Two leaderboards: Spearman per metric over the models that both rank, with what the paper's text prints. Two
    releases: what changed, of scores as far as they compare, and of all that they rest on. Effects of changes (tables
    2-4, 8, 9, 11-14) or grades (table 1): side by side. With --benchmarks and one leaderboard: Spearman and Pearson
    per metric and benchmark; missing entries are left out and counted.
    """
    if inside is not None:
        return _within(inside, list(runs or ()), metric, state, as_json)
    if runs and len(runs) == 2 and not (table or board or benchmarks) and _are_releases(runs, state):
        from gre_bench.cli.views.comparison_releases import show_releases
        from gre_bench.reports.compare_releases import compare_releases

        told = compare_releases((runs[0], runs[1]), state)
        return screen.print_json(told) if as_json else show_releases(told)
    tables = [from_table(name) for name in table or ()]
    kind = "effects" if any(side.kind == "effects" for side in tables) and benchmarks is None else "board"
    sides = [
        *tables,
        *(from_run(name, "board", state) for name in board or ()),
        *(from_run(name, kind, state) for name in runs or ()),
    ]
    if benchmarks is not None:
        found = correlated(sides, benchmarks)
    elif len(sides) != 2:
        raise SettingsError(
            f"compare sets two things beside each other, got {len(sides)}; see: gre-bench compare --help"
        )
    elif {side.kind for side in sides} == {"board"}:
        found = ranked(*sides)
    elif len({side.kind for side in sides}) == 1:
        found = {"beside": [asdict(row) for row in comparison.beside(*(side.figures for side in sides))]}
    else:
        raise SettingsError(f"{sides[0].name} and {sides[1].name} do not hold the same kind of number")
    left_out = {side.name: side.left_out for side in sides if side.left_out}
    found = {"compared": [side.name for side in sides], **found, "left_out": left_out}
    if as_json:
        return screen.print_json(found)
    shown.show(found)


def _within(edition: str, names: list[str], metrics: list[str] | None, state: Path, as_json: bool) -> None:
    """Two candidates of one edition, or two of its evaluation LMs."""
    from gre_bench.cli.views.comparison_lms import show_lms
    from gre_bench.reports.compare_candidates import compare_candidates
    from gre_bench.reports.compare_lms import are_lms, compare_lms

    if len(names) == 2 and are_lms(Store(state, edition), names):
        told = compare_lms(state, edition, names, metrics)
        return screen.print_json(told) if as_json else show_lms(told)
    told = compare_candidates(state, edition, names, metrics)
    return screen.print_json(told) if as_json else shown.show_candidates(told)


def _are_releases(names: Sequence[str], state: Path) -> bool:
    """Whether both are; `SettingsError` where one is and the other is not."""
    from gre_bench.reports.release_rows import release_folder

    found = [release_folder(name, state) is not None for name in names]
    if any(found) and not all(found):
        raise SettingsError(f"{names[found.index(False)]} is no release; a release is compared with a release")
    return all(found)

"""``gre-bench compare``: compares boards, releases, candidates or evaluation LMs, or a run with a published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import completion, options
from gre_bench.cli.commands.running import folder_to_write
from gre_bench.cli.views import comparison as shown
from gre_bench.cli.views import screen
from gre_bench.cli.views.board_formats import show_written
from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import edition_parts
from gre_bench.ranking.published import beside
from gre_bench.reports.comparisons import (
    TABLES,
    Side,
    correlated,
    from_run,
    from_table,
    printed_study,
    ranked,
    run_study,
)
from gre_bench.store import Store, find_editions
from gre_bench.store.queries import CANDIDATES, PLANNED_SIGNATURES

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME",
        help="Edition, release, or file of leaderboard --json or study validate --json; with --edition: candidates or "
        "evaluation LMs.",
    ),
]
Published = Annotated[
    list[str] | None,
    typer.Option(
        "--published", metavar="TABLE", autocompletion=completion.published_tables,
        help="Table of Xu et al. 2025 (table1 to table14), or for a study 001_table1, 003_table8, ...; repeatable.",
    ),
]  # fmt: skip
Benchmarks = Annotated[
    Path | None,
    typer.Option("--benchmarks", metavar="FILE", help="CSV of model,benchmark,value: correlations as in table 5."),
]
WithinEdition = Annotated[
    str | None,
    typer.Option(
        "--edition", "-e", metavar="EDITION", autocompletion=completion.editions,
        help="Compare two candidates of this edition, or two of its evaluation LMs.",
    ),
]  # fmt: skip
Contrasts = Annotated[
    Path | None,
    typer.Option("--contrasts", metavar="FILE", help="TOML of contrasts fixed beforehand, tested on one edition."),
]
Figures = Annotated[
    Path | None,
    typer.Option("--figures", metavar="FOLDER", help="Draw the one --published board into this folder, with a page."),
]


def compare(
    runs: Runs = None,
    table: Published = None,
    benchmarks: Benchmarks = None,
    edition: WithinEdition = None,
    contrasts: Contrasts = None,
    figures: Figures = None,
    metric: options.Metric = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Compare two boards, releases, candidates or evaluation LMs.

    Two boards: Spearman per metric over the models that both rank. Two releases: which scores changed, and on what data
    and settings each rests. Effects of changes (tables 2-4, 8, 9, 11-14) or grades (table 1): side by side. With
    --benchmarks and one board: Spearman and Pearson per metric and benchmark, with the number of missing entries. With
    --contrasts and one edition: differences fixed beforehand, plain and at equal length, corrected together.
    """
    if figures is not None:
        if len(table or ()) != 1 or runs or benchmarks or edition:
            raise SettingsError("--figures draws one published board: name it with --published and leave out the rest")
        return _draw((table or [""])[0], figures, as_json)
    if contrasts is not None:
        if table or benchmarks or len(runs or ()) + (edition is not None) > 1:
            raise SettingsError("--contrasts tests a file on one edition: gre-bench compare EDITION --contrasts FILE")
        return _contrasts(edition or (runs[0] if runs else None), contrasts, metric, state, as_json)
    edition = edition or _the_only_edition(runs or (), bool(table or benchmarks), state)
    if edition is not None:
        return _within(edition, list(runs or ()), metric, state, as_json)
    _sides_by_side(list(runs or ()), list(table or ()), benchmarks, state, as_json)


def _sides_by_side(runs: list[str], tables: list[str], benchmarks: Path | None, state: Path, as_json: bool) -> None:
    """Compares two releases, or two sides that are boards or effects of changes, and prints the result."""
    if len(runs) == 2 and not (tables or benchmarks) and _are_releases(runs, state):
        from gre_bench.cli.views.comparison_releases import show_releases
        from gre_bench.reports.comparisons import compare_releases

        report = compare_releases((runs[0], runs[1]), state)
        return screen.print_json(report) if as_json else show_releases(report)
    if not tables:
        _look_like_boards(runs)
    report = _compared(_sides(runs, tables, benchmarks, state), benchmarks)
    if as_json:
        return screen.print_json(report)
    shown.show(report)


def _the_only_edition(names: Sequence[str], other: bool, state: Path) -> str | None:
    """Returns the only edition under *state* if *names* are two of its candidates or evaluation LMs; else None.

    *other*: whether the comparison has a side that is not in *names*.
    """
    editions = find_editions(state)
    if other or len(names) != 2 or len(editions) != 1:
        return None
    store = Store(state, next(iter(editions)))
    if not store.read_file.is_file():
        return None
    known = {row["candidate_id"] for row in store.read(CANDIDATES)} | {
        row["evaluation_lm"] for row in store.read(PLANNED_SIGNATURES)
    }
    return (
        store.key if all(any(each == name or each.endswith(f"/{name}") for each in known) for name in names) else None
    )


def _look_like_boards(names: Sequence[str]) -> None:
    """Raises `SettingsError` if one of *names* is neither a file nor written like an edition.

    The user has then probably named candidates, and the message says how to compare candidates.
    """
    for name in names:
        try:
            if not Path(name).exists():
                edition_parts(name)
        except SettingsError as error:
            if Path(name).suffix or ("/" in name and Path(name).parent.is_dir()):
                continue
            raise SettingsError(
                f"{name} is no edition, release or file; two candidates of an edition: "
                "gre-bench compare A B --edition EDITION"
            ) from error


def _sides(runs: Sequence[str], tables: Sequence[str], benchmarks: Path | None, state: Path) -> list[Side]:
    """Returns the sides to compare: first one for each of the published *tables*, then one for each of *runs*.

    A side holds either a board, or the effects of changes on scores. The sides of *runs* hold effects if a table does
    and *benchmarks* is None; otherwise they hold boards. Raises `SettingsError` if a table and the runs cannot be
    compared.
    """
    if tables and tables[0] in TABLES:
        if len(tables) != 1 or len(runs) != 1 or benchmarks:
            raise SettingsError(f"{tables[0]} stands beside one study: gre-bench compare --published {tables[0]} STUDY")
        return [printed_study(tables[0]), run_study(runs[0], tables[0], state)]
    published = [from_table(name) for name in tables]
    kind = "effects" if any(side.kind == "effects" for side in published) and benchmarks is None else "board"
    return [
        *published,
        *(from_run(name, kind, state) for name in runs),
    ]


def _compared(sides: Sequence[Side], benchmarks: Path | None) -> dict[str, Any]:
    """Returns the comparison of *sides*.

    Two sides are compared with each other. If *benchmarks* is given, one side is correlated with the scores in that
    file. Raises `SettingsError` if the sides cannot be compared.
    """
    if benchmarks is not None:
        report = correlated(sides, benchmarks)
    elif len(sides) != 2:
        raise SettingsError(
            f"compare sets two things beside each other, got {len(sides)}; name two editions, "
            "releases or files, or two candidates with --edition"
        )
    elif {side.kind for side in sides} == {"board"}:
        report = ranked(*sides)
    elif len({side.kind for side in sides}) == 1:
        report = {"beside": [asdict(row) for row in beside(*(side.figures for side in sides))]}
    else:
        raise SettingsError(f"{sides[0].name} and {sides[1].name} do not hold the same kind of number")
    left_out = {side.name: side.left_out for side in sides if side.left_out}
    return {"compared": [side.name for side in sides], **report, "left_out": left_out}


def _within(edition: str, names: list[str], metrics: list[str] | None, state: Path, as_json: bool) -> None:
    """Compares two candidates, or two evaluation LMs, of one *edition*, and prints the result.

    *names* are the two candidates or evaluation LMs. If *metrics* is given, only these metrics are compared.
    """
    from gre_bench.cli.views.comparison_lms import show_lms
    from gre_bench.reports.contrasts import are_lms, compare_candidates, compare_lms

    if len(names) == 2 and are_lms(Store(state, edition), names):
        report = compare_lms(state, edition, names, metrics)
        return screen.print_json(report) if as_json else show_lms(report)
    report = compare_candidates(state, edition, names, metrics)
    return screen.print_json(report) if as_json else shown.show_candidates(report)


def _contrasts(edition: str | None, path: Path, metrics: list[str] | None, state: Path, as_json: bool) -> None:
    """Tests the contrasts of the file *path* on *edition*, or on the only one, and prints the result."""
    from gre_bench.cli.views.comparison_contrasts import show_contrasts
    from gre_bench.reports.contrasts import compare_contrasts
    from gre_bench.reports.signatures import the_edition

    report = compare_contrasts(state, the_edition(edition, state), path, metrics)
    return screen.print_json(report) if as_json else show_contrasts(report)


def _draw(table: str, folder: Path, as_json: bool) -> None:
    """Draws the published *table*: writes figures and a page into *folder*, and prints the names of the files."""
    from gre_bench.reports.publishing import plot_table

    show_written(plot_table(table, folder_to_write(folder)), table, as_json)


def _are_releases(names: Sequence[str], state: Path) -> bool:
    """Returns whether *names* are two releases; raises `SettingsError` if only one of them is a release."""
    from gre_bench.reports.board_rows import release_folder

    are_releases = [release_folder(name, state) is not None for name in names]
    if any(are_releases) and not all(are_releases):
        raise SettingsError(f"{names[are_releases.index(False)]} is no release; a release is compared with a release")
    return all(are_releases)

"""``gre-bench compare``: compares boards, releases, candidates or evaluation LMs, or a run with a published table."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import EDITIONS, argument, option
from gre_bench.cli.commands.running import check_output_folder
from gre_bench.cli.views import comparison as shown
from gre_bench.cli.views import screen
from gre_bench.cli.views.formats import show_written
from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.core.records import HUMAN, parse_edition_key
from gre_bench.reports.signatures import resolve_edition
from gre_bench.store import Store, find_editions
from gre_bench.store.queries import CANDIDATES, PLANNED_SIGNATURES


def _complete_tables(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    from gre_bench.ranking.published_boards import tables

    return list(tables())


def compare(
    *,
    state: Path,
    runs: list[str] | None = argument(
        "NAME",
        "Edition, release, or file of leaderboard --json or study validate --json; with --edition: candidates or "
        "evaluation LMs.",
        None,
    ),
    table: list[str] | None = option(
        "--published TABLE",
        "Table of Xu et al. 2025, table1 to table14; repeatable.",
        None,
        autocompletion=_complete_tables,
    ),
    edition: str | None = option(
        "--edition -e EDITION",
        "Compare two candidates of this edition, or two of its evaluation LMs.",
        None,
        **EDITIONS,
    ),
    contrasts: Path | None = option(
        "--contrasts FILE", "TOML of contrasts, tested on one edition; fix it before the scores.", None
    ),
    figures: Path | None = option(
        "--figures FOLDER", "Draw the one --published board into this folder, with a page.", None
    ),
    metric: options.Metric = None,
    details: bool = option("--details", "Two releases or candidates: also every row and value that differs.", False),
) -> CommandResult:
    """Compare two boards, releases, candidates or evaluation LMs.

    Two boards: Spearman per metric over the models that both rank. Two releases: which scores changed, and which data
    and settings differ. Effects of perturbations (tables 2-4, 8, 9, 11-14) or grades (table 1): side by side. With
    --contrasts and one edition: the differences that the file names, also at equal length, corrected together.
    """
    names, published = list(runs or ()), list(table or ())
    if figures is not None:
        if len(published) != 1 or names or edition:
            raise SettingsError("--figures draws one published board: name it with --published and leave out the rest")
        from gre_bench.reports.publish_editions import plot_table

        drawn = plot_table(published[0], check_output_folder(figures))
        return CommandResult([str(path) for path in drawn], lambda paths: show_written(paths, published[0]))
    if contrasts is not None:
        if published or len(names) + (edition is not None) > 1:
            raise SettingsError("--contrasts tests a file on one edition: gre-bench compare EDITION --contrasts FILE")
        from gre_bench.reports.contrasts import compute_contrasts_of_file

        edition = resolve_edition(edition or (names[0] if names else None), state)
        return CommandResult(compute_contrasts_of_file(state, edition, contrasts, metric), shown.show_contrasts)
    edition = edition or _find_edition_with_all_names(names, bool(published), state)
    if edition is not None:
        from gre_bench.reports.contrasts import are_evaluation_lm_names, compare_candidates, compare_lms

        if len(names) == 2 and are_evaluation_lm_names(Store(state, edition), names):
            return CommandResult(compare_lms(state, edition, names, metric), shown.show_lm_agreement)
        report = compare_candidates(state, edition, names, metric)
        both = [shlex.quote(screen.remove_control_characters(name)) for name in report["compared"]]
        who, where = both[both[0] == HUMAN], screen.format_state_option(state)

        def show_both(_: Any) -> None:
            shown.show_candidate_comparison(report, details)
            screen.say(f"next: gre-bench why {report['edition']} {who}{where}   # its best and worst papers")
            if not details:
                more = f"gre-bench compare {' '.join(both)} --details -e {report['edition']}{where}"
                screen.say(f"      {more}   # by paper, minus the score by chance")

        return CommandResult(report, show_both)
    if len(names) == 2 and not published and _are_releases(names, state):
        from gre_bench.reports.comparisons import compare_releases

        report = compare_releases((names[0], names[1]), state)

        def show_both_releases(_: Any) -> None:
            shown.show_release_comparison(report, details)
            if not details:
                both, where = " ".join(map(shlex.quote, names)), screen.format_state_option(state)
                screen.say(f"next: gre-bench compare --details {both}{where}   # every score and setting that differs")

        return CommandResult(report, show_both_releases)
    if not published:
        _check_board_names(names)
    return CommandResult(_compare_boards_or_effects(names, published, state), shown.show_side_comparison)


def _find_edition_with_all_names(names: Sequence[str], other: bool, state: Path) -> str | None:
    """Returns the only edition in which both *names* are candidates or LMs; None if there is no such edition.

    *other*: whether the user compares anything else too; then the result is None.
    """
    if other or len(names) != 2:
        return None
    holders = [key for key in find_editions(state) if _has_all_candidates_or_lms(Store(state, key), names)]
    return holders[0] if len(holders) == 1 else None


def _has_all_candidates_or_lms(store: Store, names: Sequence[str]) -> bool:
    """Whether all *names* are candidates or evaluation LMs of the edition *store*; False if it cannot be read."""
    try:
        known = {row["candidate_id"] for row in store.read(CANDIDATES)}
        known |= {row["evaluation_lm"] for row in store.read(PLANNED_SIGNATURES)}
    except (StoreError, SettingsError):
        return False
    return all(any(each == name or each.endswith(f"/{name}") for each in known) for name in names)


def _check_board_names(names: Sequence[str]) -> None:
    """Raises `SettingsError` if one of *names* can be neither a file nor an edition.

    The message says how to compare candidates.
    """
    for name in names:
        try:
            if not Path(name).exists():
                parse_edition_key(name)
        except SettingsError as error:
            if Path(name).suffix or ("/" in name and Path(name).parent.is_dir()):
                continue
            raise SettingsError(
                f"{name} is no edition, release or file; two candidates of an edition: "
                "gre-bench compare A B --edition EDITION"
            ) from error


def _compare_boards_or_effects(runs: Sequence[str], tables: Sequence[str], state: Path) -> dict[str, Any]:
    """Compares two sides, each a board or the effects of perturbations: the published *tables*, then the *runs*."""
    from gre_bench.ranking.published_boards import compare_printed_with_computed
    from gre_bench.reports.comparisons import compare_rankings, load_run_side, load_table_side

    sides = [load_table_side(name) for name in tables]
    kind = "effects" if any(side.kind == "effects" for side in sides) else "board"
    sides += [load_run_side(name, kind, state) for name in runs]
    if len(sides) != 2:
        raise SettingsError(
            f"compare sets two things beside each other, got {len(sides)}; name two editions, "
            "releases or files, or two candidates with --edition"
        )
    elif {side.kind for side in sides} == {"board"}:
        report = compare_rankings(*sides)
    elif len({side.kind for side in sides}) == 1:
        report = {"beside": [asdict(row) for row in compare_printed_with_computed(*(side.figures for side in sides))]}
    else:
        raise SettingsError(f"{sides[0].name} and {sides[1].name} do not hold the same kind of number")
    left_out = {side.name: side.left_out for side in sides if side.left_out}
    return {"compared": [side.name for side in sides], **report, "left_out": left_out}


def _are_releases(names: Sequence[str], state: Path) -> bool:
    """Whether *names* are two releases; raises `SettingsError` if only one of them is a release."""
    from gre_bench.reports.board_rows import release_folder

    are_releases = [release_folder(name, state) is not None for name in names]
    if any(are_releases) and not all(are_releases):
        raise SettingsError(f"{names[are_releases.index(False)]} is no release; a release is compared with a release")
    return all(are_releases)

"""``gre-bench leaderboard``, ``history`` and ``view``: show a board, compare years, and show both in a browser.

None of these commands waits for a run.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from gre_bench.board.committee_curve import read_scores_by_committee_size
from gre_bench.board.family import list_pairwise_test_rows, read_candidate_orders_by_signature
from gre_bench.board.tipping import describe_ai_reference_tipping_share
from gre_bench.board.words import (
    choose_headline_signature,
    explain_missing_human_baseline,
    format_headline_warning,
    format_p_value,
    format_score,
    format_with_interval_half_width,
    summarise_board,
    warn_of_few_papers,
)
from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import EDITIONS, argument, option
from gre_bench.cli.commands.running import check_output_folder
from gre_bench.cli.views import board_screen as shown
from gre_bench.cli.views.fitted import FittedColumn, print_fitted_table
from gre_bench.cli.views.formats import Format, show_written, write_rows
from gre_bench.cli.views.screen import format_state_option, remove_control_characters, say, say_nonempty
from gre_bench.core.errors import SettingsError, Stopped
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN
from gre_bench.reports.correctness import format_correctness_line, load_flaw_results
from gre_bench.reports.signatures import headline_metric, resolve_edition, shown_signatures
from gre_bench.store import Store
from gre_bench.store.queries import (
    CLEAN_GAP,
    EXPOSURES,
    JUDGED_EXAMPLES,
    LEADERBOARD,
    OUTCOMES,
    SAMPLED_STRATA,
    SEPARATION,
    STRATA,
    UNCOVERED,
    VALIDATIONS,
    CleanGapRow,
    LeaderboardRow,
)


class Board(StrEnum):
    clean = "clean"
    all = "all"


MARKDOWN_COLUMNS = (
    "metric", "rank", "candidate", "group_name", "score", "low", "high", "vs_human", "p", "above_chance", "scored",
    "expected", "unranked",
)  # fmt: skip
"""The columns of a board in Markdown, which people read; the other formats have all columns."""


def _read_contamination_gaps(store: Store, ids: list[str], rows: Sequence[LeaderboardRow]) -> list[CleanGapRow]:
    """Returns the score gaps between contaminated and other models; an empty list if no group of *rows* has both."""
    models = {(row["group_name"], row["contamination"] == "contaminated") for row in rows if row["kind"] == "model"}
    has_both = any((group, not is_contaminated) in models for group, is_contaminated in models)
    return store.read(CLEAN_GAP, signature_ids=ids) if has_both else []


def _drop_validation_times(validations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "validated_at"} for row in validations]


def leaderboard(
    *,
    state: Path,
    quiet: bool,
    edition: options.OneEdition = None,
    metric: options.Metric = None,
    board: Board = option(
        "--board", "clean: no rank for models that may have read the reviews; all: a rank for every model.", Board.clean
    ),
    every: bool = option("--all", "Print the boards of all metrics and groups in full.", False),
    details: bool = option(
        "--details", "Also what the columns mean, ties, length, cost, scores by kind of paper.", False
    ),
    form: options.Form = Format.table,
    out: options.Out = None,
    figures: options.Figures = None,
) -> CommandResult | None:
    """Show an edition's board: who leads, scores and ranks.

    The first lines say who leads, who is not told apart, and who is not ranked. Then comes the board of the headline
    metric, and one line for each other metric. The command never waits for a run. With --figures it writes pictures of
    the boards instead, and prints their paths.
    """
    store = Store(state, resolve_edition(edition, state))
    if figures is not None:
        if metric or out or form is not Format.table:
            raise SettingsError("--figures draws the whole board: leave out --metric, --format and --out")
        from gre_bench.reports.publish_editions import plot_edition

        drawn = plot_edition(store, check_output_folder(figures))
        return CommandResult([str(path) for path in drawn], lambda paths: show_written(paths, store.key))
    signatures = shown_signatures(store, metric)
    ids = [row["signature_id"] for row in signatures]
    rows = store.read(LEADERBOARD, signature_ids=ids, board=board.value)
    if form is not Format.table:
        return write_rows(rows, list(MARKDOWN_COLUMNS if form is Format.markdown else rows[0]), form, out, state)
    wanted = None if metric else headline_metric(store)
    separations = store.read(SEPARATION, signature_ids=ids) if quiet or details else []
    validations = store.read(VALIDATIONS, signature_ids=ids)
    exposures, uncovered = store.read(EXPOSURES), store.read(UNCOVERED, signature_ids=ids)
    gaps = _read_contamination_gaps(store, ids, rows)
    report: dict[str, Any] = {}
    first = choose_headline_signature(rows, wanted) if rows else ""
    own = [row for row in rows if row["signature_id"] == first]
    orders = read_candidate_orders_by_signature(store.read, rows, board.value)
    tipping = describe_ai_reference_tipping_share(store.read, first, own)
    if quiet:
        also = {
            "lacks": format_headline_warning(rows, wanted),
            "no_human": explain_missing_human_baseline(own),
            "tipping": tipping,
        }
        first_board = {"metric": own[0]["metric"], "answer": summarise_board(own, orders[first])}
        first_board |= {name: text for name, text in also.items() if text}
        report = {
            "edition": store.key, "headline": first_board, "signatures": signatures, "rows": rows,
            "pair_tests": [row for each in orders.values() for row in list_pairwise_test_rows(each)],
            "separation": separations, "validations": _drop_validation_times(validations), "exposures": exposures,
            "contamination_gap": gaps,
            "outcomes": store.read(OUTCOMES), "uncovered": uncovered, "papers": store.read(SAMPLED_STRATA),
            "strata": store.read(STRATA, signature_ids=ids), "correctness": load_flaw_results(store),
            "committee": read_scores_by_committee_size(store.read, first, own),
        }  # fmt: skip

    def show_board(_: Any) -> None:
        tests = separations, exposures, gaps if board is Board.clean else ()
        shown.show_leaderboard(store.key, rows, signatures, orders, *tests, details, wanted, every or bool(metric),
                               validations=validations)  # fmt: skip
        shown.show_candidates_lacking_reviews(uncovered)
        say_nonempty([tipping])
        measured = load_flaw_results(store)
        if measured or details:
            say(format_correctness_line(measured))
        _print_next_command(store.key, own, state)
        if details:
            if measured:
                shown.show_flaw_detection(measured)
            writers = sorted({row["writer"] for row in signatures})
            for row in store.read(JUDGED_EXAMPLES, writers=writers):
                say(f"{row['candidate_id']}, a judgment by {row['writer']}: {row['example']}")
            shown.show_request_outcomes(store.read(OUTCOMES))
            metrics = {row["signature_id"]: row["metric"] for row in signatures}
            shown.show_scores_by_stratum(store.read(SAMPLED_STRATA), store.read(STRATA, signature_ids=ids), metrics)

    return CommandResult(report, show_board)


def _print_next_command(edition: str, own: Sequence[LeaderboardRow], state: Path) -> None:
    """Prints the command that explains the score of the first model of *own*, the board of *edition*."""
    if who := next((row["candidate"] for row in own if row["kind"] == "model" and row["scored"]), ""):
        why = f"gre-bench why {edition} {shlex.quote(remove_control_characters(who))}{format_state_option(state)}"
        say(f"next: {why}   # its best and worst papers")


def history(
    *,
    state: Path,
    editions: list[str] | None = argument(
        "EDITION|VENUE", "Editions, or a venue for all of its years; default: all.", None, **EDITIONS
    ),
    anchor: list[str] | None = option(
        "--anchor -a NAME", "Candidate that every edition scores again; default: human.", None
    ),
) -> CommandResult:
    """Follow candidates through the years of a venue.

    Scores are not comparable across years, because each year has other papers. Differences to the anchors are.
    """
    from gre_bench.reports.history import compare_years as followed

    return CommandResult(followed(state, editions, None, anchor or [HUMAN]), _show_history)


def _show_history(report: dict[str, Any]) -> None:
    titles = Counter(map(_format_history_title, report["tables"]))
    for table in report["tables"]:
        own = f" · signature {table['signature_id']}" if titles[_format_history_title(table)] > 1 else ""
        _show_history_table(table, f"{_format_history_title(table)}{own}", " and ".join(report["anchors"]))
    for row in report["changes"]:
        say(
            f"{row['metric']}, {row['candidate']}, {row['from']} → {row['to']}: {format_score(row['value'])} "
            f"(90% {format_score(row['low'])} to {format_score(row['high'])}; p {format_p_value(row['p_holm'])})"
        )
    if not any(len(table["editions"]) > 1 for table in report["tables"]):
        say("no candidate was scored in two years of a venue under one signature: nothing compares across years")
    for key, papers in report["few"].items():
        say(f"{key}: {warn_of_few_papers([papers])}")
    for key, why in report["left_out"].items():
        say(f"left out: {key}: {why}")


def _format_history_title(table: dict[str, Any]) -> str:
    return f"{table['venue']} · {find_recipe(table['metric']).title}"


def _show_history_table(table: dict[str, Any], title: str, anchors: str) -> None:
    """Prints a table: a row for each candidate, and a column for each edition with the difference from the anchors.

    *anchors*: the names of the anchors, joined into one text.
    """
    lines, editions = table["lines"], table["editions"]
    papers = [" / ".join(str(row["papers"]) if row else "–" for row in line["years"]) for line in lines]
    last = [next(row for row in reversed(line["years"]) if row) for line in lines]
    columns = [FittedColumn("candidate", [remove_control_characters(line["candidate"]) for line in lines], kind="name")]
    for index, key in enumerate(editions):
        cells = [line["years"][index] for line in lines]
        columns.append(
            FittedColumn(
                key, [format_with_interval_half_width(row["difference"], row["high"]) if row else "–" for row in cells]
            )
        )
    columns += [
        FittedColumn(
            "above chance (last)",
            [format_with_interval_half_width(row["above_chance"], row["above_chance_high"]) for row in last],
            2,
        ),
        FittedColumn("papers", papers, 1),
        FittedColumn("note", [_explain_missing_ranks(line["years"], editions) for line in lines], 0, "note"),
    ]
    print_fitted_table(f"{title}: difference to {anchors}, paired by paper", columns, [""] * len(lines))


def _explain_missing_ranks(years: list[dict[str, Any] | None], editions: list[str]) -> str:
    """Returns why a candidate has no rank, or a note that its LM may have seen the reviews.

    *years*: the candidate's row for each of *editions*, or None. If the reasons differ, each edition is named.
    """
    reasons: dict[str, str] = {}
    for key, row in zip(editions, years, strict=True):
        if row and row["kind"] == "control":
            reasons[key] = "control"
        elif row and row["unranked"]:
            reasons[key] = f"no rank: {row['unranked']}"
        elif row and row["contamination"] not in ("clean", "none"):
            reasons[key] = f"reviews seen: {row['contamination']}"
    if len(set(reasons.values())) == 1 and len(reasons) == sum(row is not None for row in years):
        return next(iter(reasons.values()))
    return "; ".join(f"{key}: {reason}" for key, reason in reasons.items())


def view(
    *,
    port: int = option("--port N", "Port on this machine; 0: any free one.", 8642, min=0, max=65535),
    state: Path,
) -> None:
    """Show boards, papers and running refreshes in a browser.

    The server is read-only and answers only this machine. Ctrl-C stops it.
    """
    from gre_bench.reports.web_view import StatePages, build_server

    if not state.is_dir():
        raise SettingsError(f"there is no folder {state.absolute()}; name the right one: --state FOLDER")
    pages = StatePages(state)
    try:
        with build_server(pages, port) as server:
            say(f"http://127.0.0.1:{server.server_address[1]}/ shows {state.absolute()}; Ctrl-C stops it")
            server.serve_forever()
    except (Stopped, KeyboardInterrupt):
        say("stopped")
    finally:
        pages.close()

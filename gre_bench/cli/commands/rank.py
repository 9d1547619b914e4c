"""``gre-bench rank`` and ``remove``: put a user's own reviews on an existing board, and take a candidate off it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gre_bench.board.words import FEW, format_p_value, format_with_interval_half_width, is_validated
from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import EDITIONS, argument, option
from gre_bench.cli.commands.running import (
    ask_for_confirmation,
    choose_exit_code,
    load_run_settings,
    open_stored_edition,
)
from gre_bench.cli.views import screen
from gre_bench.cli.views.bar import show_run_progress
from gre_bench.cli.views.fitted import FittedColumn, print_fitted_table
from gre_bench.cli.views.screen import format_or_dash, say
from gre_bench.core.known_names import format_name_list
from gre_bench.core.metrics import ALPHA, find_recipe
from gre_bench.core.records import HUMAN
from gre_bench.core.settings import Settings
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.columns import ColumnOptions, parse_row_filters, parse_stated_columns
from gre_bench.pipeline.runs.prefect_engine import configure_prefect
from gre_bench.store import Row, Store
from gre_bench.store.queries import CANDIDATE_COUNTS

SHOWN_PAPERS = 3


def rank(
    *,
    state: Path,
    quiet: bool,
    file: Path = argument(
        "FILE",
        "Reviews: a table (CSV, TSV, XLSX, JSON, Parquet) with paper_id and review or judgments; a folder of texts "
        "or tables; what a known tool writes; logs of inspect_ai; or hf://datasets/OWNER/NAME/PATH.",
    ),
    edition: str = option("--edition -e EDITION", "Edition that has a board, such as ICLR-2025.", **EDITIONS),
    name: str = option("--as NAME", "Name on the board; the candidate to use if the file has several."),
    replace: bool = option(
        "--replace", "Replace all reviews that the candidate has there with those of the file.", False
    ),
    yes: options.Yes = False,
    partial: bool = option("--partial", "Leave out rows that cannot be used, instead of stopping.", False),
    writer: options.Writer = None,
    columns: options.Columns = None,
    where: options.Where = None,
    licence: options.Licence = None,
    override: options.Set = None,
) -> CommandResult:
    """Rank your own model's reviews on an edition's board.

    Imports the reviews, scores them and shows their rank. Reviews need judgments by the edition's writer. The judgments
    come from the file, or are written now with the settings of the edition's last refresh. If neither is possible, the
    command says what is missing and scores nothing. If a row cannot be used, nothing is stored, unless you give
    --partial.
    """
    store = open_stored_edition(edition, state)
    chosen = load_run_settings(None, edition, override, state)
    if replace and not yes and store.read(CANDIDATE_COUNTS, candidate=name)[0]["reviews"]:
        ask_for_confirmation(f"replace all reviews and scores of {name} in {store.key}")
    reading = ColumnOptions(parse_stated_columns(columns or ()), guess=True, where=parse_row_filters(where or ()))
    understood, summary, report = import_and_score(
        store, chosen, state, file, name, quiet, writer=writer, replace=replace, licence=licence, reading=reading,
        partial=partial,
    )  # fmt: skip

    def show_ranked(_: Any) -> None:
        _show_ranked_candidate(report, state)
        if summary["outcome"] != "done":
            say(f"{summary['outcome']}: {summary['message']}")

    return CommandResult(
        {"understood": understood, "summary": summary, **report}, show_ranked, choose_exit_code(summary)
    )


def import_and_score(
    store: Store, chosen: Settings, state: Path, file: Path, name: str, quiet: bool, **how: Any
) -> tuple[Row, dict[str, Any], dict[str, Any]]:
    """Imports the reviews in *file* into *store*, an edition of *state*, as candidate *name*, and scores them.

    *how*: further arguments of `import_candidate`. Returns the import's report, the run's summary, and the result of
    `load_candidate`.
    """
    configure_prefect(state)
    from gre_bench.pipeline.own_reviews import check_candidate_name, import_candidate
    from gre_bench.pipeline.refreshing import check_job_and_name_candidates, refresh
    from gre_bench.pipeline.runs.job import Job
    from gre_bench.reports.board_rows import load_candidate

    job = check_job_and_name_candidates(Job(chosen, state.resolve(), (check_candidate_name(name),), texts_first=True))
    job, understood = import_candidate(store, job, file, name, **how)
    if not quiet:
        _show_import_report(understood)
    with show_run_progress(store, quiet):
        summary = refresh(job)
    return understood, summary, load_candidate(store, name)


def _show_import_report(report: Row) -> None:
    columns = ", ".join(report["columns"])
    say(f"{Path(report['file']).name}: reviews by {report['candidate']}; columns read: {columns}")
    if report["ignored_columns"]:
        say(f"columns not read: {', '.join(report['ignored_columns'])}")
    screen.say_nonempty([*report["notes"], *filter(None, [report["row_counts"]])])
    if report["licence"]:
        say(report["licence_line"])
    if report["replaced"]:
        say(f"replaced: its {counted(report['replaced'], 'earlier review')}")
    outside = f"; of papers outside the sample: {counted(report['outside'], 'review')}" if report["outside"] else ""
    say(f"papers: {report['matched']} of the {report['sampled']} of {report['edition']}{outside}")
    if report["lacking"]:
        more = ", ..." if len(report["lacking"]) > SHOWN_PAPERS else ""
        say(f"without a review: {len(report['lacking'])} ({', '.join(report['lacking'][:SHOWN_PAPERS])}{more})")
    if unknown := report["unknown_papers"]:
        say(unknown["line"])
    others = [row for row in report["refusals"] if row["code"] != "unknown_paper"]
    if others:
        say(f"all refused rows: {report['refusals_file']}")
    judged = {row["candidate_id"]: row for row in (report["judged"] or {"candidates": ()})["candidates"]}
    if own := judged.get(report["candidate"]):
        medians = {name: format_or_dash(row["median_lines"], ".0f", "none") for name, row in judged.items()}
        human = f" (human {medians[HUMAN]})" if HUMAN in judged else ""
        share = f"in {own['judged']} of {counted(own['reviews'], 'review')}"
        median = medians[report["candidate"]]
        say(f"judgments a review: {median}{human}, {share}, by {report['judged']['writer']}")
        screen.say_nonempty(report["judged"]["losses"])


def _show_ranked_candidate(report: dict[str, Any], state: Path) -> None:
    rows, name, edition = report["rows"], report["candidate"], report["edition"]
    if not rows:
        state_option = screen.format_state_option(state)
        return say(f"{name} is on no board of {edition} yet: gre-bench refresh --edition {edition}{state_option}")
    first = next((row for row in rows if row["scored"]), rows[0])
    sentence, *more = describe_candidate_rank(report)
    say(sentence)
    columns = (
        FittedColumn("metric", [screen.remove_control_characters(row["metric"]) for row in rows], 0, "name"),
        FittedColumn("rank", [format_rank_with_total(row) if is_validated([row]) else "not validated" for row in rows]),
        FittedColumn("score", [format_with_interval_half_width(row["score"], row["high"]) for row in rows]),
        FittedColumn(
            "vs human", [format_with_interval_half_width(row["vs_human"], row["vs_human_high"]) for row in rows]
        ),
        FittedColumn(
            "above chance",
            [format_with_interval_half_width(row["above_chance"], row["above_chance_high"]) for row in rows],
        ),
    )
    print_fitted_table("", columns, [""] * len(rows))
    say(more[0])
    screen.say_nonempty(more[1:], "  ")
    say("next:")
    screen.say_nonempty(_list_next_commands(report, first, screen.format_state_option(state)), "  ")


def describe_candidate_rank(report: dict[str, Any]) -> list[str]:
    """Returns lines on a candidate's rank under the first metric with scores of it.

    The first line is a sentence, the second names the metric, and the others have details.
    """
    first = next((row for row in report["rows"] if row["scored"]), report["rows"][0])
    few = "; few papers, intervals may be short" if (first["papers"] or FEW) < FEW else ""
    about = (
        _describe_difference_to_human(first),
        _describe_difference_to_chance(first),
        _describe_best_and_worst_papers(report["papers"]),
    )
    return [
        _describe_rank(report["candidate"], report["edition"], first),
        f"{first['metric']} ({first['validation']}{few}):",
        *filter(None, about),
    ]


def _describe_rank(name: str, edition: str, row: Row) -> str:
    """Returns a sentence on the candidate *name*: the rank in *row*, and whether it differs from the human baseline."""
    title = find_recipe(row["metric"]).title
    if not is_validated([row]):
        return f"{name} has no rank on {edition} under {title}: the metric is not validated, so it orders nobody."
    if row["rank"] is None:
        return f"{name} has no rank on {edition} under {title}: {row['unranked']}."
    above = "" if row["vs_human"] is None else (
        "; not told apart from human" if row["p"] is None or row["p"] >= ALPHA
        else f"; {'above' if row['vs_human'] > 0 else 'below'} human"
    )  # fmt: skip
    return f"{name} has rank {format_rank_with_total(row)} on {edition} under {title}{above}."


def format_rank_with_total(row: Row) -> str:
    """Returns the rank, the number of ranked candidates, and the range that tests allow, such as ``2 of 6 (1–3)``.

    Returns a dash if there is no rank or the metric is not validated.
    """
    if row["rank"] is None or not is_validated([row]):
        return "–"
    low, high = row["rank_low"], row["rank_high"]
    sure = "" if low is None else f" ({low})" if low == high else f" ({low}–{high})"
    return f"{row['rank']} of {row['of']}{sure}"


def _describe_difference_to_human(row: Row) -> str | None:
    if row["vs_human"] is None:
        return None
    p = row["p"] if row["p"] is not None else row["p_alone"]
    if p is None:
        return f"against human: {row['vs_human']:+.2f}, not tested"
    verdict = ("above" if row["vs_human"] > 0 else "below") if p < ALPHA else "not told apart"
    if row["p"] is None:
        return (
            f"against human: {row['vs_human']:+.2f}, {verdict} (p {format_p_value(p)} alone; no rank, so not corrected)"
        )
    corrected = f"p {format_p_value(p)}, corrected for the board's {counted(row['tests'], 'test')}"
    return f"against human: {row['vs_human']:+.2f}, {verdict} ({corrected}; {format_p_value(row['p_alone'])} alone)"


def _describe_difference_to_chance(row: Row) -> str | None:
    if row["above_chance"] is None:
        return None
    sure = "above" if row["surely_above_chance"] else "not shown to be above"
    corrected, alone = row["above_chance_p_holm"], row["above_chance_p"]
    how = (
        f"p {format_p_value(alone)} alone"
        if corrected is None
        else f"p {format_p_value(corrected)}, corrected likewise"
    )
    return f"against chance, its own reviews of other papers: {sure}" + ("" if alone is None else f" ({how})")


def _describe_best_and_worst_papers(papers: list[Row]) -> str | None:
    if not papers:
        return None
    papers = [row for row in papers if row["lead"] is not None] or papers
    by = "score" if papers[0]["lead"] is None else "lead over human"
    each = [f"{row['paper_id']} {row['mean'] if row['lead'] is None else row['lead']:+.1f}" for row in papers]
    if len(each) <= 2 * SHOWN_PAPERS:
        return f"papers by {by}: {', '.join(each)}"
    return f"papers by {by}: best {', '.join(each[:SHOWN_PAPERS])}; worst {', '.join(each[: -SHOWN_PAPERS - 1 : -1])}"


def _list_next_commands(report: dict[str, Any], first: Row, in_state: str) -> list[str]:
    """Returns the commands to run next, most urgent first; *first*: the row of the first metric with scores."""
    name, edition, metric = report["candidate"], report["edition"], first["metric"]
    title, lines = find_recipe(metric).title, []
    if first["rank"] is None:
        lines += _explain_no_rank(report, first, in_state)
    if first["few_lines"]:
        lines.append("few judgments a review: see what the writer makes of the reviews first")
    if first["surely_above_chance"] is False:
        lines.append(f"not above chance under {title}: the reviews say little of their papers, or the papers are few")
    if report["papers"]:
        worst = ([row for row in report["papers"] if row["lead"] is not None] or report["papers"])[-1]["paper_id"]
        lines.append(f"gre-bench why {edition} {name} --metric {metric} --paper {worst}{in_state}")
    if report["human"] is not None:
        lines.append(f"gre-bench compare {name} human --edition {edition}{in_state}")
    lines.append(f"gre-bench leaderboard {edition} --metric {metric}{in_state}")
    return lines


def _explain_no_rank(report: dict[str, Any], first: Row, in_state: str) -> list[str]:
    """Returns why a candidate has no rank, and what to add: reviews, or judgments where its reviews have none."""
    why = f"no rank under {find_recipe(first['metric']).title}: {first['unranked']}"
    missing, silent = report["lacking"].values()
    if not silent:
        return [f"{why}; add the missing reviews to the file and repeat this" if missing else why]
    writer = next(row["writer"] for row in report["signatures"] if row["metric"] == first["metric"])
    also = f", and add the {counted(len(missing), 'missing review')}" if missing else ""
    by_rule = writer.startswith("rule-")
    return [
        f"{why}; {writer}{', which reads English sentences,' if by_rule else ''} found no judgment in the reviews of "
        f"{format_name_list(silent, SHOWN_PAPERS)}: give reviews that judge these papers{also}"
        + (", or let an LM write all judgments:" if by_rule else ""),
        *([f"gre-bench refresh --edition {report['edition']} --set writing.judgments=NAME{in_state}"] * by_rule),
    ]


def remove(
    *,
    state: Path,
    edition: options.TheEdition,
    candidate: str = argument("CANDIDATE", "Candidate, or the end of its name after a slash."),
    yes: options.Yes = False,
) -> CommandResult:
    """Remove a candidate from an edition, with all its scores.

    Its reviews and their judgments are removed too. The human baseline and the controls cannot be removed. Published
    releases do not change.
    """
    from gre_bench.pipeline.own_reviews import find_candidate
    from gre_bench.pipeline.own_reviews import remove_candidate as remove_from

    store = open_stored_edition(edition, state)
    chosen = load_run_settings(None, edition, None, state)
    match = find_candidate(store, candidate)
    name = match["candidate"]
    if not yes:
        ask_for_confirmation(f"remove {name} from {store.key}: {_format_counts(match, 'review', 'score')}")

    def show_removed(report: Row) -> None:
        counts = _format_counts(report, "review", "judgment", "score")
        say(f"removed {name} from {store.key}: {counts}; the others' ranks were tested again")
        screen.say_nonempty(report["notes"], "note: ")

    return CommandResult(remove_from(store, chosen, state.resolve(), name), show_removed)


def _format_counts(report: Row, *nouns: str) -> str:
    return ", ".join(counted(report[f"{noun}s"], noun) for noun in nouns)

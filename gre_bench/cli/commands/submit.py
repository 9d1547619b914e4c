"""``gre-bench submit`` and ``import submission``: pack reviews for a published board; check and score a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gre_bench.board.words import format_p_value, format_with_interval_half_width
from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import option
from gre_bench.cli.commands.rank import describe_candidate_rank, format_rank_with_total, import_and_score
from gre_bench.cli.commands.running import BAD_INPUT, DONE, choose_exit_code, load_run_settings
from gre_bench.cli.views import screen
from gre_bench.cli.views.fitted import FittedColumn, print_fitted_table
from gre_bench.cli.views.screen import say
from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import SourceSettings
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.columns import ColumnOptions, parse_row_filters, parse_stated_columns
from gre_bench.ingest.records.opening import resolve_local_path
from gre_bench.store import Row, Store, copy_to_scratch
from gre_bench.store.queries import LEADERBOARD

_ANSWER = "The form, one line: "


def submit(
    *,
    state: Path,
    reviews: Path = options.argument("REVIEWS", "Reviews by one candidate: any file or folder that rank reads."),
    release: str = option("--release RELEASE", "Release whose papers were reviewed: its folder, or its name."),
    name: str = option("--as NAME", "Name on the board; the candidate to use if the file has several."),
    out: Path = option("--out -o FOLDER", "New folder for the submission."),
    model: str | None = option("--model NAME", f"{_ANSWER}what wrote the reviews.", None),
    model_version: str | None = option("--model-version VERSION", f"{_ANSWER}the model's version.", None),
    date: str | None = option("--date DAY", f"{_ANSWER}when they were written, such as 2026-05-01.", None),
    prompt: str | None = option("--prompt TEXT", f"{_ANSWER}how they were written; a prompt or an address.", None),
    licence: str | None = option("--licence NAME", f"{_ANSWER}licence of the reviews, such as 'CC BY 4.0'.", None),
    contact: str | None = option("--contact WHO", f"{_ANSWER}who answers questions: e-mail or address.", None),
    columns: options.Columns = None,
    where: options.Where = None,
    partial: bool = option("--partial", "Leave out rows that cannot be used, instead of stopping.", False),
) -> CommandResult:
    """Pack a candidate's reviews for a published board.

    Reads the reviews as rank does and checks what can be checked without the board. The folder has the reviews and a
    form about them. Nothing is scored: the board's organiser does that.
    """
    from gre_bench.ingest.records.tables import read_new_reviews
    from gre_bench.pipeline.submissions import build_submission_form, find_text_faults, write_submission
    from gre_bench.release.loading import find_release
    from gre_bench.reports.board_rows import read_release_paper_ids, release_folder

    about, papers, sampled = read_release_paper_ids(release_folder(release, state) or find_release(release))
    reading = ColumnOptions(parse_stated_columns(columns or ()), guess=True, where=parse_row_filters(where or ()))
    imported = read_new_reviews(resolve_local_path(reviews), {}, {}, papers, by=name, only=True, reading=reading)
    reading.require_all_headers_used()
    if not imported.reviews:
        raise SettingsError(f"{reviews}: {imported.row_counts or 'no row'}; no row is a review of a paper of the board")
    if imported.refusals and not partial:
        raise SettingsError(f"{reviews}: {imported.row_counts}; correct these rows, or leave them out with --partial")
    own = [review for review in imported.reviews if review.text]
    answers = {
        "name": name, "model": model, "model_version": model_version, "date": date, "prompt": prompt,
        "licence": licence, "contact": contact, "release": about,
    }  # fmt: skip
    form, faults = build_submission_form(answers, own), find_text_faults(own)
    if not faults:
        write_submission(form, own, out)
    lacking = sorted({*sampled} - {review.paper_id for review in own})
    report: dict[str, Any] = {"folder": str(out), **form.model_dump(), "reviews": len(own), "refused": faults}
    report |= {"notes": imported.notes, "lacking": lacking}

    def show_packed(report: dict[str, Any]) -> None:
        screen.say_nonempty(report["notes"])
        if faults:
            return _show_refused(report)
        say(f"{out}: {counted(len(own), 'review')} by {name} for {about}, of {len(sampled) - len(lacking)} of its "
            f"{counted(len(sampled), 'paper')}")  # fmt: skip
        if lacking:
            say(f"no rank without the others: {', '.join(lacking[:3])}{', ...' if lacking[3:] else ''}")

    return CommandResult(report, show_packed, BAD_INPUT if faults else DONE)


def check_submission(folder: Path, store: Store, state: Path, add: bool, quiet: bool) -> CommandResult:
    """Checks the submission in *folder* and shows the rank that it would get on the board of *store*.

    *store*: an edition of the state folder *state*. *add*: whether to add the submission to the edition; otherwise it
    is scored in a copy. If the submission is refused, the exit code is 2, and nothing is scored.
    """
    from gre_bench.pipeline.submissions import READING, REVIEWS, check_human_texts, check_submission_folder

    if add:
        store.refuse_if_from_release()
    check_human_texts(store)
    result = check_submission_folder(store, folder)
    if result.refused and not quiet:
        screen.say_nonempty(result.notes)
    report: dict[str, Any] = {"refused": result.refused, "notes": result.notes, "added": False}
    form = result.form
    if result.refused or form is None:
        return CommandResult(report, _show_refused, BAD_INPUT)
    how: dict[str, Any] = {"licence": form.licence, "reading": READING}
    if add:
        chosen = load_run_settings(None, store.key, None, state)
        _, summary, board = import_and_score(store, chosen, state, folder / REVIEWS, form.name, quiet, **how)
        beside = _read_neighbour_rows(store, board)
    else:
        with copy_to_scratch(store) as scratch:
            folder_of_it = scratch.folder.parent.parent
            chosen = load_run_settings(None, store.key, None, folder_of_it).model_copy(
                update={"sources": SourceSettings()}
            )
            _, summary, board = import_and_score(
                scratch, chosen, folder_of_it, folder / REVIEWS, form.name, quiet, **how
            )
            beside = _read_neighbour_rows(scratch, board)
    report |= {"form": form.model_dump(), "added": add, "summary": summary, **board, "neighbours": beside}
    return CommandResult(report, _show_submission_rank, choose_exit_code(summary))


def _show_refused(report: dict[str, Any]) -> None:
    for line in report["refused"]:
        say(f"refused: {line}", screen.err)


def _read_neighbour_rows(store: Store, board: dict[str, Any]) -> list[Row]:
    """Returns a candidate's row, and the rows above and below it, on the first board that has its scores."""
    first = next((row for row in board["rows"] if row["scored"]), None)
    if first is None:
        return []
    rows = [row for row in store.read(LEADERBOARD, signature_ids=[first["signature_id"]])
            if row["group_name"] == first["group_name"] and row["score"] is not None]  # fmt: skip
    at = next(number for number, row in enumerate(rows) if row["candidate"] == board["candidate"])
    return [row | {"of": first["of"]} for row in rows[max(0, at - 1) : at + 2]]


def _show_submission_rank(report: dict[str, Any]) -> None:
    rows, summary, name = report["neighbours"], report["summary"], report["candidate"]
    if summary["outcome"] != "done":
        say(f"{summary['outcome']}: {summary['message']}", screen.err)
    if not rows:
        return say(f"{name}: no score yet")
    screen.say_nonempty(describe_candidate_rank(report))
    columns = (
        FittedColumn("rank", [format_rank_with_total(row) for row in rows]),
        FittedColumn("candidate", [screen.remove_control_characters(row["candidate"]) for row in rows], 0, "name"),
        FittedColumn("score", [format_with_interval_half_width(row["score"], row["high"]) for row in rows]),
        FittedColumn(
            "vs human", [format_with_interval_half_width(row["vs_human"], row["vs_human_high"]) for row in rows]
        ),
        FittedColumn("p", ["" if row["p"] is None else format_p_value(row["p"]) for row in rows]),
        FittedColumn(
            "above chance",
            [format_with_interval_half_width(row["above_chance"], row["above_chance_high"]) for row in rows],
            1,
        ),
    )
    print_fitted_table("", columns, ["bold" if row["candidate"] == name else "" for row in rows])
    say(f"{name} is on the board now" if report["added"] else "nothing was added; --add adds it")

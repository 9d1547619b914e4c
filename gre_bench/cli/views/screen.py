"""Output functions that all commands share: consoles, messages, counts, spending and JSON."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from rich import console, markup
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from gre_bench.core.terminal import counted, plain
from gre_bench.core.urls import without_accounts
from gre_bench.ingest.records.row_files import UNKNOWN
from gre_bench.store import Row

PIPED_WIDTH = 110
SHOWN_REFUSALS = 10
SHOWN_COLUMNS = 12
FEW_LINES = 0.5
"""A candidate is flagged if its judgments per review are fewer than this share of the humans', as on the board."""


class Console(console.Console):
    """A console that raises `BrokenPipeError` if the reader of its output closes the pipe.

    `gre_bench.cli.app.main` then ends the program quietly.
    """

    def on_broken_pipe(self) -> None:
        """Raises `BrokenPipeError`, because rich itself would exit with code 1."""
        raise BrokenPipeError


def _columns() -> int | None:
    """Returns the environment variable ``COLUMNS`` as a number; None if it is unset or not a positive number."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) else None


# Texts of papers and LMs are shown as they are: a ":name:" in them must not become an emoji.
out = Console(width=None if sys.stdout and sys.stdout.isatty() else _columns() or PIPED_WIDTH, emoji=False)
err = Console(stderr=True, emoji=False)


def line_width(console: Console) -> int | None:
    """Returns how many columns a line of *console* has; None if the output is piped and ``COLUMNS`` is unset."""
    return console.width if console.is_terminal else _columns()


def width() -> int:
    """Returns the width of standard output, in columns.

    Piped output is `PIPED_WIDTH` columns wide if the environment variable ``COLUMNS`` is unset.
    """
    return line_width(out) or PIPED_WIDTH


COMMAND = "gre-bench "
_WORDS = re.compile(r" *[^ ]+")
_ARGUMENTS = re.compile(r""" *(?:'[^']*'|"[^"]*"|[^ '"]|['"])+""")


def wrapped(line: str, columns: int | None) -> list[str]:
    """Returns *line* as lines of at most *columns* characters; unchanged if *columns* is None.

    Lines are broken between words, and a word that is too long stays whole. All lines after the first are indented by
    two more characters. A command is broken between its arguments, with the backslash that a shell needs.
    """
    if columns is None or cell_len(line) <= columns:
        return [line]
    indent = line[: len(line) - len(line.lstrip())] + "  "
    is_command = line.lstrip().startswith(COMMAND)
    first, *words = (_ARGUMENTS if is_command else _WORDS).findall(line)
    end = " \\" if is_command else ""
    lines = [first]
    for word in words:
        if cell_len(lines[-1] + word + end) <= columns:
            lines[-1] += word
        else:
            lines[-1] += end
            lines.append(indent + word.lstrip())
    return lines


def say(text: str, console: Console | None = None, style: str = "") -> None:
    """Prints *text*, without its control characters, on *console* (None: standard output).

    Lines wrap at the width that the environment variable ``COLUMNS`` sets, else at the terminal's width. Piped output
    wraps only if ``COLUMNS`` is set.
    """
    console = console or out
    for line in plain(text).split("\n"):
        for part in wrapped(line, line_width(console)):
            console.print(part, markup=False, highlight=False, soft_wrap=True, style=style or None)


def mark(word: str, colour: str, text: str, console: Console | None = None) -> None:
    """Prints *word* in *colour*, a colour or style of rich, followed by *text*; lines wrap as in `say`."""
    console = console or out
    first, *more = wrapped(f"{word} {' '.join(plain(text).split())}", line_width(console))
    opening = Text(first)
    opening.stylize(colour, 0, len(word))
    for part in (opening, *more):
        console.print(part, markup=False, highlight=False, soft_wrap=True)


def error(text: str) -> None:
    """Prints *text* as one paragraph on standard error, without user names and passwords in URLs."""
    mark("error:", "red", without_accounts(text), err)


def settle_encoding() -> None:
    """Makes standard output and standard error write escapes for characters that their encoding lacks.

    Such characters would raise an error otherwise.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """Prints *value* as JSON; raises ValueError for NaN or infinity."""
    print(json.dumps(value, indent=2, default=str, allow_nan=False))


def escape(text: object) -> str:
    """Returns *text* without terminal controls, and with its square brackets escaped so that rich reads no markup."""
    return markup.escape(plain(text))


def show_counts(metrics: Iterable[Row]) -> None:
    """Prints a table with a row for each metric: how many pairs are planned, scored, failed, excluded and missing."""
    table = Table("metric", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    states = ("planned", "scored", "failed", "excluded", "missing")
    for state in states:
        table.add_column(state, justify="right")
    for row in metrics:
        table.add_row(escape(row["metric"]), *(f"{row[state]:,}" for state in states))
    out.print(table)


def show_reasons(reasons: Iterable[Row]) -> None:
    """Prints why pairs have no score, in one line for all metrics with the same reason and number of pairs.

    For each metric, *reasons* may also have the metric ``METRIC_specific``, the score above chance. No board shows that
    metric, so it is left out if the metric itself is printed.
    """
    metrics: dict[tuple[Any, ...], list[str]] = {}
    for row in reasons:
        metrics.setdefault((row["pairs"], row["state"], row["reason"], row["example"]), []).append(row["metric"])
    for (pairs, state, reason, example), names in metrics.items():
        shown = [name for name in names if name not in {f"{other}_specific" for other in names}]
        each = " each" if shown[1:] else ""
        say(f"{', '.join(shown)}: {pairs} {state}{each}, {reason}" + (f": {example}" if example else ""))


def duration(seconds: float | None) -> str:
    """Returns *seconds* as a short text in seconds, minutes or hours."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def in_state(state: Path) -> str:
    """Returns the option that a printed command needs to work on the folder *state*; empty where it finds it anyway."""
    found_anyway = Path(os.environ.get("GRE_BENCH_STATE", "state"))
    return "" if state == found_anyway else f" --state {shlex.quote(str(state))}"


def imported(report: Row, edition: str) -> None:
    """Prints what an import added to *edition* and what it refused, with the first few refusals in full."""
    kinds = ("papers", "reviews", "judgments", "synopses", "points")
    added = ", ".join(f"{report[kind]} {kind}" for kind in kinds if report.get(kind) or kind == report["kind"])
    added = added or "nothing"
    counts = f"{report['unchanged']} known already, {report['refused']} refused"
    say(f"{Path(report['file']).name} → {edition}: {added} added, {counts}")
    if report["licence_line"]:
        say(report["licence_line"])
    if "bodies" in report:
        known = counted(report["known_papers"], "paper")
        say(f"PDFs or texts: of {report['bodies']} of {known}; frozen in {report['snapshot']}")
    for line in report.get("strange", ()):
        say(f"not understood: {line}")
    for line in report.get("notes", ()):
        say(line)
    if judged := report.get("judged"):
        _show_judged(judged, edition)
    if ignored := report["ignored_columns"]:
        more = f" and {len(ignored) - SHOWN_COLUMNS} more" if len(ignored) > SHOWN_COLUMNS else ""
        say(f"columns not read: {', '.join(ignored[:SHOWN_COLUMNS])}{more}")
    if unknown := report["unknown_papers"]:
        say(unknown["line"], err)
    others = [refusal for refusal in report["refusals"] if refusal["code"] != UNKNOWN]
    for refusal in others[:SHOWN_REFUSALS]:
        say(f"row {refusal['number']}, {refusal['item']}: {refusal['reason']}", err)
    if len(others) > SHOWN_REFUSALS:
        say(f"and {len(others) - SHOWN_REFUSALS} more", err)
    if report["refused"]:
        say(f"all refused rows: {report['refusals_file']}", err)


def _show_judged(judged: Row, edition: str) -> None:
    """Prints how many judgments the writer finds in the reviews of each imported candidate, and of humans."""
    if not judged["candidates"]:
        return say(f"judgments: {judged['writer']} writes them when {edition} is refreshed")
    human = next((row["median_lines"] for row in judged["candidates"] if row["candidate_id"] == "human"), None)
    for row in judged["candidates"]:
        if not row["judged"]:
            say(f"{row['candidate_id']}: {judged['writer']} finds no judgment in {counted(row['reviews'], 'review')}")
            continue
        beside = "" if human is None or row["candidate_id"] == "human" else f" (human {human:.0f})"
        covered = "" if row["covered"] is None else f"; words kept: {row['covered']:.0%}"
        say(
            f"{row['candidate_id']}: {judged['writer']} finds judgments in {row['judged']} of {row['reviews']} "
            f"reviews; "
            f"judgments a review: {row['median_lines']:.0f}{beside}{covered}; such as: {row['example']}"
        )
        if human is not None and row["median_lines"] < FEW_LINES * human:
            say(
                f"{row['candidate_id']}: fewer than half of the humans' judgments a review; look at what "
                f"{judged['writer']} makes of its reviews before you trust its score",
                err,
            )


def estimate(plan: Row) -> None:
    """Prints the plan of a dry run: pairs by state, texts to write, requests to pay for, and the time to score."""
    say(f"{plan['edition']}: a dry run, nothing was changed. {plan['papers']} of {counted(plan['sampled'], 'paper')}")
    show_counts(plan["metrics"])
    show_reasons([row for row in plan["reasons"] if row["state"] != "missing"])
    for kind, count in plan["to_write"].items():
        say(f"to be written first: {count} {kind}")
    for row in plan["to_buy"]:
        cost = "price unknown" if row["usd"] is None else f"{row['usd']:.2f} USD"
        tokens = f"{row['prompt_tokens']:,} prompt and {row['reply_tokens']:,} reply tokens"
        say(f"to be bought of {row['model']}: {counted(row['requests'], 'request')}, about {tokens}, {cost}")
    for line in filter(None, (row["trouble"] for row in plan["fit"])):
        say(line)
    for line in plan["over_budget"]:
        say(line)
    say(f"{counted(plan['due'], 'pair')} to score, about {duration(plan['seconds'])} ({plan['basis']})")
    if waiting := sum(row["missing"] for row in plan["metrics"]) - plan["due"]:
        say(f"{counted(waiting, 'pair')} more to score when the texts above are written; their time is not in that")
    for line in plan["notes"]:
        say(f"note: {line}")
    for row in plan["verdicts"]:
        say(f"verdict: {row['gate']}")


def status(current: Row) -> None:
    """Prints the state of one edition: progress of its run, pairs by metric, texts not written, and spending."""
    line = current["state"]
    if current["state"] == "running":
        line += (
            f", {current['stage']}, {current['done']} of {counted(current['due'], 'pair')}, "
            f"{duration(current['remaining_s'])} remaining (process {current['pid']})"
        )
    if current["message"]:
        line += f". {current['message']}"
    mark(f"{current['edition']}:", "bold", line)
    if current["metrics"]:
        show_counts(current["metrics"])
    if current["spent"]["requests"]:
        for row in current["texts"]:
            if row["outcome"] != "ok":
                say(f"{row['task']} by {row['writer']}: {row['texts']:,} {row['outcome']}")
    show_spending(current)


def show_spending(current: Row) -> None:
    """Prints what an edition or a study has spent on each model, how requests ended, and the budget left."""
    for name, spent in current["spent_by_model"].items():
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in spent["outcomes"].items())
        lost = f", {spent['unanswered']:,} without an answer, perhaps paid" if spent["unanswered"] else ""
        say(
            f"spent on {name}: {counted(spent['requests'], 'request')} ({outcomes or 'none answered'}{lost}), "
            f"{spent['prompt_tokens']:,} prompt and {spent['reply_tokens']:,} reply tokens, {spent['usd']:.2f} USD, "
            f"{duration(spent['hours'] * 3600)}"
        )
    if current["remaining"]:
        say("budget left: " + ", ".join(f"{value:,.6g} {bound}" for bound, value in current["remaining"].items()))

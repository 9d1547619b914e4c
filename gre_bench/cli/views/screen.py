"""What the command line shows: tables and one-line messages."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from rich import console, markup
from rich.table import Table

from gre_bench.core.terminal import plain
from gre_bench.core.urls import without_accounts
from gre_bench.ingest.records.merge_index import UNKNOWN
from gre_bench.store import Row

PIPED_WIDTH = 110
SHOWN_REFUSALS = 10
SHOWN_COLUMNS = 12
FEW_LINES = 0.5
"""A candidate with fewer judgments a review than this share of the humans' is flagged, here as on the board."""


class Console(console.Console):
    """A console whose reader may leave: that is no fault, and `gre_bench.cli.app.main` ends quietly."""

    def on_broken_pipe(self) -> None:
        """Lets the broken pipe fly; rich itself would end with exit code 1."""
        raise BrokenPipeError


def _piped() -> int:
    """Columns of what is no terminal: those that ``COLUMNS`` tells, else `PIPED_WIDTH`."""
    told = os.environ.get("COLUMNS", "")
    return int(told) if told.isdecimal() and int(told) else PIPED_WIDTH


# Texts of papers and of LMs are shown as they are: no ":name:" in them is a picture.
out = Console(width=None if sys.stdout and sys.stdout.isatty() else _piped(), emoji=False)
err = Console(stderr=True, emoji=False)


def width() -> int:
    """Columns that there are."""
    return out.width if out.is_terminal else _piped()


def say(text: str, console: Console | None = None) -> None:
    """One line, as it stands."""
    (console or out).print(plain(text), markup=False, highlight=False, soft_wrap=True)


def error(text: str) -> None:
    """*text* as the one line of an expected failure on standard error, without accounts of URLs."""
    line = " ".join(without_accounts(text).split())
    err.print(f"[red]error:[/red] {escape(line)}", soft_wrap=True, highlight=False)


def settle_encoding() -> None:
    """What a terminal's encoding cannot hold is shown as an escape: under ``LC_ALL=C`` no character ends a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """*value* as JSON for machines; a number that is none is a bug."""
    print(json.dumps(value, indent=2, default=str, allow_nan=False))


def escape(text: object) -> str:
    """*text* as it stands: no terminal control, no markup of rich."""
    return markup.escape(plain(text))


def show_counts(metrics: Iterable[Row]) -> None:
    """Planned pairs by metric and state."""
    table = Table("metric", "planned", "scored", "failed", "excluded", "missing")
    for row in metrics:
        table.add_row(
            row["metric"], *(str(row[name]) for name in ("planned", "scored", "failed", "excluded", "missing"))
        )
    out.print(table)


def show_reasons(reasons: Iterable[Row]) -> None:
    """Why pairs have no score, a line for each reason."""
    for row in reasons:
        example = f": {row['example']}" if row["example"] else ""
        say(f"{row['metric']}: {row['pairs']} {row['state']}, {row['reason']}{example}")


def duration(seconds: float | None) -> str:
    """*seconds* in words a person reads at a glance."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def imported(report: Row, edition: str) -> None:
    """What an import took and refused; the first refusals in full."""
    kinds = ("papers", "reviews", "judgments", "synopses")
    added = ", ".join(f"{report[kind]} {kind}" for kind in kinds if report.get(kind) or kind == report["kind"])
    added = added or "nothing"
    counts = f"{report['unchanged']} known already, {report['refused']} refused"
    say(f"{Path(report['file']).name} → {edition}: {added} added, {counts}")
    if "bodies" in report:
        say(f"PDFs or texts: of {report['bodies']} of {report['known_papers']} papers; frozen in {report['snapshot']}")
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
        say(f"row {refusal['place']}, {refusal['item']}: {refusal['reason']}", err)
    if len(others) > SHOWN_REFUSALS:
        say(f"and {len(others) - SHOWN_REFUSALS} more", err)
    if report["refused"]:
        say(f"all refused rows: {report['refusals_file']}", err)


def _show_judged(found: Row, edition: str) -> None:
    """The judgments of each candidate of an import, against the humans'."""
    if not found["candidates"]:
        return say(f"judgments: {found['writer']} writes them when {edition} is refreshed")
    human = next((row["median_lines"] for row in found["candidates"] if row["candidate_id"] == "human"), None)
    for row in found["candidates"]:
        if not row["judged"]:
            say(f"{row['candidate_id']}: {found['writer']} finds no judgment in any of {row['reviews']} reviews")
            continue
        beside = "" if human is None or row["candidate_id"] == "human" else f" (human {human:.0f})"
        kept = "" if row["covered"] is None else f"; words kept: {row['covered']:.0%}"
        say(
            f"{row['candidate_id']}: {found['writer']} finds judgments in {row['judged']} of {row['reviews']} reviews; "
            f"judgments a review: {row['median_lines']:.0f}{beside}{kept}; such as: {row['example']}"
        )
        if human is not None and row["median_lines"] < FEW_LINES * human:
            say(
                f"{row['candidate_id']}: fewer than half of the humans' judgments a review; look at what "
                f"{found['writer']} makes of its reviews before you trust its score",
                err,
            )


def estimate(found: Row) -> None:
    """What a refresh would do."""
    say(f"{found['edition']}: a dry run, nothing was changed. {found['papers']} of {found['sampled']} papers")
    show_counts(found["metrics"])
    show_reasons([row for row in found["reasons"] if row["state"] != "missing"])
    for what, count in found["to_write"].items():
        say(f"to be written first: {count} {what}")
    for row in found["to_buy"]:
        cost = "price unknown" if row["usd"] is None else f"{row['usd']:.2f} USD"
        tokens = f"{row['prompt_tokens']:,} prompt and {row['reply_tokens']:,} reply tokens"
        say(f"to be bought of {row['model']}: {row['requests']:,} requests, about {tokens}, {cost}")
    for line in filter(None, (row["trouble"] for row in found["fit"])):
        say(line)
    for line in found["over_budget"]:
        say(line)
    say(f"{found['due']} pairs to score, about {duration(found['seconds'])} ({found['basis']})")


def status(current: Row) -> None:
    """Where one edition stands."""
    line = f"[bold]{escape(current['edition'])}[/bold]: {current['state']}"
    if current["state"] == "running":
        line += (
            f", {current['stage']}, {current['done']} of {current['due']} pairs, "
            f"{duration(current['remaining_s'])} remaining (process {current['pid']})"
        )
    if current["message"]:
        line += f". {escape(current['message'])}"
    out.print(line, soft_wrap=True)
    if current["metrics"]:
        show_counts(current["metrics"])
    if current["spent"]["requests"]:
        for row in current["texts"]:
            if row["outcome"] != "ok":
                say(f"{row['task']} by {row['writer']}: {row['texts']:,} {row['outcome']}")
    show_spending(current)


def show_spending(current: Row) -> None:
    """What an edition or a study has spent on each model, what became of its requests, and what its bounds leave."""
    for name, spent in current["spent_by_model"].items():
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in spent["outcomes"].items())
        lost = f", {spent['unanswered']:,} unanswered" if spent["unanswered"] else ""
        say(
            f"spent on {name}: {spent['requests']:,} requests ({outcomes or 'none answered'}{lost}), "
            f"{spent['prompt_tokens']:,} prompt and {spent['reply_tokens']:,} reply tokens, {spent['usd']:.2f} USD, "
            f"{duration(spent['hours'] * 3600)}"
        )
    if current["remaining"]:
        say("budget left: " + ", ".join(f"{value:,.6g} {bound}" for bound, value in current["remaining"].items()))

"""What the command line shows: tables and one-line messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich import box, markup
from rich.console import Console
from rich.table import Table

from tasks.metrics.catalog import recipe_of
from tasks.store import Row, Store

PIPED_WIDTH = 110
SHOWN_REFUSALS = 10
SHOWN_COLUMNS = 12
out = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
err = Console(stderr=True)


def plain(text: object) -> str:
    """*text* without the control characters that steer a terminal."""
    return "".join(mark for mark in str(text) if mark.isprintable() or mark in "\n\t")


def say(text: str, console: Console | None = None) -> None:
    """One line, as it stands."""
    (console or out).print(plain(text), markup=False, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """*value* as JSON for machines; a number that is none is a bug."""
    print(json.dumps(value, indent=2, default=str, allow_nan=False))


def escape(text: object) -> str:
    """*text* as it stands: no terminal control, no markup of rich."""
    return markup.escape(plain(text))


NGRAM_LIMITS = (
    "cache-ngram is a small count model: its scores compare with each other only, not with GEM by an 8B model. It "
    "rewards rare words that both reviews share, and single scores vary widely: read means over many papers."
)


def show_leaderboard(edition: str, rows: Sequence[Row], signatures: Sequence[Row], separations: Sequence[Row]) -> None:
    """One table a metric, best candidate first, and what the numbers rest on."""
    by_id = {row["signature_id"]: row for row in signatures}
    auc = {row["signature_id"]: row for row in separations}
    for signature_id, group in groupby(rows, key=lambda row: row["signature_id"]):
        _metric_table(edition, list(group), by_id[signature_id], auc.get(signature_id))
    out.print(
        "nats (or the metric's unit): mean over pairs; ±: half of the 90% interval, clustered by paper or flat; "
        "− human: difference to the human baseline, paired by paper, with the p of its t test",
        style="dim",
    )
    if any(row["evaluation_lm"] == "cache-ngram" for row in signatures):
        out.print(NGRAM_LIMITS, style="dim")


def _metric_table(edition: str, rows: list[Row], signature: Row, auc: Row | None) -> None:
    pilot = (
        ""
        if rows[0]["sampled"] <= rows[0]["plan_papers"]
        else (f" · pilot: {rows[0]['plan_papers']} of {rows[0]['sampled']} papers")
    )
    table = Table(
        title=f"{escape(edition)} · {signature['metric']}{pilot}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    unit = recipe_of(signature["metric"]).unit
    for name in ("rank", "candidate", unit, "±paper", "±flat", "− human", "p", "pairs"):
        table.add_column(name, justify="left" if name == "candidate" else "right", no_wrap=True)
    notes = [_note(row) for row in rows]
    if any(notes):
        table.add_column("note")
    for row, note in zip(rows, notes, strict=True):
        name = escape(row["candidate"]) + (" (baseline)" if row["kind"] == "human" else "")
        table.add_row(
            _rank(row),
            name,
            _number(row["mean"]),
            _half(row["mean"], row["high"]),
            _half(row["mean"], row["flat_high"]),
            _difference(row),
            _p(row["difference_p"]),
            f"{row['scored']}/{0 if row['planned'] == row['excluded'] else row['expected']}",
            *([escape(note)] if any(notes) else []),
            style="bold" if row["kind"] == "human" else "dim" if row["kind"] == "control" else "",
        )
    out.print(table)
    if auc:
        out.print(
            f"AUC, {auc['same']} against {auc['other']}: {auc['auc']:.3f} (95% {auc['low']:.3f} to "
            f"{auc['high']:.3f}; {auc['same_pairs']} and {auc['other_pairs']} pairs)",
            highlight=False,
        )
    out.print(
        f"[dim]signature {signature['signature_id']}: {escape(signature['evaluation_lm'])} "
        f"{signature['lm_digest'][:8]} {signature['dtype']}, judgments by {escape(signature['writer'])}, "
        f"{signature['form']}[/dim]",
        soft_wrap=True,
        highlight=False,
    )
    validation = rows[0]["validation"]
    colour = "yellow" if validation.startswith("unvalidated") else "green"
    out.print(f"[{colour}]{escape(validation)}[/{colour}]\n", soft_wrap=True, highlight=False)


def _rank(row: Row) -> str:
    if row["rank"] is not None:
        return str(row["rank"])
    return "control" if row["kind"] == "control" else "–"


def _note(row: Row) -> str:
    unranked = row["unranked"] if row["kind"] != "control" else None
    return ", ".join(
        filter(
            None, [unranked, *(f"{row[state]} {state}" for state in ("failed", "missing", "excluded") if row[state])]
        )
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


def _half(value: float | None, end: float | None) -> str:
    return "" if value is None or end is None else f"{end - value:.2f}"


def _difference(row: Row) -> str:
    half = _half(row["difference"], row["difference_high"])
    return _number(row["difference"]) + (f" ±{half}" if half else "")


def _p(p: float | None) -> str:
    return "" if p is None else "<1e-15" if p < 1e-15 else f"{p:.1e}" if p < 0.001 else f"{p:.3f}"


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
    if ignored := report["ignored_columns"]:
        more = f" and {len(ignored) - SHOWN_COLUMNS} more" if len(ignored) > SHOWN_COLUMNS else ""
        say(f"columns not read: {', '.join(ignored[:SHOWN_COLUMNS])}{more}")
    for refusal in report["refusals"][:SHOWN_REFUSALS]:
        say(f"row {refusal['place']}, {refusal['item']}: {refusal['reason']}", err)
    if report["refused"] > SHOWN_REFUSALS:
        say(f"and {report['refused'] - SHOWN_REFUSALS} more", err)
    if report["refused"]:
        say(f"all refused rows: {report['refusals_file']}", err)


def summary(summary: Row, board: Store) -> None:
    """The board after a refresh, what has no score and why, and where the results are."""
    ids = [row["signature_id"] for row in summary["metrics"]]
    signatures = [row for row in board.read("current_signatures") if row["signature_id"] in ids]
    rows, separations = board.read("leaderboard", signature_ids=ids), board.read("separation", signature_ids=ids)
    show_leaderboard(summary["edition"], rows, signatures, separations)
    show_reasons(summary["reasons"])
    for note in summary["notes"]:
        say(f"note: {note}")
    done = f"{summary['scored_now']} pairs scored now, {summary['papers']} of {summary['sampled']} papers."
    say(f"{summary['outcome']}: {done} {summary['message']}".rstrip())
    say(f"results: {board.read_file} (DuckDB), {board.status_file}")


def estimate(found: Row) -> None:
    """What a refresh would do."""
    say(f"{found['edition']}: a dry run, nothing was changed. {found['papers']} of {found['sampled']} papers")
    show_counts(found["metrics"])
    show_reasons([row for row in found["reasons"] if row["state"] != "missing"])
    for what, count in found["to_write"].items():
        say(f"to be written first: {count} {what}")
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

"""What a candidate's reviews are like and what they cost: the second table of a board."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from flows.screens import screen
from tasks.store import Row

HEADS = ("candidate", "words", "at length", "unusable", "no judgment", "strays", "tokens in", "out", "USD",
         "learnt until", "reviews seen")  # fmt: skip
LEFT = ("candidate", "reviews seen")
OUTCOMES = ("ok", "cut", "refused", "empty", "unparsable", "rate_limited", "failed", "not_asked")


def show_details(rows: Sequence[Row]) -> None:
    """Length, the score at the human length, texts without use, tokens and money, contamination."""
    shown = [row for row in rows if row["kind"] in ("human", "model") and row["words"] is not None]
    if not shown:
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in HEADS:
        wraps = " " in name and name != "at length"
        table.add_column(name, justify="left" if name in LEFT else "right", no_wrap=not wraps)
    for row in shown:
        table.add_row(*(screen.escape(cell) for cell in _cells(row)))
    screen.out.print(table)
    if at := next((row["human_words"] for row in shown if row["human_words"]), None):
        screen.say(
            f"at length: the score at {at:.0f} words, the human length, with half of its 90% interval; *: a guess, "
            "for no text of the candidate's is as short, or as long; unusable: of "
            "the texts asked for, those without use; no judgment: of the reviews, those that judge nothing or whose "
            "judgments could not be read; strays: of "
            "the lines of judgments, those that open otherwise; –: nobody here knows"
        )


def show_outcomes(rows: Sequence[Row]) -> None:
    """What became of what LMs were asked, a row for each candidate, purpose and LM; columns of noughts are left out."""
    if not rows:
        return
    shown = [name for name in OUTCOMES if any(row[name] for row in rows)]
    table = Table(title="Asked of LMs, and what became of it", title_justify="left", box=box.SIMPLE_HEAD,
                  padding=(0, 1, 0, 0))  # fmt: skip
    for name in ("candidate", "purpose", "LM"):
        table.add_column(name, overflow="fold")
    for name in ("asked", *shown):
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        names = (row["candidate"] or "–", row["purpose"], row["model"])
        table.add_row(*map(screen.escape, names), *(f"{row[name]:,}" for name in ("asked", *shown)))
    screen.out.print(table)


def _cells(row: Row) -> tuple[str, ...]:
    at, mark = row["at_length"], "*" if row.get("extrapolated") else ""
    return (
        row["candidate"],
        f"{row['words']:.0f}",
        "–" if at is None else f"{at:+.2f} ±{row['at_length_high'] - at:.2f}{mark}",
        _share(row["unusable"], row["asked"]),
        _share(row["unparsable"], row["judged"]),
        _share(row["strays"], row["lines"]),
        _count(row["prompt_tokens"]),
        _count(row["reply_tokens"]),
        "–" if row["usd"] is None else f"{row['usd']:.2f}",
        str(row["cutoff"] or "–") if row["kind"] == "model" else "",
        {"none": "", "clean": "no", "contaminated": "maybe", "unknown": "unknown"}[row["contamination"]],
    )


def _share(part: int | None, whole: int | None) -> str:
    return "–" if not whole or part is None else f"{part / whole:.1%}"


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"

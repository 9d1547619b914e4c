"""Prints the second table of a board: properties of each candidate's reviews, and their cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich import box
from rich.table import Table

from gre_bench.cli.views import screen
from gre_bench.cli.views.fitted import Column, show
from gre_bench.store.queries import JudgedExampleRow, LeaderboardRow, OutcomesRow

SEEN = {"none": "", "clean": "no", "contaminated": "maybe", "unknown": "unknown"}
FEWEST_PAPERS = 20
"""With fewer papers, the slope of scores on length is too uncertain to give a score at another length."""
OUTCOMES = ("ok", "cut", "refused", "empty", "unparsable", "rate_limited", "failed", "not_asked")


def show_details(rows: Sequence[LeaderboardRow]) -> None:
    """Prints a table with the columns `COLUMNS` for the human baseline and the models in *rows*, and explains them.

    The columns are length, score at the human length, judgments, unusable texts, tokens, cost and contamination.
    """
    shown = [row for row in rows if row["kind"] in ("human", "model") and row["words"] is not None]
    if not shown:
        return
    columns = [Column(head, list(map(cell, shown)), order, kind) for head, cell, order, kind in COLUMNS]
    show("", columns, [""] * len(shown))
    if at := next((row["human_words"] for row in shown if row["human_words"]), None):
        screen.say(
            f"at human length: the score at {at:.0f} words, the human length, with half of its 90% interval; blank: it "
            f"would be a guess, for under {FEWEST_PAPERS} papers, or no text of the candidate's is as short or as "
            "long; lines: median of judgments a review; kept: share "
            "of a review's words that its judgments keep; unusable: of the texts asked for, those without use; no "
            "judgment: of the reviews, those that judge nothing or whose judgments could not be read; strays: of the "
            "lines of judgments, those that open otherwise; –: nobody here knows"
        )


def show_examples(rows: Sequence[JudgedExampleRow]) -> None:
    """Prints one full judgment as an example, for each candidate and each writer of judgments."""
    for row in rows:
        screen.say(f"{row['candidate_id']}, a judgment by {row['writer']}: {row['example']}")


def show_outcomes(rows: Sequence[OutcomesRow]) -> None:
    """Prints the outcomes of requests to LMs as a table with a row for each candidate, purpose and LM.

    Each column counts one outcome, such as ``refused``. Columns of zeros are left out.
    """
    if not rows:
        return
    shown = [name for name in OUTCOMES if any(row[name] for row in rows)]
    table = Table(title="Requests to LMs and their outcomes", title_justify="left", box=box.SIMPLE_HEAD,
                  padding=(0, 1, 0, 0))  # fmt: skip
    for name in ("candidate", "purpose", "LM"):
        table.add_column(name, overflow="fold")
    for name in ("asked", *shown):
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        names = (row["candidate"] or "–", row["purpose"], row["model"])
        table.add_row(*map(screen.escape, names), *(f"{row[name]:,}" for name in ("asked", *shown)))
    screen.out.print(table)


def _at_length(row: LeaderboardRow) -> str:
    at, high = row["at_length"], row["at_length_high"]
    guess = row.get("extrapolated") or row["papers"] < FEWEST_PAPERS
    return "" if at is None or high is None or guess else f"{at:+.2f} ±{high - at:.2f}"


def _lines(row: LeaderboardRow) -> str:
    return "–" if row["median_lines"] is None else f"{row['median_lines']:.0f}"


def _share(part: int | None, whole: int | None) -> str:
    return "–" if not whole or part is None else f"{part / whole:.1%}"


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


COLUMNS: tuple[tuple[str, Callable[[LeaderboardRow], str], int, str], ...] = (
    ("candidate", lambda row: screen.plain(row["candidate"]), 0, "name"),
    ("words", lambda row: f"{row['words']:.0f}", 0, "number"),
    ("at human length", _at_length, 0, "number"),
    ("lines", _lines, 0, "number"),
    ("kept", lambda row: "–" if row["covered"] is None else f"{row['covered']:.0%}", 1, "number"),
    ("unusable", lambda row: _share(row["unusable"], row["asked"]), 3, "number"),
    ("no judgment", lambda row: _share(row["unparsable"], row["judged"]), 2, "number"),
    ("strays", lambda row: _share(row["strays"], row["lines"]), 6, "number"),
    ("tokens in", lambda row: _count(row["prompt_tokens"]), 7, "number"),
    ("out", lambda row: _count(row["reply_tokens"]), 8, "number"),
    ("USD", lambda row: "–" if row["usd"] is None else f"{row['usd']:.2f}", 4, "number"),
    ("learnt until", lambda row: str(row["cutoff"] or "–") if row["kind"] == "model" else "", 5, "number"),
    ("reviews seen", lambda row: SEEN[row["contamination"]], 1, "name"),
)
"""Head, function that returns a row's cell, order and kind of each column (see `Column`)."""

"""Output functions that all commands share: consoles, messages, counts, spending and JSON."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from rich import console, markup
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.text import Text

from gre_bench.core.terminal import counted, remove_control_characters
from gre_bench.core.urls import redact_url_credentials
from gre_bench.store import Row

PIPED_WIDTH = 110
SHOWN_CHANGES = 20


class Console(console.Console):
    """A console that raises `BrokenPipeError` if the reader of its output closes the pipe.

    `gre_bench.cli.app.main` then ends the program quietly.
    """

    def on_broken_pipe(self) -> None:
        """Raises `BrokenPipeError`, because rich itself would exit with code 1."""
        raise BrokenPipeError


def _read_columns_variable() -> int | None:
    """Returns the environment variable ``COLUMNS`` as a number; None if it is unset or not a positive number."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) else None


# Texts of papers and LMs are shown as they are: a ":name:" in them must not become an emoji.
out = Console(
    width=None if sys.stdout and sys.stdout.isatty() else _read_columns_variable() or PIPED_WIDTH, emoji=False
)
err = Console(stderr=True, emoji=False)


def get_line_width(console: Console) -> int | None:
    """Returns how many characters fit in a line of *console*; None if output is piped and ``COLUMNS`` is unset."""
    return console.width if console.is_terminal else _read_columns_variable()


def get_output_width() -> int:
    """Returns the width of standard output in characters.

    For a pipe, this is the environment variable ``COLUMNS``, or `PIPED_WIDTH` if that is unset.
    """
    return get_line_width(out) or PIPED_WIDTH


COMMAND = "gre-bench "
_NEXT, _COMMENT = re.compile(r" *(?:next: )?"), re.compile(r""" {3}# ([^'"]*)$""")
_WORDS = re.compile(r" *[^ ]+")
_ARGUMENTS = re.compile(r""" *(?:'[^']*'|"[^"]*"|[^ '"]|['"])+""")


def wrap_line(line: str, columns: int | None) -> list[str]:
    """Returns *line* as lines of at most *columns* characters; unchanged if *columns* is None.

    Lines are broken between words, and a word that is too long stays whole. All lines after the first are indented by
    two more characters. A command is broken between its arguments, with the backslash that a shell needs. If a comment
    after the command does not fit, it follows on a separate line.
    """
    if columns is None or cell_len(line) <= columns:
        return [line]
    start = _NEXT.match(line).end()  # pyrefly: ignore
    indent = " " * start + "  "
    is_command = line.startswith(COMMAND, start)
    if is_command and (comment := _COMMENT.search(line)):
        return [*wrap_line(line[: comment.start()], columns), *wrap_line(f"{indent}# {comment[1]}", columns)]
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
    """Prints *text* without its control characters on *console* (None: standard output).

    Lines wrap at the width in the environment variable ``COLUMNS``; if that is unset, at the terminal's width. Piped
    output wraps only if ``COLUMNS`` is set.
    """
    console = console or out
    for line in remove_control_characters(text).split("\n"):
        for part in wrap_line(line, get_line_width(console)):
            console.print(part, markup=False, highlight=False, soft_wrap=True, style=style or None)


def say_nonempty(lines: Iterable[str | None], begins: str = "") -> None:
    """Prints each non-empty line of *lines*, with the prefix *begins*."""
    for line in lines:
        if line:
            say(begins + line)


def print_with_label(word: str, colour: str, text: str, console: Console | None = None) -> None:
    """Prints *word* in *colour*, a `rich` colour or style, followed by *text*; lines wrap as in `say`."""
    console = console or out
    first, *more = wrap_line(f"{word} {' '.join(remove_control_characters(text).split())}", get_line_width(console))
    opening = Text(first)
    opening.stylize(colour, 0, len(word))
    for part in (opening, *more):
        console.print(part, markup=False, highlight=False, soft_wrap=True)


def print_error(text: str) -> None:
    """Prints *text* as one paragraph on standard error, without user names and passwords in URLs."""
    print_with_label("error:", "red", redact_url_credentials(text), err)


def escape_unencodable_output() -> None:
    """Makes standard output and standard error escape characters that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """Prints *value* as JSON; raises ValueError for NaN or infinity."""
    print(json.dumps(value, indent=2, default=str, allow_nan=False))


def format_or_dash(value: Any, form: str = "", lacking: str = "–", unit: str = "") -> str:
    """Returns *value* in the format *form*, followed by *unit*; the text *lacking* if *value* is None."""
    return lacking if value is None else f"{value:{form}}{unit}"


def is_number(value: object) -> bool:
    """Whether *value* is a number and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def escape(text: object) -> str:
    """Returns *text* without control characters, and with square brackets escaped so that `rich` finds no markup."""
    return markup.escape(remove_control_characters(text))


def print_grid(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    left: int | Sequence[str] = 1,
    fold: bool = False,
    marked: bool = False,
    to: console.Console | None = None,
    **look: Any,
) -> None:
    """Prints *rows* as a `rich` table with the column headers *heads*; an empty row becomes a separating line.

    - *left*: which columns are aligned left: the first ones, as a number, or a list of headers. The others are aligned
      right.
    - *fold*: whether a long cell may be broken within a word.
    - *marked*: whether cells contain `rich` markup; otherwise they are printed literally.
    - *to*: the console; None: standard output.
    - *look*: further arguments of `rich.table.Table`, such as its title and box; titles are texts without markup.
    """
    from rich.table import Table

    texts: dict[str, Any] = {name: escape(look[name]) for name in ("title", "caption") if name in look}
    given: dict[str, Any] = {"box": None, "padding": (0, 1), "title_justify": "left"}
    table = Table(**given | look | texts)
    for index, head in enumerate(heads):
        is_left = index < left if isinstance(left, int) else head in left
        table.add_column(escape(head), justify="left" if is_left else "right", overflow="fold" if fold else "ellipsis")
    for row in rows:
        if row:
            table.add_row(*(str(cell) if marked else escape(cell) for cell in row))
        else:
            table.add_section()
    (to or out).print(table)


def show_counts(metrics: Iterable[Row]) -> None:
    """Prints a row for each metric: how many pairs are planned, scored, failed, excluded and missing.

    ``METRIC_specific`` (the score above chance) has no row if METRIC has one; --json has both.
    """
    states = ("planned", "scored", "failed", "excluded", "missing")
    counts = {row["metric"]: [f"{row[state]:,}" for state in states] for row in metrics}
    rows = [(name, *own) for name, own in counts.items() if name not in {f"{other}_specific" for other in counts}]
    print_grid(("metric", *states), rows, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def show_missing_score_reasons(reasons: Iterable[Row]) -> None:
    """Prints why pairs have no score; metrics with the same reason share a line.

    ``METRIC_specific`` (the score above chance) is not named if METRIC is.
    """
    metrics: dict[tuple[Any, ...], list[str]] = {}
    for row in reasons:
        metrics.setdefault((row["pairs"], row["state"], row["reason"], row["example"]), []).append(row["metric"])
    for (pairs, state, reason, example), names in metrics.items():
        shown = [name for name in names if name not in {f"{other}_specific" for other in names}]
        each = " each" if shown[1:] else ""
        say(f"{', '.join(shown)}: {pairs} {state}{each}, {reason}" + (f": {example}" if example else ""))


def format_duration(seconds: float | None) -> str:
    """Returns *seconds* as a short text in seconds, minutes or hours."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def format_state_option(state: Path) -> str:
    """Returns the option --state that a printed command needs to use the folder *state*; empty if it needs none."""
    found_anyway = Path(os.environ.get("GRE_BENCH_STATE", "state"))
    return "" if state == found_anyway else f" --state {shlex.quote(str(state))}"


def print_estimate(plan: Row) -> None:
    """Prints the plan of a dry run: pairs by state, texts to write, requests to pay for, and the time to score."""
    say(f"{plan['edition']}: a dry run, nothing was changed. {plan['papers']} of {counted(plan['sampled'], 'paper')}")
    show_counts(plan["metrics"])
    show_missing_score_reasons([row for row in plan["reasons"] if not row["unfinished"]])
    for kind, count in plan["to_write"].items():
        say(f"to be written first: {count} {kind}")
    for row in plan["to_buy"]:
        cost = format_or_dash(row["usd"], ".2f", "price unknown", " USD")
        tokens = f"{row['prompt_tokens']:,} prompt and {row['reply_tokens']:,} reply tokens"
        say(f"to be bought of {row['model']}: {counted(row['requests'], 'request')}, about {tokens}, {cost}")
    say_nonempty(row["trouble"] for row in plan["fit"])
    say_nonempty(plan["over_budget"])
    say(f"{counted(plan['due'], 'pair')} to score, about {format_duration(plan['seconds'])} ({plan['basis']})")
    if waiting := sum(row["unfinished"] for row in plan["metrics"]) - plan["due"]:
        say(f"{counted(waiting, 'pair')} more to score when the texts above are written; their time is not in that")
    say_nonempty(plan["notes"], "note: ")
    say_nonempty((row["gate"] for row in plan["verdicts"]), "verdict: ")


def show_snapshot_counts(counts: dict[str, int]) -> None:
    """Prints the counts of a snapshot, such as papers and reviews, in one line; zeros are left out."""
    shown = {name.removeprefix("outcome_"): count for name, count in counts.items() if count}
    say(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in shown.items()))


def show_snapshot_changes(report: dict[str, Any]) -> None:
    """Prints what changed in a snapshot since an earlier one: the counts, and the first `SHOWN_CHANGES` changes."""
    counts = ", ".join(f"{count} {kind}" for kind, count in report["counts"].items()) or "nothing"
    say(f"changed since {report['since'][:12]}: {counts}")
    for line in report["lines"][:SHOWN_CHANGES]:
        say(line)
    if len(report["lines"]) > SHOWN_CHANGES:
        say(f"and {len(report['lines']) - SHOWN_CHANGES} more; all of them with --json")

"""Prints the result of ``gre-bench compare A B`` for two releases."""

from __future__ import annotations

from typing import Any

from gre_bench.board.words import p_value
from gre_bench.cli.views import screen
from gre_bench.cli.views.fitted import table
from gre_bench.core.terminal import counted
from gre_bench.stats.intervals import few_papers
from gre_bench.store import Row

SHOWN = 40
LEVELS = {
    "scores": "one edition and signature: scores compare",
    "differences": "other papers: differences to the human baseline compare, scores do not",
    "ranks": "two signatures: ranks compare, scores do not",
}


def show_releases(report: dict[str, Any]) -> None:
    """Prints the comparison of two releases: first metric by metric, then the differences in data and settings."""
    first, second = report["compared"]
    for row in report["releases"]:
        made = f"made {row['created_at']}, digest {row['digest'][:16]}"
        screen.say(f"{row['release']}: {row['edition']}, {made}, as it was written")
    for row in report["metrics"]:
        screen.say(f"\n{row['metric']}: {LEVELS[row['compares']]}")
        for field, (value, other_value) in row["differ_in"].items():
            screen.say(f"  {field}: {value} | {other_value}")
        if (rho := row["agreement"].get("spearman")) is not None:
            screen.say(f"  Spearman of the ranks of {counted(row['agreement']['shared'], 'candidate')}: {rho:.3f}")
        {"scores": _scores, "differences": _differences, "ranks": _ranks}[row["compares"]](row, first, second)
        if row["compares"] != "ranks" and (few := few_papers(row["papers"])):
            screen.say(f"  {few}")
    for name, key in ((first, "only_first"), (second, "only_second")):
        if report[key]:
            screen.say(f"only in {name}: {', '.join(report[key])}")
    _differing("tables with more or fewer rows:", "table", report["tables"])
    _differing("what the numbers rest on differs in:", "what", report["provenance"])
    if not report["provenance"]:
        screen.say("settings, program, packages, sample, snapshot and imports are the same")


def _scores(row: Row, first: str, second: str) -> None:
    changed = [line for line in row["candidates"] if has_changed(line)]
    if not changed:
        return screen.say(f"  nothing has changed: {counted(len(row['candidates']), 'candidate')}, score for score")
    heads = ("candidate", f"in {first}", f"in {second}", "rank", "then", "above chance", "then", "pairs", "then", "new",
             "gone", "other score")  # fmt: skip
    table(heads, [
        (line["candidate"], *map(_signed, line["score"]), *map(_whole, line["rank"]),
         *map(_signed, line["above_chance"]), *map(_whole, line["scored"]),
         line.get("only_second", 0), line.get("only_first", 0), line.get("other_score", 0)) for line in changed
    ])  # fmt: skip
    screen.say(f"  unchanged: {counted(len(row['candidates']) - len(changed), 'candidate')}")


def has_changed(line: Row) -> bool:
    """Whether a candidate's scores, pairs or rank differ between two releases; *line* is its row of the comparison."""
    own = ("only_first", "only_second", "other_state", "other_score")
    means = line["score"]
    is_new = (means[0] is None) != (means[1] is None)
    return is_new or line["rank"][0] != line["rank"][1] or any(line.get(key) for key in own)


def _differences(row: Row, first: str, second: str) -> None:
    heads = ("candidate", f"− human in {first}", f"in {second}", "change", "90%", "p", "above chance", "then")
    table(heads, [
        (line["candidate"], *map(_difference, line["differences"]), *_change(line["change"]),
         *map(_signed, line["above_chance"]))
        for line in row["candidates"] if any(line["differences"])
    ])  # fmt: skip


def _ranks(row: Row, first: str, second: str) -> None:
    table(("candidate", f"rank in {first}", f"in {second}", "above chance", "then"), [
        (line["candidate"], *map(_whole, line["rank"]), *map(_signed, line["above_chance"]))
        for line in row["candidates"] if any(line["rank"])
    ])  # fmt: skip


def _differing(title: str, key: str, rows: list[Row]) -> None:
    if rows:
        screen.say(f"\n{title}")
    for row in rows[:SHOWN]:
        screen.say(f"  {row[key]}: {_shown(row['first'])} | {_shown(row['second'])}")
    if len(rows) > SHOWN:
        screen.say(f"  and {len(rows) - SHOWN} more; --json has all")


def _shown(value: Any) -> str:
    return "–" if value is None else str(value)


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}"


def _whole(value: int | None) -> str:
    return "–" if value is None else str(value)


def _difference(row: Row | None) -> str:
    return "–" if row is None else f"{row['difference']:+.2f} ({_signed(row['low'])} to {_signed(row['high'])})"


def _change(row: Row | None) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    return f"{row['value']:+.2f}", f"{row['low']:+.2f} to {row['high']:+.2f}", p_value(row["p_holm"])

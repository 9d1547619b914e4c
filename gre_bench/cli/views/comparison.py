"""Prints the result of ``gre-bench compare``: correlations, and the values of two sides in one table.

A side is a board, or the effects of changes on scores. It comes from a run or from a published table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gre_bench.board.words import p_value
from gre_bench.cli.views import screen
from gre_bench.cli.views.fitted import table
from gre_bench.core.terminal import counted
from gre_bench.ranking.rank_statistics import ALPHA
from gre_bench.stats.intervals import few_papers

_WITHIN = {True: "yes", False: "no", None: ""}


def show(report: dict[str, Any]) -> None:
    """Prints the parts that *report* has, and what was left out and why.

    The parts are the correlation of two boards, the values of two sides in one table, and correlations with benchmarks.
    """
    first, other = (Path(report["compared"][index]).name for index in (0, -1))
    if rows := report.get("consistency"):
        screen.say(f"Spearman between {first} and {other}, over the models that both rank")
        table(("metric", "models", "Spearman", "p", "the text prints"), [
            (row["metric"], row["n"], _coefficient(row["spearman"]), p_value(row["p"]), _number(row["printed"], 2))
            for row in rows
        ])  # fmt: skip
        for name, key in ((first, "only_first"), (other, "only_second")):
            if rows[0][key]:
                screen.say(f"only in {name}: {', '.join(rows[0][key])}")
    for field, (a, b) in report.get("differ_in", {}).items():
        screen.say(f"signatures differ in {field}: {a} | {b}")
    if rows := report.get("beside"):
        # For two boards, candidates of one alone are named above; for effects, every row is shown.
        _beside(first, other, [row for row in rows if "consistency" not in report or (row["printed"] and row["found"])])
    if rows := report.get("benchmarks"):
        screen.say(f"correlation of {first} with other benchmarks")
        heads = ("metric", "benchmark", "models", "left out", "Spearman", "Pearson", "table 5 prints")
        table(heads, [
            (row["metric"], row["benchmark"], row["n"], row["left_out"], _coefficient(row["spearman"]),
             _coefficient(row["pearson"]), _number(row["printed"], 2)) for row in rows
        ], names=("benchmark",))  # fmt: skip
        if report["models_not_on_the_board"]:
            screen.say(f"not on the board, left out: {', '.join(report['models_not_on_the_board'])}")
        if report["blank_entries"]:
            screen.say(f"blank entries: {report['blank_entries']}")
    _left_out(report)


def show_candidates(report: dict[str, Any]) -> None:
    """Prints the comparison of two candidates of one edition, one metric after the other."""
    first, other = report["compared"]
    screen.say(f"{first} − {other} on {report['edition']}, over the pairs that both have")
    for row in report["candidates"]:
        if row["problem"]:
            screen.say(f"\n{row['metric']}: {row['problem']}")
            continue
        screen.say(f"\n{row['metric']}: {_verdict(row, first if row['difference'] > 0 else other)}")
        screen.say(f"  difference: {_interval(row)}, {counted(row['papers'], 'paper')}")
        screen.say(f"  {_p_values(row)}")
        for name in ("chance", "above_chance"):
            if part := row[name]:
                screen.say(f"  {name.replace('_', ' ')}: {_interval(part)}; p {p_value(part['p'])} alone")
        screen.say(f"  papers: {first} higher on {row['won']}, lower on {row['lost']}")
        for name, papers in ((first, row["most"]), (other, row["least"])):
            leads = ", ".join(f"{paper['paper_id']} by {abs(paper['difference']):.2f}" for paper in papers)
            screen.say(f"  {name} leads most on: {leads}" if leads else f"  {name} leads on no paper")
    screen.say("")
    if few := few_papers(row["papers"] for row in report["candidates"] if not row["problem"]):
        screen.say(few)


def _verdict(row: dict[str, Any], leader: str) -> str:
    """Returns a text that says whether *leader* scores higher than the other candidate, or the two are not told apart.

    If the board ranks both candidates, the board's corrected p-value decides. Otherwise the uncorrected p-value of the
    test between the two candidates decides.
    """
    corrected = row["board"]["p_holm"] if row["board"] else row["p"]
    if corrected < ALPHA:
        return f"{leader} scores higher"
    if row["p"] < ALPHA:
        return f"not told apart on the board; {leader} scores higher if this is the only question asked"
    return "not told apart"


def _p_values(row: dict[str, Any]) -> str:
    alone = f"p {p_value(row['p'])} alone, for one question asked beforehand"
    if not row["board"]:
        return f"{alone}; the board does not rank the two together, so it has no corrected p"
    tests = counted(row["board"]["tests"], "test")
    return f"p {p_value(row['board']['p_holm'])} as on the board, corrected for its {tests} (Holm); {alone}"


def _interval(test: dict[str, Any]) -> str:
    return f"{test['difference']:+.2f} (90% {test['low']:+.2f} to {test['high']:+.2f})"


def _left_out(report: dict[str, Any]) -> None:
    for name, lacks in report["left_out"].items():
        for item, why in lacks.items():
            screen.say(f"left out of {Path(name).name}: {item}: {why}")


def _beside(first: str, other: str, rows: Sequence[dict[str, Any]]) -> None:
    """Prints the values of two sides in one table, with numbered notes below the table.

    *first* and *other* are the names of the sides.
    """
    notes = list(dict.fromkeys(row["printed"]["note"] for row in rows if row["printed"] and row["printed"]["note"]))
    marks = {note: f"({index})" for index, note in enumerate(notes, 1)}
    table(("metric", "of", first, "95%", other, "95%", "difference", "within", ""), [
        (row["metric"], row["item"], *_figure(row["printed"]), *_figure(row["found"]), _number(row["difference"]),
         _WITHIN[row["within"]],
         marks.get((row["printed"] or {}).get("note", ""), ""))
        for row in rows
    ], names=("of",))  # fmt: skip
    within = [row["within"] for row in rows if row["within"] is not None]
    if within:
        screen.say(
            f"within: each value lies in the interval of the other, where it has one; {sum(within)} of {len(within)} do"
        )
    for note, mark in marks.items():
        screen.say(f"{mark} {note}")


def _figure(figure: dict[str, Any] | None) -> tuple[str, str]:
    if figure is None:
        return "", ""
    ends = "" if figure["low"] is None else f"{figure['low']:.3f} to {figure['high']:.3f}"
    return _number(figure["value"]), ends


def _coefficient(value: float | None) -> str:
    """Returns a correlation as text, or "not defined" for None.

    A correlation is not defined for fewer than three models, or if all scores are equal.
    """
    return "not defined" if value is None else _number(value)


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"

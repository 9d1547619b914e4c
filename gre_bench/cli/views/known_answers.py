"""Prints the results of studies whose answer is known: ``study known-answers``, and planted flaws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.table import Table

from gre_bench.cli.views import screen
from gre_bench.cli.views.fitted import Column
from gre_bench.cli.views.fitted import show as show_table
from gre_bench.core.terminal import counted
from gre_bench.reports.correctness import Results, ReviewerResult, Tested

TITLES = {"gem": "GEM, I(X; Y)", "gem_s_abstract": "GEM-S, I(X; Y | S)"}


def show(report: dict[str, Any]) -> None:
    """Prints a table for each check in *report*, with notes on how to read the tables."""
    screen.say(
        f"{report['simulations']} simulations, {report['papers']} papers with two references each; nats; "
        f"seed {report['seed']}"
    )
    _table("Exact evaluation LM: the expected score is the information", ("metric", "information", "largest error"), [
        (TITLES[row["metric"]], f"{row['mean_information']:.4f}", f"{row['largest_error']:.0e}")
        for row in report["exactness"]
    ])  # fmt: skip
    heads = "metric", "what", "interval", "nominal", "holds the truth", "± 2 points", "mean width"
    _table("Coverage: how often an interval holds the truth", heads, [
        (TITLES[row["metric"]], row["quantity"], row["interval"], f"{row['nominal']:.0%}", _share(row), row["verdict"],
         f"{row['mean_width']:.3f}")
        for row in report["coverage"]
    ])  # fmt: skip
    screen.say("flat: the published interval; it treats the two pairs of a paper as independent, which they are not")
    if any(row["interval"] == "paired" and row["verdict"] == "outside" for row in report["coverage"]):
        screen.say("paired: where garbling leaves a review as it was the difference is 0, so few papers are too few")
    heads = "metric", "LM", "garbled higher", "at most by", "mean ε", "beyond ε", "beyond printed ε"
    _table("Order: simulations in which a garbled candidate is expected to score higher", heads, [
        (TITLES[row["metric"]], row["lm"], row["garbled_higher"], f"{max(row['largest_excess'], 0):.3f}",
         f"{row['mean_epsilon']:.3f}", row["beyond_allowed"], row["beyond_printed"])
        for row in report["ordering"]
    ])  # fmt: skip
    screen.say("ε: largest KL(truth ‖ LM), which the proof of Prop. 3.1 needs; the proposition prints KL(LM ‖ truth)")
    heads = "metric", "candidate", "mean effect", "called above or below", "expected", "agrees"
    _table("Chance: how often a candidate is called above or below it at 5%", heads, [
        (TITLES[row["metric"]], row["candidate"], f"{row['mean_effect']:.3f}",
         f"{row['rejected']:.1%} ± {row['standard_error']:.1%}", f"{row['expected']:.1%}", row["verdict"])
        for row in report["chance"]
    ])  # fmt: skip
    if report["bias"]:
        heads = "metric", "LM", "papers", "simulations", "bias", "from", "to", "marginal error", "conditional error"
        _table("Learnt LMs: expected score − information = marginal error − conditional error", heads, [
            (TITLES[row["metric"]], row["lm"], row["papers"], row["simulations"], *(
                "" if row[part] is None else f"{row[part]:+.3f}"
                for part in ("mean", "least", "largest", "marginal_error", "conditional_error")
            ))
            for row in report["bias"]
        ])  # fmt: skip
        for row in report["bias"]:
            if row["failed"]:
                screen.say(
                    f"{row['metric']}, {row['lm']}, {row['papers']} papers: {row['failed']} failed, {row['reason']}"
                )


def _share(row: dict[str, Any]) -> str:
    return f"{row['covered']:.1%} ± {row['standard_error']:.1%}"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in heads:
        left = head in ("metric", "what", "interval", "LM", "± 2 points", "candidate", "agrees")
        table.add_column(head, justify="left" if left else "right")
    for row in rows:
        table.add_row(*map(screen.escape, row))
    screen.out.print(f"\n{screen.escape(title)}", style="bold", highlight=False)
    screen.out.print(table)


FAMILIES = ("contradiction", "omission", "malpractice")
MEANING = (
    "score: nats that a review tells of its own flaw rather than of another one, ± half of the 95% interval by paper; "
    "*: a family above zero, Holm-corrected at 5%; nulls: the same of reviews of texts without the flaw; "
    "specific: over the review of another paper with the same flaw; detected: share of flaws, at 5% of false "
    "ones; rate: estimated share of flaws named, if in words as plain as those of scripted-plain-100"
)


def show_planting(edition: str, record: Mapping[str, Any]) -> None:
    """Prints how many papers have flaws, and what could not be planted, by reason."""
    flaws = [place["flaw"] for places in record["papers"].values() for place in places[:2]]
    number = {name: flaws.count(name) for name in sorted(set(flaws))}
    screen.say(f"{edition}: {counted(len(record['papers']), 'paper')}, four texts each", style="bold")
    screen.say("planted: " + ", ".join(f"{count} {name}" for name, count in number.items()))
    for reason, count in record["left_out"].items():
        screen.say(f"left out: {counted(count, 'paper')}, {reason}")
    by_flaw = groupby(record["not_plantable"], key=lambda row: row["flaw"])
    refused = [f"{flaw} " + ", ".join(f"{row['papers']} {row['reason']}" for row in rows) for flaw, rows in by_flaw]
    if refused:
        screen.say("not plantable, by papers tried: " + "; ".join(refused), style="dim")
    for line in record.get("refused", ()):
        screen.say(f"refused: {line}", style="yellow")


def show_correctness(results: Results) -> None:
    """Prints a table for each metric, with a row for each reviewer; controls come last."""
    for metric, members in groupby(results["rows"], key=lambda row: row["metric"]):
        rows = sorted(members, key=lambda row: row["control"])
        unit = "shares of words" if metric == "words" else "nats"
        columns = [
            Column("reviewer", [screen.plain(row["candidate"]) for row in rows], 0, "name"),
            Column("papers", [str(row["papers"]) for row in rows], 6),
            Column("score", [_score(row["score"]) for row in rows]),
            *(Column(name, [_family(row, name) for row in rows], 1) for name in FAMILIES),
            Column("nulls", [f"{row['other']['value']:+.2f}, {row['again']['value']:+.2f}" for row in rows], 4),
            Column("specific", [_score(row["specific"]) for row in rows], 5),
            Column("detected", [_percent(row["detected"]) for row in rows]),
            Column("rate", [_percent(row["rate"]) for row in rows]),
        ]
        first = next((index for index, row in enumerate(rows) if row["control"]), 0)
        styles = ["dim" if row["control"] else "" for row in rows]
        screen.say("")
        show_table(f"{rows[0]['title']} in {unit}", columns, styles, breaks={first: "controls"} if first else {})
    if not results["rows"]:
        screen.say("no reviewer has all scores of two papers yet")
        return
    screen.say(MEANING, style="dim")
    if all(row["detected"] is None for row in results["rows"]):
        screen.say("detected and rate need 100 nulls a reviewer, which 25 papers give", style="yellow")


def _score(test: Tested | None) -> str:
    return "–" if test is None else f"{test['value']:+.2f} ±{test['high'] - test['value']:.2f}"


def _family(row: ReviewerResult, name: str) -> str:
    test = row["families"].get(name)
    if test is None:
        return "–"
    above = test["value"] > 0 and (test["p_holm"] or 0) < 0.05
    return f"{test['value']:+.2f}{'*' if above else ''}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"

"""Prints the results of ``gre-bench study known-answers`` as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from gre_bench.cli.views import screen

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

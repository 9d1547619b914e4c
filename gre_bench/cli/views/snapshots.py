"""Prints the counts and changes of a snapshot, and the estimate of ``gre-bench plan``."""

from __future__ import annotations

from typing import Any

from gre_bench.cli.views import screen
from gre_bench.core.terminal import counted

SHOWN = 20


def show_counts(counts: dict[str, int]) -> None:
    """Prints the counts of a snapshot, such as papers and reviews, in one line; zeros are left out."""
    shown = {name.removeprefix("outcome_"): count for name, count in counts.items() if count}
    screen.say(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in shown.items()))


def show_changes(report: dict[str, Any]) -> None:
    """Prints what changed in a snapshot since another one: the counts, and the first `SHOWN` changes."""
    counts = ", ".join(f"{count} {kind}" for kind, count in report["counts"].items()) or "nothing"
    screen.say(f"changed since {report['since'][:12]}: {counts}")
    for line in report["lines"][:SHOWN]:
        screen.say(line)
    if len(report["lines"]) > SHOWN:
        screen.say(f"and {len(report['lines']) - SHOWN} more; all of them with --json")


def show_plan(plan: dict[str, Any]) -> None:
    """Prints the estimate for an edition: requests, tokens, cost and hours, and the assumptions behind them."""
    have = {name: value for name, value in plan["already_there"].items() if value}
    held = ", ".join(f"{len(value) if isinstance(value, list) else value} {name}" for name, value in have.items())
    papers = f"{counted(plan['papers'], 'paper')}" if plan["drawn"] else f"at most {counted(plan['papers'], 'paper')}"
    screen.say(f"{plan['edition']}, {papers}. Already there: {held or 'nothing'}")
    if plan["fetch"] is None:
        screen.say("fetch: no host is known for it; name one with --host")
    elif not plan["fetch"]["requests"]:
        screen.say(f"fetch: nothing is left to request from {plan['fetch']['host']}")
    else:
        screen.say(f"fetch: from {plan['fetch']['host']}")
        for kind, count in plan["fetch"]["requests"].items():
            noun = "request" if count == 1 else "requests"
            screen.say(f"fetch: {count} {noun} for {kind}; allowed: {plan['fetch']['limits'][kind]}")
        wait = screen.duration(plan["fetch"]["seconds"])
        screen.say(f"fetch: {plan['fetch']['pdfs']} PDFs; all of the fetch takes {wait} at these limits")
    for row in plan["writing"]:
        tokens = f"{row['prompt_tokens'] / 1e6:.2f} M tokens read, {row['reply_tokens'] / 1e6:.2f} M written"
        screen.say(f"write: {row['texts']} {row['what']} by {row['model']}: {tokens}, {_usd(row['usd'])}")
        if row["fits"] is False:
            screen.say(f"write: {row['what']} by {row['model']}: a prompt of usual length does not fit its context")
    total = "total unknown, as a price is unknown" if plan["usd"] is None else f"{_usd(plan['usd'])} in all"
    screen.say(f"write: {total}" if plan["writing"] else "write: nothing by an LM")
    for line in plan["over_budget"]:
        screen.say(f"write: {line}")
    hours = plan["scoring"]["gpu_hours"]
    screen.say(
        f"score: {counted(plan['scoring']['pairs'], 'pair')}" + ("" if hours is None else f", {hours:.2f} hours")
    )
    for line in plan["learnt"]:
        screen.say(f"note: {line}")
    for row in plan["verdicts"]:
        screen.say(f"verdict: {row['gate']}")
    for line in plan["assumed"]:
        screen.say(f"assumed: {line}")


def _usd(amount: float | None) -> str:
    return "price not known" if amount is None else f"{amount:.2f} USD"

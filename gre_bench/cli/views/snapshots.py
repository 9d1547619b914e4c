"""Counts and changes of a snapshot, and what a plan of one comes to."""

from __future__ import annotations

from typing import Any

from gre_bench.cli.views import screen

SHOWN = 20


def show_counts(counts: dict[str, int]) -> None:
    """How many of each kind there are, in one line."""
    shown = {name.removeprefix("outcome_"): count for name, count in counts.items() if count}
    screen.say(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in shown.items()))


def show_changes(found: dict[str, Any]) -> None:
    """What changed since another snapshot; the first lines of it."""
    counts = ", ".join(f"{count} {what}" for what, count in found["counts"].items()) or "nothing"
    screen.say(f"changed since {found['since'][:12]}: {counts}")
    for line in found["lines"][:SHOWN]:
        screen.say(line)
    if len(found["lines"]) > SHOWN:
        screen.say(f"and {len(found['lines']) - SHOWN} more; all of them with --json")


def show_plan(found: dict[str, Any]) -> None:
    """Requests, tokens, money and hours of an edition, and what was assumed."""
    have = {name: value for name, value in found["already_there"].items() if value}
    there = ", ".join(f"{len(value) if isinstance(value, list) else value} {name}" for name, value in have.items())
    papers = f"{found['papers']} papers" if found["drawn"] else f"at most {found['papers']} papers"
    screen.say(f"{found['edition']}, {papers}. Already there: {there or 'nothing'}")
    if found["fetch"] is None:
        screen.say("fetch: it is nowhere to be asked for; name a host with --host")
    elif not found["fetch"]["requests"]:
        screen.say(f"fetch: nothing is left to ask {found['fetch']['host']} for")
    else:
        screen.say(f"fetch: from {found['fetch']['host']}")
        for kind, count in found["fetch"]["requests"].items():
            what = "request" if count == 1 else "requests"
            screen.say(f"fetch: {count} {what} for {kind}; allowed: {found['fetch']['limits'][kind]}")
        wait = screen.duration(found["fetch"]["seconds"])
        screen.say(f"fetch: {found['fetch']['pdfs']} PDFs, {wait} at these limits")
    for row in found["writing"]:
        tokens = f"{row['prompt_tokens'] / 1e6:.2f} M tokens read, {row['reply_tokens'] / 1e6:.2f} M written"
        screen.say(f"write: {row['texts']} {row['what']} by {row['model']}: {tokens}, {_usd(row['usd'])}")
        if row["fits"] is False:
            screen.say(f"write: {row['what']} by {row['model']}: a prompt of usual length does not fit its context")
    total = "the sum is not known, as a price is not" if found["usd"] is None else f"{_usd(found['usd'])} in all"
    screen.say(f"write: {total}" if found["writing"] else "write: nothing by an LM")
    for line in found["over_budget"]:
        screen.say(f"write: {line}")
    hours = found["scoring"]["gpu_hours"]
    screen.say(f"score: {found['scoring']['pairs']} pairs" + ("" if hours is None else f", {hours:.2f} hours"))
    for line in found["assumed"]:
        screen.say(f"assumed: {line}")


def _usd(amount: float | None) -> str:
    return "price not known" if amount is None else f"{amount:.2f} USD"

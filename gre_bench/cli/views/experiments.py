"""Prints the result of ``gre-bench plan --all``: what each published experiment costs, and which files it needs."""

from __future__ import annotations

from typing import Any

from gre_bench.cli.views import screen
from gre_bench.cli.views.comparison import table


def show_experiments(plan: dict[str, Any]) -> None:
    """Prints a table of what each experiment costs, then its files and commands, and all assumptions made."""
    heads = ("experiment", "requests", "M read", "M written", "USD", "GPU h")
    table(heads, [
        (row["experiment"].partition("/")[2], f"{row['requests']:,}",
         f"{row['prompt_tokens'] / 1e6:.1f}", f"{row['reply_tokens'] / 1e6:.1f}", money(row),
         f"{row['gpu_hours']:.2f}") for row in plan["experiments"]
    ])  # fmt: skip
    for row in plan["experiments"]:
        screen.say(f"{row['experiment']}: {row['paper']}: {row['title']}")
        for line in row["run"]:
            screen.say(f"  run {line}")
        for name, content in row["give"].items():
            screen.say(f"  give {name}: {content}")
        for line in row["compare"]:
            screen.say(f"  then {line}")
        if row["unpriced"]:
            screen.say(f"  price not known: {', '.join(row['unpriced'])}")
        if row["does_not_fit"]:
            screen.say(f"  a usual prompt and the longest reply do not fit: {', '.join(row['does_not_fit'])}")
        if row["note"]:
            screen.say(f"  note: {row['note']}")
    for line in plan["assumed"]:
        screen.say(f"assumed: {line}")


def money(row: dict[str, Any]) -> str:
    """Returns the cost of an experiment in USD as a text, such as ``12.30+``.

    The amount covers the LMs whose price is known. A + says that the price of another LM is unknown.
    """
    if row["unpriced"] and not row["usd"]:
        return "not known"
    return f"{row['usd']:.2f}" + ("+" if row["unpriced"] else "")

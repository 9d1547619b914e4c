"""Prints the estimated cost and the state of studies, whatever they study."""

from __future__ import annotations

from typing import Any

from gre_bench.cli.views import screen
from gre_bench.core.terminal import counted


def show_models(plan: dict[str, Any]) -> None:
    """Prints how many requests to each LM a study still needs, and which limits of the budget they may exceed."""
    for row in plan["models"]:
        money = "price unknown" if row["usd_at_most"] is None else f"at most {row['usd_at_most']:.2f} USD"
        archived = f" ({row['archived']} more are archived)" if row["archived"] else ""
        screen.say(
            f"{row['model']}: {counted(row['requests'], 'request')}{archived}, about {row['prompt_tokens']:,} prompt "
            f"tokens, at most {row['reply_tokens_at_most']} reply tokens, {money}"
        )
    for line in plan["over_budget"]:
        screen.say(line)


def show_study(row: dict[str, Any]) -> None:
    """Prints the state of a study, its spending, and the budget left."""
    message = f". {row['message']}" if row["message"] else ""
    screen.mark(f"{row['study']}:", "bold", row["state"] + message)
    screen.show_spending(row)

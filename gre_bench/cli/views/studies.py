"""Prints the estimated cost and the state of a study of any kind."""

from __future__ import annotations

from typing import Any

from gre_bench.cli.views import screen


def show_models(plan: dict[str, Any]) -> None:
    """Prints the outstanding requests to each LM, and which limits they may exceed."""
    for row in plan["models"]:
        money = "price unknown" if row["usd_at_most"] is None else f"at most {row['usd_at_most']:.2f} USD"
        archived = f" ({row['archived']} more are archived)" if row["archived"] else ""
        screen.say(
            f"{row['model']}: {row['requests']} requests{archived}, about {row['prompt_tokens']} prompt tokens, "
            f"at most {row['reply_tokens_at_most']} reply tokens, {money}"
        )
    for line in plan["over_budget"]:
        screen.say(line)


def show_study(row: dict[str, Any]) -> None:
    """Prints a study's state, its spending and the budget left."""
    line = f"[bold]{screen.escape(row['study'])}[/bold]: {row['state']}"
    if row["message"]:
        line += f". {screen.escape(row['message'])}"
    screen.out.print(line, soft_wrap=True)
    screen.show_spending(row)

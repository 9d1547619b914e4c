"""What a study would cost and what it has: shown the same way for all kinds of studies."""

from __future__ import annotations

from typing import Any

from gre_bench.cli.views import screen


def show_models(found: dict[str, Any]) -> None:
    """What each LM would still be asked, and which bounds that may break."""
    for row in found["models"]:
        money = "price unknown" if row["usd_at_most"] is None else f"at most {row['usd_at_most']:.2f} USD"
        there = f" ({row['archived']} more are archived)" if row["archived"] else ""
        screen.say(
            f"{row['model']}: {row['requests']} requests{there}, about {row['prompt_tokens']} prompt tokens, "
            f"at most {row['reply_tokens_at_most']} reply tokens, {money}"
        )
    for line in found["over_budget"]:
        screen.say(line)


def show_study(row: dict[str, Any]) -> None:
    """How a study stands, what it has spent, and what its bounds leave."""
    line = f"[bold]{screen.escape(row['study'])}[/bold]: {row['state']}"
    if row["message"]:
        line += f". {screen.escape(row['message'])}"
    screen.out.print(line, soft_wrap=True)
    screen.show_spending(row)

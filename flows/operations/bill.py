"""What the texts and grades that LMs are still to give would come to, and which bounds of the budget it would break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flows.operations.plan_ahead import (
    CHARACTERS_A_TOKEN,
    JUDGMENT_TOKENS,
    PROMPT_TOKENS,
    REVIEW_TOKENS,
    SYNOPSIS_TOKENS,
)
from tasks.models import load as load_models
from tasks.prompts.conditions import guided
from tasks.records import Case, Paper
from tasks.settings import Bounds, Settings
from tasks.writing.ledger import Ledger, Spent
from tasks.writing.meter import cost, left

WRITES = {"reviews": REVIEW_TOKENS, "judgments": JUDGMENT_TOKENS, "assw": SYNOPSIS_TOKENS, "grades": JUDGMENT_TOKENS}
"""Tokens of one reply; thinking is not counted."""

Item = Paper | Case | tuple[str, str]


@dataclass(slots=True)
class Bill:
    """What is to be asked, by task and model, as `Spent` of the future; texts by the LM *judge* follow from reviews."""

    judge: str | None = None
    asked: dict[tuple[str, str], Spent] = field(default_factory=dict)

    def add(self, what: str, name: str, items: Sequence[Item]) -> None:
        """One request for each of *items* to the LM *name*."""
        self._add(what, name, len(items), sum(_characters(item) for item in items) / CHARACTERS_A_TOKEN)
        if what == "reviews" and self.judge:
            self._add("judgments", self.judge, len(items), len(items) * REVIEW_TOKENS)

    def _add(self, what: str, name: str, requests: int, tokens: float) -> None:
        if requests:
            reads = round(tokens) + requests * PROMPT_TOKENS
            more = Spent(requests, reads, requests * WRITES[what])
            self.asked[what, name] = self.asked.get((what, name), Spent()) + more

    def texts(self) -> dict[str, int]:
        """How many, by what and whom."""
        return {f"{what} by {name}": spent.requests for (what, name), spent in self.asked.items()}

    def rows(self, settings: Settings) -> list[dict[str, Any]]:
        """One row per model: requests, tokens, USD (None: price unknown)."""
        models, found = load_models(settings.writing.models), dict[str, Spent]()
        for (_, name), spent in self.asked.items():
            model = guided(name)[0]
            found[model] = found.get(model, Spent()) + spent
        return [
            {"model": name, "requests": spent.requests, "prompt_tokens": spent.prompt_tokens,
             "reply_tokens": spent.reply_tokens, "usd": cost(models[name], spent.prompt_tokens, spent.reply_tokens)}
            for name, spent in found.items()
        ]  # fmt: skip


def over(rows: Sequence[dict[str, Any]], settings: Settings, ledger: Ledger, account: str) -> list[str]:
    """One line for each bound that *rows*, bought on top of what *account* has spent, would break."""
    budget, said = settings.budget, []
    checks: list[tuple[str, Bounds, Spent, Sequence[dict[str, Any]]]] = [
        ("budget", budget, ledger.whole(account), rows)
    ]
    for name, bounds in budget.models.items():
        own = [row for row in rows if row["model"] == name]
        checks.append((f"budget.models.{name}", bounds, ledger.spent(account, name), own))
    for place, bounds, spent, asked in checks:
        for bound, remaining in left(bounds, spent).items():
            needed = sum(row.get(bound) or 0 for row in asked)
            if needed > remaining:
                said.append(f"{place}.{bound} would be reached: about {needed:,.6g} needed, {remaining:,.6g} left")
    return said


def _characters(item: Item) -> int:
    if isinstance(item, Paper):
        return len(item.whole)
    return len(item.candidate) + len(item.synopsis or "") if isinstance(item, Case) else len(item[1])

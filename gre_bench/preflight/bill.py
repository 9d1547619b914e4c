"""Estimates the cost of the texts and grades that LMs still have to write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gre_bench.catalogs.models import load as load_models
from gre_bench.core.records import Case, Paper
from gre_bench.core.settings import Settings
from gre_bench.preflight.plan_ahead import (
    CHARACTERS_A_TOKEN,
    JUDGMENT_TOKENS,
    PROMPT_TOKENS,
    REVIEW_TOKENS,
    SYNOPSIS_TOKENS,
)
from gre_bench.prompts.conditions import guided
from gre_bench.writing.spend_log import Spent, cost

WRITES = {"reviews": REVIEW_TOKENS, "judgments": JUDGMENT_TOKENS, "assw": SYNOPSIS_TOKENS, "grades": JUDGMENT_TOKENS}
"""The assumed tokens of one reply, by kind of text; thinking is not counted."""

Item = Paper | Case | tuple[str, str]


@dataclass(slots=True)
class Bill:
    """The planned requests to LMs, with the tokens that the LMs will read and write.

    - *requested*: (kind of text, LM) → number of requests and tokens.
    - *judge*: the LM that writes judgments; None if a rule writes them. Each added review also adds a request to this
      LM.
    """

    judge: str | None = None
    requested: dict[tuple[str, str], Spent] = field(default_factory=dict)

    def add(self, kind: str, name: str, items: Sequence[Item]) -> None:
        """Adds one request to the LM *name* for each of *items*. *kind*: the kind of text, a key of `WRITES`."""
        self._add(kind, name, len(items), sum(_characters(item) for item in items) / CHARACTERS_A_TOKEN)
        if kind == "reviews" and self.judge:
            self._add("judgments", self.judge, len(items), len(items) * REVIEW_TOKENS)

    def _add(self, kind: str, name: str, requests: int, tokens: float) -> None:
        if requests:
            reads = round(tokens) + requests * PROMPT_TOKENS
            spent = Spent(requests, reads, requests * WRITES[kind])
            self.requested[kind, name] = self.requested.get((kind, name), Spent()) + spent

    def texts(self) -> dict[str, int]:
        """Returns the numbers of requested texts by kind of text and LM. A key reads like ``reviews by gpt-4o``."""
        return {f"{kind} by {name}": spent.requests for (kind, name), spent in self.requested.items()}

    def rows(self, settings: Settings) -> list[dict[str, Any]]:
        """Returns one row per model: requests, tokens, and USD (None if the models file states no price).

        Requests with a guideline and requests without one are added up in the model's row.
        """
        models, by_model = load_models(settings.writing.models), dict[str, Spent]()
        for (_, name), spent in self.requested.items():
            model = guided(name)[0]
            by_model[model] = by_model.get(model, Spent()) + spent
        return [
            {"model": name, "requests": spent.requests, "prompt_tokens": spent.prompt_tokens,
             "reply_tokens": spent.reply_tokens, "usd": cost(models[name], spent.prompt_tokens, spent.reply_tokens)}
            for name, spent in by_model.items()
        ]  # fmt: skip


def _characters(item: Item) -> int:
    if isinstance(item, Paper):
        return len(item.whole)
    return len(item.candidate) + len(item.synopsis or "") if isinstance(item, Case) else len(item[1])

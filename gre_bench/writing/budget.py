"""Keeps the requests to one LM within a budget.

The limits are checked before each request, and the cost is recorded after the answer. The number of requests never
exceeds its limit. The tokens, the money and the hours can exceed their limits by what the requests in flight add.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import BudgetReached, SettingsError
from gre_bench.core.records import Chat, Reply
from gre_bench.core.settings import Bounds, BudgetSettings
from gre_bench.writing.spend_log import SpendLog, Spent

CHARACTERS_A_TOKEN = 4
"""Characters per token, to estimate tokens where an endpoint does not state them."""

ANSWERED = frozenset({"ok", "cut", "empty"})
"""Outcomes of requests that the LM answered, possibly with an empty text."""

_UNITS = {"requests": "requests", "prompt_tokens": "prompt tokens", "reply_tokens": "reply tokens", "usd": "USD",
          "hours": "hours"}  # fmt: skip


class ModelBudget:
    """Charges the requests to the LM *model*, and enforces the limits of *budget* on them.

    - *spend_log*: the log in which requests and costs are recorded.
    - *account*: the account of the log that is charged, usually an edition.
    - *budget*: the limits of the whole account, and those of each model.

    Raises `SettingsError` if the budget limits money and the model has no prices.
    """

    def __init__(self, spend_log: SpendLog, account: str, budget: BudgetSettings, model: Model):
        self.spend_log, self.account, self.budget, self.model = spend_log, account, budget, model
        self._own = budget.models.get(model.name, Bounds())
        self._began: float | None = None
        if None in (model.price_in, model.price_out) and (budget.usd or self._own.usd) is not None:
            raise SettingsError(
                f"the budget bounds money (usd), and model {model.name} has no prices: give it price_in and price_out "
                "in the models file (0 if it costs nothing), or bound requests and tokens instead"
            )

    @contextmanager
    def working(self) -> Iterator[None]:
        """Measures how long the ``with`` block takes, and adds this time to the model's hours in the spend log."""
        self._began = time.monotonic()
        try:
            yield
        finally:
            seconds, self._began = time.monotonic() - self._began, None
            self.spend_log.add("worked", self.account, self.model.name, seconds=round(seconds, 3))

    def take(self) -> None:
        """Counts one request before it is sent; raises `BudgetReached` if a limit of the budget is already reached."""
        self.spend_log.add("sent", self.account, self.model.name, self._allowed)

    def pay(self, chat: Chat, reply: Reply, seconds: float) -> None:
        """Records the outcome, tokens and cost of the request that sent *chat*, got *reply* and took *seconds*."""
        guessed = reply.outcome in ANSWERED and None in (reply.prompt_tokens, reply.reply_tokens)
        prompt, written = tokens_of(chat, reply)
        self.spend_log.add(
            "answered", self.account, self.model.name, outcome=reply.outcome, prompt_tokens=prompt,
            reply_tokens=written, usd=cost(self.model, prompt, written), estimated=guessed, seconds=round(seconds, 3),
        )  # fmt: skip

    def _allowed(self) -> None:
        of_model, of_run = self.spend_log.spent(self.account, self.model.name), self.spend_log.whole(self.account)
        if self._began is not None:
            of_model.hours += (time.monotonic() - self._began) / 3600
        stop_at(self.budget, of_run, self.account)
        stop_at(self._own, of_model, self.account, self.model.name)


def estimated(text: str) -> int:
    """Returns the estimated number of tokens of *text*, at four characters each."""
    return len(text) // CHARACTERS_A_TOKEN


def tokens_of(chat: Chat, reply: Reply) -> tuple[int, int]:
    """Returns (prompt tokens, reply tokens) of a request, as the endpoint states them.

    A number that the endpoint does not state is estimated if the LM answered. If the LM did not answer, such a number
    is 0.
    """
    if reply.outcome not in ANSWERED:
        return reply.prompt_tokens or 0, reply.reply_tokens or 0
    read, written = reply.prompt_tokens, reply.reply_tokens
    return (
        estimated(chat.system + chat.user) if read is None else read,
        (len(reply.text or "") + reply.thinking) // CHARACTERS_A_TOKEN if written is None else written,
    )


def cost(model: Model, prompt_tokens: float, reply_tokens: float) -> float | None:
    """Returns the cost in USD of *prompt_tokens* read and *reply_tokens* written by *model*.

    The result is None if the model has no prices.
    """
    if model.price_in is None or model.price_out is None:
        return None
    return (prompt_tokens * model.price_in + reply_tokens * model.price_out) / 1e6


def stop_at(bounds: Bounds, spent: Spent, account: str, model: str | None = None) -> None:
    """Raises `BudgetReached` if an account has reached a limit. The error's message names the setting to raise.

    - *bounds*: the limits.
    - *spent*: what *account* has spent, in total or on *model*.
    - *model*: the model to which the limits apply; None if they apply to the whole account.
    """
    for name, unit in _UNITS.items():
        bound, used = getattr(bounds, name), getattr(spent, name)
        if bound is None or used < bound:
            continue
        setting = f"budget.{name}" if model is None else f"budget.models.{model}.{name}"
        raise BudgetReached(
            f"paused at {setting}: {_number(used)} of {_number(bound)} {unit} spent on {account} "
            f"({spending_line(spent)}); what is done is kept. Raise it (--set {setting}=...) and give the same "
            "command again"
        )


def spending_line(spent: Spent) -> str:
    """Returns the totals *spent* as a phrase for messages: requests, tokens, USD and hours."""
    lost = f", {spent.unanswered} without an answer" if spent.unanswered else ""
    return (
        f"{spent.requests:,} requests{lost}, {spent.prompt_tokens:,} prompt and {spent.reply_tokens:,} reply tokens, "
        f"{spent.usd:.2f} USD, {spent.hours:.2f} hours"
    )


def remaining(bounds: Bounds, spent: Spent) -> dict[str, float]:
    """Returns how much of each limit in *bounds* is left after *spent*, at least 0.

    The result maps the name of a limit, such as ``usd``, to a number in the limit's unit. Limits that are None are left
    out.
    """
    given = {name: getattr(bounds, name) for name in _UNITS}
    return {name: max(0, round(bound - getattr(spent, name), 6)) for name, bound in given.items() if bound is not None}


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"

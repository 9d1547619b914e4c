"""What an edition has spent on LMs and time, and what its budget still allows."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any

from tasks.errors import SettingsError, StoreError
from tasks.models import load as load_models
from tasks.settings import Bounds, BudgetSettings, Settings, load_over
from tasks.store import Row, Store
from tasks.writing.ledger import Ledger, Spent, ledger_of
from tasks.writing.meter import left, stop_at

TICK_S = 10.0
"""Hours are written down no more often, unless they are bounded."""


def check(settings: Settings) -> None:
    """`SettingsError` if the budget bounds a model that the models file does not have: it would bound nothing."""
    if not settings.budget.models:
        return
    known = load_models(settings.writing.models)
    for name in settings.budget.models:
        if name not in known:
            raise SettingsError(f"budget.models: no model {name!r} in the models file; known: {', '.join(known)}")


class RunClock:
    """Writes the hours of an edition's run into the ledger, and ends it when the budget has no more of them."""

    def __init__(self, store: Store, budget: BudgetSettings):
        self._ledger, self._account, self._budget = ledger(store), store.key, budget
        self._since = time.monotonic()

    def tick(self) -> None:
        """Some work is committed; `BudgetReached` if the hours are over."""
        if time.monotonic() - self._since >= TICK_S or self._budget.hours is not None:
            self.stop()
            hours = Bounds(hours=self._budget.hours)
            stop_at(hours, self._ledger.whole(self._account), self._account)

    def stop(self) -> None:
        """Writes down the time since the last entry."""
        moment = time.monotonic()
        self._ledger.add("worked", self._account, None, seconds=round(moment - self._since, 3))
        self._since = moment


def ledger(store: Store) -> Ledger:
    """The ledger of the state that *store* lies in."""
    return ledger_of(store.folder.parent.parent)


def account(store: Store) -> dict[str, Any]:
    """For the status of an edition: spent in all and by model, remaining by bound, and what became of the texts."""
    found, budget = ledger(store), _budget(store)
    by_model = found.models(store.key)
    whole = found.whole(store.key)
    remaining = left(budget, whole) | {
        f"models.{name}.{bound}": value
        for name, bounds in budget.models.items()
        for bound, value in left(bounds, by_model.get(name, Spent())).items()
    }
    return {
        "spent": _row(whole), "spent_by_model": {name: _row(spent) for name, spent in by_model.items()},
        "remaining": remaining, "ledger_lines_damaged": found.damaged, "texts": _texts(store),
    }  # fmt: skip


def _budget(store: Store) -> BudgetSettings:
    """The bounds of the edition's last run; none where readers have nothing yet."""
    try:
        rows = store.read("last_settings")
        return load_over(json.loads(rows[0]["settings"])).budget if rows else BudgetSettings()
    except (StoreError, SettingsError):
        return BudgetSettings()


def _texts(store: Store) -> list[Row]:
    try:
        return store.read("text_outcomes")
    except (StoreError, SettingsError):
        return []


def _row(spent: Spent) -> Row:
    row = asdict(spent) | {"unanswered": spent.unanswered, "outcomes": dict(spent.outcomes)}
    return row | {"usd": round(spent.usd, 6), "hours": round(spent.hours, 4)}

"""What an edition or a study has spent on LMs and time, and what its budget still allows."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.core.settings import Bounds, BudgetSettings, load_over
from gre_bench.store import Store
from gre_bench.store.binding import QueryRow
from gre_bench.store.queries import Query
from gre_bench.store.queries.runs import LAST_SETTINGS
from gre_bench.store.queries.writing import OUTCOMES, TEXT_OUTCOMES
from gre_bench.writing.budget import left, stop_at
from gre_bench.writing.spend_log import SpendLog, Spent, spend_log_of

TICK_S = 10.0
"""Hours are written down no more often, unless they are bounded."""


def check(budget: BudgetSettings, models: Path | None) -> None:
    """`SettingsError` if the *budget* bounds a model that the file *models* does not have: it would bound nothing."""
    if not budget.models:
        return
    known = load_models(models)
    for name in budget.models:
        if name not in known:
            raise SettingsError(f"budget.models: no model {name!r} in the models file; known: {', '.join(known)}")


class RunClock:
    """Writes the hours of a run into the *spend_log*, and ends it when the *budget* of its *account* has no more."""

    def __init__(self, spend_log: SpendLog, account: str, budget: BudgetSettings):
        self._ledger, self._account, self._budget = spend_log, account, budget
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


def spend_log(store: Store) -> SpendLog:
    """The spend log of the state that *store* lies in."""
    return spend_log_of(store.folder.parent.parent)


def account(store: Store) -> dict[str, Any]:
    """For the status of an edition: spent in all and by model, remaining by bound, and what became of the texts.

    *texts*: by task, writer and outcome; *outcomes*: by candidate, purpose and LM, with the grades.
    """
    found = spend_log(store)
    told = {"ledger_lines_damaged": found.damaged, "texts": _rows(store, TEXT_OUTCOMES)}
    return balance(found, store.key, _budget(store)) | told | {"outcomes": _rows(store, OUTCOMES)}


def balance(spend_log: SpendLog, account: str, budget: BudgetSettings) -> dict[str, Any]:
    """What *account* has spent in all and by model, and what each bound of *budget* leaves."""
    by_model, whole = spend_log.models(account), spend_log.whole(account)
    remaining = left(budget, whole) | {
        f"models.{name}.{bound}": value
        for name, bounds in budget.models.items()
        for bound, value in left(bounds, by_model.get(name, Spent())).items()
    }
    return {
        "spent": _row(whole), "spent_by_model": {name: _row(spent) for name, spent in by_model.items()},
        "remaining": remaining,
    }  # fmt: skip


def over(
    rows: Sequence[Mapping[str, Any]], budget: BudgetSettings, spend_log: SpendLog, account: str, how: str = "about"
) -> list[str]:
    """One line for each bound that *rows* (a model each), bought on top of what *account* has spent, would break."""
    said = []
    checks: list[tuple[str, Bounds, Spent, Sequence[Mapping[str, Any]]]] = [
        ("budget", budget, spend_log.whole(account), rows)
    ]
    for name, bounds in budget.models.items():
        own = [row for row in rows if row["model"] == name]
        checks.append((f"budget.models.{name}", bounds, spend_log.spent(account, name), own))
    for place, bounds, spent, asked in checks:
        for bound, remaining in left(bounds, spent).items():
            needed = sum(row.get(bound) or 0 for row in asked)
            if needed > remaining:
                said.append(f"{place}.{bound} would be reached: {how} {needed:,.6g} needed, {remaining:,.6g} left")
    return said


def _budget(store: Store) -> BudgetSettings:
    """The bounds of the edition's last run; none where readers have nothing yet."""
    try:
        rows = store.read(LAST_SETTINGS)
        return load_over(json.loads(rows[0]["settings"])).budget if rows else BudgetSettings()
    except (StoreError, SettingsError):
        return BudgetSettings()


def _rows(store: Store, query: Query[QueryRow]) -> list[QueryRow]:
    """Rows of *query*; none where readers have nothing yet."""
    try:
        return store.read(query)
    except (StoreError, SettingsError):
        return []


def _row(spent: Spent) -> dict[str, Any]:
    row = asdict(spent) | {"unanswered": spent.unanswered, "outcomes": dict(spent.outcomes)}
    return row | {"usd": round(spent.usd, 6), "hours": round(spent.hours, 4)}

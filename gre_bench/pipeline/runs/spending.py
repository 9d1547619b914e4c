"""Reports what an edition or a study has spent, in LM requests and in hours, and what its budget still allows."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.core.settings import Bounds, BudgetSettings, load_recorded_settings
from gre_bench.store import Store
from gre_bench.store.queries import LAST_SETTINGS, OUTCOMES, TEXT_OUTCOMES, Query, QueryRow
from gre_bench.writing.spend_log import SpendLog, Spent, check_budget_limits, open_spend_log, remaining_budget

TICK_S = 10.0
"""Seconds between two entries of working time in the spend log; fewer if the budget limits hours."""


def check_budget_models(budget: BudgetSettings, models: Path | None) -> None:
    """Raises `SettingsError` if *budget* limits a model that the file *models* lacks: that limit has no effect."""
    known = load_models(models) if budget.models else {}
    for name in budget.models:
        if name not in known:
            raise SettingsError(f"budget.models: no model {name!r} in the models file; known: {', '.join(known)}")


class RunClock:
    """Writes the working time of a run to *spend_log* under *account*, and ends the run when its hours are used up."""

    def __init__(self, spend_log: SpendLog, account: str, budget: BudgetSettings):
        self._spend_log, self._account, self._budget = spend_log, account, budget
        self._since = time.monotonic()

    def tick(self) -> None:
        """Writes an entry if one is due (see `TICK_S`); then raises `BudgetReached` if the hours are used up."""
        if time.monotonic() - self._since >= TICK_S or self._budget.hours is not None:
            self.stop()
            hours = Bounds(hours=self._budget.hours)
            check_budget_limits(hours, self._spend_log.spent_on_all_models(self._account), self._account)

    def stop(self) -> None:
        """Writes the working time since the last entry to the spend log."""
        moment = time.monotonic()
        self._spend_log.add("worked", self._account, None, seconds=round(moment - self._since, 3))
        self._since = moment


def spend_log(store: Store) -> SpendLog:
    return open_spend_log(store.folder.parent.parent)


def describe_unanswered_requests(store: Store) -> list[str]:
    """Returns a line about unanswered requests of killed runs, if there are any.

    The caller must hold the edition's lock and must not have sent requests. Then every request without an answer is one
    of a killed run.
    """
    count = spend_log(store).spent_on_all_models(store.key).unanswered
    what = f"{count:,} {'request was' if count == 1 else 'requests were'} in flight when a run was killed"
    return [f"{what}: each may have been paid, without a reply or cost on record"] if count else []


def summarise_spending(store: Store) -> dict[str, Any]:
    """Returns an edition's spending (`compute_balance`) and the outcomes of the texts and grades requested from LMs."""
    log, last, budget = spend_log(store), _read_rows_if_possible(store, LAST_SETTINGS), BudgetSettings()
    with suppress(SettingsError):
        budget = load_recorded_settings(json.loads(last[0]["settings"])).budget if last else budget
    counts = {"spend_log_lines_damaged": log.damaged, "texts": _read_rows_if_possible(store, TEXT_OUTCOMES)}
    return compute_balance(log, store.key, budget) | counts | {"outcomes": _read_rows_if_possible(store, OUTCOMES)}


def compute_balance(spend_log: SpendLog, account: str, budget: BudgetSettings) -> dict[str, Any]:
    """Returns what *account* has spent, in total and by model, and what is left of each limit in *budget*."""
    by_model, whole = spend_log.models(account), spend_log.spent_on_all_models(account)
    left = remaining_budget(budget, whole)
    for name, bounds in budget.models.items():
        own = remaining_budget(bounds, by_model.get(name, Spent()))
        left |= {f"models.{name}.{bound}": value for bound, value in own.items()}
    spent_by_model = {name: _build_spending_row(spent) for name, spent in by_model.items()}
    return {"spent": _build_spending_row(whole), "spent_by_model": spent_by_model, "remaining": left}


def list_exceeded_limits(
    rows: Sequence[Mapping[str, Any]], budget: BudgetSettings, spend_log: SpendLog, account: str, how: str = "about"
) -> list[str]:
    """Returns one line for each limit of *budget* that the requests in *rows* would exceed.

    *rows*: requests, tokens and USD by model, in addition to what *account* has spent. *how*: the word before an
    amount, such as ``about``.
    """
    lines = []
    limits: dict[str | None, Bounds] = {None: budget, **budget.models}
    for model, bounds in limits.items():
        spent = spend_log.spent_on_all_models(account) if model is None else spend_log.spent(account, model)
        own_rows = [row for row in rows if model in (None, row["model"])]
        for bound, free in remaining_budget(bounds, spent).items():
            if (needed := sum(row.get(bound) or 0 for row in own_rows)) > free:
                name = f"budget.{bound}" if model is None else f"budget.models.{model}.{bound}"
                lines.append(f"{name} would be reached: {how} {needed:,.6g} needed, {free:,.6g} left")
    return lines


def _read_rows_if_possible(store: Store, query: Query[QueryRow]) -> list[QueryRow]:
    try:
        return store.read(query)
    except (StoreError, SettingsError):
        return []


def _build_spending_row(spent: Spent) -> dict[str, Any]:
    usd = None if spent.unpriced and not spent.usd else round(spent.usd, 6)
    row = asdict(spent) | {"unanswered": spent.unanswered, "outcomes": dict(spent.outcomes), "money": spent.money}
    return row | {"usd": usd, "hours": round(spent.hours, 4)}

"""Tells what an edition or a study has spent on LMs and in hours, and what its budget still allows."""

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
from gre_bench.store.queries import LAST_SETTINGS, OUTCOMES, TEXT_OUTCOMES, Query, QueryRow
from gre_bench.writing.spend_log import SpendLog, Spent, remaining, spend_log_of, stop_at

TICK_S = 10.0
"""Seconds between two entries of the time in the spend log; if the budget limits hours, entries are more frequent."""


def check(budget: BudgetSettings, models: Path | None) -> None:
    """Raises `SettingsError` if *budget* has a limit for a model that is not in the models file.

    Such a limit would have no effect. *models*: path of the models file; None means the shipped file.
    """
    if not budget.models:
        return
    known = load_models(models)
    for name in budget.models:
        if name not in known:
            raise SettingsError(f"budget.models: no model {name!r} in the models file; known: {', '.join(known)}")


class RunClock:
    """Writes the working time of a run to *spend_log* under *account*, and ends the run when its hours are used up.

    *account*: the name of the edition or study. *budget*: states the limit of hours.
    """

    def __init__(self, spend_log: SpendLog, account: str, budget: BudgetSettings):
        self._spend_log, self._account, self._budget = spend_log, account, budget
        self._since = time.monotonic()

    def tick(self) -> None:
        """Writes the time since the last entry to the spend log if an entry is due.

        Raises `BudgetReached` if the budget's hours are then used up.
        """
        if time.monotonic() - self._since >= TICK_S or self._budget.hours is not None:
            self.stop()
            hours = Bounds(hours=self._budget.hours)
            stop_at(hours, self._spend_log.whole(self._account), self._account)

    def stop(self) -> None:
        """Writes the working time since the last entry to the spend log."""
        moment = time.monotonic()
        self._spend_log.add("worked", self._account, None, seconds=round(moment - self._since, 3))
        self._since = moment


def spend_log(store: Store) -> SpendLog:
    """Returns the spend log of the state folder that contains *store*."""
    return spend_log_of(store.folder.parent.parent)


def in_flight_when_killed(store: Store) -> list[str]:
    """Returns a line about the requests of killed runs that got no answer; none if there are none.

    The caller must hold the edition's lock and have sent nothing yet: every request without an answer is then lost.
    """
    count = spend_log(store).whole(store.key).unanswered
    what = "request was" if count == 1 else "requests were"
    line = (
        f"{count:,} {what} in flight when a run was killed: each may have been paid, without a reply or cost on record"
    )
    return [line] if count else []


def account(store: Store) -> dict[str, Any]:
    """Returns an edition's spending: the balance (see `balance`), and what became of the requested texts.

    ``texts``: counts of the outcomes of texts, by task and writer. ``outcomes``: counts of the outcomes of texts and
    grades, by candidate, purpose and LM.
    """
    log, last = spend_log(store), _rows(store, LAST_SETTINGS)
    try:
        budget = load_over(json.loads(last[0]["settings"])).budget if last else BudgetSettings()
    except SettingsError:
        budget = BudgetSettings()
    counts = {"spend_log_lines_damaged": log.damaged, "texts": _rows(store, TEXT_OUTCOMES)}
    return balance(log, store.key, budget) | counts | {"outcomes": _rows(store, OUTCOMES)}


def balance(spend_log: SpendLog, account: str, budget: BudgetSettings) -> dict[str, Any]:
    """Returns what *account* has spent, in total and by model, and what remains of each limit of *budget*.

    *account*: the name of an edition or study in the spend log.
    """
    by_model, whole = spend_log.models(account), spend_log.whole(account)
    left = remaining(budget, whole) | {
        f"models.{name}.{bound}": value
        for name, bounds in budget.models.items()
        for bound, value in remaining(bounds, by_model.get(name, Spent())).items()
    }
    return {
        "spent": _row(whole), "spent_by_model": {name: _row(spent) for name, spent in by_model.items()},
        "remaining": left,
    }  # fmt: skip


def over(
    rows: Sequence[Mapping[str, Any]], budget: BudgetSettings, spend_log: SpendLog, account: str, how: str = "about"
) -> list[str]:
    """Returns one line for each limit of *budget* that would be exceeded by sending the requests in *rows*.

    - *rows*: requests, tokens and USD by model. They are added to what *account* has already spent.
    - *how*: the word before the needed amount in a line, such as ``about`` or ``at most``.
    """
    lines = []
    checks: list[tuple[str, Bounds, Spent, Sequence[Mapping[str, Any]]]] = [
        ("budget", budget, spend_log.whole(account), rows)
    ]
    for name, bounds in budget.models.items():
        own = [row for row in rows if row["model"] == name]
        checks.append((f"budget.models.{name}", bounds, spend_log.spent(account, name), own))
    for name, bounds, spent, own_rows in checks:
        for bound, free in remaining(bounds, spent).items():
            needed = sum(row.get(bound) or 0 for row in own_rows)
            if needed > free:
                lines.append(f"{name}.{bound} would be reached: {how} {needed:,.6g} needed, {free:,.6g} left")
    return lines


def _rows(store: Store, query: Query[QueryRow]) -> list[QueryRow]:
    """Returns the rows of *query* from the read-only copy of the store; none if that copy does not exist yet."""
    try:
        return store.read(query)
    except (StoreError, SettingsError):
        return []


def _row(spent: Spent) -> dict[str, Any]:
    row = asdict(spent) | {"unanswered": spent.unanswered, "outcomes": dict(spent.outcomes)}
    return row | {"usd": round(spent.usd, 6), "hours": round(spent.hours, 4)}

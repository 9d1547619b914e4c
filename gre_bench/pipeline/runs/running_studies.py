"""Keeps a running study within its budget, shows its state, and estimates the cost of its remaining requests.

A study, such as a comparison of guidelines, asks LMs but needs no edition and no store. Its spending is logged under
its name, and its status is in ``status.json`` in its folder. All replies are archived, so a study that is stopped at a
limit loses nothing.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gre_bench.core.errors import SettingsError, SourceError, StoreError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.records import Chat, Sampling
from gre_bench.core.settings import BudgetSettings, load_recorded_settings
from gre_bench.core.strict import load_json
from gre_bench.core.whole_files import write_file
from gre_bench.pipeline.runs.job import describe_ending
from gre_bench.pipeline.runs.spending import (
    TICK_S,
    RunClock,
    check_budget_models,
    compute_balance,
    list_exceeded_limits,
)
from gre_bench.store import now
from gre_bench.writing.spend_log import compute_cost_usd, open_spend_log
from gre_bench.writing.writers import DEFAULT_ACCOUNT, WriterContext

if TYPE_CHECKING:
    from gre_bench.writing.http_writer import HttpWriter

    Asking = tuple[HttpWriter, Sequence[Chat], Sampling]
    """An LM's writer, the chats to send to it, and the sampling of its replies."""

STATUS = "status.json"
SHORTEST_TICK_S = 0.05
CHARACTERS_A_TOKEN = 4.0


class _Status(BaseModel, strict=True, extra="ignore"):
    """The fields of a study's status file that this module reads."""

    state: str = "unknown"
    message: str = ""
    pid: int | None = None
    budget: dict[str, Any] = {}


@contextmanager
def run_within_budget(writer_context: WriterContext, folder: Path) -> Iterator[Callable[..., None]]:
    """Runs the block of a study within the study's budget; yields a function that writes the study's status.

    The function takes the state (running, done, incomplete, paused, stopped, refused or fault) and a one-line message.
    The block must write the final state itself, unless it raises an exception. Raises `SettingsError` at the start if
    the budget limits a model that is not in the models file.
    """
    account, budget = writer_context.account, writer_context.budget
    check_budget_models(budget, writer_context.models)
    clock = RunClock(open_spend_log(writer_context.archive.parent), account, budget)
    stated = {"study": account, "pid": os.getpid(), "started_at": now().isoformat(),
              "budget": budget.model_dump(mode="json", exclude_none=True)}  # fmt: skip

    def save_state(state: str, message: str = "") -> None:
        row = stated | {"state": state, "message": message, "updated_at": now().isoformat()}
        write_file(folder / STATUS, json.dumps(row, indent=1).encode())

    def tick() -> None:
        """Writes the working time to the spend log, so that the budget check before a request includes it.

        Repeats this until the study ends: every `TICK_S` seconds, or every hundredth of the budget's hours if that is
        shorter, but not more often than every `SHORTEST_TICK_S` seconds.
        """
        every = TICK_S if budget.hours is None else min(TICK_S, max(SHORTEST_TICK_S, budget.hours * 36))
        # If the spend log cannot be written, the next request fails and reports it.
        with suppress(StoreError):
            while not finished.wait(every):
                clock.stop()

    finished = threading.Event()
    ticking = threading.Thread(target=tick, name="hours", daemon=True)
    save_state("running")
    ticking.start()
    try:
        try:
            yield save_state
        finally:
            finished.set()
            ticking.join()
    except BaseException as error:
        # The error that ended the study, such as a full disk, may prevent this too. Only the first one is reported.
        for last in (clock.stop, partial(save_state, *describe_ending(error))):
            with suppress(StoreError, SourceError):
                last()
        raise
    clock.stop()


def summarise_studies(state: Path) -> list[dict[str, Any]]:
    """Returns one row for each study in the folder *state*: its status, its spending, and its remaining budget."""
    spend_log = open_spend_log(state)
    known = {f"{DEFAULT_ACCOUNT}/{file.parent.parent.name}/{file.parent.name}": _read_status(file)
             for file in (state / DEFAULT_ACCOUNT).glob(f"*/*/{STATUS}")}  # fmt: skip
    spent = {name for name in spend_log.accounts if name.partition("/")[0] == DEFAULT_ACCOUNT}
    rows = []
    for account in sorted(spent | known.keys()):
        status = known.get(account, _Status())
        row = {"study": account, "state": status.state, "message": status.message}
        if row["state"] == "running" and not _is_process_alive(status.pid):
            row |= {"state": "cut short", "message": "give the same command again: it pays only the rest"}
        try:
            budget = load_recorded_settings({"budget": status.budget}).budget
        except SettingsError:
            budget = BudgetSettings()
        rows.append(row | compute_balance(spend_log, account, budget))
    return rows


def _is_process_alive(pid: object) -> bool:
    try:
        os.kill(int(str(pid)), 0)
    except PermissionError:
        return True
    except (ValueError, OverflowError, OSError):
        return False
    return True


def _read_status(file: Path) -> _Status:
    """Returns the content of the status file *file*; the state is unknown if the file is damaged or malformed."""
    try:
        return _Status.model_validate(load_json(read_bytes(file)))
    except (OSError, ValueError, SourceError):
        return _Status(message="its status.json is damaged; the same command makes a new one")


def estimate_request_cost(name: str, asking: Sequence[Asking]) -> dict[str, Any]:
    """Returns one row for the LM *name*: requests to send, archived replies, tokens, and USD (None without a price).

    The cost is an upper bound, provided that every reply is usable; an unusable reply is requested again.
    """
    requests = archived = most = characters = 0
    for writer, chats, sampling in asking:
        is_archived = writer.answered(chats, sampling)
        due = [chat for chat, done in zip(chats, is_archived, strict=True) if not done]
        requests, archived = requests + len(due), archived + len(chats) - len(due)
        characters += sum(len(chat.system) + len(chat.user) for chat in due)
        most += len(due) * sampling.max_tokens
    prompt = round(characters / CHARACTERS_A_TOKEN)
    usd = compute_cost_usd(asking[0][0].model, prompt, most) if asking else 0.0
    return {"model": name, "requests": requests, "archived": archived, "prompt_tokens": prompt,
            "reply_tokens_at_most": most, "usd_at_most": usd}  # fmt: skip


def list_exceeded_budgets(writer_context: WriterContext, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Returns one line for each limit of the study's budget that the requests in *rows* may exceed.

    *rows* come from `estimate_request_cost`.
    """
    bought = [row | {"reply_tokens": row["reply_tokens_at_most"], "usd": row["usd_at_most"]} for row in rows]
    log, account = open_spend_log(writer_context.archive.parent), writer_context.account
    return list_exceeded_limits(bought, writer_context.budget, log, account, "at most")

"""The spend log of the requests to LMs, and the budget of an LM.

The log gets one line before each request and one after its answer. Lines are only appended, never changed. The log is
next to the reply archive, and all processes that use the same state share it. If a process is killed, its requests stay
counted, in `Spent.unanswered`, but the cost of their answers is unknown. Each line ends with a checksum (CRC-32), by
which damaged lines are detected.

The limits of a budget are checked before each request, and the cost is recorded after the answer. The number of
requests never exceeds its limit. The tokens and the cost of requests in flight are estimated, so the total exceeds its
limit by about one request at most. The hours can exceed their limit by the duration of the requests in flight.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import BudgetReached, SettingsError
from gre_bench.core.records import Chat, Completion, Sampling
from gre_bench.core.settings import Bounds, BudgetSettings
from gre_bench.core.whole_files import convert_os_errors, hold_file_lock

FILE = "spending.jsonl"
Key = tuple[str, str | None]
"""(account, usually an edition; model of the models file, or None for the account's runs as a whole)."""


@dataclass(slots=True)
class Spent:
    """What an account has spent, on all models or on one of them.

    *requests*: the number of requests sent. *answered*: how many of them have an answer. *hours*: how long the
    account's runs or the model worked, including waiting. *estimated*: the number of answers whose tokens the endpoint
    did not state. *outcomes*: outcome of a reply → number of answers. *unpriced*: the number of answers that *usd* does
    not include, because the price of their tokens is unknown.
    """

    requests: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    usd: float = 0.0
    hours: float = 0.0
    answered: int = 0
    estimated: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    unpriced: int = 0

    @property
    def money(self) -> str:
        """The money spent as a phrase, such as ``0.12 USD``; the phrase says so if a price is unknown."""
        if not self.unpriced:
            return f"{self.usd:.2f} USD"
        some = f"{self.usd:.2f} USD, {self.unpriced:,} of {self.answered:,} answers at an unknown price"
        return some if self.usd else "price unknown"

    @property
    def unanswered(self) -> int:
        """The number of requests without an answer: those in flight, and those whose process was killed."""
        return max(0, self.requests - self.answered)

    def __add__(self, other: Spent) -> Spent:
        return Spent(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


class SpendLog:
    """The spend log in the file *path*. Each query first reads the lines added since the last query.

    `damaged` counts the unreadable lines; no total includes them. `in_flight` holds the estimated tokens and cost of
    this process's requests that have no answer yet. Code that changes `in_flight` must hold `settled`, a
    `threading.Condition`, and notify it when an answer arrives. All methods raise `StoreError` if the file cannot be
    read or written.
    """

    def __init__(self, path: Path):
        self.path = path
        self.damaged = 0
        self._known: dict[Key, Spent] = defaultdict(Spent)
        self._read_to = 0
        self._own = threading.RLock()
        self.settled = threading.Condition(self._own)
        self.in_flight: list[tuple[Key, Spent]] = []
        self._owner = f"the spend log {path}"

    def spent(self, account: str, model: str | None = None) -> Spent:
        """Returns what *account* has spent on *model*; if *model* is None, only the hours of the account's runs."""
        with self._own:
            self._read_new_lines()
            return Spent() + self._known.get((account, model), Spent())

    def spent_on_all_models(self, account: str) -> Spent:
        """Returns what *account* has spent on all models together, with the hours of its runs."""
        with self._own:
            total = sum(self.models(account).values(), Spent())
            total.hours = self.spent(account).hours
            return total

    @property
    def accounts(self) -> set[str]:
        with self._own:
            self._read_new_lines()
            return {account for account, _ in self._known}

    def models(self, account: str) -> dict[str, Spent]:
        with self._own:
            self._read_new_lines()
            return {model: Spent() + spent for (owner, model), spent in sorted(self._known.items(), key=repr)
                    if owner == account and model is not None}  # fmt: skip

    def add(self, event: str, account: str, model: str | None, allowed: Callable[[], None] | None = None,
            **more: Any) -> None:  # fmt: skip
        """Appends one line to the log, completely or not at all.

        *event*: ``sent`` for a request, ``answered`` for its answer, ``worked`` for working time. *model*: None for the
        run as a whole. *allowed*: called after all earlier lines of all processes have been read; if it raises, no line
        is added. *more*: further entries of the line.
        """
        entry = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "event": event, "account": account,
                 "model": model, **more}  # fmt: skip
        with self._own, convert_os_errors(self._owner), hold_file_lock(self.path, self._owner) as handle:
            self._read_new_lines()
            if allowed:
                allowed()
            line = json.dumps(entry | {"crc": _checksum_entry(entry)}).encode() + b"\n"
            size = os.lseek(handle, 0, os.SEEK_END)
            # After a crash, the last line may be incomplete; the new line must not be joined to it.
            line = b"\n" + line if size > self._read_to else line
            if os.write(handle, line) < len(line):
                os.ftruncate(handle, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if event == "answered":
                os.fdatasync(handle)

    def _read_new_lines(self) -> None:
        """Reads the complete lines that were added since the last read, and updates the totals."""
        with convert_os_errors(self._owner):
            try:
                with self.path.open("rb") as file:
                    if os.fstat(file.fileno()).st_size < self._read_to:
                        self._known.clear()
                        self._read_to = self.damaged = 0
                    file.seek(self._read_to)
                    lines, last, _ = file.read().rpartition(b"\n")
            except FileNotFoundError:
                return
            self._read_to += len(lines) + len(last)
            for line in filter(None, lines.split(b"\n")):
                try:
                    key, spent = _parse_event(json.loads(line))
                    self._known[key] += spent
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    self.damaged += 1


@cache
def open_spend_log(state: Path) -> SpendLog:
    """Returns the spend log in the folder *state*: always the same object, so that each line is read only once."""
    return SpendLog(state / FILE)


def _checksum_entry(entry: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(entry).encode()):08x}"


def _parse_event(entry: dict[str, Any]) -> tuple[Key, Spent]:
    """Returns the key of a parsed line and what the line adds; raises an error if the line is damaged."""
    kept = {name: value for name, value in entry.items() if name != "crc"}
    if entry.get("crc", _checksum_entry(kept)) != _checksum_entry(kept):
        raise ValueError("not as it was written")
    key = (str(entry["account"]), entry["model"])
    match entry["event"]:
        case "sent":
            return key, Spent(requests=1)
        case "worked":
            return key, Spent(hours=float(entry["seconds"]) / 3600)
        case "answered":
            prompt, reply, usd = int(entry["prompt_tokens"]), int(entry["reply_tokens"]), float(entry["usd"] or 0.0)
            outcomes, estimated = Counter([str(entry["outcome"])]), int(bool(entry["estimated"]))
            unpriced = int(entry["usd"] is None and prompt + reply > 0)
            return key, Spent(0, prompt, reply, usd, 0.0, 1, estimated, outcomes, unpriced)
    raise ValueError(entry["event"])


CHARACTERS_A_TOKEN = 4
"""Characters per token, used to estimate tokens if an endpoint does not state them."""

ANSWERED = frozenset({"ok", "cut", "empty"})
"""Outcomes of requests that the LM answered, possibly with an empty text."""

SETTLE_S = 1.0
"""The most seconds between two checks whether the batch was stopped, while a request waits for others in flight."""

_UNITS = {"requests": "requests", "prompt_tokens": "prompt tokens", "reply_tokens": "reply tokens",
          "usd": "USD", "hours": "hours"}  # fmt: skip


class ModelBudget:
    """Charges the requests to the LM *model* to *account*, usually an edition, and enforces the limits of *budget*.

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
    def count_hours(self) -> Iterator[None]:
        """Adds the duration of the ``with`` block to the model's hours."""
        self._began = time.monotonic()
        try:
            yield
        finally:
            seconds, self._began = time.monotonic() - self._began, None
            self.spend_log.add("worked", self.account, self.model.name, seconds=round(seconds, 3))

    def reserve_request(self) -> None:
        """Counts one request before it is sent; raises `BudgetReached` if a limit of the budget is already reached."""
        self.spend_log.add("sent", self.account, self.model.name, self._check_limits)

    @contextmanager
    def count_request(self, chat: Chat, sampling: Sampling, over: threading.Event) -> Iterator[bool]:
        """Counts one request before the ``with`` block sends it. Its estimated cost counts until the block ends.

        If a limit is reached only with the estimates of other requests in flight, first waits for their answers, which
        may cost less. Yields False if the event *over* was set first; the request must then not be sent. Raises
        `BudgetReached` if a limit is already reached.
        """
        log = self.spend_log
        with log.settled:
            while self._is_limit_reached_only_with_in_flight() and not over.is_set():
                log.settled.wait(SETTLE_S)
            sent = []
            if not over.is_set():
                self.reserve_request()
                sent = [((self.account, self.model.name), self._estimate_request_cost(chat, sampling))]
            log.in_flight += sent
        try:
            yield bool(sent)
        finally:
            with log.settled:
                for request in sent:
                    log.in_flight.remove(request)
                log.settled.notify_all()

    def record_spending(self, chat: Chat, reply: Completion, seconds: float) -> None:
        """Records the outcome, tokens and cost of the request that sent *chat*, got *reply* and took *seconds*."""
        guessed = reply.outcome in ANSWERED and None in (reply.prompt_tokens, reply.reply_tokens)
        prompt, written = tokens_of(chat, reply)
        self.spend_log.add(
            "answered", self.account, self.model.name, outcome=reply.outcome, prompt_tokens=prompt,
            reply_tokens=written, usd=compute_cost_usd(self.model, prompt, written), estimated=guessed,
            seconds=round(seconds, 3),
        )  # fmt: skip

    def _check_limits(self, in_flight: bool = False) -> None:
        """Raises `BudgetReached` if the spending reaches a limit. *in_flight*: count requests in flight, too."""
        of_model, of_run = (
            self.spend_log.spent(self.account, self.model.name),
            self.spend_log.spent_on_all_models(self.account),
        )
        for (account, model), expected in self.spend_log.in_flight if in_flight else ():
            if account == self.account:
                of_run += expected
                of_model += expected if model == self.model.name else Spent()
        if self._began is not None:
            of_model.hours += (time.monotonic() - self._began) / 3600
        check_budget_limits(self.budget, of_run, self.account)
        check_budget_limits(self._own, of_model, self.account, self.model.name)

    def _is_limit_reached_only_with_in_flight(self) -> bool:
        """Whether the spending reaches a limit only if requests in flight are counted."""
        try:
            self._check_limits()
        except BudgetReached:
            return False
        try:
            self._check_limits(in_flight=True)
        except BudgetReached:
            return True
        return False

    def _estimate_request_cost(self, chat: Chat, sampling: Sampling) -> Spent:
        """Returns the estimated cost of a request.

        The reply is assumed to be as long as the model's mean reply, or of maximum length if the model has none yet.
        """
        spent = self.spend_log.spent(self.account, self.model.name)
        answers = sum(spent.outcomes[outcome] for outcome in ANSWERED)
        prompt = estimate_tokens(chat.system + chat.user)
        reply = spent.reply_tokens // answers if answers else sampling.max_tokens
        return Spent(prompt_tokens=prompt, reply_tokens=reply, usd=compute_cost_usd(self.model, prompt, reply) or 0.0)


def estimate_tokens(text: str) -> int:
    return len(text) // CHARACTERS_A_TOKEN


def tokens_of(chat: Chat, reply: Completion) -> tuple[int, int]:
    """Returns (prompt tokens, reply tokens) as the endpoint states them, else as estimated; 0 without an answer."""
    if reply.outcome not in ANSWERED:
        return reply.prompt_tokens or 0, reply.reply_tokens or 0
    read, written = reply.prompt_tokens, reply.reply_tokens
    return (
        estimate_tokens(chat.system + chat.user) if read is None else read,
        (len(reply.text or "") + reply.thinking) // CHARACTERS_A_TOKEN if written is None else written,
    )


def compute_cost_usd(model: Model, prompt_tokens: float, reply_tokens: float) -> float | None:
    """Returns the cost in USD of *prompt_tokens* and *reply_tokens* with *model*; None if the model has no prices."""
    if model.price_in is None or model.price_out is None:
        return None
    return (prompt_tokens * model.price_in + reply_tokens * model.price_out) / 1e6


def check_budget_limits(bounds: Bounds, spent: Spent, account: str, model: str | None = None) -> None:
    """Raises `BudgetReached` if *spent* has reached a limit of *bounds*.

    *model*: the model that the limits are for; None: they are for *account* as a whole.
    """
    for name, unit in _UNITS.items():
        bound, used = getattr(bounds, name), getattr(spent, name)
        if bound is None or used < bound:
            continue
        setting = f"budget.{name}" if model is None else f"budget.models.{model}.{name}"
        raise BudgetReached(
            f"paused at {setting}: {_format_number(used)} of {_format_number(bound)} {unit} spent on {account} "
            f"({format_spending(spent)}); what is done is kept. Raise it (--set {setting}=...) and give the same "
            "command again"
        )


def format_spending(spent: Spent) -> str:
    """Returns the totals *spent* as a phrase for messages: requests, tokens, USD and hours."""
    lost = f", {spent.unanswered} without an answer" if spent.unanswered else ""
    return (
        f"{spent.requests:,} requests{lost}, {spent.prompt_tokens:,} prompt and {spent.reply_tokens:,} reply tokens, "
        f"{spent.money}, {spent.hours:.2f} hours"
    )


def remaining_budget(bounds: Bounds, spent: Spent) -> dict[str, float]:
    """Returns name of a limit (such as ``usd``) → how much of it is left after *spent*; at least 0.

    The limits are those that *bounds* sets.
    """
    given = {name: getattr(bounds, name) for name in _UNITS}
    return {name: max(0, round(bound - getattr(spent, name), 6)) for name, bound in given.items() if bound is not None}


def _format_number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"

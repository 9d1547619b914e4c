"""The spend log: a file with one line before each request to an LM and one line after its answer.

Lines are only added, never changed. The log lies beside the reply archive, and all processes that use the same state
share it. If a process is killed, its requests stay counted, in `Spent.unanswered`, but the cost of their answers is
unknown. Each line ends with a checksum (CRC-32), by which a damaged line is recognized.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from gre_bench.core.whole_files import locked, usable

FILE = "spending.jsonl"
Key = tuple[str, str | None]
"""An account (usually an edition), and a model of the models file, or None for the runs as a whole."""


@dataclass(slots=True)
class Spent:
    """What an account has spent, on all models or on one of them.

    - *requests*: the number of requests sent.
    - *hours*: how long the account's runs or the model were at work, waiting included.
    - *answered*: the number of requests that were answered.
    - *estimated*: the number of answers whose tokens the endpoint did not state.
    - *outcomes*: the outcome of a reply → the number of answers with it.
    """

    requests: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    usd: float = 0.0
    hours: float = 0.0
    answered: int = 0
    estimated: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def unanswered(self) -> int:
        """The number of requests without an answer: those in flight, and those whose process was killed."""
        return max(0, self.requests - self.answered)

    def __add__(self, other: Spent) -> Spent:
        return Spent(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


class SpendLog:
    """The spend log in the file *path*. Each query first reads the lines added since the last query.

    `damaged` counts the unreadable lines; no total includes them. All methods raise `StoreError` if the file cannot be
    read or written.
    """

    def __init__(self, path: Path):
        self.path = path
        self.damaged = 0
        self._known: dict[Key, Spent] = defaultdict(Spent)
        self._read_to = 0
        self._own = threading.RLock()
        self._owner = f"the spend log {path}"

    def spent(self, account: str, model: str | None = None) -> Spent:
        """Returns what *account* has spent on *model*.

        If *model* is None, the result holds only the hours of the account's runs; all other totals are 0.
        """
        with self._own:
            self._catch_up()
            return Spent() + self._known.get((account, model), Spent())

    def whole(self, account: str) -> Spent:
        """Returns what *account* has spent on all models together.

        The hours are those of the account's runs, not the sum over the models.
        """
        with self._own:
            total = sum((spent for _, spent in self.models(account).items()), Spent())
            total.hours = self.spent(account).hours
            return total

    @property
    def accounts(self) -> set[str]:
        """The names of all accounts in the log."""
        with self._own:
            self._catch_up()
            return {account for account, _ in self._known}

    def models(self, account: str) -> dict[str, Spent]:
        """Returns what *account* has spent on each model. The keys of the result are the models' names."""
        with self._own:
            self._catch_up()
            return {model: Spent() + spent for (owner, model), spent in sorted(self._known.items(), key=repr)
                    if owner == account and model is not None}  # fmt: skip

    def add(self, event: str, account: str, model: str | None, allowed: Callable[[], None] | None = None,
            **more: Any) -> None:  # fmt: skip
        """Adds one line to the log, complete or not at all.

        - *event*: ``sent`` for a request, ``answered`` for its answer, ``worked`` for a time at work.
        - *account*: the account that is charged.
        - *model*: the model's name; None means the run as a whole.
        - *allowed*: a function that is called when all earlier lines of all processes have been read. If this function
          raises, no line is added.
        - *more*: further entries of the line.
        """
        entry = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "event": event, "account": account,
                 "model": model, **more}  # fmt: skip
        with self._own, usable(self._owner), locked(self.path, self._owner) as handle:
            self._catch_up()
            if allowed:
                allowed()
            line = json.dumps(entry | {"crc": _sum(entry)}).encode() + b"\n"
            size = os.lseek(handle, 0, os.SEEK_END)
            # After a crash, the last line may be incomplete; the new line must not be joined to it.
            line = b"\n" + line if size > self._read_to else line
            if os.write(handle, line) < len(line):
                os.ftruncate(handle, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if event == "answered":
                os.fdatasync(handle)

    def _catch_up(self) -> None:
        """Reads the complete lines that were added since the last read, and updates the totals."""
        with usable(self._owner):
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
                    _count(self._known, _checked(json.loads(line)))
                except (ValueError, KeyError, TypeError, AttributeError):
                    self.damaged += 1


@cache
def spend_log_of(state: Path) -> SpendLog:
    """Returns the spend log in the folder *state*.

    All calls with the same folder return the same object, so that each line is read once.
    """
    return SpendLog(state / FILE)


def _sum(entry: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(entry).encode()):08x}"


def _checked(entry: Any) -> dict[str, Any]:
    """Returns *entry*, a parsed line, without its checksum; raises `ValueError` if the checksum is wrong.

    A line without a checksum is accepted.
    """
    kept = {name: value for name, value in entry.items() if name != "crc"}
    if entry.get("crc", _sum(kept)) != _sum(kept):
        raise ValueError("not as it was written")
    return kept


def _count(known: dict[Key, Spent], entry: Mapping[str, Any]) -> None:
    kind, key = entry["event"], (str(entry["account"]), entry["model"])
    if kind == "sent":
        known[key].requests += 1
    elif kind == "worked":
        known[key].hours += float(entry["seconds"]) / 3600
    elif kind == "answered":
        prompt, reply, usd = int(entry["prompt_tokens"]), int(entry["reply_tokens"]), float(entry["usd"] or 0.0)
        spent = known[key]
        spent.prompt_tokens += prompt
        spent.reply_tokens += reply
        spent.usd += usd
        spent.answered += 1
        spent.estimated += bool(entry["estimated"])
        spent.outcomes[str(entry["outcome"])] += 1
    else:
        raise ValueError(kind)

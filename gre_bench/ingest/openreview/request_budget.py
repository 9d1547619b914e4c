"""Counts the requests that a service still allows, so that none is sent too early.

All processes share a file with one count for each host and kind of request. Two limits may apply at once: one from
``ratelimit-*`` headers, and one from the body of a refusal. For openreview.net, a guessed limit applies until a
response states one of them. Every response may change the limits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gre_bench.core.errors import Paused, SourceError
from gre_bench.core.whole_files import hold_file_lock, write_file
from gre_bench.http.rate_limits import HOUR, Limit, parse_limit_from_body, parse_limit_from_headers, parse_required_wait

GUESSES = {
    "pdf": Limit(36, 36, None, HOUR),
    "attachment": Limit(36, 36, None, HOUR),
    "login": Limit(10, 10, None, HOUR),
}
OTHER_GUESS = Limit(98, 98, None, HOUR / 2)
"""The guess for kinds of request that `GUESSES` lacks. All guesses were reported for openreview.net in August 2026."""
MARGIN_S = 0.5
SAME_WINDOW_S = 5.0
FIRST_WAIT_S, LONGEST_WAIT_S = 60.0, HOUR
SET_BACK_S = 60.0
"""If the clock is behind the time in the file by more than this many seconds, we assume that it was set back."""
BELIEVED = 3
"""We trust the wait that the service states for at most this many refusals in a row."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of one kind of request at one host. *limits*: ``headers``, ``body`` or ``guess`` → limit.

    *not_before*: when the next request may be sent (epoch seconds). *refusals*: how many of the latest answers in a row
    were refusals (429). *sent*: the number of requests so far.
    """

    limits: dict[str, Limit] = field(default_factory=dict)
    not_before: float = 0.0
    refusals: int = 0
    sent: int = 0


class RequestBudget:
    """The request limits of services, stored in the file *path*. *clock*: a function that returns epoch seconds.

    A *kind* is the host name and the kind of request, such as ``api2.openreview.net notes``.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time):
        self.path, self.clock = path, clock

    def count_request_or_pause(self, kind: str) -> None:
        """Counts one request of *kind* before it is sent; raises `Paused` if none is allowed now."""
        with self._lock_allowances(kind) as allowances:
            known, now = allowances[kind], self.clock()
            limits = {name: _reset_ended_window(limit, now) for name, limit in known.limits.items()}
            ends = [limit.resets_at or now + limit.window_s for limit in limits.values() if limit.remaining <= 0]
            ends += [known.not_before] if now < known.not_before else []
            if ends:
                raise Paused(f"no request for {kind} is allowed before then", max(ends))
            for name, limit in limits.items():
                opens = limit.resets_at if limit.resets_at is not None else now + limit.window_s + MARGIN_S
                limits[name] = replace(limit, remaining=limit.remaining - 1, resets_at=opens)
            allowances[kind] = replace(known, limits=limits, sent=known.sent + 1)

    def record_stated_limits(self, kind: str, status: int, headers: Mapping[str, str], body: object = None) -> None:
        """Records the limits that a response to a request of *kind* states. *body*: its parsed JSON, if it has any.

        After a refusal (429), requests of *kind* are blocked for the stated wait. If none is stated, or after many
        refusals in a row, the wait is at least one that doubles each time, up to an hour. After a 503, they are blocked
        only if it states a wait.
        """
        now = self.clock()
        with self._lock_allowances(kind) as allowances:
            limits, refused = dict(allowances[kind].limits), status == 429
            for name, stated in (
                ("headers", parse_limit_from_headers(headers, now)),
                ("body", parse_limit_from_body(headers, body, now)),
            ):
                if stated is not None:
                    limits[name] = _merge_limits(limits, name, replace(stated, remaining=0) if refused else stated)
            if len(limits) > 1:
                limits.pop("guess", None)
            not_before, refusals = allowances[kind].not_before, 0
            wait = parse_required_wait(headers, body, now) if refused or status == 503 else None
            if refused:
                refusals = allowances[kind].refusals + 1
                # A stated wait is believed only a few times, because waits of zero could cause a storm of requests.
                doubted = refusals if wait is None else refusals - BELIEVED
                if doubted > 0:
                    wait = max(wait or 0.0, min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (doubted - 1)))
            if wait is not None:
                not_before = max(not_before, now + wait + MARGIN_S)
            allowances[kind] = replace(allowances[kind], limits=limits, not_before=not_before, refusals=refusals)

    def allowance(self, kind: str) -> Allowance:
        """Returns the currently known limits of *kind*. A limit whose time window has ended counts as unused."""
        known, now = self._load_allowances().get(kind, _guess_allowance(kind)), self.clock()
        return replace(known, limits={name: _reset_ended_window(limit, now) for name, limit in known.limits.items()})

    def compute_wait_s(self, kind: str, requests: int) -> float:
        """Returns the seconds until *requests* more requests of *kind* are allowed, if no limit changes."""
        now, known = self.clock(), self.allowance(kind)
        waits = [0.0, known.not_before - now]
        for limit in known.limits.values():
            left = limit.remaining
            if requests > left:
                windows = -(-(requests - left) // max(1, limit.limit))
                first = limit.resets_at - now if limit.resets_at is not None else limit.window_s
                waits.append(first + (windows - 1) * limit.window_s)
        return max(waits)

    @contextmanager
    def _lock_allowances(self, kind: str) -> Iterator[dict[str, Allowance]]:
        """Locks the file, yields {kind: allowance} with *kind* included, and saves the allowances after the block."""
        with hold_file_lock(self.path.with_suffix(".lock"), f"request budget {self.path}"):
            allowances = self._load_allowances()
            allowances.setdefault(kind, _guess_allowance(kind))
            yield allowances
            tree = {"at": self.clock(), "kinds": {name: asdict(allowances[name]) for name in sorted(allowances)}}
            # The file is written before and after each request, so it is not synced to disk.
            write_file(self.path, (json.dumps(tree, indent=1) + "\n").encode(), keep=False)

    def _load_allowances(self) -> dict[str, Allowance]:
        try:
            tree = json.loads(self.path.read_bytes())
            # If the clock was set back by days, all times are moved back too; otherwise, waits would be days longer.
            back = tree.get("at", 0.0) - self.clock()
            back = 0.0 if back < SET_BACK_S else back
            return {kind: _parse_allowance(entry, back) for kind, entry in tree["kinds"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise SourceError(f"request budget {self.path} is damaged; delete it to start from guesses") from None


def _guess_allowance(kind: str) -> Allowance:
    host, _, operation = kind.rpartition(" ")
    return Allowance({"guess": GUESSES.get(operation, OTHER_GUESS)} if host.endswith("openreview.net") else {})


def _parse_allowance(entry: Mapping[str, Any], back: float) -> Allowance:
    """Returns the allowance in *entry*, an entry of the file, with all times moved back by *back* seconds."""
    limits = {name: Limit(**limit) for name, limit in entry["limits"].items()}
    for name, limit in limits.items():
        if limit.resets_at is not None:
            limits[name] = replace(limit, resets_at=limit.resets_at - back)
    fields: dict[str, Any] = {**entry, "limits": limits, "not_before": max(0.0, entry.get("not_before", 0.0) - back)}
    return Allowance(**fields)


def _reset_ended_window(limit: Limit, now: float) -> Limit:
    over = limit.resets_at is not None and now >= limit.resets_at
    return replace(limit, remaining=limit.limit, resets_at=None) if over else limit


def _merge_limits(limits: Mapping[str, Limit], name: str, stated: Limit) -> Limit:
    """Returns the limit that a response *stated*, merged with the earlier one in *limits* from the same source *name*.

    The body of a refusal states only the end of the time window. The earlier limit recorded our first request in the
    window, which gives its start. If both limits are of the same window, the smaller number of remaining requests
    counts: the service may not have counted requests that other processes have in flight.
    """
    old = limits.get(name)
    first = limits.get(name, limits.get("guess")) if name == "body" else None
    if first and first.resets_at is not None and stated.resets_at is not None:
        opened = first.resets_at - first.window_s - MARGIN_S
        stated = replace(stated, window_s=max(stated.window_s, stated.resets_at - opened))
    if stated.resets_at is not None:
        stated = replace(stated, resets_at=stated.resets_at + MARGIN_S)
    if (
        old is not None and old.resets_at is not None and stated.resets_at is not None
        and abs(stated.resets_at - old.resets_at) <= SAME_WINDOW_S
    ):  # fmt: skip
        return replace(stated, remaining=min(old.remaining, stated.remaining))
    return stated

"""Reads the rate limits that a response states in its headers or in the JSON body of an error.

Servers state times as seconds from now, as epoch seconds, or as dates by their own clock. All times are converted to
epoch seconds by this machine's clock, using the server's ``Date`` header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

HOUR = 3600.0

_WINDOW = re.compile(r"\bw=(\d+)")
_AGAIN = re.compile(r"try again in (?:(\d+) hours?)?(?:,? ?(?:and )?(\d+) minutes?)?(?:,? ?(?:and )?(\d+) seconds?)?")


@dataclass(frozen=True, slots=True)
class Limit:
    """A rate limit of a server: *limit* requests within *window_s* seconds.

    *remaining*: the requests that the current window still allows. *resets_at*: the end of the window (epoch seconds);
    None if no window is open.
    """

    limit: int
    remaining: int
    resets_at: float | None
    window_s: float


def parse_limit_from_headers(headers: Mapping[str, str], now: float) -> Limit | None:
    """Returns the limit in the ``ratelimit-*`` headers, or None. *now*: when the response came, in epoch seconds."""
    known = _lower_case_keys(headers)
    limit, remaining = (
        _parse_non_negative_number(known.get("ratelimit-limit")),
        _parse_non_negative_number(known.get("ratelimit-remaining")),
    )
    if limit is None or remaining is None:
        return None
    window = _WINDOW.search(known.get("ratelimit-policy", ""))
    reset = _parse_non_negative_number(known.get("ratelimit-reset"))
    if reset is None:
        epoch = _parse_non_negative_number(known.get("x-ratelimit-reset"))
        reset = None if epoch is None else max(0.0, epoch - _read_server_time(known, now))
    window_s = float(window[1]) if window else max(reset or 0.0, 60.0)
    return Limit(int(limit), int(remaining), None if reset is None else now + reset, window_s)


def parse_limit_from_body(headers: Mapping[str, str], body: object, now: float) -> Limit | None:
    """Returns the limit under ``details`` in an error's JSON *body*, or None.

    *now*: as in `parse_limit_from_headers`.
    """
    details = body.get("details") if isinstance(body, Mapping) else None
    if not isinstance(details, Mapping) or (limit := _parse_non_negative_number(details.get("limit"))) is None:
        return None
    reset = _parse_reset_time(_lower_case_keys(headers), details, now)
    if reset is None:
        return None
    remaining = _parse_non_negative_number(details.get("remaining")) or 0
    return Limit(int(limit), int(remaining), reset, max(60.0, reset - now))


def parse_required_wait(headers: Mapping[str, str], body: object, now: float) -> float | None:
    """Returns the longest wait in seconds that the response to a refused request states; None if it states none."""
    known = _lower_case_keys(headers)
    waits = [_parse_retry_after(known, now)]
    if _parse_non_negative_number(known.get("ratelimit-remaining")) == 0:
        waits.append(_parse_non_negative_number(known.get("ratelimit-reset")))
    if isinstance(body, Mapping):
        details = body.get("details")
        reset = _parse_reset_time(known, details, now) if isinstance(details, Mapping) else None
        waits += [None if reset is None else reset - now, _parse_stated_wait(str(body.get("message", "")))]
    stated = [max(0.0, wait) for wait in waits if wait is not None]
    return max(stated, default=None)


def _parse_retry_after(known: Mapping[str, str], now: float) -> float | None:
    value = known.get("retry-after")
    seconds = _parse_non_negative_number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return parsedate_to_datetime(value).timestamp() - _read_server_time(known, now)
    except ValueError:
        return None


def _parse_reset_time(known: Mapping[str, str], details: Mapping[str, Any], now: float) -> float | None:
    """Returns ``resetTime`` in epoch seconds by this machine's clock; None if it is missing or invalid.

    The server states it as a date, or as an epoch time in s or ms.
    """
    value = details.get("resetTime")
    stated = _parse_non_negative_number(value)
    if stated is not None:
        stated = stated / 1000 if stated > 1e11 else stated
    elif isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        stated = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None if stated is None else now + stated - _read_server_time(known, now)


def _lower_case_keys(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _parse_stated_wait(message: str) -> float | None:
    """Returns the wait in seconds that *message* states, as in "try again in 60 minutes and 13 seconds"; else None."""
    match = _AGAIN.search(message)
    if not match or not any(match.groups()):
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(hours * 3600 + minutes * 60 + seconds)


def _read_server_time(known: Mapping[str, str], now: float) -> float:
    try:
        return parsedate_to_datetime(known["date"]).timestamp()
    except (KeyError, ValueError):
        return now


def _parse_non_negative_number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < float("inf") else None

"""The answers of the loopback OpenReview, and its refusals in the words of the real service.

Most forms of errors come from recorded responses (a page over 1,000 notes, the browser check). The request limit comes
from reports of the service's users.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

JSON, HTML, PDF, ZIP = (
    "application/json; charset=utf-8",
    "text/html; charset=utf-8",
    "application/pdf",
    "application/zip",
)
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One response; a *chunked* one is sent in pieces of unannounced length, as streamed listings are."""

    body: bytes
    status: int = 200
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False


class Refused(Exception):
    """Ends the handling of a request; *answer* is sent."""

    def __init__(self, answer: HttpResponse):
        super().__init__(answer.status)
        self.answer = answer


def say(tree: Any, **more: Any) -> HttpResponse:
    """Returns *tree* as JSON; *more* are fields of `HttpResponse`."""
    return HttpResponse(json.dumps(tree).encode(), **more)


def refusal(
    status: int, name: str, message: str, headers: Mapping[str, str] | None = None, **details: Any
) -> HttpResponse:
    """Returns an error of the service: a name, a message that ends with the request's number, and details."""
    number = request_number()
    tree = {"name": name, "message": f"{message} ({number})", "status": status, "details": details | {"reqId": number}}
    return say(tree, status=status, headers=headers or {})


def invalid(path: str, message: str, **details: Any) -> Refused:
    """Returns the refusal of a request whose parameter *path* is unusable."""
    return Refused(refusal(400, "ValidationError", message, path=path, **details))


def not_found(what: str, name: str) -> Refused:
    """Returns the refusal for a missing *what* called *name*."""
    return Refused(refusal(404, "NotFoundError", f"{what} Not Found: {name}", path="id", value=name))


def too_many(
    made: int, limit: int, wait: float, now: float, headers: Mapping[str, str], reset_time: bool = True
) -> HttpResponse:
    """Returns the refusal of request *made* in a window of *limit*, which reopens *wait* seconds after *now*.

    Without *reset_time* the details omit the time, as those of a refused login do.
    """
    minutes, seconds = divmod(math.ceil(wait), 60)
    spelt = f"{minutes} minutes and {seconds} seconds" if minutes else f"{seconds} seconds"
    reset = datetime.fromtimestamp(now + wait, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    details = {"limit": limit, "remaining": 0} | (
        {"resetTime": reset, "used": made, "current": made} if reset_time else {}
    )
    return refusal(
        429,
        "RateLimitError",
        f"Too many requests: You have made {made} requests, surpassing the limit of {limit} requests. "
        f"Please try again in {spelt}",
        headers,
        **details,
    )


def browser_check() -> HttpResponse:
    """Returns the page, with status 200, that anonymous requests get."""
    page = (
        "<!DOCTYPE html>\n<html><head><title>Verifying your browser | OpenReview</title></head><body>…</body></html>\n"
    )
    return HttpResponse(page.encode(), kind=HTML)


def challenge() -> HttpResponse:
    """Returns the browser check as JSON."""
    return refusal(403, "ChallengeRequiredError", "Challenge verification required")


def forbidden() -> HttpResponse:
    """Returns the refusal of an item that the account may not see, in the form of the other errors."""
    return refusal(403, "ForbiddenError", "You don't have permission to read this item")


def token_expired(status: int = 401) -> HttpResponse:
    """Returns the refusal of an expired token."""
    return refusal(status, "TokenExpiredError", "Token has expired, please log in again")


def request_number() -> str:
    """Returns a request number in the service's form."""
    return f"{datetime.now(UTC):%Y-%m-%d}-{next(_NUMBERS)}"

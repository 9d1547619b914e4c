"""What the loopback OpenReview says: answers, and refusals in the words of the real service.

The forms of errors are those of recorded responses (a page over 1,000 notes, the browser check) and of errors that
users of the service reported (the request limit).
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
    """One response: *chunked* ones are sent in pieces of unannounced length, as streamed listings are."""

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
    """*tree* as JSON; *more* as in `HttpResponse`."""
    return HttpResponse(json.dumps(tree).encode(), **more)


def refusal(
    status: int, name: str, message: str, headers: Mapping[str, str] | None = None, **details: Any
) -> HttpResponse:
    """An error of the service: a name, a message that ends with the request's number, and details."""
    number = request_number()
    tree = {"name": name, "message": f"{message} ({number})", "status": status, "details": details | {"reqId": number}}
    return say(tree, status=status, headers=headers or {})


def invalid(path: str, message: str, **details: Any) -> Refused:
    """A request whose parameter *path* cannot be used."""
    return Refused(refusal(400, "ValidationError", message, path=path, **details))


def not_found(what: str, name: str) -> Refused:
    """The *what* called *name* is not there."""
    return Refused(refusal(404, "NotFoundError", f"{what} Not Found: {name}", path="id", value=name))


def too_many(
    made: int, limit: int, wait: float, now: float, headers: Mapping[str, str], reset_time: bool = True
) -> HttpResponse:
    """The refusal of request *made* of a window of *limit*, which begins anew *wait* seconds after *now*.

    Without *reset_time* the details leave the time out, as those of a refused login do.
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
    """The page that one who is not logged in is given, with status 200."""
    page = (
        "<!DOCTYPE html>\n<html><head><title>Verifying your browser | OpenReview</title></head><body>…</body></html>\n"
    )
    return HttpResponse(page.encode(), kind=HTML)


def challenge() -> HttpResponse:
    """The same refusal as JSON."""
    return refusal(403, "ChallengeRequiredError", "Challenge verification required")


def forbidden() -> HttpResponse:
    """The refusal of an item that is not for the one who asks; the form is that of the other errors."""
    return refusal(403, "ForbiddenError", "You don't have permission to read this item")


def token_expired(status: int = 401) -> HttpResponse:
    """The refusal of a token that has run out."""
    return refusal(status, "TokenExpiredError", "Token has expired, please log in again")


def request_number() -> str:
    """A number as the service gives each request."""
    return f"{datetime.now(UTC):%Y-%m-%d}-{next(_NUMBERS)}"

"""The HTTP answers of the loopback OpenReview. Refusals are worded as the real service words them.

Most forms of refusals come from recorded responses, such as the browser check. The form of the request limit's refusal
comes from reports of the service's users.
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
    """One HTTP response.

    *kind*: the content type.
    *chunked*: send the body in chunks without stating its length, as the service does for streamed listings.
    """

    body: bytes
    status: int = 200
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False


class Refused(Exception):
    """Raised to refuse a request; the server then sends *answer*."""

    def __init__(self, answer: HttpResponse):
        super().__init__(answer.status)
        self.answer = answer


def say(tree: Any, **more: Any) -> HttpResponse:
    """Returns a response with *tree* as JSON. *more*: other fields of `HttpResponse`, such as ``status``."""
    return HttpResponse(json.dumps(tree).encode(), **more)


def refusal(
    status: int, name: str, message: str, headers: Mapping[str, str] | None = None, **details: Any
) -> HttpResponse:
    """Returns an error response in the service's form: JSON with name, message, status and details.

    *name*: the error's class, such as ``NotFoundError``. *details*: entries of the JSON's ``details``. A new request
    number is added to the message and to the details.
    """
    number = request_number()
    tree = {"name": name, "message": f"{message} ({number})", "status": status, "details": details | {"reqId": number}}
    return say(tree, status=status, headers=headers or {})


def invalid(path: str, message: str, **details: Any) -> Refused:
    """Returns the exception that refuses a request (400) because its query parameter *path* has a bad value."""
    return Refused(refusal(400, "ValidationError", message, path=path, **details))


def not_found(kind: str, name: str) -> Refused:
    """Returns the exception that refuses a request (404) because an item is missing.

    *kind*: the kind of item, such as ``Note``. *name*: the item's id.
    """
    return Refused(refusal(404, "NotFoundError", f"{kind} Not Found: {name}", path="id", value=name))


def too_many(
    made: int, limit: int, wait: float, now: float, headers: Mapping[str, str], reset_time: bool = True
) -> HttpResponse:
    """Returns the response to a request beyond the limit (429).

    *made*: the number of requests in the current time window, this one included.
    *limit*: the number of requests that a window allows.
    *wait*: seconds until the window ends. *now*: the current time in epoch seconds.
    *reset_time*: whether the details state the end of the window; those of a refused login do not.
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
    """Returns the browser check: the HTML page with status 200 that the service sends to anonymous clients."""
    page = (
        "<!DOCTYPE html>\n<html><head><title>Verifying your browser | OpenReview</title></head><body>…</body></html>\n"
    )
    return HttpResponse(page.encode(), kind=HTML)


def challenge() -> HttpResponse:
    """Returns the browser check in its other form: a JSON error with status 403."""
    return refusal(403, "ChallengeRequiredError", "Challenge verification required")


def forbidden() -> HttpResponse:
    """Returns the response to a request for an item that the account may not see (403)."""
    return refusal(403, "ForbiddenError", "You don't have permission to read this item")


def token_expired(status: int = 401) -> HttpResponse:
    """Returns the response to a request whose login token has expired."""
    return refusal(status, "TokenExpiredError", "Token has expired, please log in again")


def request_number() -> str:
    """Returns a new request number in the service's form, ``YYYY-MM-DD-N``."""
    return f"{datetime.now(UTC):%Y-%m-%d}-{next(_NUMBERS)}"

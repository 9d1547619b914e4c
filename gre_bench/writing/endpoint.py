"""Checks whether a model's endpoint answers. The check requests the endpoint's list of models, which costs nothing."""

from __future__ import annotations

import email.utils
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gre_bench.catalogs.models import Model

TIMEOUT_S = 10.0
LARGEST_LIST = 4 * 2**20


@dataclass(frozen=True, slots=True)
class EndpointCheck:
    """The answer of an endpoint to a check.

    - *status*: the HTTP status; None if the endpoint did not answer.
    - *trouble*: the name of the error if the endpoint did not answer, else empty.
    - *lists*: the names of the endpoint's models; None if the endpoint did not list them.
    - *ahead_s*: the seconds by which this machine's clock is ahead of the endpoint's clock; None if unknown.
    """

    status: int | None
    trouble: str = ""
    lists: tuple[str, ...] | None = None
    ahead_s: float | None = None


def check_endpoint(model: Model) -> EndpointCheck:
    """Sends ``GET /models`` with the API key to the endpoint of *model*, and returns the answer.

    Raises `LMError` if the key is missing.
    """
    import httpx2

    from gre_bench.http.body_limits import limited

    key = model.key()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    own = urlsplit(model.endpoint).hostname in ("localhost", "127.0.0.1", "::1")
    try:
        bounds = {"response": [limited(LARGEST_LIST, TIMEOUT_S)]}
        with httpx2.Client(timeout=TIMEOUT_S, trust_env=not own, follow_redirects=False, event_hooks=bounds) as client:
            answer = client.get(f"{model.endpoint}/models", headers=headers)
    except httpx2.HTTPError as error:
        return EndpointCheck(None, type(error).__name__)
    return EndpointCheck(answer.status_code, "", _listed(answer), _ahead(answer.headers.get("date", "")))


def _listed(answer: Any) -> tuple[str, ...] | None:
    """Returns the names of the models in *answer*, an HTTP response; None if *answer* holds no list of models."""
    if answer.status_code != 200 or len(answer.content) > LARGEST_LIST:
        return None
    try:
        return tuple(str(entry["id"]) for entry in answer.json()["data"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _ahead(stated: str) -> float | None:
    try:
        return time.time() - email.utils.parsedate_to_datetime(stated).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None

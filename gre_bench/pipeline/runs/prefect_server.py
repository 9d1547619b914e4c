"""Checks the Prefect server before a run, and ends the run in good order if the server no longer answers.

Prefect starts a step only when the server allows it. If the server does not answer, Prefect retries for about a minute
(``PREFECT_CLIENT_MAX_RETRIES``, Prefect 3.8). So a restarted server or a locked database loses nothing. If the server
stays away, the run stops at one of its next steps, and finished work is kept. From then on Prefect's retries are off,
because each further request would take another minute.
"""

from __future__ import annotations

import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gre_bench.core.errors import ServiceDown

TRIES_S = (0.0, 1.0, 3.0)
"""Seconds to wait before each check of the server."""
RETURN_S = 60.0
"""How many seconds a server has to come back if it does not answer when a flow ends."""
GLANCE_S = 2.0


@contextmanager
def answering() -> Iterator[None]:
    """Raises `ServiceDown` if the Prefect server does not answer before the block, or stops answering within it."""
    from prefect.settings import PREFECT_API_URL, get_current_settings

    api = PREFECT_API_URL.value()
    if api and (reason := why_unreachable(api)):
        raise ServiceDown(
            f"the Prefect server at {api} (PREFECT_API_URL) does not answer ({reason}): start it, or unset "
            "PREFECT_API_URL to have one for the time of the run, or add --no-prefect; nothing was begun"
        )
    client = get_current_settings().client
    retries = client.max_retries
    try:
        yield
    except Exception as error:
        if not lost(error):
            raise
        line = " ".join(str(error).split())[:200] or type(error).__name__
        raise ServiceDown(
            f"the {f'Prefect server at {api}' if api else 'temporary Prefect server'} no longer answers as it should "
            f"({line}); what was done is kept: give the same command again, with the server at work or with "
            "--no-prefect"
        ) from None
    finally:
        client.max_retries = retries
        _forget_events()


def lost(error: BaseException) -> bool:
    """Returns whether *error* means that the Prefect server did not answer, or gave a wrong answer."""
    if not _prefect_is_here():
        return False
    from httpx import HTTPError
    from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
    from prefect.exceptions import PrefectException

    if isinstance(error, HTTPError):
        try:
            url = str(error.request.url)
        except RuntimeError:
            return False
        api = _api()
        return bool(api) and url.startswith(str(api))
    if isinstance(error, RuntimeError):
        # The client's message when it cannot connect to a server for the first time.
        return "API" in str(error)
    return isinstance(error, ConcurrencySlotAcquisitionError | PrefectException)


def await_server(error: BaseException | None = None) -> None:
    """Waits at the end of a flow until the Prefect server answers; if it does not, turns Prefect's retries off.

    *error* is the exception that ended the flow. There is no wait if *error* shows that the server was lost, because
    Prefect has already waited. There is also no wait if the run was stopped by hand.
    """
    if not (api := _api()):
        return
    hopeless = error is not None and (not isinstance(error, Exception) or lost(error))
    deadline = time.monotonic() + (0.0 if hopeless else RETURN_S)
    while why_unreachable(api, TRIES_S[:1]):
        if time.monotonic() >= deadline:
            _try_once()
            return
        time.sleep(GLANCE_S)


def why_unreachable(api: str, waits_s: Sequence[float] = TRIES_S) -> str | None:
    """Returns why the server at the URL *api* cannot be reached; None if the server gives any answer.

    *waits_s* has one entry per attempt: the seconds to wait before the attempt.
    """
    reason = None
    for wait in waits_s:
        time.sleep(wait)
        try:
            urllib.request.urlopen(f"{api}/health", timeout=10).close()
            return None
        except urllib.error.HTTPError:
            return None
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "reason", error))
    return reason


def _api() -> str | None:
    """Returns the URL of the Prefect server that this process uses, configured or temporary; None if there is none."""
    if not _prefect_is_here():
        return None
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_API_URL

    if api := PREFECT_API_URL.value():
        return api
    temporary = SubprocessASGIServer()
    return temporary.api_url if temporary.running else None


def _prefect_is_here() -> bool:
    """Returns whether this process has imported Prefect. A run without Prefect does not import it."""
    return "prefect.settings" in sys.modules


def _try_once() -> None:
    """Turns off the retries of Prefect's client from now on."""
    from prefect.settings import get_current_settings

    get_current_settings().client.max_retries = 0


def _forget_events() -> None:
    """Cancels Prefect's background services if the server is lost; otherwise they would retry for minutes at exit."""
    from prefect._internal.concurrency import services

    if not (api := _api()) or not why_unreachable(api):
        return
    for service in list(services._active_services):
        task, loop = service._task, service._loop
        if task is not None and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)

"""The Prefect server of a run: looked for before the work, missed for about a minute, and then done without.

Prefect begins no step without its server, which says whether the step may start; it tries for about a minute
(``PREFECT_CLIENT_MAX_RETRIES``, Prefect 3.8). So a server that is started anew, or whose database is locked for a
while, costs nothing, and a run that has lost it stops at one of the next steps rather than going on unrecorded: what
was done is kept. From then on nothing is tried twice, or each last word to the server would take another minute.
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
"""Waited before each look for the server."""
PATIENCE_S = 60.0
"""A server that is silent when a flow ends may take so long to come back."""
GLANCE_S = 2.0


@contextmanager
def answering() -> Iterator[None]:
    """`ServiceDown` where the Prefect server does not answer: looked for before the work, and no bug during it."""
    from prefect.settings import PREFECT_API_URL, get_current_settings

    api = PREFECT_API_URL.value()
    if api and (reason := silence(api)):
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
    """Whether *error* says that the Prefect server did not answer, or not as it should."""
    if not _prefect_is_here():
        return False
    from httpx import HTTPError
    from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
    from prefect.exceptions import PrefectException

    if isinstance(error, HTTPError):
        try:
            asked = str(error.request.url)
        except RuntimeError:
            return False
        api = _api()
        return bool(api) and asked.startswith(str(api))
    if isinstance(error, RuntimeError):
        # So the client says that it cannot connect to a server for the first time.
        return "API" in str(error)
    return isinstance(error, ConcurrencySlotAcquisitionError | PrefectException)


def await_server(error: BaseException | None = None) -> None:
    """Before the last word of a flow, which *error* ended: waits for a silent server, then has nothing tried twice.

    It is not waited for where just that ended the flow, as Prefect has waited, nor where it was stopped by hand.
    """
    if not (api := _api()):
        return
    hopeless = error is not None and (not isinstance(error, Exception) or lost(error))
    over = time.monotonic() + (0.0 if hopeless else PATIENCE_S)
    while silence(api, TRIES_S[:1]):
        if time.monotonic() >= over:
            _try_once()
            return
        time.sleep(GLANCE_S)


def silence(api: str, tries_s: Sequence[float] = TRIES_S) -> str | None:
    """Why the server at *api* cannot be had, after some tries; None if it answers, whatever it says."""
    reason = None
    for wait in tries_s:
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
    """Address of the server of this process, own or temporary; None while there is none."""
    if not _prefect_is_here():
        return None
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_API_URL

    if api := PREFECT_API_URL.value():
        return api
    temporary = SubprocessASGIServer()
    return temporary.api_url if temporary.running else None


def _prefect_is_here() -> bool:
    """Whether this process has loaded Prefect: the flows work with its decorators taken off."""
    return "prefect.settings" in sys.modules


def _try_once() -> None:
    """Has Prefect try no request twice from now on."""
    from prefect.settings import get_current_settings

    get_current_settings().client.max_retries = 0


def _forget_events() -> None:
    """Drops what Prefect's services still want to tell a server that is gone: they would try for minutes, at exit."""
    from prefect._internal.concurrency import services

    if not (api := _api()) or not silence(api):
        return
    for service in list(services._active_services):
        task, loop = service._task, service._loop
        if task is not None and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)

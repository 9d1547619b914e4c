"""Runs flows under Prefect, checks Prefect's server, and chooses the final state of a flow run.

A paused run has not failed: its final Prefect state is of the type completed, with the name ``Paused``. Its work is
kept, and the next run of the same deployment continues it.

Prefect starts a step only when its server allows it. If the server does not answer, Prefect retries for about a minute
(``PREFECT_CLIENT_MAX_RETRIES``, Prefect 3.8). A server restart or a locked database therefore does no harm. If the
server stays down, the run stops at one of its next steps, and finished work is kept. Prefect's retries are then turned
off, because each further request would take another minute.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from gre_bench.core.errors import MEND, GreBenchError, Paused, ServiceDown, SettingsError, UnfinishedError
from gre_bench.core.process import make_parent_death_hook

QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    # This program prints its own lines on the screen; the page of the flow run shows what it logs.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "gre_bench",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    # A server that has lost its database answers 500. Without this setting, Prefect's client would not retry.
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
}
LOUD = ("EventsWorker", "APILogWorker")
"""Prefect's loggers that ignore its settings; they would warn at the end of a run that events are still queued."""
TASKS = "prefect.task_runs"
RUNS = (TASKS, "prefect.flow_runs", "prefect.engine")
"""Prefect's loggers for runs. They would log a traceback after the line of an expected error."""
SERVER = """
import socket, sys, uvicorn
from prefect.server.api.server import create_app

server = uvicorn.Server(uvicorn.Config(create_app(ephemeral=True, final=True), log_level="error", lifespan="on"))
server.run([socket.socket(fileno=int(sys.argv[1]))])
"""
"""A program that runs Prefect's server on a socket that already listens, so that clients wait until it has started."""
START_S, END_S = 120.0, 5.0
"""Timeouts in seconds for this run's own server to start, and to end."""
TRIES_S = (0.0, 1.0, 3.0)
"""Seconds to wait before each attempt to reach the server."""
EVENT_TRIES = 2
"""Number of immediate retries when an event cannot be sent; Prefect keeps the event for the next attempt.

Prefect's default, ten retries with waits, would delay a process by minutes if its server is gone.
"""
RETURN_S = 60.0
"""If the server does not answer at the end of a flow, wait for it at most this many seconds."""
GLANCE_S = 2.0
ROOM, NO_ROOM = 12 * 2**20, 2**20
"""Free disk space in bytes that Prefect's own server needs to start (it writes 6 MB), and to continue."""
EVERY_S = 10.0
"""Seconds between two checks whether the run of a deployment has ended."""
EDITION = "{settings.edition.venue}-{settings.edition.year}"
"""The template for Prefect's names of an edition's flow runs."""
DONE, PAUSED = "done", "paused"
WELL = (PAUSED, "waiting", "unchanged")
"""Outcomes, besides done, that are not errors.

``paused``: a budget is used up, and its owner may raise it. ``waiting``: a service allows more requests later.
``unchanged``: there was nothing to do.
"""


def configure_prefect(folder: Path) -> None:
    """Sets Prefect's unset environment variables, so that it prints nothing and keeps its files under *folder*.

    Call this function before Prefect is imported. Raises `SettingsError` if *folder* cannot be written.
    """
    try:
        (folder / "prefect").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"state folder {folder} cannot be written: {error.strerror}"
        raise SettingsError(f"{reason}; choose another with --state") from None
    for name, value in {"PREFECT_HOME": str(folder.resolve() / "prefect"), **QUIET}.items():
        os.environ.setdefault(name, value)


def run_with_or_without_prefect(
    engine: bool, flow: Callable[[], Any], plain: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Calls *flow* under Prefect if *engine* is true, else *plain*, which does the same work; returns the summary.

    Raises `ServiceDown` if Prefect's server does not answer.
    """
    if not engine:
        return plain()
    with require_server():
        return unwrap_flow_summary(flow())


@contextmanager
def start_own_prefect_server() -> Iterator[None]:
    """Starts a Prefect server for this run on a free loopback port, which Prefect uses within the block.

    Its files are in ``PREFECT_HOME``. It ignores Ctrl-C, so that it outlives a run that is stopping, and ends with this
    process. Raises `ServiceDown` if it cannot start.
    """
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker
    from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

    if full := _describe_full_disk(ROOM):
        raise ServiceDown(f"{full}, where Prefect's server keeps its database: make room, or add --no-prefect")
    log = PREFECT_HOME.value() / "server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket() as listening, log.open("wb") as output:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        api = f"http://127.0.0.1:{listening.getsockname()[1]}/api"
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(listening.fileno())], stdin=subprocess.DEVNULL,
                                  env=os.environ | {"PREFECT_HOME": str(log.parent)},
                                  stdout=output, stderr=output, pass_fds=[listening.fileno()], start_new_session=True,
                                  preexec_fn=make_parent_death_hook(os.getpid()))  # fmt: skip
    try:
        if reason := why_unreachable(api, TRIES_S[:1], START_S):
            raise ServiceDown(f"Prefect's own server did not start ({reason}): see {log}, or add --no-prefect")
        with temporary_settings({PREFECT_API_URL: api}):
            try:
                yield
            finally:
                if server.poll() is None:
                    EventsWorker.drain_all()
                    APILogWorker.drain_all()
    finally:
        server.terminate()
        try:
            server.wait(END_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def run_and_return_prefect_state(work: Callable[..., dict[str, Any]], *arguments: Any, strict: bool = False) -> Any:
    """Calls *work* with *arguments*, and returns what the calling flow must return: a Prefect state or a summary.

    The state is named after the outcome, such as ``Incomplete``, and holds the message and the summary. For the outcome
    done, the name is ``Completed``. If the outcome is done and there is no message, the summary is returned instead of
    a state. If *work* raised `Paused`, the state holds the exception. Any other `GreBenchError` fails the flow run: the
    state's message is the error's line, and Prefect raises the error in the flow's caller.

    *strict*: whether an outcome that is neither done nor in `WELL` fails the flow run too, so that monitoring sees it.
    """
    logging.getLogger("gre_bench").setLevel(logging.INFO)
    for name in RUNS:
        logging.getLogger(name).addFilter(_drop_expected_traceback)
    try:
        summary = work(*arguments)
        outcome, message = summary.get("outcome", DONE), summary.get("message", "")
        if strict and outcome not in (DONE, *WELL):
            raise UnfinishedError(f"{summary.get('edition') or summary.get('venue')}: {outcome}, {message}")
    except BaseException as error:
        await_server(error)
        if isinstance(error, Paused):
            return _make_completed_state(PAUSED, str(error), error)
        if isinstance(error, GreBenchError):
            from prefect.states import Failed

            return Failed(message=str(error), data=error)
        raise
    await_server()
    if outcome == DONE:
        return _make_completed_state("completed", message, summary) if message else summary
    return _make_completed_state(outcome, message, summary)


def _drop_expected_traceback(record: logging.LogRecord) -> bool:
    """Removes the traceback of an expected error from *record*; always returns True.

    The error's line replaces the message of *record*, except in a record by a task: there, Prefect's message also says
    when the task is retried.
    """
    error = record.exc_info and record.exc_info[1]
    if isinstance(error, GreBenchError):
        record.exc_info = None
        if record.name != TASKS:
            record.msg, record.args = str(error), ()
    return True


def _make_completed_state(outcome: str, message: str, data: object) -> Any:
    from prefect.states import Completed

    return Completed(name=outcome.capitalize(), message=message, data=data)


def unwrap_flow_summary(returned: Any) -> dict[str, Any]:
    """Returns the summary *returned* by a flow of this process; if *returned* is a `Paused`, raises it."""
    if isinstance(returned, Paused):
        raise returned
    return returned


def run_deployed(deployment: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Runs the Prefect deployment *deployment*, ``<flow>/<name>``, perhaps on another machine, and waits for its end.

    Returns the outcome, the message and the name of the flow run, which is a subflow of the current one. Raises
    `UnfinishedError` if it failed, crashed or was cancelled, and `SettingsError` if there is no such deployment.
    """
    from prefect.client.schemas import FlowRun
    from prefect.deployments import run_deployment
    from prefect.exceptions import ObjectNotFound

    try:
        run = run_deployment(deployment, parameters=parameters, timeout=None, poll_interval=EVERY_S)
    except ObjectNotFound:
        raise SettingsError(
            f"no deployment {deployment} is known to the Prefect server: deploy deployments/prefect.yaml, or score "
            "where this run is: gpu=false"
        ) from None
    assert isinstance(run, FlowRun), "it is awaited where an event loop runs, which is nowhere here"
    state = run.state
    message = (state and state.message) or ""
    if state is None or not state.is_completed():
        raise UnfinishedError(f"{deployment}, run {run.name}: {state.name if state else 'no state'}. {message}")
    outcome = DONE if state.name in (None, "Completed") else state.name.lower()
    return {"outcome": outcome, "message": message, "flow_run": run.name}


@contextmanager
def require_server() -> Iterator[None]:
    """Raises `ServiceDown` if the Prefect server does not answer before the block, or if it stops answering within it.

    The server is the one that ``PREFECT_API_URL`` names; if that is unset, this run's own.
    """
    from prefect.events.clients import PrefectEventsClient
    from prefect.events.worker import EventsWorker, emit_events_to_cloud
    from prefect.settings import PREFECT_API_URL, get_current_settings

    for name in LOUD:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.raiseExceptions = False  # or Prefect's handler complains about lines it cannot send
    api = PREFECT_API_URL.value()
    if api and (reason := why_unreachable(api)):
        raise ServiceDown(
            f"the Prefect server at {api} (PREFECT_API_URL) does not answer ({reason}): start it, or unset "
            "PREFECT_API_URL to have one for the time of the run, or add --no-prefect; nothing was begun"
        )
    if not emit_events_to_cloud():
        EventsWorker.set_client_override(PrefectEventsClient, reconnection_attempts=EVENT_TRIES)
    with nullcontext() if api else start_own_prefect_server():
        client = get_current_settings().client
        retries = client.max_retries
        try:
            yield
        except Exception as error:
            if not is_server_lost(error):
                raise
            if (full := _describe_full_disk(NO_ROOM)) and not api:
                raise ServiceDown(f"{full}, so Prefect's server stopped; {MEND}") from None
            line = " ".join(str(error).split())[:200] or type(error).__name__
            raise ServiceDown(
                f"the {f'Prefect server at {api}' if api else 'temporary Prefect server'} no longer answers as it "
                f"should ({line}); what was done is kept: give the same command again, with the server at work or with "
                "--no-prefect"
            ) from None
        finally:
            EventsWorker.set_client_override(None)
            if not why_unreachable(str(PREFECT_API_URL.value()), TRIES_S[:1]):
                client.max_retries = retries


def _describe_full_disk(least_bytes: int) -> str | None:
    """Returns in words that the disk with Prefect's own database has less than *least_bytes* free; else None."""
    from prefect.settings import PREFECT_HOME

    home = PREFECT_HOME.value()
    while not home.exists():
        home = home.parent
    free = shutil.disk_usage(home).free
    return f"the disk of {home} is full ({free / 2**20:.1f} MB left)" if free < least_bytes else None


def is_server_lost(error: BaseException) -> bool:
    """Returns whether *error* means that the Prefect server did not answer, or gave an invalid answer."""
    if "prefect.settings" not in sys.modules:  # a run without Prefect does not import it
        return False
    from httpx import HTTPError
    from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
    from prefect.exceptions import PrefectException

    if isinstance(error, HTTPError):
        try:
            url = str(error.request.url)
        except RuntimeError:
            return False
        api = _find_server_url()
        return bool(api) and url.startswith(str(api))
    if isinstance(error, RuntimeError):
        # The message of Prefect's client if its first connection to a server fails.
        return "API" in str(error)
    return isinstance(error, ConcurrencySlotAcquisitionError | PrefectException)


def await_server(error: BaseException | None = None) -> None:
    """Waits at the end of a flow until the Prefect server answers; if it does not, turns Prefect's retries off.

    *error*: the exception that ended the flow, if any. Does not wait if the user stopped the run. Does not wait either
    if the flow ended because the server did not answer, because Prefect has already waited then.
    """
    if not (api := _find_server_url()):
        return
    from prefect.settings import get_current_settings

    hopeless = error is not None and (not isinstance(error, Exception) or is_server_lost(error))
    deadline = time.monotonic() + (0.0 if hopeless else RETURN_S)
    while why_unreachable(api, TRIES_S[:1]):
        if time.monotonic() >= deadline:
            get_current_settings().client.max_retries = 0
            return
        time.sleep(GLANCE_S)


def why_unreachable(api: str, waits_s: Sequence[float] = TRIES_S, timeout_s: float = 10.0) -> str | None:
    """Returns why the server at the URL *api* cannot be reached; None if the server gives any answer.

    *waits_s*: the seconds to wait before each attempt. *timeout_s*: how long an attempt waits for an answer.
    """
    reason = None
    for wait in waits_s:
        time.sleep(wait)
        try:
            urllib.request.urlopen(f"{api}/health", timeout=timeout_s).close()
            return None
        except urllib.error.HTTPError:
            return None
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "reason", error))
    return reason


def _find_server_url() -> str | None:
    """Returns the URL of the Prefect server that this process uses; None if there is none."""
    if "prefect.settings" not in sys.modules:
        return None
    from prefect.settings import PREFECT_API_URL

    return PREFECT_API_URL.value()

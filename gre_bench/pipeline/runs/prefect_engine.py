"""Configures the Prefect engine in this process: no messages, files under the state folder, no process left behind."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gre_bench.core.children import dying_with
from gre_bench.core.errors import SettingsError
from gre_bench.pipeline.runs.endings import summary_of
from gre_bench.pipeline.runs.prefect_server import answering

QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}
WORKERS = ("EventsWorker", "APILogWorker")
"""Prefect's loggers that ignore its settings; they would warn at the end of a run that events are still queued."""


def configure_prefect(folder: Path) -> None:
    """Sets Prefect's environment variables, so that Prefect logs nothing and keeps its files under *folder*.

    A variable that is already set keeps its value. Call this function before Prefect is imported. Raises
    `SettingsError` if *folder* cannot be written.
    """
    try:
        (folder / "prefect").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"state folder {folder} cannot be written: {error.strerror}"
        raise SettingsError(f"{reason}; choose another with --state") from None
    for name, value in {"PREFECT_HOME": str(folder.resolve() / "prefect"), **QUIET}.items():
        os.environ.setdefault(name, value)


def isolate_server() -> None:
    """Makes Prefect's temporary server ignore Ctrl-C and end with this process.

    Without this, Ctrl-C would kill the server while the run is still ending. A killed run would leave the server
    running.
    """
    from prefect.server.api import server

    for worker in WORKERS:
        logging.getLogger(worker).setLevel(logging.CRITICAL)
    start = server.SubprocessASGIServer._run_uvicorn_command
    if getattr(start, "isolated", False):
        return

    def isolated(self: server.SubprocessASGIServer) -> subprocess.Popen[bytes]:
        plain = subprocess.Popen
        subprocess.Popen = partial(plain, start_new_session=True, preexec_fn=dying_with(os.getpid()))  # type: ignore[misc]
        try:
            return start(self)
        finally:
            subprocess.Popen = plain  # type: ignore[misc]

    isolated.isolated = True  # type: ignore[attr-defined]
    server.SubprocessASGIServer._run_uvicorn_command = isolated  # type: ignore[method-assign]


def perform(engine: bool, flow: Callable[[], Any], plain: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Runs a flow with or without Prefect; returns the summary of the run.

    If *engine* is true, calls *flow*, which runs under Prefect. Otherwise calls *plain*, which takes the same steps
    without Prefect. Raises `ServiceDown` if Prefect's server does not answer.
    """
    if not engine:
        return plain()
    isolate_server()
    with answering():
        return summary_of(flow())

"""The state in which a flow run ends in Prefect: done, failed, or incomplete without a failure.

A paused run has not failed. It is over and counts as completed, in a Prefect state named ``Paused``. The work of a
paused run is kept, and the next run of its deployment continues the work. A run that Prefect itself pauses is
different: it stays alive until somebody resumes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gre_bench.core.errors import Paused, UnfinishedError
from gre_bench.pipeline.runs.prefect_server import await_server

DONE, PAUSED = "done", "paused"
WELL = (PAUSED, "waiting", "unchanged")
"""Outcomes that are no fault, besides done.

``paused``: a budget is used up, and its owner may raise it. ``waiting``: a service allows more requests later.
``unchanged``: everything was done before.
"""


def ended(work: Callable[..., dict[str, Any]], *arguments: Any, strict: bool = False) -> Any:
    """Calls *work* with *arguments* and returns what its flow must return.

    If the outcome is done, the flow must return the summary of *work*. Otherwise it must return a Prefect state named
    after the outcome, such as ``Paused`` or ``Incomplete``. The state has the run's message, and the summary as its
    data; for a `Paused` exception, the data is the exception (see `summary_of`). *strict*: an outcome that is neither
    done nor in `WELL` raises `UnfinishedError`. The exception fails the flow run, so monitoring sees it.
    """
    try:
        summary = work(*arguments)
    except BaseException as error:
        await_server(error)
        if isinstance(error, Paused):
            return _state(PAUSED, str(error), error)
        raise
    await_server()
    outcome = summary.get("outcome", DONE)
    if outcome == DONE:
        return summary
    message = summary.get("message", "")
    if strict and outcome not in WELL:
        raise UnfinishedError(f"{summary.get('edition') or summary.get('venue')}: {outcome}, {message}")
    return _state(outcome, message, summary)


def summary_of(returned: Any) -> dict[str, Any]:
    """Returns the summary in *returned*, the result of a flow called in this process.

    If the result stands for a `Paused` exception, raises that exception.
    """
    if isinstance(returned, Paused):
        raise returned
    return returned


def _state(outcome: str, message: str, data: object) -> Any:
    from prefect.states import Completed

    return Completed(name=outcome.capitalize(), message=message, data=data)

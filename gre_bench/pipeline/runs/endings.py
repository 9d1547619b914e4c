"""Decides the Prefect state in which a flow run ends: done, failed, or incomplete without a failure.

A paused run has not failed. It is over and counts as completed, in a Prefect state named ``Paused``. Its work is kept,
and the next run of the same deployment continues it. A run that Prefect itself pauses is different: it stays alive
until somebody resumes it.
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
    """Calls *work* with *arguments*, and returns what the flow that calls this function must return.

    - If the outcome is done, the flow must return the summary that *work* returned.
    - For another outcome, it must return a Prefect state with the outcome's name, such as ``Incomplete``. The state
      holds the run's message and the summary.
    - If *work* raised `Paused`, it must return the Prefect state ``Paused``. The state holds the message and the
      exception (see `summary_of`).

    *strict*: whether to raise `UnfinishedError` for an outcome that is neither done nor in `WELL`. The exception fails
    the flow run, so that monitoring sees it.
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
    """Returns the summary that a flow returned when called in this process.

    *returned* is the result of the flow. If *returned* is a `Paused` exception, raises it.
    """
    if isinstance(returned, Paused):
        raise returned
    return returned


def _state(outcome: str, message: str, data: object) -> Any:
    from prefect.states import Completed

    return Completed(name=outcome.capitalize(), message=message, data=data)

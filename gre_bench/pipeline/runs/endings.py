"""How a flow run ends where Prefect shows it: done, failed, or short of done without anything having failed.

A pause is no failure. The run is over, and counts as completed, under a name of its own; what it has is kept, and the
next run of its deployment goes on. Prefect's own paused run is another thing: it stays alive and waits for a hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gre_bench.core.errors import Paused, UnfinishedError
from gre_bench.pipeline.runs.prefect_server import await_server

DONE, PAUSED = "done", "paused"
WELL = (PAUSED, "waiting", "unchanged")
"""Outcomes short of done that are no fault: nobody has to do anything, but for a budget that paused a run.

``waiting``: for a service that allows more later. ``unchanged``: all was done before.
"""


def ended(work: Callable[..., dict[str, Any]], *asked: Any, strict: bool = False) -> Any:
    """What the body of a flow returns: the summary that *work* makes of what is *asked*, or the state it ends in.

    The state has the name of the outcome, such as ``Paused`` or ``Incomplete``, the message of the run, and the
    summary as its data; for a `Paused` that was raised, that itself (`summary_of`). *strict*: what ends neither done
    nor in one of `WELL` is an `UnfinishedError`, which fails the flow run, so that whoever watches the runs sees it.
    """
    try:
        summary = work(*asked)
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
    """The summary of a flow that was called in this process; a pause is raised here as it was in the flow."""
    if isinstance(returned, Paused):
        raise returned
    return returned


def _state(outcome: str, message: str, data: object) -> Any:
    from prefect.states import Completed

    return Completed(name=outcome.capitalize(), message=message, data=data)

"""Runs a stage as a Prefect deployment, perhaps on another machine, and waits for it."""

from __future__ import annotations

from typing import Any

from gre_bench.core.errors import SettingsError, UnfinishedError
from gre_bench.pipeline.runs.endings import DONE

EVERY_S = 10.0
"""Seconds between two checks of a run in another work pool."""


def run_deployed(deployment: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Runs the Prefect deployment *deployment*, ``<flow>/<name>``, and waits until it ends.

    Returns the outcome, the message and the name of the flow run. Prefect shows the flow run as a subflow of the
    present run. Raises `UnfinishedError` if the flow run failed, crashed or was cancelled. Raises `SettingsError` if
    there is no such deployment.
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

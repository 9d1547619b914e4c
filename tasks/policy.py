"""How Prefect runs the tasks: time limits, retries, and how a pause is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from prefect import task
from prefect.cache_policies import NO_CACHE

from gre_bench.core.errors import GreBenchError, Paused

if TYPE_CHECKING:
    from prefect import Task
    from prefect.client.schemas import State, TaskRun

P = ParamSpec("P")
R = TypeVar("R")


def step(
    name: str, run_name: str | None, hours: float, *tags: str, **more: Any
) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Makes a function the Prefect task *name*, whose results are never cached.

    *run_name*: a task run's name, with parameters in braces. *hours*: its time limit. *more*: options of `task`.
    """
    return task(name=name, task_run_name=run_name, timeout_seconds=hours * 3600, tags=list(tags), cache_policy=NO_CACHE,
                persist_result=False, **more)  # fmt: skip


def worth_retrying(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Returns False after a `GreBenchError`, whose cause the user must correct."""
    return not isinstance(state.result(raise_on_failure=False), GreBenchError)


def show_pause(_task: Task[..., Any], run: TaskRun, state: State[Any]) -> None:
    """Gives a task run that raised `Paused` the state ``Paused``, which counts as completed, because nothing failed.

    The flow still gets the exception, and the state ``Failed`` stays in the task run's history.
    """
    pause = state.result(raise_on_failure=False)
    if not isinstance(pause, Paused):
        return
    from prefect.states import Completed
    from prefect.utilities.engine import emit_task_run_state_change_event

    shown = Completed(name="Paused", message=str(pause), state_details=state.state_details)
    run.state, run.state_id, run.state_type, run.state_name = shown, shown.id, shown.type, shown.name
    emit_task_run_state_change_event(run, initial_state=state, validated_state=shown)


RETRIED: dict[str, Any] = {
    "retries": 2,
    "retry_delay_seconds": [2, 20],
    "retry_condition_fn": worth_retrying,
    "on_failure": [show_pause],
}


def writing(name: str, run_name: str) -> Callable[[Callable[P, R]], Task[P, R]]:
    """The decorator of a task in which an LM or a rule writes."""
    return step(name, run_name, 12, "writing", **RETRIED)

"""Turns the steps of a run into Prefect tasks, with time limits, retries and a state for pauses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from gre_bench.core.errors import GreBenchError, Paused

if TYPE_CHECKING:
    from prefect import Task
    from prefect.client.schemas import State, TaskRun

P = ParamSpec("P")
R = TypeVar("R")


def is_in_flow_run() -> bool:
    """Returns whether the caller runs within a Prefect flow run; does not import Prefect for this."""
    if "prefect.context" not in sys.modules:
        return False
    from prefect.context import FlowRunContext

    return FlowRunContext.get() is not None


def make_step(
    name: str, run_name: str | None, hours: float, *tags: str, **more: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Returns a decorator that makes a function a step: within a flow run, it runs as a Prefect task.

    Elsewhere it is a plain function. The results of tasks are never cached. The step's method `task` returns the
    task itself, for task runners that submit it to workers.

    Args:
        name: the task's name.
        run_name: the name of its task runs, with parameters in braces.
        hours: the time limit of a task run.
        tags: the task's tags.
        more: further options of `prefect.task`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @cache
        def task() -> Task[P, R]:
            from prefect import task as decorator
            from prefect.cache_policies import NO_CACHE

            return decorator(name=name, task_run_name=run_name, timeout_seconds=hours * 3600, tags=list(tags),
                             cache_policy=NO_CACHE, persist_result=False, **more)(function)  # fmt: skip

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return task()(*args, **kwargs) if is_in_flow_run() else function(*args, **kwargs)

        call.task = task  # type: ignore[attr-defined]
        return call

    return decorate


def is_worth_retrying(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Returns whether Prefect should retry: not after a `GreBenchError`, whose cause the user must correct."""
    return not isinstance(state.result(raise_on_failure=False), GreBenchError)


def show_pause(_task: Task[..., Any], run: TaskRun, state: State[Any]) -> None:
    """Sets the state ``Paused``, which counts as completed, for a task run that raised `Paused`, as nothing failed.

    The exception still reaches the flow, and the state ``Failed`` remains in the task run's history.
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
    "retry_condition_fn": is_worth_retrying,
    "on_failure": [show_pause],
}


def writing_step(name: str, run_name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Returns the decorator for a step in which an LM or a rule writes texts."""
    return make_step(name, run_name, 12, "writing", **RETRIED)

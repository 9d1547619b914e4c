"""The steps of a run (`gre_bench.tasks.protocol.Steps`), with Prefect and without. Both give the same results."""

from __future__ import annotations

from functools import wraps
from types import SimpleNamespace
from typing import Any, cast

from gre_bench.tasks import examine, fetch, release, score, tune, write
from gre_bench.tasks.protocol import Steps

_IN_MODULES = {name: value for module in (examine, fetch, release, score, tune, write)
               for name, value in vars(module).items()}  # fmt: skip
STEPS: dict[str, Any] = {name: _IN_MODULES[name] for name in vars(Steps) if name in _IN_MODULES}
"""Every step of the protocol: a Prefect task, or a plain function where Prefect need not show the step."""
ARTIFACTS = ("show_leaderboard", "show_history")
"""Steps that do nothing without Prefect, because artifacts need it."""


def under_prefect() -> Steps:
    """Returns the steps as Prefect tasks. Tasks have retries and time limits, and Prefect's server shows them."""
    return cast(Steps, SimpleNamespace(**STEPS))


def undecorated() -> Steps:
    """Returns the steps as plain functions, without Prefect's engine, server and artifacts."""
    functions = {name: getattr(step, "fn", step) for name, step in STEPS.items()}
    for name in ARTIFACTS:
        functions[name] = wraps(functions[name])(lambda *_: None)
    return cast(Steps, SimpleNamespace(**functions))

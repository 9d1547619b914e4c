"""A step is a Prefect task within a flow run, and a plain function elsewhere."""

from __future__ import annotations

import subprocess
import sys

from prefect import flow
from prefect.context import TaskRunContext
from prefect.testing.utilities import prefect_test_harness

from gre_bench.tasks import steps
from gre_bench.tasks.policy import make_step

PLAIN = """
import sys
from gre_bench.pipeline import agreeing, downloading, refreshing, training, validating
from gre_bench.reports import yearly
from gre_bench.tasks import steps
steps.show_leaderboard("X-2026", [])
print("prefect" in sys.modules)
"""


@make_step("tell the task", "told {name}", 1)
def tell(name: str) -> str | None:
    context = TaskRunContext.get()
    return context and context.task_run.name


def test_a_step_is_a_task_run_within_a_flow_run_alone():
    assert tell("a") is None
    with prefect_test_harness(server_startup_timeout=120):
        assert flow(lambda: tell("b"), name="telling")() == "told b"
    assert tell("c") is None


def test_stages_and_steps_without_a_flow_do_not_even_import_prefect():
    run = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True)
    assert run.stdout == "False\n", run.stderr


def test_every_step_says_what_it_does_and_a_runner_gets_its_task():
    assert all(getattr(steps, name).__doc__ for name in steps.__all__)
    assert steps.score_papers.task().name == "score papers"

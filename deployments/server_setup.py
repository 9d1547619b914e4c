"""What a Prefect server is told of this project besides its deployments: work pools, login, automations.

    PREFECT_API_URL=http://127.0.0.1:4200/api python deployments/server_setup.py [--tell URL]

Run it again after a change: everything is found by its name and brought up to date, nothing is made twice.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import httpx
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.blocks.system import Secret
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import StateType
from prefect.events import AutomationCore, EventTrigger, Posture, ResourceSpecification
from prefect.events.actions import ChangeFlowRunState, RunDeployment, SendNotification
from prefect.settings import PREFECT_API_URL
from prefect.workers.process import ProcessWorker

POOLS = {"gre-bench-cpu": 2, "gre-bench-gpu": 1}
"""Work pools, and how many flow runs each has at a time: a GPU holds one evaluation LM."""
LOGIN = {"openreview-username": "OPENREVIEW_USERNAME", "openreview-password": "OPENREVIEW_PASSWORD"}
HEARTBEAT_S = 60
"""Seconds between two signs of life of a flow run; Prefect takes no less than 30."""
REST = timedelta(minutes=10)
"""Before a crashed run goes on: whatever crashes at once is tried six times an hour, not without end."""
LATE = timedelta(hours=1)
ENDS = {f"prefect.flow-run.{state}" for state in ("Completed", "Failed", "Cancelled", "Crashed")}
ALL, SCHEDULED, ANNUAL = "gre-bench", "gre-bench-scheduled", "annual"


def events(tag: str, expect: set[str], after: set[str] = frozenset(), within: timedelta | None = None) -> EventTrigger:
    """One of *expect*, for each flow run with this *tag*; given *within*: that none comes so long after *after*."""
    return EventTrigger(
        expect=expect,
        after=after,
        match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
        match_related=ResourceSpecification(
            {"prefect.resource.id": f"prefect.tag.{tag}", "prefect.resource.role": "tag"}
        ),
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive if within else Posture.Reactive,
        threshold=1,
        within=within or timedelta(0),
    )


def automations(told: UUID | None, rest: timedelta = REST) -> Iterator[AutomationCore]:
    """Every automation; those that tell somebody only where there is a block that knows whom."""
    beat = "prefect.flow-run.heartbeat"
    yield AutomationCore(
        name="gre-bench: a silent run has crashed",
        description="A machine that is gone reports nothing. Its run would keep every later one waiting.",
        trigger=events(ALL, {beat} | ENDS, {beat}, timedelta(seconds=3 * HEARTBEAT_S)),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message=f"no sign of life for {3 * HEARTBEAT_S} s")],
    )
    yield AutomationCore(
        name="gre-bench: a crashed run goes on",
        description="Runs its deployment again, as it is scheduled. What was done is kept; nothing is paid twice.",
        trigger=events(SCHEDULED, {"prefect.flow-run.Crashed"}),
        actions=[RunDeployment(source="inferred", schedule_after=rest)],
    )
    if told is None:
        return
    news = (
        ("a run that did not end well is told", events(ALL, {"prefect.flow-run.Failed", "prefect.flow-run.Crashed"})),
        ("a late run is told", events(ALL, {"prefect.flow-run.Running"} | ENDS, {"prefect.flow-run.Late"}, LATE)),
        ("a finished refresh is told", events(ANNUAL, {"prefect.flow-run.Completed"})),
    )
    for name, trigger in news:
        body = "{{ flow.name }} {{ flow_run.name }}: {{ flow_run.state.name }}. {{ flow_run.state.message }}"
        notice = SendNotification(block_document_id=told, subject=f"GRE-bench: {name}", body=body)
        yield AutomationCore(name=f"gre-bench: {name}", trigger=trigger, actions=[notice])


def set_up(client: SyncPrefectClient, tell: str | None, rest: timedelta = REST) -> Iterator[str]:
    """Makes or updates all of it; one line for each thing that is there now, or is not."""
    for pool, limit in POOLS.items():
        job = ProcessWorker.get_default_base_job_template()
        job["variables"]["properties"]["env"]["default"] = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_S)}
        made = WorkPoolCreate(name=pool, type="process", base_job_template=job, concurrency_limit=limit)
        client.create_work_pool(made, overwrite=True)
        yield f"work pool {pool}: {limit} at a time"
    for block, variable in LOGIN.items():
        if value := os.environ.get(variable):
            Secret(value=value).save(block, overwrite=True)
            yield f"secret {block}: from {variable}"
        else:
            yield f"secret {block}: as it was; set {variable} and run this again to change it"
    told = None
    if tell:
        hook = CustomWebhookNotificationBlock(
            name="gre-bench", url="{{url}}", json_data={"text": "{{subject}}\n{{body}}"}, secrets={"url": tell}
        )
        told = hook.save("gre-bench-news", overwrite=True)
    else:
        yield 'nobody is told of crashed, failed, late and finished runs; --tell URL posts {"text": ...} there'
    for wanted in automations(told, rest):
        there = client.read_automations_by_name(wanted.name)
        if there:
            client.update_automation(there[0].id, wanted)
        else:
            client.create_automation(wanted)
        yield f"automation {wanted.name}"


def answering(client: SyncPrefectClient, wait_s: float) -> None:
    """Returns when the server answers; `httpx.TransportError` if it does not within *wait_s*."""
    deadline = time.monotonic() + wait_s
    while error := client.api_healthcheck():
        if time.monotonic() >= deadline:
            raise httpx.ConnectError(str(error))
        time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tell", metavar="URL", help="webhook that is told of what needs eyes; kept as a secret")
    parser.add_argument("--rest", metavar="S", type=float, default=REST.total_seconds(),
                        help="seconds before a crashed run goes on")  # fmt: skip
    parser.add_argument(
        "--wait", metavar="S", type=float, default=60.0, help="seconds to wait for a server that starts"
    )
    asked = parser.parse_args()
    if not (server := PREFECT_API_URL.value()):
        parser.error("name the server: export PREFECT_API_URL=http://127.0.0.1:4200/api")
    try:
        with get_client(sync_client=True) as client:
            answering(client, asked.wait)
            for line in set_up(client, asked.tell, timedelta(seconds=asked.rest)):
                print(line)
    except httpx.TransportError as error:
        parser.error(f"no Prefect server answers at {server} ({error}); start it: prefect server start --background")


if __name__ == "__main__":
    main()

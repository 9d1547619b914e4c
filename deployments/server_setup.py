"""Sets up a Prefect server for this project: work pools, secrets and automations, but no deployments.

    PREFECT_API_URL=http://127.0.0.1:4200/api python deployments/server_setup.py [--tell URL]

It can be run again after a change: existing objects are found by name and updated, so nothing is made twice.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import httpx
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.blocks.system import Secret
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import StateType
from prefect.events import AutomationCore, EventTrigger, Posture, ResourceSpecification
from prefect.events.actions import ChangeFlowRunState, RunDeployment, SendNotification
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL
from prefect.types import SecretDict
from prefect.workers.process import ProcessWorker
from pydantic import SecretStr

POOLS = {"gre-bench-cpu": 2, "gre-bench-gpu": 1}
"""Work pool → the maximum number of simultaneous flow runs; a GPU holds one evaluation LM."""
LOGIN = {"openreview-username": "OPENREVIEW_USERNAME", "openreview-password": "OPENREVIEW_PASSWORD"}
HEARTBEAT_S = 30
"""Seconds between two heartbeats of a flow run; Prefect accepts no less."""
ENVIRONMENT = {
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_S),
    "PREFECT_LOGGING_EXTRA_LOGGERS": "gre_bench",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}
"""Environment variables of every flow run; the last two let its page show what this program logs."""
RUN = "prefect.flow-run."
"""Prefix of the names of a flow run's events; the rest is the name of a state, or ``heartbeat``."""
Action = TypeVar("Action", ChangeFlowRunState, RunDeployment)
EVERY, ALONE, SCHEDULED, ANNUAL = "gre-bench*", "gre-bench", "gre-bench-scheduled", "annual"
"""Tags of every run, of runs that are not a stage of another run, of scheduled runs, and of runs of flow `year`."""
BEGUN = "Running Retrying Completed Failed Crashed Cancelled Cancelling Scheduled AwaitingRetry"
"""The events that show progress; one of them must follow when a worker has taken a run (event Pending)."""
PARAMETERS = {
    "__prefect_kind": "json",
    "value": {
        "__prefect_kind": "jinja",
        "template": "{{ (flow_run.parameters if not flow_run.job_variables else no_way_to_give_them) | tojson }}",
    },
}
"""Template of the parameters of a crashed run that is restarted. If it cannot be filled in, Prefect starts no run."""
REFUSED = "Deployment concurrency limit reached."
"""Prefect's message when it cancels a run because another run occupies the deployment."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How many seconds the server waits before it acts on a run.

    *silence*: if a worker has taken a run and the run then sends no event for this long, it counts as crashed. A few
    heartbeats may get lost while the server's database is locked, so this wait spans several heartbeats.
    *rest*: a crashed run is restarted after this time. With the default, 600 seconds, a run that always crashes at once
    is tried six times an hour.
    *late*: a run that should have begun this long ago is reported.
    *once*: within this time, a run is restarted at most once, and at most one notification of it is sent. Prefect may
    set a final state again or evaluate one event up to four times if its database was locked.
    """

    silence: float = 4.0 * HEARTBEAT_S
    rest: float = 600.0
    late: float = 3600.0
    once: float = 3600.0


def build_event_trigger(
    tag: str, expect: str, after: str = "", within_s: float = 0.0, message: str = ""
) -> EventTrigger:
    """Returns a trigger on the events of flow runs that have the tag *tag*.

    If *after* is empty, the trigger fires when one of the events *expect* happens, at most once per run in *within_s*
    seconds. Otherwise it fires when, for *within_s* seconds after one of the events *after*, none of the events
    *expect* happens.
    *expect*, *after*: names of events without the prefix `RUN`, separated by blanks; ``*`` means any event.
    *message*: the message that the run's new state must have; empty means any message.
    """
    return EventTrigger(
        expect={RUN + name for name in expect.split()},
        after={RUN + name for name in after.split()},
        match=ResourceSpecification.model_validate(
            {"prefect.resource.id": "prefect.flow-run.*"} | ({"prefect.state-message": message} if message else {})
        ),
        match_related=ResourceSpecification(
            {"prefect.resource.id": f"prefect.tag.{tag}", "prefect.resource.role": "tag"}
        ),
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive if after else Posture.Reactive,
        threshold=1,
        within=timedelta(seconds=within_s),
    )


def build_action(kind: type[Action], **fields: Any) -> Action:
    """Returns an object of the class *kind* with the given *fields*; other fields keep their defaults.

    Calling the class directly would do the same, but a type checker would demand the other fields.
    """
    return kind.model_validate(fields)


def build_automations(notification_block: UUID | None, waits: Waits) -> Iterator[AutomationCore]:
    """Yields the automations for this project's runs. *waits*: how long the server waits before it acts.

    *notification_block*: id of the Prefect block that sends notifications; None: yield no automation that notifies.
    """
    silence = f"no sign of life for {waits.silence:.0f} s"
    for name, after, expect, state in (
        ("a run that never began has crashed", "Pending", BEGUN, StateType.CRASHED),
        ("a silent run has crashed", "Running Retrying heartbeat", "*", StateType.CRASHED),
        ("a silent cancellation has ended", "Cancelling", "*", StateType.CANCELLED),
    ):
        yield AutomationCore(
            name=f"gre-bench: {name}",
            description="A machine that is gone reports nothing. Its run would keep every later one waiting.",
            trigger=build_event_trigger(EVERY, expect, after, waits.silence),
            actions=[build_action(ChangeFlowRunState, state=state, message=silence)],
        )
    yield AutomationCore(
        name="gre-bench: a crashed run goes on",
        description="Runs its deployment again, with the crashed run's own parameters. What was done is kept; no reply "
        "that arrived is paid for twice. A run with job variables of its own is not run again: they cannot be given.",
        trigger=build_event_trigger(SCHEDULED, "Crashed", within_s=waits.once),
        actions=[
            build_action(
                RunDeployment, source="inferred", parameters=PARAMETERS, schedule_after=timedelta(seconds=waits.rest)
            )
        ],
    )
    yield AutomationCore(
        name="gre-bench: a refused run says why",
        description="Of most deployments only one run goes at a time. Prefect's own words name a limit and no way out.",
        trigger=build_event_trigger(EVERY, "Cancelled", message=REFUSED),
        actions=[
            build_action(
                ChangeFlowRunState,
                state=StateType.CANCELLED,
                message="another run holds this deployment; without a sign of life for "
                f"{waits.silence:.0f} s it counts as crashed, and the deployment is free again",
            )
        ],
    )
    if notification_block is None:
        return
    news = (
        # A stage that failed in another work pool fails the run that asked for it, which is told.
        ("a run that did not end well is told", build_event_trigger(ALONE, "Failed Crashed", within_s=waits.once)),
        (
            "a late run is told",
            build_event_trigger(EVERY, "Running Cancelled Crashed Failed", "Late Pending", waits.late),
        ),
        ("a finished refresh is told", build_event_trigger(ANNUAL, "Completed", within_s=waits.once)),
        # Its budget is used up, and only a person can raise it. A paused fetch continues by itself.
        ("a paused refresh is told", build_event_trigger(ANNUAL, "Paused", within_s=waits.once)),
    )
    for name, trigger in news:
        body = "{{ flow.name }} {{ flow_run.name }}: {{ flow_run.state.name }}. {{ flow_run.state.message }}"
        notice = SendNotification(block_document_id=notification_block, subject=f"GRE-bench: {name}", body=body)
        yield AutomationCore(name=f"gre-bench: {name}", trigger=trigger, actions=[notice])


def set_up(client: SyncPrefectClient, tell: str | None, waits: Waits) -> Iterator[str]:
    """Creates or updates work pools, secrets, the notification block and automations. Yields one line of text for each.

    *tell*: URL of the webhook that gets notifications; None: no notifications are sent.
    """
    for pool, limit in POOLS.items():
        job = ProcessWorker.get_default_base_job_template()
        job["variables"]["properties"]["env"]["default"] = ENVIRONMENT
        made = WorkPoolCreate(name=pool, type="process", base_job_template=job, concurrency_limit=limit)
        client.create_work_pool(made, overwrite=True)
        yield f"work pool {pool}: {limit} at a time"
    for block, variable in LOGIN.items():
        if value := os.environ.get(variable):
            Secret(value=SecretStr(value)).save(block, overwrite=True)
            yield f"secret {block}: from {variable}"
        elif has_secret(client, block):
            yield f"secret {block}: as it was; set {variable} and run this again to change it"
        else:
            yield f"secret {block}: none; set {variable} and run this again to store it, if OpenReview is to be asked"
    notification_block = None
    if tell:
        hook = CustomWebhookNotificationBlock(
            name="gre-bench", url="{{url}}", headers=None, cookies=None, secrets=SecretDict({"url": tell}),
            json_data={"text": "{{subject}}\n{{body}}"},
        )  # fmt: skip
        saved = hook.save("gre-bench-news", overwrite=True)
        assert isinstance(saved, UUID), "Prefect returns a coroutine only inside an event loop"
        notification_block = saved
    else:
        yield 'nobody is told of crashed, failed, late, paused and finished runs; --tell URL posts {"text": ...} there'
    for wanted in build_automations(notification_block, waits):
        existing = client.read_automations_by_name(wanted.name)
        if existing:
            client.update_automation(existing[0].id, wanted)
        else:
            client.create_automation(wanted)
        yield f"automation {wanted.name}"


def has_secret(client: SyncPrefectClient, block: str) -> bool:
    """Returns whether the server has a Secret block of this name."""
    try:
        client.read_block_document_by_name(block, "secret", include_secrets=False)
    except ObjectNotFound:
        return False
    return True


def await_server(client: SyncPrefectClient, wait_s: float) -> None:
    """Waits until the server answers; raises `httpx.TransportError` if it has not answered after *wait_s* seconds."""
    deadline = time.monotonic() + wait_s
    while error := client.api_healthcheck():
        if time.monotonic() >= deadline:
            raise httpx.ConnectError(str(error))
        time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tell", metavar="URL", help="webhook to notify of runs that need attention; kept as a secret")
    for wait, meaning in (("silence", "a run without a sign of life has crashed"), ("rest", "a crashed run goes on"),
                       ("late", "a run that has not begun is reported")):  # fmt: skip
        parser.add_argument(f"--{wait}", metavar="S", type=float, default=getattr(Waits(), wait),
                            help=f"seconds until {meaning}; %(default).0f")  # fmt: skip
    parser.add_argument(
        "--wait", metavar="S", type=float, default=120.0, help="seconds to wait for a server that starts"
    )
    arguments = parser.parse_args()
    waits = Waits(arguments.silence, arguments.rest, arguments.late)
    if not (server := PREFECT_API_URL.value()):
        parser.error("name the server: export PREFECT_API_URL=http://127.0.0.1:4200/api")
    try:
        with get_client(sync_client=True) as client:
            await_server(client, arguments.wait)
            for line in set_up(client, arguments.tell, waits):
                print(line)
    except httpx.HTTPStatusError as error:
        parser.error(f"the Prefect server at {server} cannot do it: {str(error).splitlines()[0]}; look at its log")
    except httpx.TransportError as error:
        parser.error(f"no Prefect server answers at {server} ({error}); start it: prefect server start")


if __name__ == "__main__":
    main()

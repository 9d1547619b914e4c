"""The doctor's check of the Prefect server: does it answer, run our version, and have workers for scheduled flows?"""

from __future__ import annotations

import base64
import importlib.metadata
import json
import os
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from gre_bench.core.settings import Settings
from gre_bench.preflight.doctor import Check, Finding

HEALTH_S = 10.0
OURS = {"deployments": {"tags": {"all_": ["gre-bench"]}}}
DEPLOY = "prefect --no-prompt deploy --all --prefect-file deployments/prefect.yaml"


def server(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks the Prefect server that PREFECT_API_URL names, and this project's deployments on it.

    If the variable is unset, the finding is ok, because each run starts a temporary server.
    """
    url = os.environ.get("PREFECT_API_URL", "").strip().rstrip("/")
    if not url:
        yield Finding("prefect", "ok", "no PREFECT_API_URL: each run starts a temporary server of its own")
        return
    where = urlsplit(url).hostname or "an address without a host"
    todo = "start it (prefect server start), correct PREFECT_API_URL, or run with --no-prefect"
    try:
        healthy = _request(url, "/health") is True
    except (OSError, ValueError) as error:
        yield Finding("prefect", "problem", f"server at {where} does not answer: {type(error).__name__}", todo)
        return
    if not healthy:
        yield Finding("prefect", "problem", f"server at {where} is no healthy Prefect server", todo)
        return
    yield Finding("prefect", "ok", f"server at {where} is healthy")
    try:
        yield _version(_request(url, "/admin/version"))
        yield from _pools(url)
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield Finding("prefect", "problem", f"server at {where} does not say what it has: {type(error).__name__}",
                      "is its version ours, and PREFECT_API_KEY or PREFECT_API_AUTH_STRING right?")  # fmt: skip


CHECKS: dict[str, Check] = {"prefect": server}


def _version(theirs: object) -> Finding:
    ours = importlib.metadata.version("prefect")
    if theirs == ours:
        return Finding("prefect", "ok", f"server and client are {ours}")
    todo = "install the same on both (constraints.txt names it); an older server refuses requests of a newer client"
    return Finding("prefect", "warning", f"the server is {theirs}, this client {ours}", todo)


def _pools(url: str) -> Iterator[Finding]:
    """Checks the work pools of this project's deployments: each must exist, not be paused, and have a worker online."""
    scheduled = defaultdict[str, list[str]](list)
    for deployment in _request(url, "/deployments/filter", OURS):
        active = not deployment["paused"] and any(schedule["active"] for schedule in deployment["schedules"])
        scheduled[deployment["work_pool_name"] or ""] += [deployment["name"]] if active else []
    if not scheduled:
        yield Finding("work pools", "warning", "nothing of this project is deployed", f"to schedule it: {DEPLOY}")
    pools = {pool["name"]: pool for pool in _request(url, "/work_pools/filter", {})}
    for name, waiting in sorted(scheduled.items()):
        due = f"scheduled there: {', '.join(sorted(waiting)) or 'nothing'}"
        if name not in pools:
            todo = f"python deployments/server_setup.py, then {DEPLOY}"
            yield Finding("work pools", "problem", f"no work pool {name!r}; {due}", todo)
        elif pools[name]["is_paused"]:
            yield Finding("work pools", "warning", f"{name} is paused; {due}", f"prefect work-pool resume {name}")
        else:
            yield _workers(name, _request(url, f"/work_pools/{quote(name, safe='')}/workers/filter", {}), waiting, due)


def _workers(pool: str, workers: list[dict[str, Any]], waiting: list[str], due: str) -> Finding:
    online = sum(worker["status"] == "ONLINE" for worker in workers)
    if online:
        return Finding("work pools", "ok", f"{pool} has {online} worker{'s' * (online > 1)} online; {due}")
    if not waiting:
        return Finding("work pools", "ok", f"{pool} has no worker online; {due}")
    todo = f"prefect worker start --pool {pool}"
    return Finding("work pools", "warning", f"{pool} has no worker online; {due}", todo)


def _request(url: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Sends a request to *path* on the server at *url*, and returns the JSON of the reply.

    The request is a GET, or a POST with *body* if *body* is given. Raises `OSError` if the server does not answer or
    refuses. Raises `ValueError` if the reply is not JSON.
    """
    headers = {"content-type": "application/json"}
    if key := os.environ.get("PREFECT_API_KEY", "").strip():
        headers["authorization"] = f"Bearer {key}"
    elif login := os.environ.get("PREFECT_API_AUTH_STRING", "").strip():
        headers["authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers), timeout=HEALTH_S) as answer:
        return json.load(answer)

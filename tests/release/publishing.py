"""A publisher in a process of its own, which can be killed or held up at any step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb

from gre_bench.release.publishing import publish
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import build_release_inputs, publish_edition
from gre_bench.store import Store, open_frozen_copy


def publish_until(state: str, edition: str, fatal: str | None, held: str | None = None) -> None:
    """Publishes the edition again; is killed before step *fatal*, waits before step *held* while a file is there."""

    def at(step: str) -> None:
        if step == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        hold = Path(state) / "hold"
        if step == held:
            hold.touch()
            while hold.exists():
                time.sleep(0.01)

    store = Store(Path(state), edition)
    with open_frozen_copy(store, "publish") as copy:
        publish(ReleaseStore(Path(state) / "releases", edition), build_release_inputs(copy, again=True), at)


def published_apart(state: Path, edition: str, out: Path, threads: int, **environment: str) -> Path:
    """The first release in the new folder *out*, made in a process of its own with DuckDB's *threads*."""
    program = f"from tests.release.publishing import publish_with; publish_with({str(state)!r}, {edition!r}, {str(out)!r}, {threads})"
    threaded = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    subprocess.run([sys.executable, "-c", program], env=os.environ | threaded | environment, check=True)
    return out / f"{edition}-r1"


def publish_with(state: str, edition: str, out: str, threads: int) -> None:
    """Publishes the edition to *out*; every connection to DuckDB has so many *threads*."""
    connect = duckdb.connect

    def threaded(*given, **named):
        return connect(*given, **{**named, "config": {**(named.get("config") or {}), "threads": threads}})

    duckdb.connect = threaded
    publish_edition(Store(Path(state), edition), ReleaseStore(Path(out), edition))

"""A publisher in a process of its own, which can be killed or held up at any step."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from gre_bench.release.publishing import publish
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publishing import publication_of
from gre_bench.store import Store, frozen


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
    with frozen(store, "publish") as copy:
        publish(ReleaseStore(Path(state) / "releases", edition), publication_of(copy, again=True), at)

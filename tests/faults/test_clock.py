"""A clock that jumps by days, forward and back, in the middle of a run: no table, bound or order hangs on it.

For real by libfaketime in a process of its own, where it is installed (Debian: ``apt-get install faketime``). The
others set a clock by hand in this process, and say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gre_bench.core.errors import BudgetReached, Paused
from gre_bench.http.rate_limits import Limit
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.pipeline import reading
from gre_bench.pipeline.runs import job
from gre_bench.store import Store
from gre_bench.store import edition as stores
from gre_bench.store.queries import CURRENT_SIGNATURES, LAST_SETTINGS
from tests.conftest import ROOT
from tests.faults.invariants import assert_undisturbed
from tests.flows.refreshing import DEMO, EDITION, query, refreshed, run, use
from tests.holds import wait_for
from tests.pipeline.runs.test_kills import is_scoring
from tests.scripted_lms import OverlapLM

DAY = 86_400.0
SAME = "same tables; hours spent as they passed; no run of negative length; the last run is the last"
PLACES = ("lib", "lib/*", "local/lib")
FAKETIME = next((file for place in PLACES for file in Path("/usr").glob(f"{place}/faketime/libfaketimeMT.so.1")), None)
SLOWLY = """
import sys, time
from gre_bench.cli.app import main
from tests.flows.refreshing import use
from tests.scripted_lms import OverlapLM
class Busy(OverlapLM):
    def logprob(self, predictions):
        over = time.monotonic() + 0.1
        while time.monotonic() < over:
            pass
        return [self.span(prediction) for prediction in predictions]
use(Busy())
main()
"""
"""``gre-bench`` with a scripted evaluation LM that is slow without a sleep, which libfaketime refuses in some versions."""


class HandSet:
    """A clock set by hand: that of the machine, moved by *moved* seconds."""

    def __init__(self) -> None:
        self.moved = 0.0

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.moved)


@pytest.fixture
def hand_set(monkeypatch):
    clock = HandSet()
    for module in (stores, job, reading):
        monkeypatch.setattr(module, "now", clock)
    return clock


class JumpingLM(OverlapLM):
    """Sets the clock by *seconds* when it is half through."""

    def __init__(self, clock: HandSet, seconds: float):
        super().__init__()
        self.clock, self.seconds = clock, seconds

    def logprob(self, predictions):
        if len(self.asked) > 100 and not self.clock.moved:
            self.clock.moved = self.seconds
        return super().logprob(predictions)


@pytest.mark.parametrize("days", [-400, 400])
def test_a_clock_set_by_hand_in_the_middle_of_a_run_changes_no_table(hand_set, undisturbed, tmp_path, trial, days):
    use(JumpingLM(hand_set, days * DAY))
    assert run(tmp_path, "budget.hours=1", "run.chunk_papers=1")["outcome"] == "done"
    assert hand_set.moved
    assert_undisturbed(tmp_path, undisturbed)
    assert query(tmp_path, "select count(*) from runs where ended_at >= started_at") == [(1,)]
    trial(f"clock (set by hand) {'forward' if days > 0 else 'back'} during scoring", SAME)


def test_by_a_clock_set_back_the_last_run_is_still_the_last(hand_set, tmp_path, trial):
    refreshed(tmp_path)
    use(OverlapLM())
    hand_set.moved = -30 * DAY
    run(tmp_path, "scoring.metrics=['gem_s_abstract']")
    store = Store(tmp_path, EDITION)
    assert [row["metric"] for row in store.read(CURRENT_SIGNATURES)] == ["gem_s_abstract"]
    assert '"gem_s_abstract"' in store.read(LAST_SETTINGS)[0]["settings"]
    assert query(tmp_path, "select count(*) from runs where ended_at < started_at") == [(0,)]
    trial("clock (set by hand) back between two runs", "the board is that of the run that came last")


@pytest.mark.parametrize("days", [-3.0, 3.0])
def test_the_drip_of_a_fetch_waits_no_longer_for_a_clock_set_back_by_hand(tmp_path, trial, days):
    moment = [1_790_540_000.0]
    budget = RequestBudget(tmp_path / "budget.json", lambda: moment[0])
    hour = {"ratelimit-limit": "2", "ratelimit-remaining": "0", "ratelimit-reset": "3600"}
    budget.record_stated_limits("host pdf", 200, hour)
    budget.record_stated_limits("host login", 429, {"Retry-After": "600"})
    with pytest.raises(Paused) as before:
        budget.count_request_or_pause("host pdf")
    moment[0] += days * DAY
    for kind, wait in (("host pdf", 3600.0), ("host login", 600.0)):
        if days > 0:
            budget.count_request_or_pause(kind)
            continue
        with pytest.raises(Paused) as pause:
            budget.count_request_or_pause(kind)
        assert pause.value.until - moment[0] <= wait + 1.0
    assert isinstance(budget.allowance("host pdf").limits["headers"], Limit)
    assert before.value.until > 1_790_540_000.0
    trial(
        f"clock (set by hand) {'forward' if days > 0 else 'back'} within a fetch", "the drip waits as long as was said"
    )


@pytest.mark.night
@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed: apt-get install faketime")
@pytest.mark.parametrize("jump", ["+20d", "-20d"])
def test_a_real_jump_of_the_clock_in_the_middle_of_a_run_changes_no_table(undisturbed, tmp_path, trial, jump):
    state, clock = tmp_path / "state", tmp_path / "clock"
    clock.write_text("+0")
    faked = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        # A clock that is set does not move the one that only ever goes on.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    asked = ["refresh", "--no-prefect", "--settings", str(DEMO), "--state", str(state)]
    for setting in ("evaluation_lm.backend=scripted", "run.chunk_papers=1", "budget.hours=0.5"):
        asked += ["--set", setting]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, *asked],
        cwd=ROOT, env=os.environ | faked, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    store = Store(state, EDITION)
    wait_for(lambda: is_scoring(store, process.pid) and store.status()["done"] >= 16, process)
    clock.write_text(jump)
    _, message = process.communicate(timeout=240)
    assert process.returncode == 0, message
    assert_undisturbed(state, undisturbed)
    took = query(state, "select epoch(ended_at) - epoch(started_at) from runs")[0][0]
    assert took >= 0
    # The jump was seen: by the wall clock the run took days, or none at all.
    assert took > 19 * DAY if jump.startswith("+") else took < 1
    status = store.status()
    assert status["state"] == "done"
    use(OverlapLM())
    assert run(state)["scored_now"] == 0
    trial(f"clock (libfaketime) {jump} during scoring", SAME)


def test_hours_that_are_bounded_are_those_that_passed(hand_set, tmp_path, trial):
    use(JumpingLM(hand_set, 400 * DAY))
    with pytest.raises(BudgetReached, match="paused at budget.hours"):
        run(tmp_path, "budget.hours=1e-6")
    trial("clock (set by hand) forward during scoring", SAME)

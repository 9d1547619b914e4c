"""The same refresh started twice, and two editions at the same time: one writer each, and nothing is bought twice."""

from __future__ import annotations

import socket
import time
from functools import partial

import pytest

from gre_bench.store import Store
from gre_bench.writing.spend_log import SpendLog
from tests.faults.invariants import assert_accounted, assert_paid_once, assert_undisturbed
from tests.faults.killing import GIVEN, by_lm, commanded, ended, said, started
from tests.flows.refreshing import EDITION, query, tables
from tests.holds import wait_for
from tests.servers.chat import scripted_chat

pytestmark = pytest.mark.timeout(1200)
STARTS = 3
REFRESH = ("refresh", "--no-prefect", "--settings", str(GIVEN), "--set", "evaluation_lm.backend=scripted")
OTHER = "SAMPLE-2026-again"
PAIRS = "select metric, paper_id, candidate_id, reference_id, state, value, reason from pairs join signatures using (signature_id) order by all"


def test_of_refreshes_started_at_once_one_wins_and_the_others_say_so(undisturbed, tmp_path, trial):
    state = tmp_path / "state"
    folders = [tmp_path / f"start-{number}" for number in range(STARTS)]
    held_at = tmp_path / "hold"
    processes = [commanded(folder, *REFRESH, "--state", str(state), held_at=held_at) for folder in folders]
    while held_at.exists() or any(process.exitcode is None for process in processes):
        if sum(process.exitcode is not None for process in processes) == STARTS - 1:
            held_at.unlink(missing_ok=True)
        time.sleep(0.05)
    codes = [process.exitcode for process in processes]
    assert sorted(codes) == [0] + [3] * (STARTS - 1), [said(folder)[1] for folder in folders]
    winner = processes[codes.index(0)].pid
    for folder, code in zip(folders, codes, strict=True):
        out, err = said(folder)
        if code == 3:
            holder = f"process {winner} on {socket.gethostname()} (refresh, since "
            assert not out and len(err.splitlines()) == 1
            assert f"edition {EDITION} is being written by {holder}" in err
    assert_undisturbed(state, undisturbed)
    assert query(state, "select outcome, count(*) from runs group by all") == [("done", 1)]
    trial("the same refresh started twice", "one wins; the others say who, in one line, exit 3", STARTS - 1)


@pytest.mark.night
def test_a_refresh_that_is_told_to_wait_goes_on_after_the_first(undisturbed, tmp_path, trial):
    state = tmp_path / "state"
    first = commanded(tmp_path / "first", *REFRESH, "--state", str(state), pause_s=0.01)
    wait_for(lambda: Store(state, EDITION).status() is not None, first)
    second = commanded(tmp_path / "second", *REFRESH, "--state", str(state), "--wait", "120")
    for process in (first, second):
        process.join(600)
        assert process.exitcode == 0, said(tmp_path / "second")
    assert_undisturbed(state, undisturbed)
    (ended_at, started_at) = query(state, "select min(ended_at), max(started_at) from runs")[0]
    assert ended_at <= started_at
    assert query(state, "select count(distinct run_id) from scores") == [(1,)]
    trial("the same refresh started twice, with --wait", "the second goes on when the first is done, exit 0")


@pytest.mark.night
def test_two_editions_at_the_same_time_share_archive_and_ledger_and_buy_nothing_twice(tmp_path, trial):
    state = tmp_path / "state"
    with scripted_chat(pause_s=0.05) as server:
        overrides = by_lm(tmp_path, server, "writing.chunk=4")
        assert ended(tmp_path / "alone", *overrides, limit=4) == 0
        alone = server.count
        both = [started(state, *overrides, *more, limit=4) for more in ((), ("edition.sample=again",))]
        for process in both:
            process.join(900)
        assert [process.exitcode for process in both] == [0, 0]
        bought = server.requests[alone:]
    assert_paid_once(bought, alone, 0)
    texts = [str(body["messages"]) for body in bought]
    assert len(texts) == len(set(texts)), "a reply was bought twice"
    assert_undisturbed(state, tables(tmp_path / "alone"))
    assert_accounted(state, done=True, edition=OTHER)
    assert query(state, PAIRS, OTHER) == query(state, PAIRS)
    spend_log = SpendLog(state / "spending.jsonl")
    accounts = [spend_log.spent_on_all_models(key) for key in (EDITION, OTHER)]
    assert sum(spent.requests for spent in accounts) == sum(spent.answered for spent in accounts) == len(bought)
    assert spend_log.damaged == 0
    trial("two editions at the same time", "each reply is bought once; tables equal those of one alone", 2)


@pytest.mark.night
def test_two_editions_killed_at_the_same_time_go_on_together(tmp_path, trial):
    state = tmp_path / "state"
    with scripted_chat(pause_s=0.05) as server:
        overrides = by_lm(tmp_path, server, "writing.chunk=4")
        assert ended(tmp_path / "alone", *overrides, limit=4) == 0
        alone, in_flight = server.count, 0
        for point in (60, 120, None):
            more = {} if point is None else {"die_at": point}
            start = partial(started, state, *overrides, limit=4, **more)
            for process in (start(), started(state, *overrides, "edition.sample=again", limit=4)):
                process.join(900)
            spend_log = SpendLog(state / "spending.jsonl")
            in_flight = sum(spend_log.spent_on_all_models(key).unanswered for key in (EDITION, OTHER))
        assert process.exitcode == 0
        assert_paid_once(server.requests[alone:], alone, in_flight)
    assert_undisturbed(state, tables(tmp_path / "alone"))
    assert query(state, PAIRS, OTHER) == query(state, PAIRS)
    trial("two editions at the same time, one killed twice", "both end; paid at most what was in flight", 2)

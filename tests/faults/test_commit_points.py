"""SIGKILL at every commit point of the whole refresh, from notes and PDFs to the board: the resumed run ends the same."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from random import Random
from shutil import rmtree

import pytest

from gre_bench.writing.spend_log import SpendLog
from tests.faults.invariants import assert_accounted, assert_paid_once, assert_readable
from tests.faults.killing import GIVEN, by_lm, debris, ended, on_each_core, whole
from tests.flows.refreshing import EDITION, assert_same
from tests.servers.chat import scripted_chat

PARTS = 6
HANDFUL = 2
SAME = "tables, texts and replies as undisturbed; nothing left beside"
PAID = "paid calls at most the undisturbed ones and those in flight"
BOUGHT = r"replies/\S+\.beside|spending|commit"
"""Points of the reply archive, the spend log and the store: what decides whether a call is paid twice."""
PAPERS = 1
FEW = 4


def counted(folder: Path, *overrides: str, **more) -> tuple[list[str], dict]:
    """The commit points of a run that nobody disturbs, and what it leaves."""
    points = folder / "points.txt"
    assert ended(folder / "state", *overrides, counted=str(points), **more) == 0
    return points.read_text().splitlines(), whole(folder / "state")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[list[str], dict]:
    return counted(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(scope="module")
def bought(tmp_path_factory) -> tuple[int, dict, int]:
    """How many points a run with a scripted server has, what it leaves, and how many calls it pays."""
    folder = tmp_path_factory.mktemp("bought")
    with scripted_chat() as server:
        points, left = counted(folder, *by_lm(folder, server), only=BOUGHT, limit=PAPERS)
        return len(points), left, server.count


def killed_at(state: Path, point: int, *overrides: str, core: int, **more) -> None:
    """A run under *state* that dies at its commit point number *point*."""
    assert ended(state, *overrides, die_at=point, core=core, **more) == -signal.SIGKILL, f"point {point} never came"
    assert_readable(state)


def resumed(state: Path, point: int, expected: dict, core: int, **more) -> None:
    """A refresh that dies at *point*, and the one after it, which nobody disturbs."""
    killed_at(state, point, core=core, **more)
    assert ended(state, core=core, **more) == 0
    assert_accounted(state, done=True)
    assert_same(whole(state), expected)
    assert debris(state) == []
    rmtree(state)


def resumed_by_lm(folder: Path, point: int, expected: dict, paid: int, core: int) -> None:
    """The same with a server that sells the texts, and what was paid."""
    with scripted_chat() as server:
        asked = by_lm(folder, server)
        killed_at(folder / "state", point, *asked, core=core, only=BOUGHT, limit=PAPERS)
        in_flight = SpendLog(folder / "state" / "spending.jsonl").spent_on_all_models(EDITION).unanswered
        assert ended(folder / "state", *asked, core=core, limit=PAPERS) == 0
        assert_accounted(folder / "state", done=True)
        assert_same(whole(folder / "state"), expected)
        assert_paid_once(server.requests, paid, in_flight)
        assert server.count <= SpendLog(folder / "state" / "spending.jsonl").spent_on_all_models(EDITION).requests
    rmtree(folder)


@pytest.mark.always
def test_a_kill_at_some_commit_points_of_a_refresh_of_given_texts_changes_nothing(tmp_path, trial):
    points, expected = counted(tmp_path, file=GIVEN, limit=FEW)
    for point in Random(20261122).sample(range(1, len(points) + 1), HANDFUL):
        resumed(tmp_path / f"{point}", point, expected, core=min(os.sched_getaffinity(0)), file=GIVEN, limit=FEW)
    trial("SIGKILL at a commit point: given texts", SAME, HANDFUL)


@pytest.mark.night
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_kill_at_every_commit_point_changes_nothing(undisturbed, tmp_path, trial, part):
    points, expected = undisturbed
    chosen = range(1 + part, len(points) + 1, PARTS)
    on_each_core(lambda point, core: resumed(tmp_path / f"{point}", point, expected, core), chosen)
    trial("SIGKILL at a commit point", SAME, len(chosen))


@pytest.mark.always
def test_a_kill_at_some_commit_points_of_texts_that_are_bought_pays_none_twice(bought, tmp_path, trial):
    points, expected, paid = bought
    for point in Random(20261128).sample(range(1, points + 1), HANDFUL):
        resumed_by_lm(tmp_path / f"{point}", point, expected, paid, core=min(os.sched_getaffinity(0)))
    trial("SIGKILL at a commit point: texts by an endpoint", f"{SAME}; {PAID}", HANDFUL)


@pytest.mark.night
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_kill_at_every_commit_point_of_texts_that_are_bought_pays_none_twice(bought, tmp_path, trial, part):
    points, expected, paid = bought
    chosen = range(1 + part, points + 1, PARTS)
    on_each_core(lambda point, core: resumed_by_lm(tmp_path / f"{point}", point, expected, paid, core), chosen)
    trial("SIGKILL at a commit point: texts by an endpoint", f"{SAME}; {PAID}", len(chosen))


@pytest.mark.night
def test_the_commit_points_are_those_of_every_stage(undisturbed, trial):
    points, _ = undisturbed
    for what in ("before commit", "after commit", "before checkpoint", "replace editions/SAMPLE-2026/.read", "spending",
                 "replace editions/SAMPLE-2026/.new.duckdb", "rename snapshots/", "status", "close the store"):  # fmt: skip
        assert any(what in point for point in points), what
    trial("SIGKILL at a commit point", "commits, moves, syncs and ledger lines are all among the points")

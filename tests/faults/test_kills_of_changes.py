"""SIGKILL at every commit of a command that changes a board: no half of it is published, and the command goes on."""

from __future__ import annotations

import csv
import json
import signal
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from gre_bench.store import Store
from tests.conftest import SIXTEEN
from tests.faults.commands import command, refresh, sample, small_files
from tests.faults.points import armed
from tests.flows.refreshing import EDITION, assert_same
from tests.pipeline.test_new_edition import written

OWN = "OWN-2026"
MINE, ON = "mine", ("--edition", EDITION, "--as", "mine")
COMMITS, MOST = "after commit", 60
TABLES = ("candidates", "reviews", "scores", "rank_statistics", "chance", "differences", "profiles")


def reviews(file: Path, word: str) -> Path:
    """Reviews of all sixteen papers by one candidate."""
    papers = [json.loads(line) for line in (SIXTEEN / "papers.jsonl").read_text().splitlines()]
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(("paper_id", "review"))
        for paper in papers:
            text = f"Strengths: the {word} idea of {paper['title']} is clear. Weaknesses: the {word} baselines are missing."
            writer.writerow((paper["paper_id"], text))
    return file


@pytest.fixture(scope="module")
def ranked(tmp_path_factory) -> Path:
    """A board of sixteen papers on which a candidate of one's own is ranked."""
    folder = tmp_path_factory.mktemp("ranked")
    assert refresh(folder / "state", settings=sample(folder)).code == 0
    found = command("rank", reviews(folder / "mine.csv", "first"), *ON, "--state", folder / "state")
    assert found.code == 0, found.err
    reviews(folder / "other.csv", "second")
    return folder


def changing(ranked: Path, name: str) -> tuple[Any, ...]:
    """The command *name*, without its state."""
    return {
        "remove": ("remove", EDITION, MINE, "--yes"),
        "undo": ("import", "undo", EDITION, "2", "--yes"),
        "replace": ("rank", ranked / "other.csv", *ON, "--replace", "--yes"),
    }[name]


def left(state: Path, edition: str = EDITION) -> dict[str, list[tuple[Any, ...]]]:
    """What the store holds, run ids aside."""
    found = {}
    with Store(state, edition).transaction() as connection:
        for name in TABLES:
            columns = [row[0] for row in connection.execute(f"describe {name}").fetchall()]
            kept = ", ".join(f'"{column}"' for column in columns if column not in ("run_id", "scored_at", "added_at"))
            found[name] = connection.execute(f"select {kept} from {name} order by all").fetchall()
    return found


def shown(state: Path, edition: str = EDITION) -> list[tuple[Any, ...]]:
    """The boards as readers see them."""
    text = "select metric, candidate, rank, score, rank_low, rank_high from leaderboard order by all"
    found = command("sql", edition, text, "--format", "json", "--state", state)
    assert found.code == 0, found.err
    return [tuple(row.values()) for row in json.loads(found.out)]


@pytest.mark.parametrize("name", ["remove", "undo", pytest.param("replace", marks=pytest.mark.night)])
@pytest.mark.timeout(1800)
def test_a_killed_change_of_a_board_is_not_published_by_halves_and_goes_on(ranked, tmp_path, name):
    def state_at(point: str) -> Path:
        return copytree(ranked / "state", tmp_path / point, symlinks=True)

    whole = state_at("whole")
    assert (found := command(*changing(ranked, name), "--state", whole)).code == 0, found.err
    expected, board = left(whole), shown(whole)
    before = shown(ranked / "state")
    held = left(ranked / "state")
    for number in range(1, MOST, 4 if name == "replace" else 1):
        state = state_at(f"{number}")
        killed = command(*changing(ranked, name), "--state", state, before=partial(_armed, state, number))
        if killed.code == 0:
            break
        assert killed.code == -signal.SIGKILL, (number, killed.err)
        assert (seen := shown(state)) in (before, board) or name == "replace", (number, seen)
        now = left(state)
        if now not in (held, expected):
            released = command("publish", EDITION, "--scores-only", "--state", state)
            assert released.code != 0, number
            assert released.err.count("\n") == 1, released.err
        held = now
        again = command(*changing(ranked, name), "--state", state)
        assert again.code == 0 or "no candidate mine" in again.err or "has no import 2" in again.err, again.err
        assert_same(left(state), expected)
        assert shown(state) == board
    else:
        raise AssertionError("not all kills were tried")
    assert number > 3


def _armed(state: Path, number: int) -> None:
    armed(state, number, COMMITS)


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """Files of an edition of one's own, and the undisturbed edition that `MAKE` makes of them."""
    folder = written(tmp_path_factory.mktemp("own"))
    assert (found := made(folder, folder / "state")).code == 0, found.err
    return folder


def made(folder: Path, state: Path, before: Any = None) -> Any:
    given = ("--papers", folder / "papers", "--human", folder / "human.csv", "--candidate", f"mine={folder}/mine.json")
    return command("new", OWN, *given, "--state", state, before=before)


@pytest.mark.parametrize("fault", [*(f"kill {n}" for n in (2, 6, 8, 12)), *(f"{n} kB" for n in (900, 2500))])
def test_a_killed_new_edition_is_finished_by_the_same_command(own, tmp_path, fault):
    kind, number = (fault.split()[0], int(fault.split()[1])) if "kill" in fault else ("room", int(fault.split()[0]))
    before = partial(_armed, tmp_path, number) if kind == "kill" else small_files(number * 1000)
    stopped = made(own, tmp_path, before)
    assert stopped.code == -signal.SIGKILL if kind == "kill" else stopped.err.count("\n") == 1, stopped.err
    assert (found := made(own, tmp_path)).code == 0, found.err
    assert_same(left(tmp_path, OWN), left(own / "state", OWN))
    assert shown(tmp_path, OWN) == shown(own / "state", OWN)
    found = made(own, tmp_path)
    assert (found.code, found.err.count("\n"), f"edition {OWN} exists" in found.err) == (2, 1, True)

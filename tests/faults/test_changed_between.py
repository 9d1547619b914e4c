"""Prompt, settings or model changed between a kill and the resumed run: scores are never mixed, half a board is no release."""

from __future__ import annotations

import json
import re
import shutil
import signal
from functools import partial
from pathlib import Path

import pytest

from gre_bench.prompts import library
from gre_bench.release import manifest
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD
from tests.faults.invariants import assert_accounted, assert_readable, assert_undisturbed
from tests.faults.killing import GIVEN, by_lm, commanded, ended, said, started
from tests.flows.refreshing import EDITION, query, tables
from tests.holds import wait_for
from tests.scripted_lms import OverlapLM
from tests.servers.chat import scripted_chat

pytestmark = pytest.mark.timeout(1200)
slow = pytest.mark.night
MIXED = "scores stay under signatures of their own; the board is that of a fresh run"
REFUSED = "publish refuses half a board in one line, exit 3"
SMALL = ("run.chunk_papers=2",)


def other_prompts(folder: str) -> None:
    """In a child: the prompts are those of *folder*."""
    library.FOLDER = Path(folder)


def changed_prompts(folder: Path, name: str) -> partial:
    """A copy of the prompts, in that of *name* one word more."""
    shutil.copytree(library.FOLDER, folder)
    file = folder / f"{name}.toml"
    text = file.read_text()
    changed, times = re.subn(r'\nsystem = ("{3}|")', r"\nsystem = \1Well: ", text)
    assert times == 1
    file.write_text(changed)
    return partial(other_prompts, str(folder))


def hold_after(predictions: int) -> None:
    """In a child: the LM stands still after as many *predictions*."""
    OverlapLM.HELD_AFTER = predictions


def killed_in_scoring(state: Path, *overrides: str, after: int = OverlapLM.HELD_AFTER, **asked: int) -> None:
    """A refresh under *state* that is killed when some of its scores are committed, and others are not.

    *after*: how many predictions it makes before that.
    """
    held_at = state.with_name("hold")
    held = {"held_at": held_at, "prepare": partial(hold_after, after)}
    process = started(state, *SMALL, *overrides, file=GIVEN, **held, **asked)
    wait_for(held_at.exists, process)
    process.kill()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    held_at.unlink()
    assert_readable(state)


def board(state: Path) -> list[tuple]:
    """What readers are shown: metric, candidate, mean, pairs, of the signatures of the last refresh."""
    store = Store(state, EDITION)
    ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
    rows = store.read(LEADERBOARD, signature_ids=ids)
    return sorted((row["metric"], row["candidate"], row["scored"], round(row["score"] or 0.0, 6)) for row in rows)


PERTURBATIONS = {
    "prompt": lambda folder: {"prepare": changed_prompts(folder / "prompts", "predict_judgments")},
    "settings": lambda folder: {"set": ("scoring.ascii_fold=true",)},
    "evaluation LM": lambda folder: {"lm": "scripted-other"},
}


@pytest.mark.parametrize(
    "what", ["evaluation LM", *(pytest.param(name, marks=slow) for name in ("prompt", "settings"))]
)
def test_a_run_resumed_after_a_change_never_mixes(tmp_path, trial, what):
    state, fresh = tmp_path / "state", tmp_path / "fresh"
    change = PERTURBATIONS[what](tmp_path)
    overrides = (*SMALL, *change.pop("set", ()))
    killed_in_scoring(state, limit=8)
    before = query(state, "from scores order by all")
    assert 0 < len(before) < 128
    for folder in (fresh, state):
        assert ended(folder, *overrides, file=GIVEN, limit=8, **change) == 0

    signatures = {row[0] for row in query(fresh, "select signature_id from signatures")}
    killed = {row[0] for row in before}
    assert not signatures & killed, "the change does not show in the signatures"
    scores = "select * exclude (run_id) from scores where signature_id in (select unnest({})) order by all"
    assert query(state, scores.format(sorted(killed))) == [row[:-1] for row in before], "an old score was changed"
    assert query(state, scores.format(sorted(signatures))) == query(fresh, scores.format(sorted(signatures)))
    assert {row["signature_id"] for row in Store(state, EDITION).read(CURRENT_SIGNATURES)} == signatures
    assert board(state) == board(fresh)
    assert_accounted(fresh, done=True)
    trial(f"{what} changed between kill and resume", MIXED)


@pytest.mark.night
def test_half_a_board_is_no_release_and_a_whole_one_says_what_it_was_made_with(tmp_path, trial):
    state = tmp_path / "state"
    killed_in_scoring(state)
    assert_refused(tmp_path, state)
    assert ended(state, *SMALL, file=GIVEN) == 0
    assert published(tmp_path, state)["settings"]["scoring"]["ascii_fold"] is False
    # Killed before it planned: what readers see is the board of before, whatever that run was to do.
    folded = ("scoring.ascii_fold=true",)
    assert ended(state, *folded, file=GIVEN, die_at=8) == -signal.SIGKILL
    assert query(state, "select count(*) from runs where outcome is null") == [(2,)]
    found = published(tmp_path, state, "--again")
    assert found["settings"]["scoring"]["ascii_fold"] is False
    assert {signature["ascii_fold"] for signature in found["signatures"]} == {False}
    # Killed when it had planned: the board is a new one, and not whole.
    killed_in_scoring(state, *folded, after=20)  # of 44: most texts are the same when folded
    assert_refused(tmp_path, state)
    assert ended(state, *folded, file=GIVEN) == 0
    found = published(tmp_path, state)
    assert found["settings"]["scoring"]["ascii_fold"] is True
    assert {signature["ascii_fold"] for signature in found["signatures"]} == {True}
    trial("publish after a kill, settings changed", REFUSED, 2)
    trial("publish after a kill, settings changed", "a release states the settings of its own scores", 3)


def assert_refused(folder: Path, state: Path) -> None:
    before = sorted((state / "releases").glob("*"))
    process = commanded(folder / "said", "publish", EDITION, "--state", str(state))
    process.join(600)
    out, err = said(folder / "said")
    assert process.exitcode == 3, err
    assert not out and len(err.splitlines()) == 1 and "pairs of its board are still missing" in err
    assert sorted((state / "releases").glob("*")) == before


def published(folder: Path, state: Path, *more: str) -> dict:
    """The manifest of the release that ``gre-bench publish`` makes now."""
    process = commanded(folder / "said", "publish", EDITION, "--json", "--state", str(state), *more)
    process.join(600)
    out, err = said(folder / "said")
    assert process.exitcode == 0, err
    made = json.loads(out)
    assert made["new"]
    return manifest.verify_release(Path(made["folder"]))


@pytest.mark.night
def test_judgments_that_were_bought_under_another_prompt_are_never_scored_beside_the_new(tmp_path, trial):
    state, fresh = tmp_path / "state", tmp_path / "fresh"
    with scripted_chat(pause_s=0.05) as server:
        overrides = by_lm(tmp_path, server, "writing.chunk=4")
        process = started(state, *overrides, limit=3)
        wait_for(lambda: judged(state), process)
        process.kill()
        process.join(30)
        change = {"prepare": changed_prompts(tmp_path / "prompts", "judgments")}
        assert ended(state, *overrides, limit=3, **change) == 0
        assert ended(fresh, *overrides, limit=3, **change) == 0
    assert len(query(state, "select distinct writer from judgments")) == 2
    signed = query(state, "select distinct writer from signatures where metric = 'gem'")
    assert signed == query(fresh, "select distinct writer from judgments")
    assert_undisturbed(state, tables(fresh))
    trial("prompt changed between kill and resume: judgments", MIXED)


def judged(state: Path) -> bool:
    """Whether the run under *state* has some judgments, and not yet all."""
    status = Store(state, EDITION).status() or {}
    return status.get("stage") == "writing judgments" and 0 < status["done"] < status["due"]

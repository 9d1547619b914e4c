"""Figures that cannot be drawn: the renderer dies, hangs or answers nonsense, and the release is published without them."""

from __future__ import annotations

import resource
import shutil
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path

import pytest

from gre_bench.release import figures as pictures
from gre_bench.release.figures import drawn
from gre_bench.release.manifest import verify
from gre_bench.release.pages.board import Board, Entry
from tests.faults.commands import command
from tests.faults.endpoints import refused, said
from tests.release.made_up import EDITION, FREE, make

RENDERERS = {
    "killed at once": "import os; os.kill(os.getpid(), 9)",
    "killed after the first picture": "import os; print(chr(34) * 2, flush=True); os.abort()",
    "no such function": "raise AttributeError",
    "an answer that is no JSON": "print('x')",
    "no answer": "import time; time.sleep(60)",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    make(folder, EDITION, papers=4, candidates=4, titles=FREE, metrics=("gem",))
    return folder


@pytest.fixture
def state(made, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "state")


@pytest.mark.parametrize("renderer", RENDERERS)
def test_a_renderer_that_fails_is_one_line_and_costs_a_release_the_figures_alone(state, trial, monkeypatch, renderer):
    monkeypatch.setattr(pictures, "_RENDERER", RENDERERS[renderer])
    monkeypatch.setattr(pictures, "SECONDS", 1 if renderer == "no answer" else 60)
    refused("leaderboard", EDITION, "--figures", state / "figures", "--state", state, says="the renderer of figures ")
    if renderer == "killed at once":  # what comes of the renderer's faults is the same for all of them
        code, out, err = said("publish", EDITION, "--state", state)
        assert (code, err) == (0, "") and out.count("without figures: the renderer of figures ") == 1, (out, err)
        release = state / "releases" / f"{EDITION}-r1"
        assert verify(release)["release"] == release.name and not (release / "figures").exists()
    trial(f"figures: a renderer with {renderer}", "a release without figures, said in one line")


def test_an_address_space_that_is_too_small_for_the_renderer_does_not_end_the_publication(state, trial):
    small = partial(resource.setrlimit, resource.RLIMIT_AS, (12 * 10**9, 12 * 10**9))
    limited = command("publish", EDITION, "--state", state, before=small)
    figures = state / "releases" / f"{EDITION}-r1" / "figures"
    assert limited.code == 0, (limited.code, limited.err)
    assert figures.exists() != ("without figures: " in limited.out)
    trial("figures: 12 GB of address space", "a release, without figures where the renderer dies")


def test_a_family_that_holds_controls_makes_a_picture_that_is_whole(trial):
    entries = [
        Entry(f"m/{n}", "model", float(n), n - 0.5, n + 0.5, rank=5 - n, family=f"A\x1b[2J<&\x00\x0c{n}", parameters=n)
        for n in range(1, 5)
    ]
    made = drawn([Board("gem", "GEM", "nats", tuple(entries))])
    assert made.files() and not made.problem
    for picture in made.files().values():
        ET.fromstring(picture)
    trial("figures: controls in the name of a family", "SVG that XML readers take")

"""What tests of releases share: a small edition with its first release, and the command line."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache

import pytest

from gre_bench.release import site
from gre_bench.release.figures import Drawings, drawn, lacking
from gre_bench.release.pages.board import Board
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publishing import publish_edition
from tests.cli.calling import ended
from tests.release import browser
from tests.release.made_up import EDITION, FREE, make


@pytest.fixture(scope="session", autouse=True)
def drawn_once():
    """Equal boards are drawn once: figures are what publishing takes its time for, and tests of them draw themselves."""
    asked: list[Sequence[Board]] = []

    @cache
    def kept(boards: str, problem: str) -> Drawings:
        return drawn(asked[-1])

    def drawn_or_kept(boards: Sequence[Board]) -> Drawings:
        asked.append(boards)
        return kept(repr(boards), lacking())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "drawn", drawn_or_kept)
        yield


@pytest.fixture(scope="session")
def tab():
    """One tab of one browser, for all tests of pages."""
    if browser.program() is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    pytest.importorskip("websockets", reason="websockets is not installed")
    with browser.opened() as tab:
        yield tab


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """An edition of six papers, one of them under a free licence, and its first release."""
    folder = tmp_path_factory.mktemp("state")
    store = make(folder, EDITION, papers=6, candidates=4, tokens=12, titles=FREE)
    publish_edition(store, ReleaseStore(folder / "releases", EDITION))
    return folder


@pytest.fixture
def own(state, tmp_path):
    """The same, for a test that changes it."""
    shutil.copytree(state, tmp_path / "own", symlinks=True)
    return tmp_path / "own"


@pytest.fixture
def call():
    """Runs ``gre-bench``; (exit code, standard output, standard error)."""
    return ended

"""What tests of releases share: a small edition with its first release, and the command line."""

from __future__ import annotations

import shutil

import pytest

from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import publish_edition
from tests.cli.calling import ended
from tests.release import browser
from tests.release.made_up import EDITION, FREE, make


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

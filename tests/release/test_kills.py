"""A publisher that is killed or not alone: a reader always sees a whole release."""

from __future__ import annotations

import multiprocessing
import shutil
import time

import pytest

from gre_bench.core.errors import LockedError
from gre_bench.release import manifest
from gre_bench.release.publishing import publish
from gre_bench.reports.publish_editions import build_release_inputs, publish_edition
from gre_bench.store import open_frozen_copy
from tests.release.made_up import EDITION, FREE, METRICS, make, release_store_of, store_of
from tests.release.publishing import publish_until

STEPS = ("database", "pieces", "parquet", "page", "index", "papers", "manifest", "place", "log", "latest")
DIFFERENT = ("database", "manifest", "place", "log", "latest")
"""The first and last step before the release is in place, and those that change what a reader sees."""


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A release of one board, which is as good as three."""
    folder = tmp_path_factory.mktemp("kills")
    store = make(folder, EDITION, papers=4, candidates=3, tokens=12, titles=FREE, metrics=METRICS[:1])
    publish_edition(store, release_store_of(folder))
    return folder


@pytest.fixture
def own(state, tmp_path):
    shutil.copytree(state, tmp_path / "own", symlinks=True)
    return tmp_path / "own"


CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.release.publishing"])


@pytest.mark.parametrize(
    "step", [pytest.param(step, marks=[] if step in DIFFERENT else pytest.mark.night) for step in STEPS]
)
def test_a_publisher_that_is_killed_leaves_a_whole_release_and_the_next_one_goes_through(own, step):
    process = CONTEXT.Process(target=publish_until, args=(str(own), EDITION, step))
    process.start()
    process.join()
    assert process.exitcode == -9
    release_store = release_store_of(own)
    found = manifest.verify_release(release_store.latest.resolve())
    moved = step in ("log", "latest")
    assert found["release"] == f"{EDITION}-r1"
    assert release_store.names() == [f"{EDITION}-r1", *([f"{EDITION}-r2"] if moved else [])]
    made = publish_edition(store_of(own), release_store, again=True)
    assert (
        manifest.verify_release(release_store.latest.resolve())["release"]
        == made.name
        == f"{EDITION}-r{3 if moved else 2}"
    )
    assert not [path.name for path in release_store.folder.iterdir() if path.name.startswith(".")]


def test_of_two_publishers_one_wins_and_the_other_says_so(own, call):
    process = CONTEXT.Process(target=publish_until, args=(str(own), EDITION, None, "papers"))
    process.start()
    deadline = time.monotonic() + 60
    while not (own / "hold").exists():
        assert process.is_alive() and time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(LockedError), open_frozen_copy(store_of(own), "publish") as copy:
        publish(release_store_of(own), build_release_inputs(copy))
    code, out, err = call("publish", EDITION, "--state", own)
    assert (code, out, err.count("\n")) == (3, "", 1) and "are being written by another process" in err
    assert manifest.verify_release(own / "releases" / f"{EDITION}-latest")["release"] == f"{EDITION}-r1"
    (own / "hold").unlink()
    process.join()
    assert process.exitcode == 0
    assert manifest.verify_release(own / "releases" / f"{EDITION}-latest")["release"] == f"{EDITION}-r2"

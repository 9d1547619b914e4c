"""The log of releases: a release in another's place, one that nobody published and one of a wrong clock are named."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from gre_bench.core.errors import SourceError
from gre_bench.release import manifest, release_store
from gre_bench.reports.publish_editions import publish_edition
from tests.release import made_up
from tests.release.made_up import EDITION, FREE, METRICS, make

FIRST, SECOND, THIRD = (f"{EDITION}-r{number}" for number in (1, 2, 3))


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """Two releases of one board."""
    folder = tmp_path_factory.mktemp("logged")
    store = make(folder, EDITION, papers=4, candidates=3, titles=FREE, metrics=METRICS[:1])
    for _ in range(2):
        publish_edition(store, made_up.release_store_of(folder), again=True)
    return folder


@pytest.fixture
def releases(own):
    """The releases of a state that a test may change."""
    for path in (own / "releases").rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o644)
    return made_up.release_store_of(own)


def put(releases, name):
    """The first release under another *name*, with its manifest and digests made anew."""
    folder = shutil.copytree(releases.folder / FIRST, releases.folder / name)
    old = json.loads((folder / manifest.NAME).read_text())
    for file in (manifest.NAME, manifest.SUMS):
        (folder / file).unlink()
    manifest.write_manifest(
        folder, {key: value for key, value in old.items() if key not in ("format", "files")} | {"release": name}
    )
    return folder


def refused(call, folder) -> str:
    code, out, err = call("verify", folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


def test_verify_says_what_the_log_knows_of_a_release(releases, call, tmp_path):
    first, second = (call("verify", releases.folder / name)[1] for name in (FIRST, SECOND))
    assert "whole, " in first and f"newer: {SECOND}; its log: 2 lines" in first
    assert "nothing newer known; its log: 2 lines" in second and "signature" not in first + second
    alone = call("verify", shutil.copytree(releases.folder / FIRST, tmp_path / FIRST))[1]
    assert "no log beside it" in alone and "newer known" not in alone


def test_an_older_release_in_the_place_of_a_newer_one_is_refused(releases, call):
    (releases.folder / SECOND).rename(releases.folder / "kept")
    shutil.copytree(releases.folder / FIRST, releases.folder / SECOND)
    assert f"holds the files of {FIRST}" in refused(call, releases.folder / SECOND)
    shutil.rmtree(releases.folder / SECOND)
    (releases.folder / "kept").rename(releases.folder / SECOND)
    assert call("verify", releases.latest)[0] == 0
    releases.latest.unlink()
    releases.latest.symlink_to(FIRST)
    assert f"leads to {FIRST}, and the latest release is {SECOND}" in refused(call, releases.latest)


def test_a_release_dated_before_the_latest_never_becomes_the_latest(own, releases, call, monkeypatch):
    earlier = datetime.now(UTC) - timedelta(days=400)
    with monkeypatch.context() as patch:
        patch.setattr(release_store, "now", lambda: earlier)
        code, out, err = call("publish", EDITION, "--again", "--state", own)
    assert (code, out, err.count("\n")) == (2, "", 1) and f"{SECOND} is dated " in err and "set the clock" in err
    assert releases.names() == [FIRST, SECOND]
    # One that a machine with a wrong clock put there all the same, under the highest number.
    third = put(releases, THIRD)
    with monkeypatch.context() as patch:
        patch.setattr(release_store, "now", lambda: earlier)
        releases.log_event("published", THIRD, {"digest": manifest.compute_release_digest(third)})
    assert releases.update_latest_link() == SECOND == os.readlink(releases.latest)
    assert releases.next_name() == f"{EDITION}-r4"
    assert call("publish", "--erratum", "wrong", "--of", SECOND, "--retire", "--state", own)[0] == 0
    assert os.readlink(releases.latest) == FIRST


def test_a_folder_that_was_put_beside_the_releases_is_none_of_them(releases, call):
    third = put(releases, THIRD)
    assert releases.update_latest_link() == SECOND
    assert "has no line that publishes it" in refused(call, third)


def test_a_log_that_is_a_link_is_refused(releases, tmp_path):
    releases.log.path.rename(tmp_path / "log")
    releases.log.path.symlink_to(tmp_path / "log")
    with pytest.raises(SourceError, match="is a link; get the log itself"):
        releases.log.entries()

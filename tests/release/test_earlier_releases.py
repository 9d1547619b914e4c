"""A release that an earlier version made and signed: it is loaded, its files are checked, and its signature is not."""

from __future__ import annotations

import json
import shutil

import pytest

from gre_bench.release.loading import load_release
from gre_bench.release.manifest import EARLIER_SUMS
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.board_rows import read_release_boards
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD
from tests.conftest import ROOT
from tests.release.made_up import EDITION, make

FIXTURES = ROOT / "tests" / "fixtures" / "releases"
NAME = f"{EDITION}-r1"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(FIXTURES, tmp_path / "releases") / NAME


def test_the_board_of_a_signed_release_of_before_is_the_one_that_was_shown(folder, tmp_path):
    shown = json.loads((FIXTURES / f"{NAME}.board.json").read_text())
    assert len(shown) == 3
    loaded = load_release(folder, tmp_path / "state")
    signatures = [row["signature_id"] for row in loaded.read(CURRENT_SIGNATURES)]
    for rows in (read_release_boards(folder), loaded.read(LEADERBOARD, signature_ids=signatures)):
        assert [{name: row[name] for name in old} for row, old in zip(rows, shown, strict=True)] == shown


def test_it_is_verified_with_its_errata_and_says_that_its_signature_is_not_checked(folder, call, tmp_path):
    code, out, _ = call("verify", folder)
    assert code == 0 and "whole, " in out and "signature not checked: manifest.sig\n" in out + "\n"
    assert "its log: 2 lines" in out and "Its scores are made up, for tests." in out
    load_release(folder, tmp_path / "state")
    loaded = tmp_path / "state" / "releases"
    assert call("verify", loaded / NAME)[:2] == (0, out.replace(str(folder), str(loaded / NAME)))
    found = json.loads(call("verify", folder, "--json")[1])
    assert found["signatures"] == ["manifest.sig"] and [entry["what"] for entry in found["errata"]] == ["erratum"]


@pytest.mark.parametrize("name", ["index.html", "tables/scores.parquet", "manifest.json", EARLIER_SUMS])
def test_a_changed_file_of_it_is_named(folder, call, name):
    whole = bytearray((folder / name).read_bytes())
    whole[len(whole) // 2] ^= 1
    (folder / name).write_bytes(whole)
    code, out, err = call("verify", folder)
    assert (code, out, err.count("\n")) == (2, "", 1) and f"{name} is not as it was written" in err


def test_what_is_published_beside_it_needs_no_key_and_has_the_next_number(folder, call):
    store = make(folder.parent.parent / "state", EDITION, papers=4, candidates=3, metrics=("gem",))
    made = publish_edition(store, ReleaseStore(folder.parent, EDITION))
    assert (made.name, made.new) == (f"{EDITION}-r2", True)
    code, out, _ = call("verify", folder)
    assert code == 0 and f"newer: {EDITION}-r2; its log: 3 lines" in out
    code, out, _ = call("verify", made.folder)
    assert code == 0 and "signature" not in out
    assert "Its scores are made up" in (made.folder / "index.html").read_text()

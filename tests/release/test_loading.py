"""A release that is loaded into another state folder: every command that reads works on it, and none writes it."""

from __future__ import annotations

import shutil

import duckdb
import pytest

from gre_bench.core.errors import SettingsError, SourceError, StoreError
from gre_bench.pipeline.ranking import build_scored_text_key
from gre_bench.release import manifest
from gre_bench.release.loading import load_release
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.store import Store
from gre_bench.store.queries import BOARD_LENGTHS, CURRENT_SIGNATURES, LEADERBOARD
from tests.release.made_up import EDITION, make

RELEASE = f"{EDITION}-r1"


@pytest.fixture
def loaded(state, tmp_path):
    load_release(state / "releases" / RELEASE, tmp_path / "elsewhere")
    return tmp_path / "elsewhere"


def test_a_loaded_edition_has_the_board_and_the_lengths_of_its_source_though_texts_are_withheld(state, loaded):
    here, there = Store(state, EDITION), Store(loaded, EDITION)
    signatures = here.read(CURRENT_SIGNATURES)
    ids = [row["signature_id"] for row in signatures]
    assert here.read(LEADERBOARD, signature_ids=ids) == there.read(LEADERBOARD, signature_ids=ids) != []
    with there.reading() as run:
        assert run.execute("select count(*) from judgments where text is null").fetchall()[0][0] > 0
    for signature in signatures:
        asked = build_scored_text_key(signature)._asdict()
        assert here.read(BOARD_LENGTHS, **asked) == there.read(BOARD_LENGTHS, **asked) != []


@pytest.mark.parametrize(
    "command",
    [
        ("leaderboard", EDITION), ("leaderboard", EDITION, "--all", "--details"), ("history", EDITION),
        ("compare", "human", "openai/gpt-4o-mini", "--edition", EDITION), ("sql", EDITION, "select candidate, score from leaderboard order by all"),
        ("leaderboard", EDITION, "--json"),
    ],
)  # fmt: skip
def test_what_reads_an_edition_reads_a_loaded_one_alike(state, loaded, call, command):
    code, printed, _ = call(*command, "--state", loaded)
    own_code, own, _ = call(*command, "--state", state)
    assert (code, printed.replace(str(loaded), "")) == (own_code, own.replace(str(state), "")) and printed


def test_the_release_lies_among_those_of_the_state_and_is_verified_and_loading_again_changes_nothing(
    state, loaded, call
):
    code, printed, said = call("verify", RELEASE, "--state", loaded)
    assert code == 0, said
    assert "whole" in printed and "its log: 1 line" in printed
    assert (loaded / "releases" / f"{EDITION}-latest").resolve().name == RELEASE
    before = (loaded / "releases" / RELEASE / "manifest.json").stat().st_mtime_ns
    load_release(state / "releases" / RELEASE, loaded)
    assert (loaded / "releases" / RELEASE / "manifest.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("command", [("refresh", "--edition", EDITION), ("publish", EDITION)])
def test_nothing_writes_a_loaded_edition(loaded, call, command):
    digest = (loaded / "editions" / EDITION / "current").read_text()
    code, _, said = call(*command, "--state", loaded)
    assert code == 2 and "loaded from a release and can only be read" in said and said.count("\n") == 1
    assert (loaded / "editions" / EDITION / "current").read_text() == digest


def test_neither_an_edition_of_ones_own_nor_another_release_of_the_same_name_is_replaced(state, loaded, tmp_path):
    with pytest.raises(SettingsError, match=f"has an edition {EDITION} of its own"):
        load_release(state / "releases" / RELEASE, state)
    other = make(tmp_path / "other", EDITION, papers=5, candidates=4)
    made = publish_edition(other, ReleaseStore(tmp_path / "other" / "releases", EDITION))
    with pytest.raises(SettingsError, match="is another release of this name"):
        load_release(made.folder, loaded)


def test_a_damaged_release_leaves_no_edition(state, tmp_path):
    copy = tmp_path / RELEASE
    shutil.copytree(state / "releases" / RELEASE, copy)
    table = copy / "tables" / "scores.parquet"
    table.chmod(0o644)
    with duckdb.connect() as run:
        run.sql(f"copy (select 1 as nothing) to '{table}'")
    with pytest.raises(SourceError, match="scores.parquet"):
        load_release(copy, tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere" / "editions").exists()


def passed_on(state, folder, damaged="", **changed):
    """The release as somebody else would pass it on: its manifest *changed*, bytes of a file *damaged*, sealed anew."""
    copy = folder / RELEASE
    shutil.copytree(state / "releases" / RELEASE, copy)
    about = {key: value for key, value in manifest.read_manifest(copy).items() if key != "files"}
    for file in (copy, *copy.rglob("*")):
        file.chmod(0o755)
    for sealed in (manifest.NAME, manifest.SUMS):
        (copy / sealed).unlink()
    if damaged:
        data = bytearray((copy / damaged).read_bytes())
        third = len(data) // 3
        data[third : third + 200] = bytes(byte ^ 0x5A for byte in data[third : third + 200])
        (copy / damaged).write_bytes(data)
    manifest.write_manifest(copy, about | changed)
    return copy


@pytest.mark.parametrize(
    "name", ["../../outside", "/outside", f"{EDITION}-r0", "ICLR-2024-r1", "", f"{EDITION}-r1{'0' * 300}"]
)
def test_a_release_with_a_foreign_name_writes_nothing(state, tmp_path, name):
    with pytest.raises(SourceError, match="is no name of a release"):
        load_release(passed_on(state, tmp_path, release=name), tmp_path / "elsewhere")
    assert {path.name for path in tmp_path.iterdir()} == {RELEASE}


@pytest.mark.parametrize(
    "settings",
    [{}, {"writing": {}}, {"writing": {}, "board": [1]}, {"writing": "x", "board": {"headline": None}},
     {"writing": {}, "board": {"headline": 5}}, {"writing": {}, "board": {"headline": None}, "scoring": {"metrics": 3}}],
)  # fmt: skip
def test_a_release_with_settings_of_another_form_is_refused_and_writes_nothing(state, tmp_path, settings):
    with pytest.raises(
        SourceError, match=r"manifest.json is no manifest of a release \('settings.*get the release again"
    ):
        load_release(passed_on(state, tmp_path, settings=settings), tmp_path / "elsewhere")
    assert {path.name for path in tmp_path.iterdir()} == {RELEASE}


@pytest.mark.parametrize("table", ["candidates", "signatures", "judgments", "scores", "validations"])
def test_a_damaged_table_under_its_own_digest_is_one_line_or_a_wrong_number_that_verify_finds(
    state, tmp_path, call, table
):
    copy = passed_on(state, tmp_path, f"tables/{table}.parquet")
    code, _, said = call("import", "release", copy, "--state", tmp_path / "elsewhere")
    if code == 0:
        code, _, said = call("verify", RELEASE, "--again", "--state", tmp_path / "elsewhere")
    assert code == 2 and said.count("\n") == 1, said


def test_a_release_of_another_schema_leaves_neither_edition_nor_release(state, tmp_path, monkeypatch):
    for name in ("SCHEMA_VERSION", "EARLIEST"):
        monkeypatch.setattr(f"gre_bench.release.loading.{name}", 99)
    with pytest.raises(StoreError, match="has schema version .*, this program reads 99"):
        load_release(state / "releases" / RELEASE, tmp_path / "elsewhere")
    assert not [path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()]


def test_an_edition_need_not_be_named_if_it_is_alone_or_the_only_one_of_ones_own(loaded, call):
    assert call("leaderboard", "--state", loaded) == call("leaderboard", EDITION, "--state", loaded)
    make(loaded, "ICLR-2026", papers=5, candidates=3).save_status(
        {"edition": "ICLR-2026", "state": "done", "stage": "ended", "metrics": [], "message": ""}
    )
    code, printed, said = call("leaderboard", "--state", loaded)
    assert code == 0 and printed.startswith("ICLR-2026"), said

"""Settings: defaults, files, overrides, and one clear line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from gre_bench.core import settings
from gre_bench.core.errors import SettingsError
from gre_bench.core.records import parse_edition_key
from gre_bench.core.resources import locate_resource
from tests.one_line import one_line


def written(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text)
    return path


def test_shipped_settings_files_are_valid_and_their_paths_exist():
    runs = set((locate_resource("deployments")).glob("*.toml"))
    for path in sorted(runs - {locate_resource("deployments", "examiners.toml")}):  # a study's, no run's
        loaded = settings.load(path)
        for file in (loaded.sources.papers, loaded.sources.reviews, loaded.board.contrasts):
            assert file is None or file.is_file(), file


def test_paths_in_a_file_are_taken_from_its_folder_and_in_an_override_from_here(tmp_path, monkeypatch):
    path = written(tmp_path, '[sources]\npapers = "p.jsonl"\n')
    monkeypatch.chdir("/")
    loaded = settings.load(path, ("sources.reviews=r.jsonl",))
    assert loaded.sources.papers == tmp_path / "p.jsonl"
    assert loaded.sources.reviews == Path("/r.jsonl")


@pytest.mark.parametrize(
    ("override", "read"),
    [
        ("sources.reviews=", None),
        ("board.contrasts= ", None),
        ("edition.papers=20", 20),
        ("edition.papers = 20", 20),
        ("scoring.writer=gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("scoring.metrics=gem", ("gem",)),
        ("writing.candidates=openai/gpt-4o", ("openai/gpt-4o",)),
    ],
)
def test_an_override_is_read_as_toml_or_else_as_text_of_which_one_makes_a_list(override, read):
    group, name = override.partition("=")[0].strip().split(".")
    assert getattr(getattr(settings.load(None, (override,)), group), name) == read


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[scoring]\nfomr = 'strict'", "unknown setting scoring.fomr; did you mean form?"),
        ("[scorings]\nform = 'strict'", "unknown setting scorings; did you mean scoring?"),
        ("[scoring]\nform = 'loose'", "setting scoring.form"),
        ("[scoring]\nmetrics = ['gem', 'gem']", "twice"),
        ("[scoring]\nmetrics = []", "scoring.metrics"),
        ("[board]\nheadline = 'gem_x'", "setting board.headline: no metric 'gem_x'; did you mean gem?"),
        ("[edition]\npapers = 1", "setting edition.papers"),
        ("[edition]\nvenue = '../../x'", "setting edition.venue"),
        ("[edition", "cannot be read"),
        ("edition = 3", "edition"),
    ],
)
def test_a_mistake_in_a_file_is_one_line_that_names_it(tmp_path, text, part):
    with one_line(part, kind=SettingsError):
        settings.load(written(tmp_path, text))


@pytest.mark.parametrize(
    "override", ["papers=3", "edition.papers", "edition.papers=x", "a.b.c=1", "sources.papers=a\0b"]
)
def test_a_mistake_in_an_override_is_named(override):
    with pytest.raises(SettingsError, match="papers|a.b.c"):
        settings.load(None, (override,))


def test_a_missing_file_is_named():
    with pytest.raises(SettingsError, match="no settings file nowhere.toml"):
        settings.load(Path("nowhere.toml"))


@pytest.mark.parametrize("key", ["ICLR-2025", "ICLR-2025-pilot", "NeurIPS-2021-x.2"])
def test_an_edition_key_is_read_back_from_its_settings(key):
    assert settings.load(None, parse_edition_key(key).overrides).edition.edition.key == key


@pytest.mark.parametrize("key", ["ICLR", "ICLR-25", "-2025", "../x-2025", "ICLR-2025-a/b"])
def test_a_malformed_edition_key_is_refused(key):
    with pytest.raises(SettingsError, match="VENUE-YEAR"):
        parse_edition_key(key)


def test_a_recorded_setting_that_another_version_had_is_left_out_and_a_given_one_refused():
    stored = settings.load(None).model_dump(mode="json")
    assert settings.load_recorded_settings(stored) == settings.load(None)
    stored["evaluation_lm"]["mixture"] = None
    stored["gone"] = {"some": 1}
    assert settings.load_recorded_settings(stored) == settings.load(None)
    with pytest.raises(SettingsError, match="unknown setting evaluation_lm.mixture"):
        settings.load_recorded_settings(stored, ("evaluation_lm.mixture=2",))


@pytest.mark.parametrize("gone", settings.INSTEAD)
def test_a_setting_that_is_gone_says_in_one_line_what_to_use(tmp_path, gone):
    group, _, name = gone.partition(".")
    (tmp_path / "mine.toml").write_text(f"[{group}]\n{name} = 1\n")
    for load in (lambda: settings.load(tmp_path / "mine.toml"), lambda: settings.load(None, (f"{gone}=1",))):
        with pytest.raises(SettingsError) as error:
            load()
        assert str(error.value).endswith(f": setting {gone} is gone; {settings.INSTEAD[gone]}")
    assert settings.load_recorded_settings({group: {name: 1}}) == settings.Settings(), (
        "what an earlier version recorded loads"
    )


def test_a_new_snapshot_replaces_recorded_notes_and_new_notes_a_recorded_snapshot():
    notes = settings.load(None, ("sources.notes=a.jsonl", "sources.pdfs=pdfs")).model_dump(mode="json")
    chosen = settings.load_recorded_settings(notes, ("sources.snapshot=fetched",)).sources
    assert (chosen.notes, chosen.pdfs, chosen.snapshot.name) == (None, None, "fetched")
    fetched = settings.load(None, ("sources.snapshot=fetched",)).model_dump(mode="json")
    chosen = settings.load_recorded_settings(fetched, ("sources.notes=b.jsonl",)).sources
    assert (chosen.snapshot, chosen.notes.name, chosen.pdfs) == (None, "b.jsonl", None)
    both = settings.load_recorded_settings(notes, ("sources.snapshot=fetched", "sources.notes=b.jsonl")).sources
    assert both.snapshot and both.notes, "the refresh refuses what somebody asked for"

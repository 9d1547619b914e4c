"""Rosters: what a name stands for, what wins over it, and that what was recorded needs no file again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError
from gre_bench.core.rosters import METRICS, list_roster_names
from gre_bench.core.settings import load, parse_settings
from gre_bench.pipeline.year_models import list_needed_models
from gre_bench.writing.writers import WriterContext, open_text_writer
from tests.one_line import one_line
from tests.servers.chat import MODEL, scripted_chat

ROSTER = """
about = "Made for the tests."
controls = ["extractive-full"]
[[model]]
name = "a/one"
[[model]]
name = "a/one"
guideline = "iclr"
[[model]]
name = "b/two"
sampling = { temperature = 0.7, max_tokens = 123 }
[writing]
judgments = "rule"
models = "models.toml"
[evaluation_lm]
backend = "cache-ngram"
"""


@pytest.fixture
def file(tmp_path) -> Path:
    (tmp_path / "roster.toml").write_text(ROSTER)
    return tmp_path / "roster.toml"


def settings_file(folder: Path, more: str = "") -> Path:
    (folder / "settings.toml").write_text(f'roster = "roster.toml"\n{more}')
    return folder / "settings.toml"


@pytest.mark.parametrize("name", list_roster_names())
def test_a_shipped_roster_names_models_of_the_models_file_and_three_metrics(name):
    settings = load(None, (f"roster={name}",))
    asked = list_needed_models(settings)
    assert asked and {model.name for model in asked} <= load_models().keys()
    assert settings.scoring.metrics == METRICS, "gem_s_assw is one of a roster's own accord"


def test_a_roster_stands_for_groups_of_settings_with_its_paths_beside_it(file, tmp_path):
    settings = load(settings_file(tmp_path))
    assert settings.writing.candidates == ("a/one", "a/one@iclr", "b/two", "extractive-full")
    assert (settings.writing.models, settings.scoring.metrics) == (tmp_path / "models.toml", METRICS)
    assert settings.writing.sampling == {"b/two": {"temperature": 0.7, "max_tokens": 123}}


def test_the_settings_file_wins_over_the_roster_and_set_over_both(file, tmp_path):
    given = settings_file(tmp_path, '[scoring]\nmetrics = ["gem"]\n[writing]\njudgments = "b/two"\nchunk = 5\n')
    settings = load(given, ("writing.judgments=a/one",))
    assert (settings.scoring.metrics, settings.writing.judgments, settings.writing.chunk) == (("gem",), "a/one", 5)
    assert settings.writing.candidates[0] == "a/one", "what the file does not say is the roster's"
    later = load(given, (f"roster={file}", "scoring.metrics=['gem_s_abstract']"))
    assert (later.writing.judgments, later.scoring.metrics) == ("rule", ("gem_s_abstract",))


def test_recorded_settings_are_what_they_were_when_the_roster_is_gone(file, tmp_path):
    settings = load(settings_file(tmp_path))
    file.unlink()
    assert parse_settings(json.loads(settings.model_dump_json())) == settings


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('about = "Made for the tests."', "", "about: Field required"),
        ('guideline = "iclr"', "", "a/one occurs twice"),
        ('name = "b/two"', 'name = "a/one"\nguideline = "arr"', "a/one has its own sampling"),
        ('[writing]', '[release]\nunvalidated = "show"\n[writing]', "release: Extra inputs"),
        ('about = "', 'about = ', "cannot be read: "),
    ],
)  # fmt: skip
def test_a_roster_that_is_none_is_one_line(file, old, new, says):
    file.write_text(ROSTER.replace(old, new, 1))
    with one_line(f"roster {file}", says, kind=SettingsError):
        load(None, (f"roster={file}",))


def test_an_unknown_roster_is_told_the_known_ones():
    with pytest.raises(SettingsError, match="no roster nobodys; name one of .*yearly"):
        load(None, ("roster=nobodys",))


def test_the_sampling_of_a_roster_is_sent_and_is_part_of_the_writers_identity(tmp_path):
    with scripted_chat() as server:
        models = tmp_path / "models.toml"
        models.write_text(f'[[model]]\nname = "b/two"\nendpoint = "{server.url}"\nmodel = "{MODEL}"\n')
        plain, own = (
            open_text_writer("b/two", WriterContext(tmp_path / "replies", models, sampling=sampling))
            for sampling in ({}, {"b/two": {"temperature": 0.7, "max_tokens": 123}})
        )
        own.write_judgments([("r1", "The paper is good. It lacks a baseline.")])
        assert (server.requests[0]["temperature"], server.requests[0]["max_tokens"]) == (0.7, 123)
    assert plain.identity("review") != own.identity("review")
    assert own.identity("judgments") != plain.identity("judgments")

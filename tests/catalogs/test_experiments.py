"""The published experiments: every file is read by the command that runs it, and names tables that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gre_bench.catalogs.experiments import experiments
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.resources import settings_file, settings_names
from gre_bench.core.settings import load
from gre_bench.guidelines.review_quality import GROUPS
from gre_bench.prompts.conditions import condition
from gre_bench.ranking import published
from gre_bench.reports.comparisons import TABLES
from gre_bench.studies.examiners.inputs import load_study

ALL = {one.path.stem: one for one in experiments()}


@pytest.mark.parametrize("name", ALL)
def test_a_file_is_what_its_command_reads_and_names_models_that_are_known(name):
    one, models = ALL[name], load_models()
    if one.command == "study examiners compare":
        study = load_study(Path(one.name))
        assert set(study.models) <= set(models)
        assert set(one.published) == set(study.layouts)
    elif one.command == "study guidelines compare":
        own = {name: "text" for name in one.lms["conditions"] if name.endswith("_official")}
        assert [condition(name, own).name for name in one.lms["conditions"]] == one.lms["conditions"]
        assert set(one.lms["models"]) <= set(models)
    elif one.command == "study guidelines generate":
        assert set(one.lms["groups"]) <= set(GROUPS) and len(one.calls) == len(one.lms["groups"])
    elif one.command != "study guidelines quality":
        settings = load(Path(one.name))
        writing, asked = settings.writing, settings.validation
        by_lms = {writing.judgments, *writing.candidates, *asked.makers.values()}
        assert by_lms <= set(models) and settings.edition.papers == one.items
        assert settings.evaluation_lm.quantisation == "nf4"
    assert set(one.published) <= {*published.tables(), *TABLES}


def test_every_published_table_that_a_run_can_fill_has_an_experiment():
    named = {table for one in ALL.values() for table in one.published}
    # Table 2 is tables 3 and 4 without intervals; table 5 is the board beside other benchmarks.
    assert {*published.tables(), *TABLES} - named == {"table2", "table5"}


def test_the_boards_have_the_models_of_their_tables():
    for name, table in (("004_board", "table7"), ("004_board_70b", "table6"), ("004_board_other_writer", "table10")):
        printed = {figure.item for figure in published.load(table)}
        assert set(load(Path(ALL[name].name)).writing.candidates) == printed


def test_no_paper_that_a_fine_tuned_lm_was_learnt_from_can_be_drawn():
    """Appendix E: the papers of the fine-tuning are separate from those of the experiments."""
    tuned = {name: one for name, one in ALL.items() if "fine-tuned" in one.title}
    assert set(tuned) == {"004_finetuned", "004_board_finetuned"}
    for one in tuned.values():
        assert "edition.avoid_learnt" in one.files and load(Path(one.name)).edition.sample == "finetuned"
        settings = load(Path(one.name), ("evaluation_lm.folder=tuned", "edition.avoid_learnt=tuned"))
        assert settings.edition.avoid_learnt == ("tuned",)


def test_a_name_finds_its_file_with_and_without_the_folder():
    assert (
        settings_file(Path("papers/004_board")) == settings_file(Path("papers/004_board.toml")) == ALL["004_board"].path
    )
    assert {"demo", "papers/004_board"} <= set(settings_names())

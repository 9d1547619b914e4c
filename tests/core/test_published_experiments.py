"""The published experiments: the command at the head of each settings file reads it, and the docs list it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gre_bench.catalogs.models import load as load_models
from gre_bench.core.resources import find_settings_file, list_settings_names, locate_resource
from gre_bench.core.settings import load
from gre_bench.ranking import published_boards
from gre_bench.studies.examiners.inputs import load_study
from tests.conftest import ROOT

FILES = {path.stem: path for path in sorted(locate_resource("deployments", "papers").glob("*.toml"))}
HEADS = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_by_which_command_it_runs_is_read_by_it_and_names_models_that_are_known(name):
    command = re.search(rf"^#   gre-bench ([a-z ]+) --settings papers/{name}\b", HEADS[name], re.M)[1]
    if command == "study examiners compare":
        assert set(load_study(Path("papers") / name).models) <= set(load_models())
    else:
        settings = load(Path("papers") / name)
        by_lms = {settings.writing.judgments, *settings.writing.candidates, *settings.validation.makers.values()}
        assert command in ("refresh", "study validate", "study agree", "study symmetry")
        assert by_lms <= set(load_models()) and settings.evaluation_lm.quantisation == "nf4"


def test_the_docs_list_every_file():
    page = (ROOT / "docs" / "published-numbers.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `papers/(\w+)`", page, re.M)) == set(FILES)


def test_every_published_table_of_the_boards_and_validations_has_an_experiment():
    named = {table for head in HEADS.values() for table in re.findall(r"--published (\w+) RUN", head)}
    # Table 2 is tables 3 and 4 without intervals; table 5 is the board beside other benchmarks.
    assert {table for table in published_boards.tables() if table not in named} == {"table2", "table5"}


def test_the_boards_have_the_models_of_their_tables():
    for name, table in (("004_board", "table7"), ("004_board_70b", "table6"), ("004_board_other_writer", "table10")):
        printed = {figure.item for figure in published_boards.load(table)}
        assert set(load(Path("papers") / name).writing.candidates) == printed


@pytest.mark.parametrize("name", ["004_finetuned", "004_board_finetuned"])
def test_no_paper_that_a_fine_tuned_lm_was_learnt_from_can_be_drawn(name):
    """Appendix E: the papers of the fine-tuning are separate from those of the experiments."""
    assert "--set edition.avoid_trained_on=FILE" in HEADS[name]
    settings = load(Path("papers") / name, ("evaluation_lm.folder=tuned", "edition.avoid_trained_on=tuned"))
    assert settings.edition.sample == "finetuned" and settings.edition.avoid_trained_on == ("tuned",)


def test_a_name_finds_its_file_with_and_without_the_folder():
    found = find_settings_file(Path("papers/004_board"))
    assert found == find_settings_file(Path("papers/004_board.toml")) == FILES["004_board"]
    assert {"demo", "papers/004_board"} <= set(list_settings_names())

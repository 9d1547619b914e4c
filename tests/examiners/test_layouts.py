"""The papers' tables: each row an examiner, each printed number in its file, misprints marked; sheets of rationales."""

from __future__ import annotations

import csv
import re

import pytest

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import Problem
from gre_bench.examiners.examiner import GradingItem
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.rater_results import (
    ERRORS,
    LAYOUTS,
    compute_error_shares,
    find_table_layout,
    sample_rationales,
)
from tests.conftest import ROOT
from tests.prompts.papers import paper

FOLDER = ROOT / "data" / "published"
FILES = sorted(path.stem for path in FOLDER.glob("00[13]_table*.csv"))
TEXTS = ("001_text", "003_text")


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_row_that_a_paper_prints_is_an_examiner(name):
    for item in ("summary", "review"):
        examiners = find_table_layout(name).examiners(item)
        assert list(examiners) == list(dict.fromkeys(row["row"] for row in rows(name)))
        assert {examiner.item for examiner in examiners.values()} == {item}


@pytest.mark.parametrize(("table", "row", "name"), [
    ("001_table1", "Prompting | Base | x | x | Direct", "base-coarse"),
    ("001_table1", "Prompting | Model | o | x | Direct", "model-fine"),
    ("001_table1", "Demonstration | Human | o | Reason-best | Direct", "human-fine-reason_best"),
    ("001_table1", "Explainability | Rationale | o | Reason-worst | Direct", "rationale-fine-reason_worst"),
    ("001_table2", "Human", "human_test-fine"), ("001_table2", "Filtering", "human_test-fine-filtered"),
    ("001_table2", "Binning", "human_test-fine-filtered-equal_width_10"),
    ("001_table5", "Model | o | x | Approximation", "model-fine-approximation"),
    ("001_table5", "Human | o | x | Logprob", "human-fine-logprob"),
    ("001_table6", "Human | Expert", "human-fine-description_expert"), ("001_table6", "Model | Base", "model-fine"),
    ("001_table7", "Model | HT-GPT", "model-fine-criteria_ht_gpt"), ("001_table8", "Model | Complex", "model-fine-steps_complex"),
    ("003_table8", "P12 | (2) Annotator Instructions (6) CoT (7) Zero-shot", "p12-coarse"),
    ("003_table8", "Baseline | Direct Assessment", "direct_assessment-coarse"), ("003_table9", "P3", "p3-coarse"),
])  # fmt: skip
def test_a_row_names_the_settings_of_its_examiner(table, row, name):
    assert find_table_layout(table).examiners("review")[row].name == name


@pytest.mark.parametrize("name", [*FILES, *TEXTS])
def test_a_published_file_is_in_the_common_form(name):
    found = rows(name)
    assert list(found[0]) == ["paper", "table", "row", "column", "value", "low", "high", "p", "n", "anomaly", "note"]
    assert {(row["paper"], row["table"]) for row in found} == {tuple(name.replace("table", "").split("_"))}
    assert len({(row["row"], row["column"]) for row in found}) == len(found)
    assert all(float(row["value"]) <= 100 and int(row["n"]) for row in found)
    assert all(row["note"] for row in found if row["anomaly"])


def test_the_known_misprints_are_marked():
    found = {(name, row["row"], row["column"]): row for name in FILES for row in rows(name)}
    marked = {key for key, row in found.items() if row["anomaly"] == "disagrees_with_table"}
    assert {found[key]["value"] for key in marked} == {"0.3844", "0.3744"}
    assert {key[0] for key in marked} == {"001_table1", "001_table4", "001_table5", "001_table6"}
    base = [row for row in rows("001_table9") if row["column"] == "Base"]
    assert sum(float(row["value"]) for row in base) == 103
    assert {row["anomaly"] for row in base} == {"sums_above_100"}


@pytest.mark.shared
@pytest.mark.parametrize("name", FILES)
def test_every_number_stands_in_the_paper_in_this_order(name):
    number, table = name.split("_table")
    text = paper(number)
    text = text[: text.index(f"\nTable {table}: ")]
    values = [row["value"] for row in rows(name)]
    pattern = r"(?<![\d.])-?0\.\d\d(?:\d\d)?(?!\d)" if table != "9" or number == "003" else r"\d+(?=%)"
    assert re.findall(pattern, text)[-len(values) :] == values


@pytest.mark.shared
@pytest.mark.parametrize(("number", "said", "order"), [
    ("001", "the number of unique scores has been diminished from {} to {} and {} to {} for Orca-13B and Pla", (0, 2, 1, 3)),
    ("003", "on the test set with a score of {}. Furthermore, P1 and P2 also achieve competitive scores of {} and {}",
     (0, 1, 2)),
])  # fmt: skip
def test_the_numbers_of_the_running_text_stand_there(number, said, order):
    values = [row["value"] for row in rows(f"{number}_text")]
    assert said.format(*(values[place] for place in order)) in " ".join(paper(number).split())


def test_an_unknown_layout_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError, match="no layout of a table 001_table3; there are: 001_table1, "):
        find_table_layout("001_table3")


GRADES = [
    Grade("0", 3.0, None, {"relevance": 3.0, "fluency": 4.0}, {"relevance": "why", "fluency": "because"}),
    Grade("1", 2.0, None, {"overall": 2.0}, {"overall": "so"}), Grade("2", None, Problem("unparsable", "")),
    Grade("3", 5.0, None, {"overall": 5.0}),
]  # fmt: skip


def test_a_sheet_has_a_row_for_each_rationale_and_empty_cells():
    items = [GradingItem(str(place), "source", "text") for place in range(4)]
    found = sample_rationales(items, GRADES, 36, 0)
    assert sorted((row["item_id"], row["aspect"], row["score"]) for row in found) == [
        ("0", "fluency", "4"), ("0", "relevance", "3"), ("1", "overall", "2"),
    ]  # fmt: skip
    columns = ["item_id", "aspect", "score", "rationale", *ERRORS, "source", "text"]
    assert all(list(row) == columns and not any(row[error] for error in ERRORS) for row in found)
    assert sample_rationales(items, GRADES, 2, 1) == sample_rationales(items, GRADES, 2, 1)
    assert len(sample_rationales(items, GRADES, 2, 0)) == 2
    with pytest.raises(SourceError, match="no rows"):
        compute_error_shares([])

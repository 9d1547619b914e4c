"""The papers' tables: each row an examiner, each printed number in its file, misprints marked."""

from __future__ import annotations

import csv
import re

import pytest

from gre_bench.core.errors import SettingsError
from gre_bench.examiners.results import LAYOUTS, layout
from tests.conftest import ROOT
from tests.prompts.papers import paper

FOLDER = ROOT / "data" / "published"
FILES = sorted(path.stem for path in FOLDER.glob("00[13]_table*.csv"))
TEXTS = ("001_text", "003_text")


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_rows_of_a_layout_are_those_that_the_paper_prints(name):
    assert list(layout(name).rows) == list(dict.fromkeys(row["row"] for row in rows(name)))
    for item in ("summary", "review"):
        examiners = layout(name).examiners(item)
        assert list(examiners) == list(layout(name).rows)
        assert {examiner.item for examiner in examiners.values()} == {item}


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
        layout("001_table3")

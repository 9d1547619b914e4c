"""A study beside a published table: LMs paired by any of their names, each cell inside both intervals or not."""

from __future__ import annotations

import json

import pytest

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.examiners.results import LAYOUTS
from gre_bench.ranking.published import Figure, beside
from gre_bench.reports.comparisons import TABLES, printed_study, run_study
from tests.cli.calling import shown

ORCA = "open-orca/openorca-platypus2-13b"


@pytest.mark.parametrize(
    ("printed", "found", "within"),
    [
        ((0.40, 0.35, 0.45), (0.42, 0.38, 0.46), True),
        # The run's value lies in the printed interval, the printed one not in the run's.
        ((0.40, 0.35, 0.45), (0.44, 0.42, 0.46), False),
        ((0.40, None, None), (0.42, 0.38, 0.46), True),
        ((0.40, None, None), (0.52, 0.48, 0.56), False),
        ((0.40, None, None), (0.42, None, None), None),
    ],
)
def test_a_cell_agrees_where_each_interval_holds_the_other_value(printed, found, within):
    (row,) = beside([Figure("m", "i", *printed)], [Figure("m", "i", *found)])
    assert row.within is within
    assert row.difference == pytest.approx(found[0] - printed[0])


@pytest.mark.parametrize("table", TABLES)
def test_each_cell_of_a_table_is_one_figure_of_a_known_lm(table):
    figures = printed_study(table).figures
    # The column without a guideline stands in both blocks of 002's table 1.
    values = {(figure.metric, figure.item, figure.value) for figure in figures}
    assert len({value[:2] for value in values}) == len(values) == len(figures) - 3 * (table == "002_table1")
    assert all("/" in figure.metric for figure in figures)
    if table in LAYOUTS:
        assert {figure.item for figure in figures} == set(LAYOUTS[table].rows)


def test_conditions_are_those_of_the_guideline_study():
    one, two = (printed_study(f"002_table{number}").figures for number in (1, 2))
    assert {figure.item for figure in one} == {
        "none", "arr", "neurips", "iclr", "arr_official", "neurips_official", "iclr_official",
    }  # fmt: skip
    assert {figure.item for figure in two} == {
        "none", "good", "middle", "bad", "good+rubric", "middle+rubric", "bad+rubric",
    }  # fmt: skip
    lowest = min(one, key=lambda figure: figure.value)
    assert (lowest.metric, lowest.item, lowest.value) == ("qwen/qwen3-30b-a3b", "neurips_official", 2.07)


def examined(folder, tau=0.46):
    found = {"value": tau, "low": tau - 0.02, "high": tau + 0.02}
    outcome = {"name": "human-fine", "by": "Orca-13B", "kind": "examiner", "kendall": found}
    folder.mkdir(parents=True)
    record = {"rows": {"001_table5": {"Human | o | x | Direct": "human-fine"}}, "outcomes": [outcome]}
    (folder / "study.json").write_text(json.dumps(record))


def test_a_study_under_its_alias_stands_beside_the_printed_cell(tmp_path):
    examined(tmp_path / "studies" / "examiners" / "dev")
    asked = ("compare", "--published", "001_table5", "dev", "--state", tmp_path)
    code, printed = shown(*asked, "--json")
    assert code == 0, printed
    (row,) = [row for row in json.loads(printed)["beside"] if row["found"]]
    assert (row["metric"], row["item"]) == (ORCA, "Human | o | x | Direct")
    assert row["printed"]["value"] == 0.4468 and row["within"] is True
    assert "1 of 1 do" in " ".join(shown(*asked)[1].split())


def test_conditions_that_a_table_lacks_stand_beside_it_only_if_all_are_asked_for(tmp_path):
    rmse = {"rmse": {"value": 2.5, "low": 2.0, "high": 3.0}}
    outcomes = [
        {"model": "qwen/qwen3-30b-a3b", "condition": name, "closeness": rmse} for name in ("arr", "good+rubric")
    ]
    (tmp_path / "study.json").write_text(json.dumps({"outcomes": outcomes}))
    asked = str(tmp_path), "002_table1", tmp_path
    assert [figure.item for figure in run_study(*asked).figures] == ["arr"]
    assert [figure.item for figure in run_study(*asked, every=True).figures] == ["arr", "good+rubric"]


def test_what_is_no_such_study_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match="no study dev of examiners under .*; name it, its folder"):
        run_study("dev", "001_table5", tmp_path)
    examined(tmp_path / "dev")
    with pytest.raises(SettingsError, match="has no cell of 001_table1"):
        run_study(str(tmp_path / "dev"), "001_table1", tmp_path)
    (tmp_path / "dev" / "study.json").write_text('{"outcomes": 3}')
    with pytest.raises(SourceError, match="not the record of such a study"):
        run_study(str(tmp_path / "dev"), "002_table1", tmp_path)
    code, line = shown("compare", "--published", "001_table5", "a", "b")
    assert code == 2 and "stands beside one study" in line

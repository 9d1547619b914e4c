"""Figures beside printed ones, each inside both intervals or not; and the figures in the record of a study."""

from __future__ import annotations

import json

import pytest

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.ranking.published import Figure, beside
from gre_bench.reports.comparisons import run_study


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


def examined(folder, tau=0.46):
    found = {"value": tau, "low": tau - 0.02, "high": tau + 0.02}
    outcome = {"name": "human-fine", "by": "Orca-13B", "kind": "examiner", "kendall": found}
    folder.mkdir(parents=True)
    record = {"rows": {"001_table5": {"Human | o | x | Direct": "human-fine"}}, "outcomes": [outcome]}
    (folder / "study.json").write_text(json.dumps(record))


def test_an_lm_under_its_alias_has_its_name_of_the_models_file(tmp_path):
    examined(tmp_path / "studies" / "examiners" / "dev")
    (figure,) = run_study("dev", "001_table5", tmp_path).figures
    assert (figure.metric, figure.item) == ("open-orca/openorca-platypus2-13b", "Human | o | x | Direct")


def test_what_is_no_such_study_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match="no study dev of examiners under .*; name it, its folder"):
        run_study("dev", "001_table5", tmp_path)
    examined(tmp_path / "dev")
    with pytest.raises(SettingsError, match="has no cell of 001_table1"):
        run_study(str(tmp_path / "dev"), "001_table1", tmp_path)
    (tmp_path / "dev" / "study.json").write_text('{"outcomes": 3}')
    with pytest.raises(SourceError, match="not the record of such a study"):
        run_study(str(tmp_path / "dev"), "002_table1", tmp_path)

"""``gre-bench compare`` as a user runs it."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.ranking.published_boards import PrintedOrComputedNumber, compare_printed_with_computed
from gre_bench.reports.comparisons import load_run_side
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, refreshed

compare = partial(shown, "compare")


@pytest.mark.parametrize(
    ("tables", "lines"),
    [
        (("table6", "table7"), ("gem 20 0.926 0.93", "gem_s_abstract 20 0.904 0.92", "gem_s_assw 20 0.893 0.90")),
        (("table7", "table10"), ("gem 18 0.835 0.89", "gem_s_abstract 18 0.876 0.85", "gem_s_assw 18 0.882 0.83")),
    ],
)
def test_two_published_boards_give_spearman_to_three_decimals_beside_what_is_printed(tables, lines):
    code, shown = compare("--published", tables[0], "--published", tables[1])
    assert code == 0
    found = [" ".join(line.split()) for line in shown.splitlines()]
    for line in lines:
        metric, n, rho, printed = line.split()
        assert any(re.fullmatch(rf"{metric} {n} {rho} \S+ {printed}", row) for row in found), shown


def board_file(folder, name, scores, **signature):
    lines = [(model, "model", mean, 1, None) for model, mean in scores.items()]
    rows = [
        {"metric": "gem", "candidate": candidate, "kind": kind, "score": mean, "low": mean - 1, "high": mean + 1,
         "rank": rank, "unranked": unranked}
        for candidate, kind, mean, rank, unranked in (*lines, ("generic", "control", 0.0, None, "control"))
    ]  # fmt: skip
    path = folder / f"{name}.json"
    signed = {"metric": "gem", "writer": "w"} | signature
    path.write_text(json.dumps({"edition": name, "signatures": [signed], "rows": rows}))
    return path


def test_two_boards_of_ones_own_are_compared_by_rank_controls_left_out(tmp_path):
    a = board_file(tmp_path, "A", {"m1": 1.0, "m2": 2.0, "m3": 3.0, "m4": 4.0})
    b = board_file(tmp_path, "B", {"m1": 10.0, "m2": 30.0, "m3": 20.0, "m4": 40.0}, writer="other")
    code, shown = compare(a, b, "--json")
    assert code == 0
    found = json.loads(shown)
    (row,) = found["consistency"]
    assert (row["n"], round(row["spearman"], 6)) == (4, 0.8)
    assert found["left_out"] == {str(path): {"generic": "control"} for path in (a, b)}
    assert found["differ_in"] == {"writer": ["w", "other"]}
    shown = compare(a, b)[1]
    assert "signatures differ in writer: w | other" in shown and "Spearman between A.json and B.json" in shown


def test_a_board_stands_cell_by_cell_beside_a_table_by_the_same_lms_whatever_the_names_and_by_rank_beside_others(
    tmp_path,
):
    scores = {"gpt-4o-2024-05-13": 48.5, "claude-2": 50.0, "other": 3.0}
    signature = {"writer": "openai/gpt-4o@2024-05-13 · p", "evaluation_lm": "Llama-3.1-8B-Instruct"}
    path = board_file(tmp_path, "A", scores, **signature)
    found = json.loads(compare("--published", "table7", path, "--json")[1])
    rows = {row["item"]: row for row in found["beside"] if row["printed"] and row["found"]}
    assert rows["openai/gpt-4o"]["difference"] == pytest.approx(0.49) and rows["openai/gpt-4o"]["within"] is True
    assert rows["anthropic/claude-2"]["within"] is False and len(rows) == 2
    # Of table 6 the evaluation LM is another: no differences of nats.
    found = json.loads(compare("--published", "table6", path, "--json")[1])
    assert {row["difference"] for row in found["beside"]} == {None}
    assert sum(row["found"] is not None for row in found["beside"]) == 3 and found["consistency"][0]["n"] == 2


def test_effects_of_a_run_stand_beside_a_published_table(tmp_path):
    run = tmp_path / "run.json"
    rows = [
        {"metric": "gem", "change": "sentence_deletion", "d": -0.2, "low": -0.3, "high": -0.1, "problem": None},
        {"metric": "gem", "change": "completion", "d": None, "low": None, "high": None, "problem": "no writer"},
    ]
    run.write_text(json.dumps({"effects": rows}))
    code, shown = compare("--published", "table2", run)
    assert code == 0
    line = next(row for row in shown.splitlines() if row.startswith("gem ") and "sentence_deletion" in row)
    assert line.split() == ["gem", "sentence_deletion", "-0.401", "-0.200", "-0.300", "to", "-0.100", "0.201", "no"]
    assert "left out of run.json: gem, completion: no writer" in shown
    assert "(1) the figure of Sentence Deletion, likely a misprint" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--published", "table6"), "two things beside each other, got 1"),
        (("--published", "table15", "--published", "table6"), "no published table table15"),
        (("--published", "table2", "--published", "table6"), "do not hold the same kind"),
        (("--published", "table2", "ICLR-1999"), "no edition ICLR-1999"),
        (("--published", "table2", "gone.json"), "no file gone.json"),
        (("--published", "001_table1", "dev"), "a study prints its tables itself"),
    ],
)
def test_what_cannot_be_compared_is_one_line(tmp_path, arguments, message):
    code, shown = compare(*arguments, "--state", tmp_path)
    assert code == 2 and message in shown and "\n" not in shown


def test_an_edition_is_a_board_by_its_key_and_has_no_effects_before_it_is_validated(tmp_path):
    refreshed(tmp_path)
    side = load_run_side(EDITION, "board", tmp_path)
    assert {figure.item for figure in side.figures} == {"human"} and "generic" in side.left_out
    code, shown = compare(EDITION, "--published", "table6", "--state", tmp_path, "--json")
    found = json.loads(shown)
    assert code == 0 and {row["n"] for row in found["consistency"]} == {0}
    assert all(row["only_second"] == ["human"] for row in found["consistency"])
    assert "not defined" in compare(EDITION, "--published", "table6", "--state", tmp_path)[1]
    with pytest.raises(SettingsError, match=f"no effects yet; run: gre-bench study validate --edition {EDITION}"):
        load_run_side(EDITION, "effects", tmp_path)


@pytest.mark.parametrize("text", ["not json", "[1]", "{}", '{"rows": [{"metric": "gem"}]}', '{"rows": 3}', "3"])
def test_a_file_that_is_no_board_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(SourceError):
        load_run_side(str(path), "board", tmp_path)


def test_a_board_without_ranks_or_with_two_numbers_for_one_candidate_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="no ranked row"):
        load_run_side(str(board_file(tmp_path, "empty", {})), "board", tmp_path)
    twice = board_file(tmp_path, "twice", {"m": 1.0})
    tree = json.loads(twice.read_text())
    twice.write_text(json.dumps(tree | {"rows": tree["rows"][:1] * 2}))
    with pytest.raises(SettingsError, match="gem has two numbers for m"):
        load_run_side(str(twice), "board", tmp_path)


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
    (row,) = compare_printed_with_computed(
        [PrintedOrComputedNumber("m", "i", *printed)], [PrintedOrComputedNumber("m", "i", *found)]
    )
    assert row.within is within
    assert row.difference == pytest.approx(found[0] - printed[0])

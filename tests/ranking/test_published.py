"""The published tables hold every number that the paper prints; boards by rank, with benchmarks, and side by side."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.catalogs.models import load as known_models
from gre_bench.core.errors import SettingsError
from gre_bench.ranking import published_boards
from gre_bench.ranking.published_boards import (
    SIZE,
    PrintedOrComputedNumber,
    compare_board_ranks,
    compare_printed_with_computed,
    load,
    load_printed_correlations,
)
from tests.conftest import ROOT

SEEDS = ROOT.parent / "shared" / "seeds"
EFFECTS = ("table2", "table3", "table4", "table8", "table9", "table11", "table12", "table13", "table14")
MANIPULATIONS = {"rephrase_1": "sentence_deletion", "rephrase_2": "completion", "elongation": "abstract_only"}
# Rows times columns of figures, as the paper lays its tables out.
SIZES = {
    "table1": 10, "table2": 60, "table3": 30, "table4": 30, "table5": 21, "table6": 80, "table7": 80, "table8": 6,
    "table9": 6, "table10": 72, "table11": 27, "table12": 18, "table13": 15, "table14": 15, "text": 12,
}  # fmt: skip


def figures(table: str) -> dict[tuple[str, str], published_boards.PrintedOrComputedNumber]:
    return {(figure.metric, figure.item): figure for figure in load(table)}


def test_every_table_is_there_whole_and_each_number_once():
    assert published_boards.tables() == tuple(SIZES)
    for table, size in SIZES.items():
        assert len(load(table)) == len(figures(table)) == size, table
        assert {figure.table for figure in load(table)} == {table}


@pytest.mark.parametrize(
    ("table", "metric", "item", "value", "low", "high"),
    [
        ("table1", "gem_s_abstract", "grades", 0.479, None, None),
        ("table2", "lm_examiner", "sentence_deletion", -1.290, None, None),
        ("table3", "bertscore", "abstract_only", 0.840, 0.769, 0.910),
        ("table4", "bartscore_recall", "rephrase_1", -0.027, -0.028, -0.027),
        ("table5", "gem_s_assw", "hellaswag", 0.84, None, None),
        ("table6", "gem_s_assw", "google/gemini-pro", -0.26, None, None),
        ("table7", "gem", "anthropic/claude-3-opus", 60.94, None, None),
        ("table9", "gem_s_abstract", "rephrase_2", 0.156, 0.109, 0.203),
        ("table11", "gem_s_categories", "random_replacement", -0.283, -0.385, -0.182),
        ("table13", "gem_finetune", "abstract_only", -0.043, -0.106, 0.020),
    ],
)
def test_a_figure_is_found_by_metric_and_item(table, metric, item, value, low, high):
    found = figures(table)[metric, item]
    assert (found.value, found.low, found.high) == (value, low, high)


def test_tables_that_print_the_same_numbers_agree():
    short, long = figures("table2"), figures("table3") | figures("table4")
    assert {key: one.value for key, one in short.items()} == {key: one.value for key, one in long.items()}
    for tuned, plain in (("table13", "table3"), ("table14", "table4")):
        shared = [key for key in figures(tuned) if "finetune" not in key[0]]
        assert len(shared) == 9
        for key in shared:
            one, other = figures(tuned)[key], figures(plain)[key]
            assert (one.value, one.low, one.high) == (other.value, other.low, other.high)


@pytest.mark.parametrize("table", EFFECTS[1:])
def test_intervals_lie_around_their_values(table):
    for figure in load(table):
        assert figure.low <= figure.value <= figure.high
        # Symmetric, each of the three rounded to a thousandth.
        assert abs((figure.low + figure.high) / 2 - figure.value) <= 0.00101, figure


def test_what_repeats_is_flagged_and_kept_as_printed():
    flagged = [figure for table in EFFECTS for figure in load(table) if figure.anomaly == "repeats_degradation"]
    assert len(flagged) == 9 and {figure.metric for figure in flagged} == {"gem_raw"}
    degradations = figures("table2")
    for figure in flagged:
        assert figure.value == degradations["gem_raw", MANIPULATIONS[figure.item]].value
    assert {(f.table, f.value) for t in ("table1", "text") for f in load(t) if f.anomaly.startswith("disagrees")} == {
        ("table1", 0.431),
        ("text", 0.433),
    }
    assert all(figure.anomaly == "other_coefficient" for figure in load("table5"))


def test_models_bear_the_names_of_the_models_file_and_estimated_sizes_are_flagged():
    assert {figure.item for figure in load("table6")} <= set(known_models())
    sizes = {f.item: f for f in load("table6") if f.metric == SIZE}
    assert sizes["openai/gpt-4o"].anomaly == "estimated" and sizes["openai/gpt-4o"].value == 200
    assert sizes["deepseek/deepseek-r1"].anomaly == "" and sizes["deepseek/deepseek-r1"].value == 671
    assert sum(figure.anomaly == "estimated" for figure in sizes.values()) == 9


def test_each_anomaly_is_explained_and_an_unknown_table_is_one_line():
    readme = (published_boards.FOLDER / "README.md").read_text()
    found = {figure.anomaly for table in SIZES for figure in load(table)} - {""}
    assert found and all(f"`{anomaly}`" in readme for anomaly in found)
    with pytest.raises(SettingsError, match="no published table table15; there are: table1, .*, text"):
        load("table15")


def seed() -> str:
    found = sorted(SEEDS.glob("004_*.txt")) if SEEDS.is_dir() else []
    if not found:
        pytest.skip("the paper's text is not on this machine")
    return Path(found[0]).read_text(encoding="utf-8")


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-\d+)?")


def printed_rows(text: str, table: str) -> list[list[str]]:
    """Rows of tab-separated cells that stand above the caption of *table*, heads included."""
    above = text[: text.index(f"\nTable {table[5:]}: ")].rstrip("\n").split("\n")
    count = next(place for place, line in enumerate(reversed(above)) if "\t" not in line)
    return [line.split("\t") for line in above[-count:]]


@pytest.mark.shared
@pytest.mark.parametrize("table", [name for name in SIZES if name != "text"])
def test_every_printed_number_is_in_the_file_in_order_and_no_other(table):
    """Row by row, each number of the paper's cells against value, low, high and p of the figures with that name."""
    rows = [row for row in printed_rows(seed(), table) if re.match(r"~? ?-?\d", row[1])]
    if table == "table1":
        rows = [row[part : part + 3] for part in (0, 3) for row in rows]
    printed = {row[0]: [float(number) for cell in row[1:] for number in NUMBER.findall(cell)] for row in rows}
    filed: dict[str, list[float]] = {}
    for figure in load(table):
        parts = (figure.value, figure.low, figure.high, figure.p)
        filed.setdefault(figure.row, []).extend(part for part in parts if part is not None)
    assert filed == printed
    assert list(filed) == list(printed)


@pytest.mark.shared
def test_every_column_is_named_as_printed():
    text = seed()
    for table in SIZES:
        heads = {"Spearman’s ρ"} if table == "table1" else {figure.column for figure in load(table)}
        assert table == "text" or heads <= {cell for row in printed_rows(text, table)[:2] for cell in row}, table
        assert all(
            ("~" in cell) == (figure.anomaly == "estimated")
            for figure in load(table) if figure.metric == SIZE
            for row in printed_rows(text, table) if row[0] == figure.row
            for cell in row[1:2]
        )  # fmt: skip


@pytest.mark.shared
def test_the_numbers_of_the_running_text_stand_in_it():
    text = seed()
    for figure in load("text"):
        start = text.index(f"\n{figure.row} ")
        ends = [place for head in ("\nA.3 ", "\nA.4 ", "\nB ") if (place := text.find(head, start + 1)) > 0]
        digits = (
            f"{figure.value:.2f}"
            if figure.value < 1 and round(figure.value, 2) == figure.value
            else f"{figure.value:g}"
        )
        assert digits in text[start : min(ends)], figure


@pytest.mark.parametrize(
    ("one", "other", "n", "recomputed", "printed"),
    [
        ("table6", "table7", 20, (0.926, 0.904, 0.893), (0.93, 0.92, 0.90)),
        ("table7", "table10", 18, (0.835, 0.876, 0.882), (0.89, 0.85, 0.83)),
    ],
)
def test_the_published_boards_agree_as_recomputed_not_as_the_text_prints(one, other, n, recomputed, printed):
    rows = compare_board_ranks(load(one), load(other))
    assert [row.metric for row in rows] == ["gem", "gem_s_abstract", "gem_s_assw"]
    assert [row.n for row in rows] == [n] * 3
    assert tuple(round(row.spearman, 3) for row in rows) == recomputed
    assert tuple(load_printed_correlations(one, other)[row.metric] for row in rows) == printed
    assert load_printed_correlations(other, one) == load_printed_correlations(one, other)
    alone = ("deepseek/deepseek-chat", "deepseek/deepseek-r1") if other == "table10" else ()
    assert (rows[0].only_first, rows[0].only_second) == (alone, ())


def board(metric: str, **scores: float) -> list[PrintedOrComputedNumber]:
    return [PrintedOrComputedNumber(metric, name, value) for name, value in scores.items()]


@pytest.mark.parametrize(
    ("one", "other"), [({"a": 1, "b": 2}, {"a": 1, "b": 2}), ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 3})]
)
def test_what_has_no_rank_correlation_is_said_to_have_none(one, other):
    (row,) = compare_board_ranks(board("gem", **one), board("gem", **other))
    assert (row.spearman, row.p, row.n) == (None, None, len(one))


@given(st.dictionaries(st.text(min_size=1), st.floats(-1e3, 1e3), min_size=3, max_size=12))
def test_a_board_agrees_with_itself_and_the_order_of_boards_does_not_matter(scores):
    one = [PrintedOrComputedNumber("gem", name, value) for name, value in scores.items()]
    reverse = [PrintedOrComputedNumber("gem", name, -value) for name, value in scores.items()]
    (same,), (there,), (back,) = (
        compare_board_ranks(one, one),
        compare_board_ranks(one, reverse),
        compare_board_ranks(reverse, one),
    )
    if len(set(scores.values())) == 1:
        assert same.spearman is None
    else:
        assert same.spearman == pytest.approx(1) and there.spearman == pytest.approx(-1)
        assert there.spearman == pytest.approx(back.spearman)


def test_figures_stand_beside_each_other_and_none_is_dropped():
    run = [
        PrintedOrComputedNumber("gem", "sentence_deletion", -0.30, -0.44, -0.16),
        PrintedOrComputedNumber("gem", "shuffled_lines", 0.01),
    ]
    rows = compare_printed_with_computed(load("table3"), run)
    assert len(rows) == 31
    by_key = {(row.metric, row.item): row for row in rows}
    met = by_key["gem", "sentence_deletion"]
    assert met.difference == pytest.approx(0.101) and met.within is False
    assert by_key["gem", "completion"].found is None and by_key["gem", "completion"].difference is None
    assert by_key["gem", "shuffled_lines"].printed is None
    printed = [PrintedOrComputedNumber("m", "i", 0, -1, 1)]
    for value, within in ((0.5, True), (5, False)):
        found = compare_printed_with_computed(printed, [PrintedOrComputedNumber("m", "i", value, value - 1, value + 1)])
        assert found[0].within is within

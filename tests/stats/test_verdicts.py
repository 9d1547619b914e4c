"""Verdicts: the paper's own cells (tables 3, 4, 8, 9, 11 to 14) through our rules and through the paper's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from gre_bench.ranking.published import load
from gre_bench.stats.effects import Effect, degradation_verdict, holm, manipulation_verdict, overall, paper_rule

def cell(value: float, low: float, high: float) -> Effect:
    """The effect that a printed cell states; its p is the normal one of the printed interval."""
    p = 2 * norm.sf(abs(value) / ((high - low) / (2 * 1.959964)))
    return Effect(value, low, high, p, low, high, p, 300, 600, "Student")


def printed(*tables: int) -> dict[tuple[int, str], list[Effect]]:
    """(table, metric) → the cells of its row, as printed; tables 13 and 14 repeat rows of 3 and 4, which are left out."""
    found: dict[tuple[int, str], list[Effect]] = {}
    for table in tables:
        for figure in load(f"table{table}"):
            if table < 13 or "finetune" in figure.metric:
                found.setdefault((table, figure.metric), []).append(cell(figure.value, figure.low, figure.high))
    return found


FALLS, RISES = printed(3, 8, 11, 13), printed(4, 9, 12, 14)


def degraded(effects: list[Effect]) -> list[str]:
    return [degradation_verdict(found, p) for found, p in zip(effects, holm([e.p for e in effects]), strict=True)]


def metrics_that_pass(found: dict[tuple[int, str], list[Effect]], table: int, kind: str) -> set[str]:
    return {
        metric
        for (number, metric), effects in found.items()
        if number == table and overall(paper_rule(kind, effect) for effect in effects) == "pass"
    }


def test_finetuned_gem_fails_the_abstract_only_review_of_the_papers_table_13():
    effects = FALLS[13, "gem_finetune"]
    assert degraded(effects) == ["pass", "pass", "fail"]
    assert [paper_rule("degradation", effect) for effect in effects] == ["pass", "pass", "fail"]


def test_papers_rule_on_the_papers_cells_says_what_the_paper_says():
    # §4.2: "GEM and GEM-S are only two metrics that consistently have significant negative SMD on all three".
    assert metrics_that_pass(FALLS, 3, "degradation") == {"gem", "gem_s_abstract"}
    # A.3: "also shows significant sensitivity to all degradations".
    assert metrics_that_pass(FALLS, 8, "degradation") == {"gem", "gem_s_abstract"}
    # A.4: "GEM and GEM-S consistently exhibit significant SMD across all three"; so do three others.
    assert metrics_that_pass(FALLS, 11, "degradation") == {"bleu", "bartscore_recall", "lm_examiner", "gem", "gem_s_categories"}
    # §4.3: "LMExaminer has significant score increases after all three manipulations"; "GEM and GEM-S exhibit no".
    assert [paper_rule("manipulation", effect) for effect in RISES[4, "lm_examiner"]] == ["fail"] * 3
    assert metrics_that_pass(RISES, 4, "manipulation") == {"bleu", "gem", "gem_s_abstract"}
    # A.3: "robust against GPT4 rephrase but fails in the Llama-3.1 rephrase and Meaningless Elongation".
    for metric in ("gem", "gem_s_abstract"):
        assert [paper_rule("manipulation", effect) for effect in RISES[9, metric]] == ["pass", "fail", "fail"]
    # A.4: "GEM metrics remain robust against both"; "LMExaminer shows a significant increase".
    assert {"gem", "gem_s_categories"} <= metrics_that_pass(RISES, 12, "manipulation")
    assert [paper_rule("manipulation", effect) for effect in RISES[12, "lm_examiner"]] == ["fail"] * 2
    assert metrics_that_pass(RISES, 14, "manipulation") == {"gem_finetune", "gem_s_abstract_finetune"}


def test_our_degradation_rule_agrees_with_the_papers_on_every_printed_cell():
    for name, effects in FALLS.items():
        assert degraded(effects) == [paper_rule("degradation", effect) for effect in effects], name


def test_our_manipulation_rule_differs_from_the_papers_on_these_printed_cells_only():
    differs = {
        (table, metric, place): (manipulation_verdict(effect), paper_rule("manipulation", effect))
        for (table, metric), effects in RISES.items()
        for place, effect in enumerate(effects)
        if manipulation_verdict(effect) != paper_rule("manipulation", effect)
    }
    assert differs == {
        # A significant rise below the margin.
        (4, "rouge_l", 0): ("pass", "fail"),
        (4, "bertscore", 1): ("pass", "fail"),
        (4, "bertscore", 2): ("pass", "fail"),
        (4, "bartscore_recall", 2): ("pass", "fail"),
        (4, "gem_raw", 2): ("pass", "fail"),
        # A significant rise that may or may not reach the margin.
        (4, "rouge_l", 1): ("undecided", "fail"),
        (4, "lm_examiner", 1): ("undecided", "fail"),
        (4, "lm_examiner", 2): ("undecided", "fail"),
        (9, "gem", 1): ("undecided", "fail"),
        (9, "gem", 2): ("undecided", "fail"),
        (9, "gem_s_abstract", 2): ("undecided", "fail"),
        (12, "bleu", 0): ("undecided", "fail"),
        (12, "rouge_l", 1): ("undecided", "fail"),
        # No significant rise, and none excluded.
        (12, "bleu", 1): ("undecided", "pass"),
    }


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (cell(-0.30, -0.40, -0.20), "pass"),
        (cell(-0.10, -0.25, 0.05), "undecided"),
        (cell(-0.05, -0.15, 0.05), "fail"),
        (cell(0.30, 0.20, 0.40), "fail"),
        (cell(0.30, -0.40, 1.00), "undecided"),
    ],
)
def test_a_degradation_passes_fails_or_stays_open(found, verdict):
    assert degradation_verdict(found, found.p) == verdict


def test_holm_can_take_a_degradation_its_pass():
    found = cell(-0.15, -0.29, -0.01)
    assert (degradation_verdict(found, found.p), degradation_verdict(found, min(1.0, 3 * found.p))) == (
        "pass",
        "undecided",
    )


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (cell(-0.9, -1.0, -0.8), "pass"),
        (cell(0.05, 0.02, 0.08), "pass"),
        (cell(0.05, -0.05, 0.15), "undecided"),
        (cell(0.2, 0.1, 0.3), "fail"),
    ],
)
def test_a_manipulation_passes_fails_or_stays_open(found, verdict):
    assert manipulation_verdict(found) == verdict


@given(st.lists(st.sampled_from(["pass", "fail", "undecided"]), min_size=1))
def test_one_failure_fails_and_one_open_cell_leaves_all_open(verdicts):
    found = overall(verdicts)
    assert (found == "fail") == ("fail" in verdicts)
    assert (found == "pass") == (set(verdicts) == {"pass"})


def test_a_metric_without_a_verdict_is_not_judged():
    with pytest.raises(ValueError, match="no change was tried"):
        overall([])

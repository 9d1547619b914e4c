"""Effects and verdicts: published examples, what must hold for any scores, the paper's own cells through both rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gre_bench.ranking.published_boards import load
from gre_bench.stats.effects import (
    Effect,
    adjust_by_holm,
    combine_verdicts,
    compute_effect_size,
    decide_by_published_rule,
    degradation_verdict,
    effect_at_length,
    manipulation_verdict,
)
from gre_bench.stats.length import Slope
from gre_bench.stats.samples import draw_bootstrap_counts

# Student's sleep data: the d of these two columns is printed as -0.8321811 by R's effsize (pooled, unequal variances or not).
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def pairs(random: np.random.Generator, papers: int, shift: float, share: float = 0.3, alike: float = 0.83):
    """Scores before and after of two pairs a paper, unit variances, correlation *alike* between before and after."""
    names = np.repeat(np.arange(papers), 2)
    before, other = (
        math.sqrt(share) * random.normal(size=papers)[names] + math.sqrt(1 - share) * random.normal(size=2 * papers)
        for _ in range(2)
    )
    return before, shift + alike * before + math.sqrt(1 - alike**2) * other, names


def test_d_of_students_sleep_data_is_the_printed_one():
    assert compute_effect_size(SLEEP_2, SLEEP_1, range(10)).value == pytest.approx(-0.8321811, abs=1e-7)
    assert compute_effect_size(SLEEP_1, SLEEP_2, range(10)).value == pytest.approx(+0.8321811, abs=1e-7)


def test_flat_interval_has_the_half_width_that_the_paper_prints_for_d_of_040_and_600_pairs():
    random = np.random.default_rng(3)
    x, y = random.normal(size=(2, 600))
    x = (x - x.mean()) / x.std(ddof=1)
    y -= y.mean() + x * (x @ y) / (x @ x)
    y /= y.std(ddof=1)
    found = compute_effect_size(x, -0.40 + 0.8276 * x + math.sqrt(1 - 0.8276**2) * y, np.repeat(np.arange(300), 2))
    assert found.value == pytest.approx(-0.40)
    assert found.flat_high - found.value == pytest.approx(0.047, abs=0.0001)
    assert found.value - found.flat_low == pytest.approx(0.047, abs=0.0001)


def test_holm_adjusts_the_textbook_p_values():
    # The example of Wikipedia's article on the method: at 0.05 the first and the last are rejected, the others not.
    assert adjust_by_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            adjust_by_holm([wrong])


def test_standard_error_is_that_of_brute_force_resampling_of_papers():
    random = np.random.default_rng(8)
    before, after, names = pairs(random, 150, -0.4)
    found = compute_effect_size(before, after, names)
    drawn = []
    for _ in range(3000):
        chosen = random.integers(150, size=150)
        rows = np.concatenate([2 * chosen, 2 * chosen + 1])
        b, a = before[rows], after[rows]
        drawn.append((a.mean() - b.mean()) / math.sqrt((b.var(ddof=1) + a.var(ddof=1)) / 2))
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * np.std(drawn), rel=0.06)
    assert found.method == "studentised bootstrap"


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(-1, 1), st.floats(0.01, 1000), st.floats(-1e3, 1e3))
def test_effect_does_not_change_with_the_scale_and_turns_its_sign_with_the_order(seed, shift, scale, start):
    before, after, names = pairs(np.random.default_rng(seed), 12, shift)
    one = compute_effect_size(before, after, names, resamples=500)
    two = compute_effect_size(start + scale * before, start + scale * after, names, resamples=500)
    back = compute_effect_size(after, before, names, resamples=500)
    assert (two.value, two.low, two.high) == pytest.approx((one.value, one.low, one.high), rel=1e-6, abs=1e-8)
    assert (back.value, back.low, back.high) == pytest.approx((-one.value, -one.high, -one.low), rel=1e-6, abs=1e-8)
    assert one.low <= one.value <= one.high and one.flat_low <= one.value <= one.flat_high


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(-0.6, 0.6))
def test_p_is_below_5_percent_exactly_where_the_95_percent_interval_leaves_zero_out(seed, shift):
    before, after, names = pairs(np.random.default_rng(seed), 20, shift)
    found = compute_effect_size(before, after, names, resamples=999)
    if abs(found.p - 0.05) > 0.005:
        assert (found.p < 0.05) == (found.low > 0 or found.high < 0)
    if abs(found.flat_p - 0.05) > 1e-9:
        assert (found.flat_p < 0.05) == (found.flat_low > 0 or found.flat_high < 0)


def test_copies_of_a_papers_pairs_are_no_evidence_and_the_seed_alone_decides_the_numbers():
    before, after, names = pairs(np.random.default_rng(2), 40, -0.3)
    once, twice = (
        compute_effect_size(before, after, names),
        compute_effect_size([*before, *before], [*after, *after], [*names, *names]),
    )
    assert twice.high - twice.low == pytest.approx(once.high - once.low, rel=0.02)
    assert twice.flat_high - twice.flat_low < 0.75 * (once.flat_high - once.flat_low)
    before, after, names = pairs(np.random.default_rng(4), 30, -0.2)
    one, again, other = (compute_effect_size(np.exp(before), np.exp(after), names, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other and (one.low, one.high) == pytest.approx((other.low, other.high), abs=0.03)


def test_interval_by_paper_is_nowhere_narrower_than_students_and_reaches_further_where_tails_are_heavy():
    """Scores whose tails pull d: the quantiles of t* lie beyond Student's on one side at least."""
    before, after, names = pairs(np.random.default_rng(4), 30, -0.2)
    found = compute_effect_size(np.exp(before), np.exp(after), names)
    # The quantiles of a single resample lie on one side of d: the other, the shorter, is Student's.
    one = compute_effect_size(np.exp(before), np.exp(after), names, resamples=1)
    half = min(one.value - one.low, one.high - one.value)
    assert min(found.value - found.low, found.high - found.value) >= half - 1e-9
    assert max(found.value - found.low, found.high - found.value) > 1.05 * half


def test_order_of_the_pairs_does_not_matter_beyond_the_drawing():
    before, after, names = pairs(np.random.default_rng(6), 60, -0.2)
    mixed = np.random.default_rng(0).permutation(120)
    one, two = compute_effect_size(before, after, names), compute_effect_size(before[mixed], after[mixed], names[mixed])
    assert (two.value, two.flat_low) == pytest.approx((one.value, one.flat_low))
    assert (two.low, two.high) == pytest.approx((one.low, one.high), abs=0.015)


def test_a_change_of_no_score_is_an_effect_of_exactly_zero_and_of_one_paper_among_many_gets_students_interval():
    found = compute_effect_size([1.0, 2.0, 3.0, 5.0], [1.0, 2.0, 3.0, 5.0], "aabb")
    assert (found.value, found.low, found.high, found.p, found.method) == (0, 0, 0, 1, "no change")
    before = np.random.default_rng(1).normal(size=200)
    after = before.copy()
    after[0] += 0.5
    found = compute_effect_size(before, after, np.repeat(np.arange(100), 2))
    assert found.method == "Student"
    assert found.low < 0 < found.value < found.high < 0.02


def test_where_no_review_changed_its_length_the_effect_at_equal_length_is_the_plain_one():
    before, after, names = pairs(np.random.default_rng(6), 200, -2.0)
    slope = Slope(0.7, dict.fromkeys(range(200), 0.0))
    found, plain = (
        effect_at_length(before, after, np.zeros(400), names, slope),
        compute_effect_size(before, after, names),
    )
    assert found.value == pytest.approx(plain.value)
    assert found.high - found.low == pytest.approx(plain.high - plain.low, rel=0.1)


def test_a_tiny_effect_keeps_its_digits():
    random = np.random.default_rng(9)
    before = 1e6 + 1e4 * random.normal(size=100)
    change = 1e-3 * random.normal(1, 1, size=100)
    found = compute_effect_size(before, before + change, range(100))
    exact = scipy_stats.ttest_rel(before + change, before)
    assert found.value == pytest.approx(((before + change) - before).mean() / before.std(ddof=1), rel=1e-6)
    assert found.low > 0 and exact.pvalue < 1e-6


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_raises_every_p_keeps_their_order_and_stays_below_bonferroni(p_values):
    adjusted = adjust_by_holm(p_values)
    assert all(p <= q <= min(1.0, p * len(p_values)) for p, q in zip(p_values, adjusted, strict=True))
    ranked = [adjusted[place] for place in sorted(range(len(p_values)), key=p_values.__getitem__)]
    assert ranked == sorted(ranked)


def test_resamples_sum_to_the_number_of_groups_and_do_not_depend_on_the_block():
    (block,) = draw_bootstrap_counts(50, 400, 3)
    assert block.shape == (400, 50) and (block.sum(axis=1) == 50).all()
    assert block.var() == pytest.approx(1 - 1 / 50, abs=0.03)
    large = list(draw_bootstrap_counts(1 << 20, 5, 3))
    assert [len(part) for part in large] == [2, 2, 1] and all((part.sum(axis=1) == 1 << 20).all() for part in large)
    assert not (large[0] == large[1]).all()


@pytest.mark.parametrize(
    ("before", "after", "papers", "says"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], "ab", "2 scores before but 3 after"),
        ([1.0, 2.0, 3.0], [2.0, 1.0, 0.0], "aaa", "at least two papers"),
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], "abc", "do not vary"),
        ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], "abc", "do not vary"),
        ([0.1, 0.1, 0.1 + 1e-17], [0.1, 0.1, 0.1], "abc", "do not vary"),
        ([1.0, math.nan, 3.0], [1.0, 2.0, 3.0], "abc", "not finite"),
        ([1.0, 2.0, 3.0], [1.0, math.inf, 3.0], "abc", "not finite"),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 2.0], "ab", "3 values but 2 groups"),
        ([1.0], [2.0], "a", "at least 2"),
        ([0.0, 1.0, 0.0, 1.0], [1.0, 2.0, 1.0, 2.0], "aabb", "every paper has the same effect"),
    ],
)
def test_scores_that_allow_no_effect_are_an_error_that_says_why(before, after, papers, says):
    with pytest.raises(ValueError, match=says):
        compute_effect_size(before, after, papers)


def cell(value: float, low: float, high: float) -> Effect:
    """The effect that a printed cell states; its p is the normal one of the printed interval."""
    p = 2 * scipy_stats.norm.sf(abs(value) / ((high - low) / (2 * 1.959964)))
    return Effect(value, low, high, p, low, high, p, 300, 600, "Student")


def printed(*tables: int) -> dict[tuple[int, str], list[Effect]]:
    """(table, metric) → the cells of its row, as printed. Tables 13 and 14 repeat rows of 3 and 4: these are left out."""
    found: dict[tuple[int, str], list[Effect]] = {}
    for table in tables:
        for figure in load(f"table{table}"):
            if table < 13 or "finetune" in figure.metric:
                found.setdefault((table, figure.metric), []).append(cell(figure.value, figure.low, figure.high))
    return found


FALLS, RISES = printed(3, 8, 11, 13), printed(4, 9, 12, 14)


def metrics_that_pass(found: dict[tuple[int, str], list[Effect]], table: int, kind: str) -> set[str]:
    return {
        metric
        for (number, metric), effects in found.items()
        if number == table and combine_verdicts(decide_by_published_rule(kind, effect) for effect in effects) == "pass"
    }


def test_papers_rule_on_the_papers_cells_says_what_the_paper_says():
    # §4.2: "GEM and GEM-S are only two metrics that consistently have significant negative SMD on all three".
    assert metrics_that_pass(FALLS, 3, "degradation") == {"gem", "gem_s_abstract"}
    # A.3: "also shows significant sensitivity to all degradations".
    assert metrics_that_pass(FALLS, 8, "degradation") == {"gem", "gem_s_abstract"}
    # A.4: "GEM and GEM-S consistently exhibit significant SMD across all three"; so do three others.
    others = {"bleu", "bartscore_recall", "lm_examiner"}
    assert metrics_that_pass(FALLS, 11, "degradation") == {"gem", "gem_s_categories", *others}
    # §4.3: "LMExaminer has significant score increases after all three manipulations"; "GEM and GEM-S exhibit no".
    assert [decide_by_published_rule("manipulation", effect) for effect in RISES[4, "lm_examiner"]] == ["fail"] * 3
    assert metrics_that_pass(RISES, 4, "manipulation") == {"bleu", "gem", "gem_s_abstract"}
    # A.3: "robust against GPT4 rephrase but fails in the Llama-3.1 rephrase and Meaningless Elongation".
    for metric in ("gem", "gem_s_abstract"):
        assert [decide_by_published_rule("manipulation", effect) for effect in RISES[9, metric]] == [
            "pass",
            "fail",
            "fail",
        ]
    # A.4: "GEM metrics remain robust against both"; "LMExaminer shows a significant increase".
    assert {"gem", "gem_s_categories"} <= metrics_that_pass(RISES, 12, "manipulation")
    assert [decide_by_published_rule("manipulation", effect) for effect in RISES[12, "lm_examiner"]] == ["fail"] * 2
    assert metrics_that_pass(RISES, 14, "manipulation") == {"gem_finetune", "gem_s_abstract_finetune"}
    # Table 13: the fine-tuned GEM fails the abstract-only review.
    assert [decide_by_published_rule("degradation", effect) for effect in FALLS[13, "gem_finetune"]] == [
        "pass",
        "pass",
        "fail",
    ]


def test_our_degradation_rule_agrees_with_the_papers_on_every_printed_cell():
    for name, effects in FALLS.items():
        adjusted = adjust_by_holm([effect.p for effect in effects])
        ours = [degradation_verdict(effect, p) for effect, p in zip(effects, adjusted, strict=True)]
        assert ours == [decide_by_published_rule("degradation", effect) for effect in effects], name


def test_our_manipulation_rule_differs_from_the_papers_on_these_printed_cells_only():
    differs: dict[tuple[str, str], set] = {}
    for (table, metric), effects in RISES.items():
        for place, found in enumerate(effects):
            ours, theirs = manipulation_verdict(found), decide_by_published_rule("manipulation", found)
            if ours != theirs:
                differs.setdefault((ours, theirs), set()).add((table, metric, place))
    assert differs == {
        # A significant rise below the margin.
        ("pass", "fail"): {
            (4, "rouge_l", 0), (4, "bertscore", 1), (4, "bertscore", 2), (4, "bartscore_recall", 2), (4, "gem_raw", 2),
        },
        # A significant rise that may or may not reach the margin.
        ("undecided", "fail"): {
            (4, "rouge_l", 1), (4, "lm_examiner", 1), (4, "lm_examiner", 2), (9, "gem", 1), (9, "gem", 2),
            (9, "gem_s_abstract", 2), (12, "bleu", 0), (12, "rouge_l", 1),
        },
        # No significant rise, and none excluded.
        ("undecided", "pass"): {(12, "bleu", 1)},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("found", "tests", "verdict"),
    [
        (cell(-0.30, -0.40, -0.20), 1, "pass"),
        (cell(-0.10, -0.25, 0.05), 1, "undecided"),
        (cell(-0.05, -0.15, 0.05), 1, "fail"),
        (cell(0.30, 0.20, 0.40), 1, "fail"),
        (cell(0.30, -0.40, 1.00), 1, "undecided"),
        (cell(-0.15, -0.29, -0.01), 1, "pass"),
        (cell(-0.15, -0.29, -0.01), 3, "undecided"),  # by Holm's correction
    ],
)
def test_a_degradation_passes_fails_or_stays_open(found, tests, verdict):
    assert degradation_verdict(found, min(1.0, tests * found.p)) == verdict


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
    found = combine_verdicts(verdicts)
    assert (found == "fail") == ("fail" in verdicts)
    assert (found == "pass") == (set(verdicts) == {"pass"})
    with pytest.raises(ValueError, match="no change was tried"):
        combine_verdicts([])

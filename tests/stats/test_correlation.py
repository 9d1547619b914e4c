"""Correlations with grades, and symmetry: published examples, SciPy, resamples written out, an exact distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gre_bench.stats.association import build_association, build_association_within_groups
from gre_bench.stats.correlation import (
    ReviewPairLogprobs,
    compare_correlations,
    correlate,
    correlate_within_groups,
    measure_symmetry,
    partial_correlation,
)

SCIPY = {"pearson": scipy_stats.pearsonr, "spearman": scipy_stats.spearmanr, "kendall": scipy_stats.kendalltau}
KINDS = list(SCIPY)

# Spearman's and Kendall's textbook example: IQ and hours of television of ten people (rho = -29/165 = -0.1757575...).
IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
HOURS = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]


def graded(random: np.random.Generator, groups: int, size: int, rho: float):
    """Scores and grades A, B, C of siblings that share a group effect, the correlation of the latent values *rho*."""
    names = np.repeat(np.arange(groups), size)
    q, e = (0.6 * random.normal(size=groups)[names] + 0.8 * random.normal(size=groups * size) for _ in range(2))
    return rho * q + math.sqrt(1 - rho**2) * e, np.digitize(q, [-0.6, 0.7]).astype(float), names


def test_spearman_of_the_textbook_example_is_minus_29_over_165():
    found = correlate("spearman", IQ, HOURS, range(10), resamples=500)
    assert found.value == pytest.approx(-29 / 165)
    assert found.flat_p == pytest.approx(0.627, abs=0.0005)


def test_p_values_that_the_paper_prints_are_the_flat_ones_of_about_165_reviews():
    """Table 1 of seed 004: "about 180 peer evaluations"; rho = 0.431 has p = 7.5e-9, rho = -0.511 has p = 2.3e-12."""
    for rho, printed in ((0.431, 7.5e-9), (-0.511, 2.3e-12)):
        p = 2 * scipy_stats.t.sf(abs(rho) * math.sqrt(163 / (1 - rho**2)), 163)
        assert float(f"{p:.1e}") == printed


@pytest.mark.parametrize("kind", KINDS)
def test_all_resamples_at_once_equal_resamples_written_out(kind):
    random = np.random.default_rng(1)
    x = np.round(random.normal(size=60), 1)
    y = np.round(x + random.normal(size=60))
    groups = random.permutation(np.arange(60) % 13)
    counts = random.multinomial(13, np.full(13, 1 / 13), size=60).astype(float)
    found = build_association(kind, x, y, groups, 13)(counts)
    for row, value in zip(counts, found, strict=True):
        drawn = np.repeat(np.arange(60), row[groups].astype(int))
        assert value == pytest.approx(SCIPY[kind](x[drawn], y[drawn])[0], abs=1e-12)


@settings(max_examples=60)
@given(st.sampled_from(KINDS), st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=15))
def test_values_equal_scipys_with_ties(kind, pairs):
    x, y = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    if x.min() == x.max() or y.min() == y.max():
        with pytest.raises(ValueError, match="do not vary"):
            correlate(kind, x, y, range(len(x)), resamples=10)
        return
    (value,) = build_association(kind, x, y, np.arange(len(x)), len(x))(np.ones((1, len(x))))
    assert value == pytest.approx(SCIPY[kind](x, y)[0], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_interval_of_independent_items_is_near_fishers(kind):
    random = np.random.default_rng(2)
    x = random.normal(size=400)
    y = 0.5 * x + math.sqrt(0.75) * random.normal(size=400)
    found = correlate(kind, x, y, range(400), resamples=2000)
    # Fieller, Hartley and Pearson (1957): variance of z of 1, 1.06 and 0.437 over n - 3 (n - 4 for Kendall).
    se = math.sqrt({"pearson": 1.0, "spearman": 1.06, "kendall": 0.437}[kind] / 397)
    z = math.atanh(found.value)
    assert (math.atanh(found.high) - z) == pytest.approx(1.966 * se, rel=0.12)
    assert (z - math.atanh(found.low)) == pytest.approx(1.966 * se, rel=0.12)
    assert found.p < 1e-6 and found.flat_p < 1e-6


def test_copies_of_a_groups_items_are_no_evidence():
    x, y, names = graded(np.random.default_rng(3), 40, 3, 0.5)
    once = correlate("spearman", x, y, names, resamples=2000)
    twice = correlate("spearman", [*x, *x], [*y, *y], [*names, *names], resamples=2000)
    assert twice.high - twice.low == pytest.approx(once.high - once.low, rel=0.02)
    assert twice.flat_p < once.flat_p


@pytest.mark.parametrize("kind", KINDS)
def test_what_groups_differ_in_does_not_count_within_them(kind):
    """Harder sources lower score and grade alike; among the siblings of a source the score says nothing."""
    random = np.random.default_rng(4)
    names = np.repeat(np.arange(80), 4)
    hard = 3 * random.normal(size=80)[names]
    x, y = hard + random.normal(size=320), np.round(hard + random.normal(size=320))
    assert correlate(kind, x, y, names, resamples=500).low > 0.5
    inside = correlate_within_groups(kind, x, y, names, resamples=500)
    assert inside.low < 0 < inside.high and abs(inside.value) < 0.15 and inside.flat_p is None


@pytest.mark.parametrize("kind", KINDS)
def test_within_one_group_it_is_the_plain_correlation(kind):
    x, y = np.array([1.0, 4, 2, 2, 9, 5]), np.array([1.0, 3, 2, 1, 5, 5])
    (value,) = build_association_within_groups(kind, x, y, np.zeros(6, dtype=int), 1)(np.ones((1, 1)))
    assert value == pytest.approx(SCIPY[kind](x, y)[0])


def test_within_groups_of_two_kendall_is_agreements_less_disagreements():
    x, y = [1, 2, 1, 2, 1, 2, 5, 6], [1, 2, 1, 2, 2, 1, 7, 7]
    found = correlate_within_groups("kendall", x, y, "aabbccdd", resamples=200)
    assert found.value == pytest.approx((2 - 1) / 3) and (found.items, found.groups) == (6, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_that_is_length_in_disguise_has_no_partial_correlation(kind):
    random = np.random.default_rng(6)
    log_length = random.normal(5, 0.5, size=500)
    grade = np.round(log_length + 0.4 * random.normal(size=500), 1)
    score = 3 * log_length + 0.8 * random.normal(size=500)
    assert correlate(kind, score, grade, range(500), resamples=500).low > 0.4
    found = partial_correlation(kind, score, grade, log_length, range(500), resamples=500)
    # Kendall's partial tau is not zero at conditional independence, only near it.
    assert abs(found.value) < (0.2 if kind == "kendall" else 0.1)


def test_partial_pearson_is_the_correlation_of_residuals():
    random = np.random.default_rng(7)
    z, x, y = random.normal(size=(3, 100))
    x, y = x + z, y + 0.5 * x - z
    ones = np.stack([np.ones(100), z], axis=1)
    left = [v - ones @ np.linalg.lstsq(ones, v, rcond=None)[0] for v in (x, y)]
    found = partial_correlation("pearson", x, y, z, range(100), resamples=100)
    assert found.value == pytest.approx(np.corrcoef(*left)[0, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_scores_the_closer_one_is_found(kind):
    random = np.random.default_rng(8)
    x, grades, names = graded(random, 100, 3, 0.8)
    far = x + 1.5 * random.normal(size=300)
    found = compare_correlations(kind, x, far, grades, names, resamples=1000)
    assert found.low > 0 and found.p < 0.01
    assert (found.first, found.second) == pytest.approx((SCIPY[kind](x, grades)[0], SCIPY[kind](far, grades)[0]))
    back = compare_correlations(kind, far, x, grades, names, resamples=1000)
    assert (back.difference, back.low, back.high) == pytest.approx((-found.difference, -found.high, -found.low))


def williams(r1: float, r2: float, between: float, n: int) -> float:
    """Williams' t (1959; Steiger 1980, eq. 7) of two correlations with a variable in common, *between* each other."""
    determinant, mean = 1 - r1**2 - r2**2 - between**2 + 2 * r1 * r2 * between, (r1 + r2) / 2
    left = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - between) ** 3
    return (r1 - r2) * math.sqrt((n - 1) * (1 + between) / left)


def test_group_p_agrees_with_that_of_williams_on_independent_normal_items():
    # Silver, Hittner and May (2006): r = .3 and .4, .5 between them, n = 100; t(97) = -1.0767.
    assert williams(0.3, 0.4, 0.5, 100) == pytest.approx(-1.0767, abs=5e-5)
    for seed in range(9, 14):
        z, e, f = np.random.default_rng(seed).normal(size=(3, 400))
        x, y = z + e, z + 1.06 * f
        found = compare_correlations("pearson", x, y, z, range(400), resamples=2000)
        t = williams(found.first, found.second, np.corrcoef(x, y)[0, 1], 400)
        assert scipy_stats.norm.isf(found.p / 2) == pytest.approx(abs(t), abs=0.2)


def test_a_score_against_itself_differs_by_nothing_and_a_perfect_one_has_correlation_one():
    x, grades, names = graded(np.random.default_rng(10), 20, 3, 0.5)
    found = compare_correlations("spearman", x, x, grades, names, resamples=100)
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)
    found = correlate("kendall", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], "aabbcc", resamples=300)
    assert (found.value, found.high) == (1.0, 1.0) and found.p < 0.05


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: correlate("spearman", [1, 2, 3, 4], [1, 2, 3], "abc"), "4 scores but 3 grades"),
        (lambda: correlate("spearman", [1, 2, 3], [1, 2, math.nan], "abc"), "not finite"),
        (lambda: correlate("spearman", [1, 2, 3], [2, 2, 2], "abc"), "do not vary"),
        (lambda: correlate("spearman", [1, 2, 3], [1, 2, 3], "aaa"), "at least two groups"),
        (lambda: correlate("pearson", [1, 2], [1, 2], "ab"), "at least 3"),
        (lambda: correlate_within_groups("kendall", [1, 2, 3], [1, 2, 3], "abc"), "two groups whose scores"),
        (
            lambda: partial_correlation("pearson", [1, 2, 3, 5], [1, 2, 4, 3], [1, 2, 3, 5], "abcd"),
            "not with length held fixed",
        ),
        (lambda: compare_correlations("pearson", [1, 2, 3], [1, 3, 2], [2, 1, 3], "abc"), "at least four"),
    ],
)
def test_what_allows_no_correlation_is_an_error_that_says_why(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def pairs_of(random: np.random.Generator, papers: int, error: float) -> list[ReviewPairLogprobs]:
    """Pairs of an exact joint distribution of two symbols, the conditionals then off by *error* nats."""
    joint = random.dirichlet(np.full(400, 0.3)).reshape(20, 20)
    one, other = joint.sum(axis=1), joint.sum(axis=0)
    found = []
    for paper in range(papers):
        for pair in range(3):
            x, y = divmod(int(random.choice(400, p=joint.ravel())), 20)
            slip = error * random.normal(size=2)
            given_x, given_y = np.log(joint[x, y] / one[x]) + slip[0], np.log(joint[x, y] / other[y]) + slip[1]
            alone = np.log(one[x]), np.log(other[y])
            found.append(
                ReviewPairLogprobs(f"p{paper}", f"x{pair}", f"y{pair}", *map(float, (*alone, given_x, given_y)))
            )
    return found


def test_an_exact_joint_distribution_is_symmetric_its_printed_products_are_not_and_a_worse_lm_is_less_so():
    found = measure_symmetry(pairs_of(np.random.default_rng(1), 60, 0.0), resamples=50)
    assert found.joint.value == pytest.approx(1.0)
    assert found.printed.value < 0.8
    assert (found.joint.items, found.joint.groups) == (180, 60)
    values = [
        measure_symmetry(pairs_of(np.random.default_rng(3), 60, e), resamples=50).joint.value for e in (0.2, 1.0, 3.0)
    ]
    assert values == sorted(values, reverse=True) and values[0] > 0.9 > values[2]


def test_both_quantities_are_scipys_spearman_of_their_sums():
    pairs = pairs_of(np.random.default_rng(2), 20, 1.0)
    found = measure_symmetry(pairs, resamples=300)
    x, y, given_x, given_y = np.array([[p.log_x, p.log_y, p.log_y_given_x, p.log_x_given_y] for p in pairs]).T
    assert found.joint.value == pytest.approx(scipy_stats.spearmanr(given_y + y, given_x + x)[0])
    assert found.printed.value == pytest.approx(scipy_stats.spearmanr(x + given_y, y + given_x)[0])
    assert found.joint.low < found.joint.value < found.joint.high


def test_over_ordered_pairs_it_does_not_matter_which_review_is_called_x():
    pairs = pairs_of(np.random.default_rng(5), 20, 1.0)
    turned = [
        ReviewPairLogprobs(p.paper, p.y, p.x, p.log_y, p.log_x, p.log_x_given_y, p.log_y_given_x) if place % 2 else p
        for place, p in enumerate(pairs)
    ]
    one, other = measure_symmetry(pairs, resamples=50), measure_symmetry(turned, resamples=50)
    assert one.printed.value != pytest.approx(other.printed.value)
    for name in ("joint_ordered", "printed_ordered"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value)
        assert (getattr(one, name).items, getattr(one, name).groups) == (120, 20)
    x, y, given_x, given_y = np.array([[p.log_x, p.log_y, p.log_y_given_x, p.log_x_given_y] for p in pairs]).T
    left, right = np.concatenate([x + given_y, y + given_x]), np.concatenate([y + given_x, x + given_y])
    assert one.printed_ordered.value == pytest.approx(scipy_stats.spearmanr(left, right)[0])

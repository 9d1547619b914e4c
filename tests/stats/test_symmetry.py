"""Symmetry: an exact joint distribution first, then what tells the two quantities apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from gre_bench.stats.correlation import PairLogprobs, symmetry


def pairs_of(random: np.random.Generator, papers: int, error: float) -> list[PairLogprobs]:
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
            found.append(PairLogprobs(f"p{paper}", f"x{pair}", f"y{pair}", *map(float, (*alone, given_x, given_y))))
    return found


def test_an_exact_joint_distribution_is_symmetric_and_its_printed_products_are_not():
    found = symmetry(pairs_of(np.random.default_rng(1), 60, 0.0), resamples=300)
    assert found.joint.value == pytest.approx(1.0)
    assert found.printed.value < 0.8
    assert (found.joint.items, found.joint.groups) == (180, 60)


def test_both_quantities_are_scipys_spearman_of_their_sums():
    pairs = pairs_of(np.random.default_rng(2), 20, 1.0)
    found = symmetry(pairs, resamples=300)
    x, y, given_x, given_y = np.array([[p.log_x, p.log_y, p.log_y_given_x, p.log_x_given_y] for p in pairs]).T
    assert found.joint.value == pytest.approx(scipy_stats.spearmanr(given_y + y, given_x + x)[0])
    assert found.printed.value == pytest.approx(scipy_stats.spearmanr(x + given_y, y + given_x)[0])
    assert found.joint.low < found.joint.value < found.joint.high


def test_over_ordered_pairs_it_does_not_matter_which_review_is_called_x():
    pairs = pairs_of(np.random.default_rng(5), 20, 1.0)
    turned = [
        PairLogprobs(p.paper, p.y, p.x, p.log_y, p.log_x, p.log_x_given_y, p.log_y_given_x) if place % 2 else p
        for place, p in enumerate(pairs)
    ]
    one, other = symmetry(pairs, resamples=50), symmetry(turned, resamples=50)
    assert one.printed.value != pytest.approx(other.printed.value)
    for name in ("joint_ordered", "printed_ordered"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value)
        assert (getattr(one, name).items, getattr(one, name).groups) == (120, 20)
    x, y, given_x, given_y = np.array([[p.log_x, p.log_y, p.log_y_given_x, p.log_x_given_y] for p in pairs]).T
    left, right = np.concatenate([x + given_y, y + given_x]), np.concatenate([y + given_x, x + given_y])
    assert one.printed_ordered.value == pytest.approx(scipy_stats.spearmanr(left, right)[0])


def test_a_worse_lm_is_less_symmetric():
    values = [symmetry(pairs_of(np.random.default_rng(3), 60, e), resamples=50).joint.value for e in (0.2, 1.0, 3.0)]
    assert values == sorted(values, reverse=True) and values[0] > 0.9 > values[2]

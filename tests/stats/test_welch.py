"""The change of a mean between two sets of papers: against SciPy first."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gre_bench.stats.intervals import Moment, change


def moment(values) -> Moment:
    return Moment(float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values)), len(values))


@pytest.mark.parametrize(("sizes", "spread"), [((30, 30), (1, 1)), ((5, 80), (3, 0.2)), ((2, 3), (1, 1))])
def test_it_is_welchs_test(sizes, spread):
    random = np.random.default_rng(0)
    one, other = (random.normal(k, spread[k], sizes[k]) for k in (0, 1))
    expected = stats.ttest_ind(other, one, equal_var=False)
    low, high = expected.confidence_interval(0.90)
    found = change(moment(one), moment(other))
    assert (found.value, found.low, found.high, found.p) == pytest.approx(
        (other.mean() - one.mean(), low, high, expected.pvalue)
    )


@pytest.mark.parametrize(
    ("sides", "message"),
    [((Moment(0, 1, 1), Moment(0, 1, 9)), "two papers"), ((Moment(0, 0, 9), Moment(1, 0, 9)), "neither side varies")],
)
def test_what_says_nothing_is_refused(sides, message):
    with pytest.raises(ValueError, match=message):
        change(*sides)

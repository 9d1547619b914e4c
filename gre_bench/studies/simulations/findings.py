"""Summarises many simulations as rows of results.

The rows show the coverage of intervals, the order of garbled candidates, and the tests against chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from gre_bench.studies.simulations.chance import ALPHA, AgainstChance
from gre_bench.studies.simulations.trial import BLUR, LEVEL, Covered, Ordered, Trial

TOLERANCE = 0.02
"""Allowed difference between an interval's coverage, or a test's power, and the nominal one."""

LEVEL_TOLERANCE = 0.01
"""Allowed difference between a test's level and the nominal one."""

Row = dict[str, Any]


def exactness(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric: the mean true information, and the largest error of the exact LM's expected score.

    Both are in nats. *holds*: whether all errors are within rounding.
    """
    trials = list(trials)
    truths = {"gem": lambda trial: trial.information, "gem_s_abstract": lambda trial: trial.conditional}
    return [
        {
            "metric": metric,
            "simulations": len(trials),
            "mean_information": math.fsum(map(truth, trials)) / len(trials),
            "largest_error": max(trial.errors[metric] for trial in trials),
            "holds": all(trial.errors[metric] <= BLUR for trial in trials),
        }
        for metric, truth in truths.items()
    ]


def coverage(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric, quantity and kind of interval: how often the interval contains the true value.

    *verdict*: ``inside`` if this share is within 2 percentage points of the nominal level. If the share is further off
    by more than two standard errors, the verdict is ``outside``. Otherwise it is ``unsure``.
    """
    groups: dict[tuple[str, str, str], list[Covered]] = {}
    for trial in trials:
        for interval_held in trial.covered:
            groups.setdefault((interval_held.metric, interval_held.quantity, interval_held.interval), []).append(
                interval_held
            )
    rows = []
    for (metric, quantity, interval), members in groups.items():
        share = sum(interval_held.holds for interval_held in members) / len(members)
        error = math.sqrt(LEVEL * (1 - LEVEL) / len(members))
        away = abs(share - LEVEL)
        verdict = "inside" if away <= TOLERANCE else "outside" if away > TOLERANCE + 2 * error else "unsure"
        rows.append({
            "metric": metric, "quantity": quantity, "interval": interval, "simulations": len(members), "nominal": LEVEL,
            "covered": share, "standard_error": error, "verdict": verdict,
            "mean_width": math.fsum(interval_held.high - interval_held.low for interval_held in members) / len(members),
        })  # fmt: skip
    return rows


def against_chance(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric and candidate: the share of simulations in which the test rejects chance at 5%.

    *expected*: 5% for a candidate who knows nothing, otherwise the mean predicted power. *verdict*: as in `coverage`,
    with other limits. The share may differ by 1 percentage point from the 5%, or by 2 from the power.
    """
    groups: dict[tuple[str, str], list[AgainstChance]] = {}
    for trial in trials:
        for test in trial.chance:
            groups.setdefault((test.metric, test.candidate), []).append(test)
    rows = []
    for (metric, candidate), tests in groups.items():
        share = sum(test.p < ALPHA for test in tests) / len(tests)
        expected = math.fsum(test.power for test in tests) / len(tests)
        error = math.sqrt(expected * (1 - expected) / len(tests))
        away, allowed = abs(share - expected), TOLERANCE if candidate == "knows something" else LEVEL_TOLERANCE
        verdict = "inside" if away <= allowed else "outside" if away > allowed + 2 * error else "unsure"
        rows.append({
            "metric": metric, "candidate": candidate, "simulations": len(tests), "rejected": share,
            "expected": expected, "standard_error": error, "verdict": verdict,
            "mean_effect": math.fsum(test.effect for test in tests) / len(tests),
        })  # fmt: skip
    return rows


def ordering(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric and LM: how often a garbled candidate scores higher than the original candidate.

    - *beyond_allowed*: how often it scores higher by more than Prop. 3.1 of Xu et al. 2025 allows. The allowed excess
      is 0 for the exact LM, otherwise max KL(truth ‖ LM).
    - *beyond_printed*: how often it scores higher by more than max KL(LM ‖ truth), the excess that the proposition
      prints.
    """
    groups: dict[tuple[str, str], list[Ordered]] = {}
    for trial in trials:
        for order in trial.ordered:
            groups.setdefault((order.metric, order.lm), []).append(order)
    return [
        {
            "metric": metric,
            "lm": lm,
            "simulations": len(orders),
            "garbled_higher": sum(order.excess > BLUR for order in orders),
            "largest_excess": max(order.excess for order in orders),
            "mean_epsilon": math.fsum(order.allowed for order in orders) / len(orders),
            "beyond_allowed": sum(not order.holds for order in orders),
            "beyond_printed": sum(order.excess > order.printed_epsilon + BLUR for order in orders),
            "holds": all(order.holds for order in orders),
        }
        for (metric, lm), orders in groups.items()
    ]

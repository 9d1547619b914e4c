"""What many worlds show together: coverage of intervals, order of garbled candidates. Rows for tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from gre_bench.studies.simulations.chance import ALPHA, AgainstChance
from gre_bench.studies.simulations.trial import BLUR, LEVEL, Covered, Ordered, Trial

TOLERANCE = 0.02
"""How far coverage may be from nominal."""

LEVEL_TOLERANCE = 0.01
"""How far the level of a test may be from nominal."""

Row = dict[str, Any]


def exactness(trials: Iterable[Trial]) -> list[Row]:
    """By metric: mean true information in nats, and the largest error of the exact LM's expected score."""
    trials = list(trials)
    truths = {"gem": lambda trial: trial.information, "gem_s_abstract": lambda trial: trial.conditional}
    return [
        {
            "metric": metric,
            "worlds": len(trials),
            "mean_information": math.fsum(map(truth, trials)) / len(trials),
            "largest_error": max(trial.errors[metric] for trial in trials),
            "holds": all(trial.errors[metric] <= BLUR for trial in trials),
        }
        for metric, truth in truths.items()
    ]


def coverage(trials: Iterable[Trial]) -> list[Row]:
    """By metric, quantity and interval: the share of worlds whose interval holds the truth.

    *verdict*: ``inside`` nominal ± 2 points, ``outside`` by more than two standard errors beyond, else ``unsure``.
    """
    groups: dict[tuple[str, str, str], list[Covered]] = {}
    for trial in trials:
        for one in trial.covered:
            groups.setdefault((one.metric, one.quantity, one.interval), []).append(one)
    rows = []
    for (metric, quantity, interval), found in groups.items():
        share = sum(one.holds for one in found) / len(found)
        error = math.sqrt(LEVEL * (1 - LEVEL) / len(found))
        away = abs(share - LEVEL)
        verdict = "inside" if away <= TOLERANCE else "outside" if away > TOLERANCE + 2 * error else "unsure"
        rows.append({
            "metric": metric, "quantity": quantity, "interval": interval, "worlds": len(found), "nominal": LEVEL,
            "covered": share, "standard_error": error, "verdict": verdict,
            "mean_width": math.fsum(one.high - one.low for one in found) / len(found),
        })  # fmt: skip
    return rows


def against_chance(trials: Iterable[Trial]) -> list[Row]:
    """By metric and candidate: the share of worlds in which the candidate is called above or below chance at 5%.

    *expected*: 5% of a candidate who knows nothing, else the mean predicted power. *verdict*: as of `coverage`, within
    a point of the level and two points of the power.
    """
    groups: dict[tuple[str, str], list[AgainstChance]] = {}
    for trial in trials:
        for one in trial.chance:
            groups.setdefault((one.metric, one.candidate), []).append(one)
    rows = []
    for (metric, candidate), found in groups.items():
        share = sum(one.p < ALPHA for one in found) / len(found)
        expected = math.fsum(one.power for one in found) / len(found)
        error = math.sqrt(expected * (1 - expected) / len(found))
        away, allowed = abs(share - expected), TOLERANCE if candidate == "knows something" else LEVEL_TOLERANCE
        verdict = "inside" if away <= allowed else "outside" if away > allowed + 2 * error else "unsure"
        rows.append({
            "metric": metric, "candidate": candidate, "worlds": len(found), "rejected": share,
            "expected": expected, "standard_error": error, "verdict": verdict,
            "mean_effect": math.fsum(one.effect for one in found) / len(found),
        })  # fmt: skip
    return rows


def ordering(trials: Iterable[Trial]) -> list[Row]:
    """By metric and LM: in how many worlds a garbled candidate's expected score exceeds the candidate's.

    *beyond_allowed*: by more than 0 (exact LM) or ε = max KL(truth ‖ LM), which Prop. 3.1 rules out;
    *beyond_printed*: by more than max KL(LM ‖ truth), the ε that the proposition prints.
    """
    groups: dict[tuple[str, str], list[Ordered]] = {}
    for trial in trials:
        for one in trial.ordered:
            groups.setdefault((one.metric, one.lm), []).append(one)
    return [
        {
            "metric": metric,
            "lm": lm,
            "worlds": len(found),
            "garbled_higher": sum(one.excess > BLUR for one in found),
            "largest_excess": max(one.excess for one in found),
            "mean_epsilon": math.fsum(one.allowed for one in found) / len(found),
            "beyond_allowed": sum(not one.holds for one in found),
            "beyond_printed": sum(one.excess > one.printed_epsilon + BLUR for one in found),
            "holds": all(one.holds for one in found),
        }
        for (metric, lm), found in groups.items()
    ]

"""Summarises many simulations as rows of results, and charts the bias of trained evaluation LMs.

The rows show the coverage of intervals, the order of garbled candidates, and the tests against chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import SettingsError
from gre_bench.studies.simulations.trial import ALPHA, BLUR, LEVEL, AgainstChance, Covered, Ordered, Trial

if TYPE_CHECKING:
    import altair


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
        for interval in trial.covered:
            groups.setdefault((interval.metric, interval.quantity, interval.interval), []).append(interval)
    rows = []
    for (metric, quantity, kind), members in groups.items():
        share = sum(member.holds for member in members) / len(members)
        error = math.sqrt(LEVEL * (1 - LEVEL) / len(members))
        rows.append({
            "metric": metric, "quantity": quantity, "interval": kind, "simulations": len(members), "nominal": LEVEL,
            "covered": share, "standard_error": error, "verdict": _verdict(abs(share - LEVEL), TOLERANCE, error),
            "mean_width": math.fsum(member.high - member.low for member in members) / len(members),
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
        allowed = TOLERANCE if candidate == "knows something" else LEVEL_TOLERANCE
        rows.append({
            "metric": metric, "candidate": candidate, "simulations": len(tests), "rejected": share,
            "expected": expected, "standard_error": error, "verdict": _verdict(abs(share - expected), allowed, error),
            "mean_effect": math.fsum(test.effect for test in tests) / len(tests),
        })  # fmt: skip
    return rows


def _verdict(away: float, allowed: float, error: float) -> str:
    return "inside" if away <= allowed else "outside" if away > allowed + 2 * error else "unsure"


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


COLOURS = {"counted": "#31639c", "cache-ngram": "#c2571a"}


def chart(rows: Sequence[dict[str, Any]], titles: dict[str, str]) -> altair.FacetChart:
    """Returns a chart of mean bias (nats) by number of training papers, with a band from the least to the largest bias.

    There is one panel per metric. *rows*: those of `learning_curve`. *titles*: the title of each metric. Raises
    `SettingsError` if the drawing library is not installed.
    """
    try:
        import altair
    except ImportError as error:
        raise SettingsError("altair is not installed: pip install 'gre-bench[plots]'") from error
    values = [{**row, "panel": titles[row["metric"]]} for row in rows]
    shown = [name for name in COLOURS if any(row["lm"] == name for row in rows)]
    x = altair.X(
        "papers:Q",
        title="papers to learn from",
        scale=altair.Scale(type="log"),
        axis=altair.Axis(grid=False, values=[10**power for power in range(1, 6)], format="d"),
    )
    colour = altair.Color(
        "lm:N",
        title=None,
        scale=altair.Scale(domain=shown, range=[COLOURS[name] for name in shown]),
        legend=altair.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1, labelLimit=300),
    )
    base = altair.Chart()
    band = base.mark_area(opacity=0.18).encode(
        x=x, y=altair.Y("least:Q", title="score − information, nats"), y2="largest:Q", color=colour
    )
    line = base.mark_line(strokeWidth=2, point=True).encode(x=x, y="mean:Q", color=colour)
    zero = base.mark_rule(strokeDash=[4, 3], color="#777777").encode(y=altair.datum(0))
    panels = altair.layer(zero, band, line, data=altair.Data(values=values)).properties(width=300, height=260)
    panel = altair.Facet("panel:N", title=None, sort=list(titles.values()))
    whole = panels.facet(column=panel, title=altair.Title("Bias of learnt evaluation LMs", anchor="start"))  # pyright: ignore[reportArgumentType]
    return whole.configure_view(stroke=None).configure_axis(gridColor="#e8e8e8")

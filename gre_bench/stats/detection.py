"""Measures what reviews say about planted flaws: a score with nulls, conformal detection, and the rate of naming flaws.

For a flaw f of a paper, d_f is its description: a judgment that states the flaw. A second flaw g is planted in another
copy of the paper. x_f is a review of the text with f, and x_g a review of the text with g. The information about f in
x_f, compared with x_g, is

    t_f = log P(d_f | x_f) − log P(d_f | x_g)

and the paper's score is ½ (t_f + t_g), in nats. A reviewer that says the same about every text scores zero, whatever it
says. Two nulls compare reviews of texts without f:

    log P(d_f | x_g) − log P(d_f | x_0),  log P(d_f | x_0) − log P(d_f | x_0′)

where x_0 reviews the paper as it is, and x_0′ reviews the paper after a harmless edit. If x_f says nothing about f, t_f
is as large as a null only by chance. Its conformal p-value among n nulls (Vovk et al. 2005) is

    p = (1 + number of nulls ≥ t_f)/(n + 1)

and f is *detected* at level α if p ≤ α. Let raw be the share of flaws that are detected. If the shares of true and of
false detections are known, the share of flaws that a reviewer names is (Rogan & Gladen 1978)

    (raw − false)/(true − false).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.intervals import PairedTest, clustered_test
from gre_bench.stats.samples import Values

ALPHA = 0.05
FEWEST_NULLS = 100
"""With fewer nulls, detection is not computed."""
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class FlawScores:
    """How much five reviews by one reviewer say about one flaw of a paper, in the metric's unit.

    Each value is a review's mean score on the flaw's descriptions, which state the flaw in several wordings.

    - *own*: the review of the text with the flaw. *other*: the review of the text with another flaw.
    - *plain*: the review of the paper as it is. *again*: the review of the paper after a harmless edit.
    - *elsewhere*: the review of another paper into which the same flaw was planted; None if there is no score.
    - *family*: the kind of flaw, such as ``omission``.
    """

    paper: str
    flaw: str
    family: str
    own: float
    other: float
    plain: float
    again: float
    elsewhere: float | None = None

    @property
    def gain(self) -> float:
        return self.own - self.other

    @property
    def nulls(self) -> tuple[float, float]:
        return self.other - self.plain, self.plain - self.again


def conformal_p_values(gains: Values, nulls: Values) -> np.ndarray:
    """Returns the conformal p-value of each of *gains* among *nulls*.

    Args:
        gains: (n,) one number per flaw, such as t_f of the module's docstring.
        nulls: (m,) the nulls, in the same unit.

    Returns:
        (n,) the p-values, each at least 1/(m + 1).
    """
    ordered = np.sort(np.asarray(nulls, dtype=np.float64))
    return (1 + len(ordered) - np.searchsorted(ordered, np.asarray(gains), side="left")) / (len(ordered) + 1)


def compute_detection_rate(scores: Sequence[FlawScores]) -> float | None:
    """Returns the share of flaws that are detected at `ALPHA`.

    Args:
        scores: one entry per flaw. Each also gives two nulls (`FlawScores.nulls`).

    Returns:
        The share, between 0 and 1; None if there are fewer than `FEWEST_NULLS` nulls.
    """
    nulls = [null for item in scores for null in item.nulls]
    if len(nulls) < FEWEST_NULLS:
        return None
    return float((conformal_p_values([item.gain for item in scores], nulls) <= ALPHA + 1e-12).mean())


def corrected_naming_rate(raw: float | None, true: float | None, false: float | None) -> float | None:
    """Returns the share of flaws that a reviewer names, (raw − false)/(true − false), cut to [0, 1].

    Args:
        raw: the share of flaws that are detected; None if unknown.
        true: the share detected among flaws that were certainly named; None if unknown.
        false: the share detected among flaws that were certainly not named; None if unknown.

    Returns:
        The corrected share. None if one of the three shares is unknown, or if *true* exceeds *false* by less than 0.1.
    """
    if raw is None or true is None or false is None or true - false < 0.1:
        return None
    return min(1.0, max(0.0, (raw - false) / (true - false)))


@dataclass(frozen=True, slots=True)
class FlawScoreSummary:
    """A reviewer's score on planted flaws, its nulls, and the score on each kind of flaw; 95% intervals by paper.

    - *other*, *again*: the means of the two nulls. *nulls*: the number of nulls, two per flaw.
    - *specific*: the mean of *own* − *elsewhere* (see `FlawScores`); None if fewer than two papers have both.
    - *families*: kind of flaw → (test, Holm-corrected p). *detected*: the share of flaws detected, if computed.
    """

    score: PairedTest
    other: PairedTest
    again: PairedTest
    specific: PairedTest | None
    families: dict[str, tuple[PairedTest, float]]
    nulls: int
    detected: float | None


def summarise_flaw_scores(scores: Sequence[FlawScores]) -> FlawScoreSummary:
    """Returns a reviewer's score on planted flaws, with its nulls and its score on each kind of flaw.

    Args:
        scores: one entry per flaw, two flaws per paper.

    Returns:
        The results, in the unit of *scores*.

    Raises:
        ValueError: there are fewer than two papers.
    """
    papers = [item.paper for item in scores]

    def test(values: Sequence[float | None]) -> PairedTest | None:
        known = [(value, paper) for value, paper in zip(values, papers, strict=True) if value is not None]
        if len({paper for _, paper in known}) < 2:
            return None
        return clustered_test([value for value, _ in known], [paper for _, paper in known], LEVEL)

    score = test([item.gain for item in scores])
    if score is None:
        raise ValueError("a score on planted flaws needs two papers")
    families: dict[str, PairedTest] = {}
    for name in sorted({item.family for item in scores}):
        if family := test([item.gain if item.family == name else None for item in scores]):
            families[name] = family
    corrected = adjust_by_holm([family.p for family in families.values()]) if families else []
    # For a paper's second flaw, the reviews of the paper as it is and after a harmless edit exchange roles, as the two
    # reviews in the score do.
    first = {item.paper: item.flaw for item in reversed(scores)}
    again = [item.nulls[1] if first[item.paper] == item.flaw else -item.nulls[1] for item in scores]
    other, again = test([item.nulls[0] for item in scores]), test(again)
    assert other and again
    specific = test([None if item.elsewhere is None else item.own - item.elsewhere for item in scores])
    return FlawScoreSummary(
        score, other, again, specific,
        {name: (own, p) for (name, own), p in zip(families.items(), corrected, strict=True)},
        2 * len(scores), compute_detection_rate(scores),
    )  # fmt: skip

"""Does an evaluation LM give a pair of reviews the same probability both ways round? (Xu et al. 2025, A.5)

For the truth P(x)·P(y | x) = P(y)·P(x | y). Two quantities, both of log-probabilities in nats, resampled by paper:

- *joint*: Spearman between log P(x | y) + log P(y) and log P(y | x) + log P(x), the two ways to the same number;
- *printed*: Spearman between log P(x) + log P(x | y) and log P(y) + log P(y | x), the products the paper prints for
  its 0.943 over 5,328 ordered pairs. It asks whether either text is as likely as the other, and not about symmetry.

The paper counts each pair in both orders: *joint_ordered* and *printed_ordered* do so too, and do not depend on which
review of a pair is called x. The first two take each pair once, as it is given. Intervals resample papers either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.stats.correlation import Correlation, correlate


@dataclass(frozen=True, slots=True)
class PairLogprobs:
    """Two reviews of a paper and their summed log-probabilities, each alone and given the other."""

    paper: str
    x: str
    y: str
    log_x: float
    log_y: float
    log_y_given_x: float
    log_x_given_y: float


@dataclass(frozen=True, slots=True)
class Symmetry:
    """Spearman of the two ways to the joint probability, and of the products as printed; each also in both orders."""

    joint: Correlation
    printed: Correlation
    joint_ordered: Correlation
    printed_ordered: Correlation


def symmetry(pairs: Sequence[PairLogprobs], level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> Symmetry:
    """Both quantities over *pairs*. ValueError: a pair that stands twice, in either order, or a review with itself."""
    seen: set[tuple[str, str, str]] = set()
    for pair in pairs:
        key = (pair.paper, min(pair.x, pair.y), max(pair.x, pair.y))
        if pair.x == pair.y or key in seen:
            raise ValueError(f"paper {pair.paper}, reviews {pair.x} and {pair.y}: each pair of two reviews stands once")
        seen.add(key)
    papers = [pair.paper for pair in pairs]

    def spearman(one: list[float], other: list[float], of: list[str]) -> Correlation:
        return correlate("spearman", one, other, of, level, resamples, seed)

    joint = [p.log_x_given_y + p.log_y for p in pairs], [p.log_y_given_x + p.log_x for p in pairs]
    printed = [p.log_x + p.log_x_given_y for p in pairs], [p.log_y + p.log_y_given_x for p in pairs]
    return Symmetry(
        joint=spearman(*joint, papers),
        printed=spearman(*printed, papers),
        joint_ordered=spearman(joint[0] + joint[1], joint[1] + joint[0], papers * 2),
        printed_ordered=spearman(printed[0] + printed[1], printed[1] + printed[0], papers * 2),
    )

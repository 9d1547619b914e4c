"""Does an evaluation LM give a pair of reviews the same probability in both directions? (Xu et al. 2025, A.5)

For true probabilities, P(x)·P(y | x) = P(y)·P(x | y). Two quantities are computed from log-probabilities in nats and
resampled by paper:

- *joint*: Spearman between log P(x | y) + log P(y) and log P(y | x) + log P(x), two computations of one number;
- *printed*: Spearman between log P(x) + log P(x | y) and log P(y) + log P(y | x), the products that the paper prints
  for its 0.943 over 5,328 ordered pairs. It measures whether both texts are equally likely, not symmetry.

*joint* and *printed* take each pair once, as given. *joint_ordered* and *printed_ordered* count each pair in both
orders, as the paper does. The *_ordered* coefficients do not depend on which review of a pair is called x. All
intervals resample papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.stats.correlation import Correlation, correlate


@dataclass(frozen=True, slots=True)
class PairLogprobs:
    """Two reviews *x* and *y* of a paper, and their summed log-probabilities in nats.

    *log_x*, *log_y*: each review alone. *log_y_given_x*, *log_x_given_y*: each given the other.
    """

    paper: str
    x: str
    y: str
    log_x: float
    log_y: float
    log_y_given_x: float
    log_x_given_y: float


@dataclass(frozen=True, slots=True)
class Symmetry:
    """Spearman's coefficient of both computations of the joint probability, and of the products as printed.

    *joint* and *printed* are over pairs as given, *joint_ordered* and *printed_ordered* over pairs in both orders.
    """

    joint: Correlation
    printed: Correlation
    joint_ordered: Correlation
    printed_ordered: Correlation


def symmetry(pairs: Sequence[PairLogprobs], level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> Symmetry:
    """Returns the coefficients of both quantities over *pairs*, as given and in both orders.

    Raises ValueError for a pair that occurs twice, in either order, or a review paired with itself.
    """
    seen: set[tuple[str, str, str]] = set()
    for pair in pairs:
        key = (pair.paper, min(pair.x, pair.y), max(pair.x, pair.y))
        if pair.x == pair.y or key in seen:
            raise ValueError(
                f"paper {pair.paper}, reviews {pair.x} and {pair.y}: each pair of two reviews must occur once"
            )
        seen.add(key)
    papers = [pair.paper for pair in pairs]

    def spearman(first: list[float], second: list[float], papers: list[str]) -> Correlation:
        return correlate("spearman", first, second, papers, level, resamples, seed)

    joint = [p.log_x_given_y + p.log_y for p in pairs], [p.log_y_given_x + p.log_x for p in pairs]
    printed = [p.log_x + p.log_x_given_y for p in pairs], [p.log_y + p.log_y_given_x for p in pairs]
    return Symmetry(
        joint=spearman(*joint, papers),
        printed=spearman(*printed, papers),
        joint_ordered=spearman(joint[0] + joint[1], joint[1] + joint[0], papers * 2),
        printed_ordered=spearman(printed[0] + printed[1], printed[1] + printed[0], papers * 2),
    )

"""Does an evaluation LM give a pair of reviews the same probability in both directions? (Xu et al. 2025, A.5)

For two reviews x and y of a paper, true probabilities satisfy P(x)·P(y | x) = P(y)·P(x | y). Two Spearman coefficients
are computed over pairs of reviews, from log-probabilities in nats:

- *joint*: between log P(y) + log P(x | y) and log P(x) + log P(y | x). Both sums are log P(x, y), computed in either
  direction, so this coefficient measures symmetry.
- *printed*: between log P(x) + log P(x | y) and log P(y) + log P(y | x). These are the products that the paper prints
  for its coefficient of 0.943 over 5,328 ordered pairs. This coefficient does not measure symmetry, but whether both
  reviews are equally likely.

*joint* and *printed* count each pair once, in the given order. *joint_ordered* and *printed_ordered* count each pair in
both orders, as the paper does. The latter two thus do not depend on which review of a pair is called x. All intervals
resample papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.stats.correlation import Correlation, correlate


@dataclass(frozen=True, slots=True)
class PairLogprobs:
    """Two reviews of one paper, and their log-probabilities by an evaluation LM, summed over tokens, in nats.

    - *paper*, *x*, *y*: the names of the paper and of the two reviews.
    - *log_x*, *log_y*: log P(x) and log P(y), the log-probability of each review alone.
    - *log_y_given_x*, *log_x_given_y*: log P(y | x) and log P(x | y), where the LM has read the other review first.
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
    """Spearman's coefficients that show how symmetric an evaluation LM is, each with its interval.

    - *joint*: between the two computations of log P(x, y), with each pair in the given order.
    - *printed*: between the products that the paper prints, with each pair in the given order.
    - *joint_ordered*, *printed_ordered*: the same two coefficients, with each pair in both orders.
    """

    joint: Correlation
    printed: Correlation
    joint_ordered: Correlation
    printed_ordered: Correlation


def symmetry(pairs: Sequence[PairLogprobs], level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> Symmetry:
    """Returns how symmetric the log-probabilities of *pairs* are.

    *level*: the coverage of the intervals. *resamples*, *seed*: the number of resamples and the seed of the bootstrap,
    which resamples papers. Raises ValueError for a pair of reviews that occurs twice, in either order, or for a review
    paired with itself.
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

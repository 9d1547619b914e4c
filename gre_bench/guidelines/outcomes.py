"""The results of ratings under guidelines: one result per model and condition, which counts every planned paper."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from gre_bench.guidelines.closeness import RESAMPLES, Closeness, closeness
from gre_bench.guidelines.differences import Difference, differences
from gre_bench.guidelines.ratings import HIGHEST, LOWEST, Rating
from gre_bench.guidelines.wording import Wording, wording

NO_HUMAN = "no_human_rating"


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The result of one *model* under one *condition*, such as a guideline.

    - *planned*: the number of papers, the sum of the next four.
    - *scored*: the number of papers with a rating and a human mean.
    - *excluded*: the number of papers without a human rating.
    - *failed*: the number of papers for which the LM gave no usable reply.
    - *missing*: the number of papers that the next run tries again.
    - *reasons*: the number of papers without a score, by reason.
    - *closeness*: how close the ratings that the reviews state come to the human means.
    - *recomputed*: how close the ratings come that the rubric's rule computes from the reviews' temporary scores.
    - *distribution*: the number of papers by rating, 1 to 10.
    - *wording*: the length and the variety of words of the reviews.
    """

    model: str
    condition: str
    planned: int
    scored: int
    excluded: int
    failed: int
    missing: int
    reasons: Mapping[str, int]
    closeness: Closeness | None
    recomputed: Closeness | None
    distribution: Mapping[int, int]
    wording: Wording | None


@dataclass(frozen=True, slots=True)
class Yardstick:
    """Reference values to judge an RMSE by, from the human ratings of the same papers.

    - *papers*: the number of papers; *mean*: the mean of their mean human ratings.
    - *constant*: the RMSE of a rater that always gives *mean*, the best constant rating.
    - *reviewer*: the RMSE of one human rating against the mean of the paper's other ratings.
    - *ratings*: the number of ratings behind *reviewer*, which needs papers with at least two ratings.
    - *distribution*: the number of papers by their mean human rating, with halves rounded down.
    """

    papers: int
    mean: float
    constant: float
    reviewer: float | None
    ratings: int
    distribution: Mapping[int, int]


def human_means(human: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Returns the mean human rating of each paper in *human* (paper → its ratings) that has a rating."""
    return {paper: fmean(ratings) for paper, ratings in human.items() if ratings}


def outcomes(
    ratings: Sequence[Rating], human: Mapping[str, float], resamples: int = RESAMPLES, seed: int = 0
) -> list[ConditionResult]:
    """Returns one result for each model and condition of *ratings*, in order of their first appearance.

    *human* holds the mean human rating of each paper. *resamples* and *seed* set the number of bootstrap resamples and
    their seed.
    """
    groups: dict[tuple[str, str], list[Rating]] = {}
    for rating in ratings:
        groups.setdefault((rating.model, rating.condition), []).append(rating)
    return [_outcome(model, condition, group, human, resamples, seed) for (model, condition), group in groups.items()]


def compared(
    ratings: Sequence[Rating], human: Mapping[str, float], resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, list[Difference]]:
    """Returns, for each model, the differences in RMSE between every two of its conditions.

    *human* holds the mean human rating of each paper. *resamples* and *seed* set the number of bootstrap resamples and
    their seed. A model for which no two conditions can be compared is left out.
    """
    tables: dict[str, dict[str, dict[str, float]]] = {}
    for rating in ratings:
        if rating.value is not None:
            tables.setdefault(rating.model, {}).setdefault(rating.condition, {})[rating.paper_id] = float(rating.value)
    results = {model: differences(table, human, resamples, seed) for model, table in tables.items()}
    return {model: rows for model, rows in results.items() if rows}


def yardstick(human: Mapping[str, Sequence[float]]) -> Yardstick | None:
    """Returns the reference values for *human* (paper → its ratings); None if no paper has a rating."""
    means = list(human_means(human).values())
    if not means:
        return None
    errors = [
        (ratings[index] - fmean([*ratings[:index], *ratings[index + 1 :]])) ** 2
        for ratings in human.values()
        if len(ratings) > 1
        for index in range(len(ratings))
    ]
    rmse = math.sqrt(fmean(errors)) if errors else None
    rounded = Counter(math.ceil(mean - 0.5) for mean in means)
    distribution = {rating: rounded[rating] for rating in range(LOWEST, HIGHEST + 1)}
    return Yardstick(len(means), fmean(means), pstdev(means), rmse, len(errors), distribution)


def _outcome(
    model: str, condition: str, group: Sequence[Rating], human: Mapping[str, float], resamples: int, seed: int
) -> ConditionResult:
    scored = [rating for rating in group if rating.value is not None and rating.paper_id in human]
    without = [rating for rating in group if rating.paper_id not in human]
    problems = [rating.problem for rating in group if rating.problem and rating.paper_id in human]
    reasons = Counter(f"{problem.code}: {problem.message}" if problem.code == "unparsable" else problem.code
                      for problem in problems) + Counter({NO_HUMAN: len(without)})  # fmt: skip
    counted = Counter(rating.value for rating in group if rating.value is not None)

    def close(values: Mapping[str, int | None]) -> Closeness | None:
        results = {paper: float(value) for paper, value in values.items() if value is not None and paper in human}
        return closeness([*results.values()], [human[paper] for paper in results], resamples, seed)

    return ConditionResult(
        model=model,
        condition=condition,
        planned=len(group),
        scored=len(scored),
        excluded=len(without),
        failed=sum(problem.final for problem in problems),
        missing=sum(not problem.final for problem in problems),
        reasons=dict(reasons),
        closeness=close({rating.paper_id: rating.value for rating in group}),
        recomputed=close({rating.paper_id: rating.recomputed for rating in group}),
        distribution={value: counted[value] for value in range(LOWEST, HIGHEST + 1)},
        wording=wording([rating.text for rating in group if rating.text]),
    )

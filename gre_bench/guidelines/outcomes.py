"""How close LMs' ratings of papers are to human ratings, with one result for each model and condition.

A condition is a variant of the prompt for reviews: with one guideline, or without any. The name of an imported set of
reviews is also a condition. Each result accounts for all papers that were planned.

For the rating r and the human mean h of each paper:

    RMSE  √(mean (r − h)²); lower is better (the guideline paper, §2)
    bias  mean (r − h)

The guideline paper prints no intervals. Our 95% intervals treat papers as independent observations:

- RMSE: the studentised bootstrap of log MSE, because plain percentiles cover only 92% at 120 papers.
- difference of two RMSEs: percentiles of the bootstrap.
- bias: Student's t.
- Spearman's correlation: see `gre_bench.stats.correlation`.

The guideline paper reports neither the length of reviews nor the variety of their words; both are measured here too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, median, pstdev

import numpy as np

from gre_bench.guidelines.ratings import HIGHEST, LOWEST, Rating
from gre_bench.stats.correlation import correlate
from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.intervals import clustered_test, paired_test
from gre_bench.stats.samples import Array, check_finite, draw_bootstrap_counts, equal_tailed_quantiles

LEVEL = 0.95
RESAMPLES = 10_000
FEWEST = 3
"""The fewest papers for which results are computed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close ratings are to the mean human ratings of the same *papers*.

    *rmse*, *bias*, *mae*: the root mean square, mean and mean absolute value of the differences, rating minus human
    mean. *spearman*, *spearman_p*: Spearman's correlation and its p-value; None if the ratings or the human means vary
    too little for an interval.
    """

    papers: int
    rmse: Estimate
    bias: Estimate
    mae: float
    spearman: Estimate | None
    spearman_p: float | None


@dataclass(frozen=True, slots=True)
class RmseDifference:
    """The RMSE under the condition *first* minus the RMSE under *second*, over the *papers* rated under both.

    *p*: the p-value of a test of whether both mean squared errors are equal. It is None if the difference between the
    two squared errors is the same for all papers, for example 0.
    *p_holm*: *p* after Holm's correction over all differences that one call returns.
    """

    first: str
    second: str
    papers: int
    rmse: Estimate
    p: float | None
    p_holm: float | None = None


def compute_closeness(
    ratings: Sequence[float], human: Sequence[float], resamples: int = RESAMPLES, seed: int = 0
) -> Closeness | None:
    """Returns how close *ratings* are to *human*, the papers' mean human ratings; None below `FEWEST` papers."""
    if len(ratings) != len(human):
        raise ValueError(f"{len(ratings)} ratings but {len(human)} human means")
    if len(ratings) < FEWEST:
        return None
    given, means = check_finite(ratings, FEWEST), check_finite(human, FEWEST)
    errors = given - means
    middle = clustered_test(errors.tolist(), range(len(errors)), LEVEL)
    bias = Estimate(middle.value, middle.low, middle.high)
    spearman, p = None, None
    if np.ptp(given) and np.ptp(means):
        try:
            rank = correlate("spearman", given.tolist(), means.tolist(), range(len(given)), resamples, seed)
            spearman, p = Estimate(rank.value, rank.low, rank.high), rank.p
        except ValueError:  # too few papers with different ratings for an interval
            pass
    return Closeness(len(errors), rmse(errors, resamples, seed), bias, float(np.abs(errors).mean()), spearman, p)


def rmse(errors: Array, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Returns the root mean square of *errors* (one per paper) with its 95% interval.

    The interval has width 0 if all squared errors are equal.
    """
    squares = errors**2
    size, value = len(squares), float(squares.mean())
    spread = float(squares.std(ddof=1)) / math.sqrt(size)
    if spread <= 1e-12 * value or not value:
        return Estimate(math.sqrt(value), math.sqrt(value), math.sqrt(value))
    drawn = []
    for counts in draw_bootstrap_counts(size, resamples, seed):
        mean = counts @ squares / size
        error = np.sqrt(np.maximum(counts @ squares**2 / size - mean**2, 0.0) / (size - 1))
        usable = error > 1e-9 * mean
        drawn.append(np.log(mean[usable] / value) * mean[usable] / error[usable])
    low, high = equal_tailed_quantiles(np.concatenate(drawn), LEVEL)
    return Estimate(math.sqrt(value), *(math.sqrt(value * math.exp(-t * spread / value)) for t in (high, low)))


def compare_rmse_of_prompt_conditions(
    ratings: Mapping[str, Mapping[str, float]], human: Mapping[str, float], resamples: int = RESAMPLES, seed: int = 0
) -> list[RmseDifference]:
    """Returns the difference between every two conditions of *ratings* (condition → paper → rating).

    A comparison uses the papers with a human mean and a rating under both conditions. With fewer than `FEWEST` such
    papers, the comparison is left out. The p-value is from Student's t-test on the papers' differences between the two
    squared errors.
    """
    results = []
    for first, second in combinations(ratings, 2):
        common = [paper for paper in ratings[first] if paper in ratings[second] and paper in human]
        size = len(common)
        if size < FEWEST:
            continue
        own, other = (
            np.array([ratings[name][paper] - human[paper] for paper in common]) ** 2 for name in (first, second)
        )
        drawn = [
            np.sqrt(counts @ own / size) - np.sqrt(counts @ other / size)
            for counts in draw_bootstrap_counts(size, resamples, seed)
        ]
        value = math.sqrt(float(own.mean())) - math.sqrt(float(other.mean()))
        interval = equal_tailed_quantiles(np.concatenate(drawn), LEVEL)
        p = paired_test((own - other).tolist()).p
        results.append(RmseDifference(first, second, size, Estimate(value, *interval), None if math.isnan(p) else p))
    adjusted = iter(adjust_by_holm([item.p for item in results if item.p is not None]))
    return [item if item.p is None else replace(item, p_holm=next(adjusted)) for item in results]


NO_HUMAN = "no_human_rating"
WINDOW = 50
"""The number of words in a window of the moving-average type-token ratio (Covington and McFall 2010)."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class WordingStatistics:
    """The length and the word variety of *reviews* texts.

    - *type_token_ratio*: distinct words divided by words, as a mean over the texts; it falls as texts get longer.
    - *moving_ratio*: the same within windows of 50 words, so that length does not matter; None if no text has 50 words.
    """

    reviews: int
    mean_words: float
    median_words: float
    type_token_ratio: float
    moving_ratio: float | None


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The result of one *model* under one *condition*: with one guideline, or without any.

    - *planned*: the number of papers, which is the sum of the next four fields. *scored*: papers with a rating and a
      human mean. *excluded*: papers without a human rating. *failed*: papers without a usable reply. *missing*: papers
      that the next run retries.
    - *reasons*: reason → number of papers without a score.
    - *closeness*: how close the ratings that the reviews state are to the human means. *recomputed*: the same for the
      ratings that the rubric's rule computes from the scores that the reviews state.
    - *distribution*: rating (1 to 10) → number of papers.
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
    wording: WordingStatistics | None


@dataclass(frozen=True, slots=True)
class RmseReference:
    """Reference values for judging an RMSE, from the human ratings of the same *papers*.

    - *constant*: the RMSE of a rater that always gives *mean*, the mean of the papers' mean human ratings.
    - *reviewer*: the RMSE of single human ratings, each against the mean of its paper's other ratings. *ratings*: the
      number of these single ratings.
    - *distribution*: mean human rating, rounded to an integer (halves down) → number of papers.
    """

    papers: int
    mean: float
    constant: float
    reviewer: float | None
    ratings: int
    distribution: Mapping[int, int]


def average_human_ratings(human: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Returns paper → mean human rating, for each paper in *human* (paper → its ratings) that has a rating."""
    return {paper: fmean(ratings) for paper, ratings in human.items() if ratings}


def count_rounded_means(means: Sequence[float]) -> dict[int, int]:
    """Returns rating (1 to 10) → how many of *means* round to it; halves are rounded down."""
    counts = Counter(math.ceil(mean - 0.5) for mean in means)
    return {rating: counts[rating] for rating in range(LOWEST, HIGHEST + 1)}


def compute_condition_results(
    ratings: Sequence[Rating], human: Mapping[str, float], resamples: int = RESAMPLES
) -> list[ConditionResult]:
    """Returns a result for each model and condition, as they first occur in *ratings*. *human*: paper → mean rating."""
    groups: dict[tuple[str, str], list[Rating]] = {}
    for rating in ratings:
        groups.setdefault((rating.model, rating.condition), []).append(rating)

    def measure_against_human(values: Mapping[str, int | None]) -> Closeness | None:
        own = {paper: float(value) for paper, value in values.items() if value is not None and paper in human}
        return compute_closeness([*own.values()], [human[paper] for paper in own], resamples)

    results = []
    for (model, condition), group in groups.items():
        without = sum(rating.paper_id not in human for rating in group)
        problems = [rating.problem for rating in group if rating.problem and rating.paper_id in human]
        reasons = Counter(
            f"{problem.code}: {problem.message}" if problem.code == "unparsable" else problem.code
            for problem in problems
        ) + Counter({NO_HUMAN: without})
        counted = Counter(rating.value for rating in group if rating.value is not None)
        results.append(
            ConditionResult(
                model,
                condition,
                planned=len(group),
                scored=sum(rating.value is not None and rating.paper_id in human for rating in group),
                excluded=without,
                failed=sum(problem.final for problem in problems),
                missing=sum(not problem.final for problem in problems),
                reasons=dict(reasons),
                closeness=measure_against_human({rating.paper_id: rating.value for rating in group}),
                recomputed=measure_against_human({rating.paper_id: rating.recomputed for rating in group}),
                distribution={value: counted[value] for value in range(LOWEST, HIGHEST + 1)},
                wording=compute_wording_statistics([rating.text for rating in group if rating.text]),
            )
        )
    return results


def compare_conditions_by_model(
    ratings: Sequence[Rating], human: Mapping[str, float], resamples: int = RESAMPLES
) -> dict[str, list[RmseDifference]]:
    """Returns model → the differences in RMSE between every two of its conditions that can be compared."""
    tables: dict[str, dict[str, dict[str, float]]] = {}
    for rating in ratings:
        if rating.value is not None:
            tables.setdefault(rating.model, {}).setdefault(rating.condition, {})[rating.paper_id] = float(rating.value)
    results = {model: compare_rmse_of_prompt_conditions(table, human, resamples) for model, table in tables.items()}
    return {model: rows for model, rows in results.items() if rows}


def compute_rmse_reference(human: Mapping[str, Sequence[float]]) -> RmseReference | None:
    """Returns the reference values for *human* (paper → its ratings); None if no paper has a rating."""
    means = list(average_human_ratings(human).values())
    if not means:
        return None
    errors = [
        (rating - fmean([*ratings[:index], *ratings[index + 1 :]])) ** 2
        for ratings in human.values()
        if len(ratings) > 1
        for index, rating in enumerate(ratings)
    ]
    reviewer = math.sqrt(fmean(errors)) if errors else None
    return RmseReference(len(means), fmean(means), pstdev(means), reviewer, len(errors), count_rounded_means(means))


def split_into_lower_case_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def moving_type_token_ratio(tokens: Sequence[str], window: int = WINDOW) -> float | None:
    """Returns the mean type-token ratio over all windows of *window* tokens; None if there are fewer *tokens*."""
    if len(tokens) < window:
        return None
    counts: Counter[str] = Counter(tokens[:window])
    total = len(counts)
    for old, word in zip(tokens, tokens[window:], strict=False):
        counts[word] += 1
        counts[old] -= 1
        if not counts[old]:
            del counts[old]
        total += len(counts)
    return total / (len(tokens) - window + 1) / window


def compute_wording_statistics(texts: Sequence[str]) -> WordingStatistics | None:
    """Returns the length and word variety of the *texts* that have words; None if no text has words."""
    tokens = [review_words for text in texts if (review_words := split_into_lower_case_words(text))]
    if not tokens:
        return None
    lengths = [len(review_words) for review_words in tokens]
    ratios = [len(set(review_words)) / len(review_words) for review_words in tokens]
    moving = [ratio for review_words in tokens if (ratio := moving_type_token_ratio(review_words)) is not None]
    moving_mean = fmean(moving) if moving else None
    return WordingStatistics(len(tokens), fmean(lengths), float(median(lengths)), fmean(ratios), moving_mean)

"""Measures the length of reviews and the variety of their words.

The guideline paper (`gre_bench.guidelines`) leaves this analysis open.

The results of ratings under guidelines: one result per model and condition, which counts every planned paper.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev

from gre_bench.guidelines.closeness import RESAMPLES, Closeness, Difference, closeness, differences
from gre_bench.guidelines.ratings import HIGHEST, LOWEST, Rating

WINDOW = 50
"""Words in a window of the moving-average type-token ratio (Covington and McFall 2010)."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Wording:
    """The average length of reviews, and the average variety of their words.

    - *reviews*: the number of reviews.
    - *mean_words*, *median_words*: the mean and the median number of words per review.
    - *type_token_ratio*: distinct words divided by words; falls as reviews get longer.
    - *moving_ratio*: the mean ratio over all windows of 50 words, which does not depend on length. It covers the
      reviews with at least 50 words, and is None if there are none.
    """

    reviews: int
    mean_words: float
    median_words: float
    type_token_ratio: float
    moving_ratio: float | None


def words(text: str) -> list[str]:
    """Returns the words and numbers of *text* in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def type_token_ratio(tokens: Sequence[str]) -> float:
    """Returns the number of distinct *tokens* divided by the number of all tokens.

    The ratio falls with the length of a text, whoever wrote it. Raises ValueError if there are no tokens.
    """
    if not tokens:
        raise ValueError("no words")
    return len(set(tokens)) / len(tokens)


def moving_ratio(tokens: Sequence[str], window: int = WINDOW) -> float | None:
    """Returns the mean type-token ratio over all windows of *window* tokens; None if *tokens* are fewer than that."""
    if len(tokens) < window:
        return None
    counts: dict[str, int] = {}
    total = runs = 0
    for index, word in enumerate(tokens):
        counts[word] = counts.get(word, 0) + 1
        if index >= window:
            old = tokens[index - window]
            counts[old] -= 1
            if not counts[old]:
                del counts[old]
        if index >= window - 1:
            total, runs = total + len(counts), runs + 1
    return total / runs / window


def wording(texts: Sequence[str]) -> Wording | None:
    """Returns the mean length and the mean variety of words of the *texts*; None if no text has words.

    Texts without words do not count.
    """
    tokens = [review_words for text in texts if (review_words := words(text))]
    if not tokens:
        return None
    lengths = [len(review_words) for review_words in tokens]
    moving = [ratio for review_words in tokens if (ratio := moving_ratio(review_words)) is not None]
    ratios = [type_token_ratio(review_words) for review_words in tokens]
    return Wording(
        len(tokens), fmean(lengths), float(median(lengths)), fmean(ratios), fmean(moving) if moving else None
    )


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

"""Tests every interval of `gre_bench.stats` by simulations with known truth: scores on two references per paper.

A candidate's standardised score is √alike·common + √(1 − alike)·own. *common* is the effect of papers and references on
all candidates, *own* their effect on one candidate. Each of the two is √share·paper + √(1 − share)·pair. The two pairs
of a paper therefore correlate by *share*, two candidates by *alike*, and differences between candidates by *share* too.
With heavy tails a score is lognormal (σ = 0.5: skewness 1.75, excess kurtosis 5.9) and standardised; the correlations
hold before that transformation. A trial runs one simulation and reports for each interval whether it contains the
truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from scipy import stats as scipy_stats

from gre_bench.stats.auc import compute_auc
from gre_bench.stats.correlation import compare_correlations, correlate, correlate_within_groups, partial_correlation
from gre_bench.stats.effects import compute_effect_size, effect_at_length
from gre_bench.stats.intervals import clustered_test, compute_t_interval_and_p, flat_interval, paired_test
from gre_bench.stats.length import contrast_at_length, error_by_paper, estimate_length_slope, length_controlled_means
from gre_bench.stats.ranks import rank_intervals

SIGMA = {"normal": 0.0, "lognormal": 0.5}
BEFORE_AFTER = 0.83
"""The correlation of scores before and after a perturbation, as implied by the published half-widths."""

MEANS = np.array([0.0, 0.02, 0.04, 0.15, 0.2, 0.3, 0.32, 0.5, 0.6, 1.0])
"""The true means of ten candidates, some of them nearly equal."""

Trial = Callable[[np.random.Generator, int, float, str], dict[str, float]]
"""(random, papers, share, tails) → interval → whether, or for what share of its values, it contains the truth."""


def transform_tails(z: np.ndarray, tails: str) -> np.ndarray:
    """Returns standard normal *z* with the requested *tails*: mean 0, variance 1."""
    sigma = SIGMA[tails]
    if not sigma:
        return z
    scale = math.exp(sigma**2 / 2) * math.sqrt(math.expm1(sigma**2))
    return (np.exp(sigma * z) - math.exp(sigma**2 / 2)) / scale


def draw_scores(
    random: np.random.Generator, candidates: int, papers: int, share: float, tails: str, alike: float, pairs: int = 2
) -> np.ndarray:
    """Returns standardised scores, shape (candidates, papers · pairs)."""

    def part(rows: int) -> np.ndarray:
        paper, pair = random.normal(size=(rows, papers, 1)), random.normal(size=(rows, papers, pairs))
        return (math.sqrt(share) * paper + math.sqrt(1 - share) * pair).reshape(rows, papers * pairs)

    return transform_tails(math.sqrt(alike) * part(1) + math.sqrt(1 - alike) * part(candidates), tails)


def contains_truth(found, truth: float) -> float:
    return float(found.low <= truth <= found.high)


def means(random: np.random.Generator, papers: int, share: float, tails: str) -> dict[str, float]:
    one, other = draw_scores(random, 2, papers, share, tails, 0.5)
    names = np.repeat(np.arange(papers), 2)
    differences = (one - other).reshape(papers, 2).mean(axis=1)
    return {
        "mean, flat, 90%": contains_truth(flat_interval(one), 0.0),
        "mean, by paper, 90%": contains_truth(clustered_test(one, names), 0.0),
        "paired difference, 90%": contains_truth(paired_test(differences), 0.0),
    }


@cache
def true_auc(tails: str) -> float:
    grid = transform_tails(scipy_stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000), tails)
    return float(np.searchsorted(grid, grid + 1.0).mean() / len(grid))


def auc(random: np.random.Generator, papers: int, share: float, tails: str) -> dict[str, float]:
    same, other = draw_scores(random, 2, papers, share, tails, 0.3)
    names = np.repeat(np.arange(papers), 2)
    return {"AUC, by paper, 95%": contains_truth(compute_auc(same + 1.0, names, other, names), true_auc(tails))}


def effects(random: np.random.Generator, papers: int, share: float, tails: str) -> dict[str, float]:
    before, after = draw_scores(random, 2, papers, share, tails, BEFORE_AFTER)
    shift, spread = -0.4, 1.1
    found = compute_effect_size(before, shift + spread * after, np.repeat(np.arange(papers), 2), resamples=1000)
    truth = shift / math.sqrt((1 + spread**2) / 2)
    return {
        "d, flat, 95%": float(found.flat_low <= truth <= found.flat_high),
        "d, by paper, 95%": contains_truth(found, truth),
    }


def draw_grades(
    random: np.random.Generator, groups: int, share: float, tails: str, siblings: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns two scores that follow a latent quality by 0.6 and 0.4, and the grade A, B or C of that quality."""
    quality, first, second = draw_scores(random, 3, groups, share, "normal", 0.0, siblings)
    scores = (rho * quality + math.sqrt(1 - rho**2) * own for rho, own in ((0.6, first), (0.4, second)))
    first, second = (transform_tails(each, tails) for each in scores)
    return first, second, np.digitize(quality, [-0.6, 0.7]).astype(float)


@cache
def true_correlations(tails: str) -> dict[str, float]:
    """Returns the true correlations, by SciPy over 400,000 items, each in its own group.

    Siblings do not change them.
    """
    first, second, grades = draw_grades(np.random.default_rng(77), 400_000, 0.0, tails, 1)
    a, b, c = (scipy_stats.spearmanr(*pair)[0] for pair in ((first, grades), (first, second), (grades, second)))
    return {
        "spearman": a,
        "kendall": scipy_stats.kendalltau(first, grades)[0],
        "pearson": scipy_stats.pearsonr(first, grades)[0],
        "partial": (a - b * c) / math.sqrt((1 - b**2) * (1 - c**2)),
        "difference": a - c,
    }


@cache
def true_within_correlation(share: float, tails: str, siblings: int) -> float:
    first, _, grades = draw_grades(np.random.default_rng(78), 100_000, share, tails, siblings)
    return correlate_within_groups(
        "spearman", first, grades, np.repeat(np.arange(100_000), siblings), resamples=2
    ).value


def correlations(random: np.random.Generator, papers: int, share: float, tails: str) -> dict[str, float]:
    """Tests the intervals of correlations, with groups of five siblings if there are few groups, else of three or two.

    *tails*: the tails of the score, which do not affect ranks. If they are not normal, only Pearson is tested.
    """
    siblings = 5 if papers < 100 else 3 if papers < 300 else 2
    first, second, grades = draw_grades(random, papers, share, tails, siblings)
    names, truth, often = np.repeat(np.arange(papers), siblings), true_correlations(tails), {"resamples": 250}
    found = {
        f"{kind.capitalize()}, by group, 95%": contains_truth(
            correlate(kind, first, grades, names, **often), truth[kind]
        )
        for kind in (("spearman", "kendall", "pearson") if tails == "normal" else ("pearson",))
    }
    if tails != "normal":
        return found
    inside = correlate_within_groups("spearman", first, grades, names, **often)
    found["Spearman within groups, 95%"] = contains_truth(inside, true_within_correlation(share, tails, siblings))
    found["partial Spearman, 95%"] = contains_truth(
        partial_correlation("spearman", first, grades, second, names, **often), truth["partial"]
    )
    difference = compare_correlations("spearman", first, second, grades, names, **often)
    found["difference of Spearmans, 95%"] = contains_truth(difference, truth["difference"])
    return found


def ranks(random: np.random.Generator, papers: int, share: float, tails: str) -> dict[str, float]:
    count = len(MEANS)
    values = draw_scores(random, count, papers, share, tails, 0.5) + MEANS[:, None]
    names = [f"c{k}" for k in range(count)]
    places = np.tile(np.repeat(np.arange(papers), 2), count)
    found = rank_intervals(values.ravel(), places, np.repeat(names, 2 * papers).tolist())
    truth = {name: count - k for k, name in enumerate(names)}
    return {
        "all ranks, by Holm, 90%": float(all(e.surely_low <= truth[e.candidate] <= e.surely_high for e in found)),
    }


def lengths(random: np.random.Generator, papers: int, share: float, tails: str) -> dict[str, float]:
    """Tests the intervals of scores at equal length, on four candidates.

    A score grows by 0.5 with log tokens, which papers and candidates shift.
    """
    own, shared = 0.4 * random.normal(size=(4, papers)), 0.2 * random.normal(size=papers)
    logs = np.repeat(6 + np.array([-0.5, 0, 0, 0.8])[:, None] + own + shared, 2, axis=1)
    values = (
        draw_scores(random, 4, papers, share, tails, 0.5) + 0.5 * (logs - 6) + np.array([0.3, 0, 0.1, -0.2])[:, None]
    )
    names = np.repeat(list("abcd"), 2 * papers).tolist()
    places: Sequence[int] = np.tile(np.repeat(np.arange(papers), 2), 4)
    scores = length_controlled_means(values.ravel(), np.exp(logs).ravel(), places, math.exp(6), names)
    means = values.reshape(4, papers, 2).mean(axis=2)
    tokens = np.exp(logs[:, ::2])
    candidates = np.repeat(list("abcd"), papers).tolist()
    slope = estimate_length_slope(means.ravel(), tokens.ravel(), np.tile(np.arange(papers), 4), candidates=candidates)
    contrast = contrast_at_length(slope, range(papers), means[0], means[3], tokens[0], tokens[3])
    assert contrast.own is not None
    low, high, _ = compute_t_interval_and_p(
        slope.value, error_by_paper(np.array([*slope.influence.values()])), papers - 1, 0.90
    )
    return {
        "score at human length, 90%": contains_truth(scores["d"], -0.2),
        "slope of length, 90%": float(low <= 0.5 <= high),
        "contrast at equal length, 95%": contains_truth(contrast.common, 0.5),
        "the same, own slopes, 95%": contains_truth(contrast.own, 0.5),
    }


def changed_lengths(random: np.random.Generator, papers: int, share: float, tails: str) -> dict[str, float]:
    """Tests the interval of an effect at fixed length: three human reviews per paper, two of them references.

    A score grows by 0.5 with log tokens. The perturbation shortens a review to about half of its length, and lowers the
    score by a further 0.4 standard deviations.
    """
    logs = 6 + 0.4 * random.normal(size=(papers, 3)) + 0.2 * random.normal(size=(papers, 1))
    human, changed, first, second = draw_scores(random, 4, papers, share, tails, BEFORE_AFTER)
    human, changed = human.reshape(papers, 2), changed.reshape(papers, 2)
    others = np.stack([second.reshape(papers, 2)[:, 0], first.reshape(papers, 2)[:, 1]], axis=1)
    before = human + 0.5 * logs[:, :1]
    shorter = math.log(0.5) + 0.2 * random.normal(size=(papers, 1))
    shift = 0.4
    after = changed + 0.5 * (logs[:, :1] + shorter) - shift
    # Against reference 1 (2), the other review is reference 2 (1).
    beside = others + 0.5 * logs[:, [2, 1]]
    places = np.arange(papers)
    values = np.concatenate([before.ravel(), beside.ravel()])
    tokens = np.exp(np.concatenate([np.repeat(logs[:, 0], 2), logs[:, [2, 1]].ravel()]))
    owners = np.tile(np.repeat(places, 2), 2)
    groups = np.tile(np.arange(2 * papers), 2)
    slope = estimate_length_slope(values, tokens, owners.tolist(), groups.tolist())
    pairs = np.repeat(places, 2).tolist()
    found = effect_at_length(before.ravel(), after.ravel(), np.repeat(shorter[:, 0], 2), pairs, slope)
    truth = -shift / math.sqrt(1 + 0.25 * (0.16 + 0.04))
    return {"d at equal length, 95%": contains_truth(found, truth)}


def coverage(trial: Trial, papers: int, share: float, tails: str, simulations: int, seed: int = 0) -> dict[str, float]:
    """Returns the share of *simulations* in which each interval of *trial* contains the truth."""
    random = np.random.default_rng([seed, papers, int(100 * share), len(tails)])
    found = [trial(random, papers, share, tails) for _ in range(simulations)]
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}

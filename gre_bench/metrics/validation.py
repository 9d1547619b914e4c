"""Computes and plots how perturbations of reviews affect a metric's scores (Xu et al. 2025, §4.2).

An effect compares the scores of the same pairs before and after a perturbation. Pairs without both scores are left out.
Each effect is also computed with length held fixed (`gre_bench.stats.effects.effect_at_length`). The slope of score on
log(words) is fitted to unperturbed human reviews alone. It compares reviews of one paper that are scored against the
same reference: the human baseline and the paper's other references. A validation therefore scores those references,
too. A paper with one reference gives no information about the slope. Without a slope, there is no effect with length
held fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from gre_bench.core.metrics import find_recipe, sort_metric_names
from gre_bench.core.records import Case
from gre_bench.core.settings import ValidationSettings
from gre_bench.core.whole_files import write_file
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.plots.drawing import IntervalRow, compute_axis_span, draw_intervals
from gre_bench.stats.effects import (
    Effect,
    Verdict,
    adjust_by_holm,
    compute_effect_size,
    decide_by_published_rule,
    degradation_verdict,
    effect_at_length,
    manipulation_verdict,
)
from gre_bench.stats.length import Slope, estimate_length_slope

Row = Mapping[str, Any]
PairKey = tuple[str, str, str]
"""Candidate, paper, reference."""

LEAST_SCORED_SHARE = 0.98
"""A metric passes a perturbation only if at least this share of the pairs scored before it are also scored after it.

A rank requires the same share of scored pairs."""


@dataclass(frozen=True, slots=True)
class PerturbationResult:
    """The effect of one perturbation on a metric's scores, and the verdicts on it.

    - *d*, *low*, *high*, *p*: the effect (Cohen's d), its interval and p-value, clustered by paper. *p_holm*: *p*
      corrected for the number of degradations; None for manipulations. *method*: how the interval was computed.
    - *flat_low*, *flat_high*, *flat_p*: the interval and p-value as Xu et al. compute them, with independent pairs.
    - *length_d*, *length_low*, *length_high*: the effect with length held fixed, and its interval; None if it cannot be
      computed.
    - *planned*: the number of planned pairs. *pairs*: how many of them have a score before and after. *papers*: the
      number of papers of these pairs.
    - *verdict*: the verdict by this project's rule; ``undecided`` if there is no effect. *paper_verdict*: the verdict
      by the rule of Xu et al. 2025.
    - *problem*: why there is no effect; else None.
    """

    d: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    flat_low: float | None = None
    flat_high: float | None = None
    flat_p: float | None = None
    length_d: float | None = None
    length_low: float | None = None
    length_high: float | None = None
    mean_before: float | None = None
    mean_after: float | None = None
    pairs: int = 0
    planned: int = 0
    papers: int = 0
    method: str | None = None
    verdict: Verdict = "undecided"
    paper_verdict: Verdict | None = None
    problem: str | None = None


def compute_perturbation_effects(
    before: Sequence[Row],
    after: Mapping[str, Sequence[Row]],
    words: Mapping[PairKey, int],
    settings: ValidationSettings,
    unchanged: Sequence[Row] = (),
) -> dict[str, PerturbationResult]:
    """Returns perturbation name → its effect on the metric's scores.

    - *before*: the planned pairs of the human baseline. Each has the keys candidate_id, paper_id, reference_id, state,
      value and reason.
    - *after*: perturbation name → the planned pairs of its perturbed reviews.
    - *words*: (candidate, paper, reference) → the length in words of the candidate's text.
    - *unchanged*: pairs of other human reviews. Together with *before*, they show how a score depends on length.

    For a perturbation that is impossible in all pairs, no effect is computed. Its verdict is ``undecided`` if it is a
    perturbation of Xu et al. 2025; if this project added it, the result has no entry for it.
    """
    slope = _fit_length_slope([*before, *unchanged], words)
    trials = {change: _compare_before_after(before, rows, words, settings, slope) for change, rows in after.items()}
    falls = {change: plain.p for change, (_, plain, _) in trials.items()
             if plain and PERTURBATIONS[change].family == "degradation"}  # fmt: skip
    adjusted = dict(zip(falls, adjust_by_holm(list(falls.values())), strict=True))
    results: dict[str, PerturbationResult] = {}
    for change, (result, plain, lost) in trials.items():
        if plain:
            results[change] = _add_verdicts(result, change, plain, lost, adjusted.get(change))
        elif PERTURBATIONS[change].source != "ours" or not all(row["state"] == "excluded" for row in after[change]):
            results[change] = result
    return results


def count_candidate_words(cases: Iterable[Case]) -> dict[PairKey, int]:
    return {(case.candidate_id, case.paper_id, case.reference_id): len(case.candidate.split()) for case in cases}


def _compare_before_after(
    before: Sequence[Row],
    rows: Sequence[Row],
    words: Mapping[PairKey, int],
    settings: ValidationSettings,
    slope: Slope | None,
) -> tuple[PerturbationResult, Effect | None, int]:
    """Returns a result without verdicts, the effect, and the number of lost pairs.

    A pair is lost if it has a score before the perturbation and none after it, although the perturbation is possible.
    """
    scored = {(row["paper_id"], row["reference_id"]): row for row in before if row["state"] == "scored"}
    both = [
        (scored[key], row)
        for row in rows
        if row["state"] == "scored" and (key := _get_paper_and_reference(row)) in scored
    ]
    lost = sum(row["state"] not in ("scored", "excluded") and _get_paper_and_reference(row) in scored for row in rows)
    if not both:
        reasons = sorted({row["reason"] or row["state"] for row in rows})
        why = ", ".join(reasons) or "none planned"
        problem = f"no pair has a score both before and after: {why}"
        return PerturbationResult(planned=len(rows), problem=problem), None, lost
    old, new = ([row["value"] for row in side] for side in zip(*both, strict=True))
    papers = [row["paper_id"] for row, _ in both]
    counts: dict[str, Any] = {"pairs": len(both), "planned": len(rows), "papers": len(set(papers))}
    try:
        plain = compute_effect_size(old, new, papers, resamples=settings.resamples, seed=settings.seed)
    except ValueError as error:
        return PerturbationResult(**counts, problem=str(error)), None, lost
    held = (None, None, None)
    if slope and all(_get_pair_key(row) in words for pair in both for row in pair):
        longer = [_compute_log_word_count(row, words) - _compute_log_word_count(first, words) for first, row in both]
        at_length = effect_at_length(old, new, longer, papers, slope)
        held = (at_length.value, at_length.low, at_length.high)
    result = PerturbationResult(
        plain.value, plain.low, plain.high, plain.p, None, plain.flat_low, plain.flat_high, plain.flat_p, *held,
        fmean(old), fmean(new), **counts, method=plain.method,
    )  # fmt: skip
    return result, plain, lost


def _get_paper_and_reference(row: Row) -> tuple[str, str]:
    return row["paper_id"], row["reference_id"]


def _get_pair_key(row: Row) -> PairKey:
    return row["candidate_id"], row["paper_id"], row["reference_id"]


def _compute_log_word_count(row: Row, words: Mapping[PairKey, int]) -> float:
    return math.log(max(1, words[_get_pair_key(row)]))


def _fit_length_slope(rows: Iterable[Row], words: Mapping[PairKey, int]) -> Slope | None:
    """Returns the slope of score on log(words) among human reviews of one paper and reference; None if undetermined."""
    scored = [row for row in rows if row["state"] == "scored" and _get_pair_key(row) in words]
    tokens, papers = [max(1, words[_get_pair_key(row)]) for row in scored], [row["paper_id"] for row in scored]
    try:
        return estimate_length_slope(
            [row["value"] for row in scored], tokens, papers, [_get_paper_and_reference(row) for row in scored]
        )
    except ValueError:
        return None


def _add_verdicts(
    result: PerturbationResult, change: str, plain: Effect, lost: int, p_holm: float | None
) -> PerturbationResult:
    family = PERTURBATIONS[change].family
    if family == "degradation":
        verdict = degradation_verdict(plain, p_holm if p_holm is not None else 1.0)
    else:
        verdict = manipulation_verdict(plain)
    if verdict == "pass" and result.pairs < LEAST_SCORED_SHARE * (result.pairs + lost):
        # Lost pairs are not a random sample: they may be the pairs that the perturbation affects most.
        verdict = "undecided"
    return replace(result, p_holm=p_holm, verdict=verdict, paper_verdict=decide_by_published_rule(family, plain))


def plot_effects(effects: Sequence[Mapping[str, Any]], path: Path, title: str) -> Path:
    """Plots *effects* as SVG into the file *path*: each perturbation's effect on each metric, with 95% intervals.

    Each row of *effects* is the effect of a perturbation on a metric. Its keys are ``metric``, ``change``, ``family``
    (degradation or manipulation), ``d`` (Cohen's d), ``low``, ``high`` and ``verdict``.
    """
    rows: list[IntervalRow | str] = []
    metrics = sort_metric_names(row["metric"] for row in effects)
    for name, change in PERTURBATIONS.items():
        own = [row for row in effects if row["change"] == name and row["d"] is not None]
        own.sort(key=lambda row: metrics.index(row["metric"]))
        rows += [f"{change.title} ({change.family})"] if own else []
        rows += [
            IntervalRow(find_recipe(row["metric"]).title, row["d"], f"{row['d']:+.2f}".replace("-", "−"), row["low"],
                     row["high"], row["verdict"], row["verdict"])
            for row in own
        ]  # fmt: skip
    ends = [row[end] for row in effects for end in ("d", "low", "high") if row[end] is not None]
    axis = "d, 95% by paper: degradations must fall, manipulations not rise"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, draw_intervals(rows, compute_axis_span(ends), axis, title=title, centre=0.0).encode())
    return path

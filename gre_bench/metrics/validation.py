"""Computes how changes of reviews affect the scores of a metric (Xu et al. 2025, §4.2).

An effect compares the scores of the same pairs before and after a change. Pairs without both scores are left out.

Each effect is also computed with length held fixed. First, the slope b of score on log(words) is fitted by least
squares to the unchanged human reviews alone. Then the score s′ of each changed review is moved to the length of the
original review: s′ − b·log(words′/words). Here words′ is the length of the changed review, and words that of the
original review. This removes a fall of the score that length alone explains.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.changes.catalog import CHANGES
from gre_bench.core.records import Case
from gre_bench.core.settings import ValidationSettings
from gre_bench.stats.effects import Effect, effect, holm
from gre_bench.stats.verdicts import Verdict, degradation_verdict, manipulation_verdict, paper_rule

Row = Mapping[str, Any]
PairKey = tuple[str, str, str]
"""Candidate, paper, reference."""

ENOUGH = 0.98
"""The share of the pairs scored before that must be scored after for a change to pass; the same as for ranks."""


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The effect of one change on a metric's scores, and the verdicts on it.

    - *d*, *low*, *high*, *p*: the effect, its interval and p-value, clustered by paper.
    - *p_holm*: *p* corrected for the number of degradations; None for manipulations.
    - *flat_low*, *flat_high*, *flat_p*: interval and p-value as Xu et al. compute them, with pairs as independent.
    - *length_d*, *length_low*, *length_high*: the effect with length held fixed, and its interval.
    - *mean_before*, *mean_after*: the mean scores before and after the change.
    - *pairs*: the number of pairs with a score before and after. *papers*: the number of papers of these pairs.
    - *planned*: the number of planned pairs of the change.
    - *method*: how the interval was computed.
    - *verdict*: by this project's rule. *paper_verdict*: by the rule of Xu et al.
    - *problem*: why there is no effect; else None. Without an effect, *verdict* is ``undecided``.
    """

    d: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    flat_low: float | None
    flat_high: float | None
    flat_p: float | None
    length_d: float | None
    length_low: float | None
    length_high: float | None
    mean_before: float | None
    mean_after: float | None
    pairs: int
    planned: int
    papers: int
    method: str | None
    verdict: Verdict
    paper_verdict: Verdict | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class _Trial:
    """The scores before and after a change, and its effect.

    - *planned*: the number of planned pairs of the change.
    - *lost*: the number of pairs with a score before the change but none after, although the change was possible.
    - *before*, *after*: the scores of the pairs that were scored both times. *papers*: the number of papers of these
      pairs.
    - *plain*: the effect. *at_length*: the effect with length held fixed.
    - *problem*: why there is no effect; else None.
    """

    planned: int
    lost: int = 0
    before: Sequence[float] = ()
    after: Sequence[float] = ()
    papers: int = 0
    plain: Effect | None = None
    at_length: Effect | None = None
    problem: str | None = None


def change_effects(
    before: Sequence[Row],
    after: Mapping[str, Sequence[Row]],
    words: Mapping[PairKey, int],
    settings: ValidationSettings,
    by_length: bool = True,
) -> dict[str, ChangeResult]:
    """Returns the effect of each change on the metric's scores. The keys of the result are the names of the changes.

    - *before*: the planned pairs of the human baseline. Each pair has the keys candidate_id, paper_id, reference_id,
      state, value and reason.
    - *after*: the name of a change → the planned pairs of its changed reviews.
    - *words*: (candidate, paper, reference) → the length in words of the candidate's text.
    - *by_length*: whether to compute effects with length held fixed as well.

    For a change that is impossible in all pairs, no effect is computed. If Xu et al. 2025 define the change, its
    verdict is ``undecided``; if this project added it, the result has no entry for it.
    """
    trials = {change: _trial(before, rows, words, settings, by_length) for change, rows in after.items()}
    trials = {
        change: trial
        for change, trial in trials.items()
        if trial.plain or CHANGES[change].source != "ours" or not _by_rule(after[change])
    }
    falls = {
        change: trial.plain.p
        for change, trial in trials.items()
        if trial.plain and CHANGES[change].family == "degradation"
    }
    adjusted = dict(zip(falls, holm(list(falls.values())), strict=True))
    return {change: _result(change, item, adjusted.get(change), settings) for change, item in trials.items()}


def lengths(cases: Iterable[Case]) -> dict[PairKey, int]:
    """Returns the number of words in the candidate's text of each of *cases*.

    The keys of the result are (candidate id, paper id, reference id).
    """
    return {(case.candidate_id, case.paper_id, case.reference_id): len(case.candidate.split()) for case in cases}


def _by_rule(rows: Sequence[Row]) -> bool:
    return all(row["state"] == "excluded" for row in rows)


def _trial(
    before: Sequence[Row],
    rows: Sequence[Row],
    words: Mapping[PairKey, int],
    settings: ValidationSettings,
    by_length: bool,
) -> _Trial:
    scored = {(row["paper_id"], row["reference_id"]): row for row in before if row["state"] == "scored"}
    both = [(scored[key], row) for row in rows if row["state"] == "scored" and (key := _key(row)) in scored]
    lost = sum(row["state"] not in ("scored", "excluded") and _key(row) in scored for row in rows)
    if not both:
        reasons = sorted({row["reason"] or row["state"] for row in rows})
        why = ", ".join(reasons) or "none planned"
        return _Trial(len(rows), lost, problem=f"no pair has a score both before and after: {why}")
    old, new = ([row["value"] for row in side] for side in zip(*both, strict=True))
    papers = [row["paper_id"] for row, _ in both]
    fields = {"planned": len(rows), "lost": lost, "before": old, "after": new, "papers": len(set(papers))}
    try:
        plain = effect(old, new, papers, resamples=settings.resamples, seed=settings.seed)
    except ValueError as error:
        return _Trial(**fields, problem=str(error))
    at_length = _at_length(scored.values(), both, words, settings) if by_length else None
    return _Trial(**fields, plain=plain, at_length=at_length)


def _key(row: Row) -> tuple[str, str]:
    return row["paper_id"], row["reference_id"]


def _at_length(
    humans: Iterable[Row], both: Sequence[tuple[Row, Row]], words: Mapping[PairKey, int], settings: ValidationSettings
) -> Effect | None:
    """Returns the effect with length held fixed; None if the data do not determine it.

    - *humans*: the scored pairs of the human baseline.
    - *both*: (pair before, pair after), for the pairs with a score before and after the change.
    - *words*: (candidate, paper, reference) → the length in words of the candidate's text.
    """

    def log_words(row: Row) -> float:
        return math.log(max(1, words[row["candidate_id"], row["paper_id"], row["reference_id"]]))

    try:
        x, y = np.array([(log_words(row), row["value"]) for row in humans]).T
        slope = float(np.polyfit(x, y, 1)[0]) if np.ptp(x) > 0 else 0.0
        old = [row["value"] for row, _ in both]
        new = [after["value"] - slope * (log_words(after) - log_words(row)) for row, after in both]
        papers = [row["paper_id"] for row, _ in both]
        return effect(old, new, papers, resamples=settings.resamples, seed=settings.seed)
    except (KeyError, ValueError):
        return None


def _result(change: str, trial: _Trial, p_holm: float | None, settings: ValidationSettings) -> ChangeResult:
    plain, at_length = trial.plain, trial.at_length
    if plain is None:
        nothing: Any = (None,) * 13
        counts = (len(trial.before), trial.planned, trial.papers)
        return ChangeResult(*nothing, *counts, None, "undecided", None, trial.problem)  # pyright: ignore[reportCallIssue]
    family = CHANGES[change].family
    if family == "degradation":
        verdict = degradation_verdict(plain, p_holm if p_holm is not None else 1.0, settings.smallest)
    else:
        verdict = manipulation_verdict(plain, settings.margin)
    if verdict == "pass" and len(trial.before) < ENOUGH * (len(trial.before) + trial.lost):
        # Lost pairs are not a random sample: they may be those that the change affects most.
        verdict = "undecided"
    return ChangeResult(
        plain.value, plain.low, plain.high, plain.p, p_holm, plain.flat_low, plain.flat_high, plain.flat_p,
        at_length and at_length.value, at_length and at_length.low, at_length and at_length.high,
        float(np.mean(trial.before)), float(np.mean(trial.after)),
        len(trial.before), trial.planned, trial.papers, plain.method, verdict, paper_rule(family, plain), None,
    )  # fmt: skip

"""Computes and plots how changes of reviews affect the scores of a metric (Xu et al. 2025, §4.2).

An effect compares the scores of the same pairs before and after a change. Pairs without both scores are left out.

Each effect is also computed with length held fixed (`gre_bench.stats.effects.effect_at_length`). The slope of score on
log(words) comes from unchanged human reviews alone: those of one paper that are scored against the same reference.
These are the human baseline and the other references, which a validation therefore scores as well. A paper with one
reference tells nothing about the slope. Without a slope, there is no effect with length held fixed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from gre_bench.changes.catalog import CHANGES
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import in_order, recipe_of
from gre_bench.core.records import Case
from gre_bench.core.settings import ValidationSettings
from gre_bench.stats.effects import (
    Effect,
    Verdict,
    degradation_verdict,
    effect,
    effect_at_length,
    holm,
    manipulation_verdict,
    paper_rule,
)
from gre_bench.stats.intervals import PairedTest
from gre_bench.stats.length import Slope, length_slope

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
    - *length_d*, *length_low*, *length_high*: the effect with length held fixed, and its interval; None: not known.
    - *mean_before*, *mean_after*: the mean scores before and after the change.
    - *pairs*: the number of pairs with a score before and after. *papers*: the number of papers of these pairs.
    - *planned*: the number of planned pairs of the change.
    - *method*: how the interval was computed.
    - *verdict*: by this project's rule. *paper_verdict*: by the rule of Xu et al.
    - *problem*: why there is no effect; else None. Without an effect, *verdict* is ``undecided``.
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


@dataclass(frozen=True, slots=True)
class _Trial:
    """The scores of the pairs that were scored before and after a change, with the effect or why there is none.

    *lost*: the number of pairs with a score before the change but none after, although the change was possible.
    """

    planned: int
    lost: int = 0
    before: Sequence[float] = ()
    after: Sequence[float] = ()
    papers: int = 0
    plain: Effect | None = None
    at_length: PairedTest | None = None
    problem: str | None = None


def change_effects(
    before: Sequence[Row],
    after: Mapping[str, Sequence[Row]],
    words: Mapping[PairKey, int],
    settings: ValidationSettings,
    unchanged: Sequence[Row] = (),
) -> dict[str, ChangeResult]:
    """Returns the effect of each change on the metric's scores. The keys of the result are the names of the changes.

    - *before*: the planned pairs of the human baseline. Each pair has the keys candidate_id, paper_id, reference_id,
      state, value and reason.
    - *after*: the name of a change → the planned pairs of its changed reviews.
    - *words*: (candidate, paper, reference) → the length in words of the candidate's text.
    - *unchanged*: pairs of other human reviews, which have the keys of *before*. With *before*, they tell how a score
      depends on length.

    For a change that is impossible in all pairs, no effect is computed. If Xu et al. 2025 define the change, its
    verdict is ``undecided``; if this project added it, the result has no entry for it.
    """
    slope = _slope([*before, *unchanged], words)
    trials = {change: _trial(before, rows, words, settings, slope) for change, rows in after.items()}
    trials = {
        change: trial
        for change, trial in trials.items()
        if trial.plain
        or CHANGES[change].source != "ours"
        or not all(row["state"] == "excluded" for row in after[change])
    }
    falls = {
        change: trial.plain.p
        for change, trial in trials.items()
        if trial.plain and CHANGES[change].family == "degradation"
    }
    adjusted = dict(zip(falls, holm(list(falls.values())), strict=True))
    return {change: _result(change, item, adjusted.get(change), settings) for change, item in trials.items()}


def lengths(cases: Iterable[Case]) -> dict[PairKey, int]:
    return {(case.candidate_id, case.paper_id, case.reference_id): len(case.candidate.split()) for case in cases}


def _trial(
    before: Sequence[Row],
    rows: Sequence[Row],
    words: Mapping[PairKey, int],
    settings: ValidationSettings,
    slope: Slope | None,
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
    at_length = None
    if slope and all(_place(row) in words for pair in both for row in pair):
        longer = [_log_words(row, words) - _log_words(first, words) for first, row in both]
        at_length = effect_at_length(old, new, longer, papers, slope)
    return _Trial(**fields, plain=plain, at_length=at_length)


def _key(row: Row) -> tuple[str, str]:
    return row["paper_id"], row["reference_id"]


def _place(row: Row) -> PairKey:
    return row["candidate_id"], row["paper_id"], row["reference_id"]


def _log_words(row: Row, words: Mapping[PairKey, int]) -> float:
    return math.log(max(1, words[_place(row)]))


def _slope(rows: Iterable[Row], words: Mapping[PairKey, int]) -> Slope | None:
    """Returns the slope of score on log(words) among human reviews on one paper and reference; None without one."""
    scored = [row for row in rows if row["state"] == "scored" and _place(row) in words]
    tokens, papers = [max(1, words[_place(row)]) for row in scored], [row["paper_id"] for row in scored]
    try:
        return length_slope([row["value"] for row in scored], tokens, papers, [_key(row) for row in scored])
    except ValueError:
        return None


def _result(change: str, trial: _Trial, p_holm: float | None, settings: ValidationSettings) -> ChangeResult:
    plain, at_length = trial.plain, trial.at_length
    counts: dict[str, Any] = {"pairs": len(trial.before), "planned": trial.planned, "papers": trial.papers}
    if plain is None:
        return ChangeResult(**counts, problem=trial.problem)
    family = CHANGES[change].family
    if family == "degradation":
        verdict = degradation_verdict(plain, p_holm if p_holm is not None else 1.0, settings.smallest)
    else:
        verdict = manipulation_verdict(plain, settings.margin)
    if verdict == "pass" and len(trial.before) < ENOUGH * (len(trial.before) + trial.lost):
        # Lost pairs are not a random sample: they may be those that the change affects most.
        verdict = "undecided"
    held = (at_length.value, at_length.low, at_length.high) if at_length else (None, None, None)
    return ChangeResult(
        plain.value, plain.low, plain.high, plain.p, p_holm, plain.flat_low, plain.flat_high, plain.flat_p, *held,
        fmean(trial.before), fmean(trial.after), **counts, method=plain.method, verdict=verdict,
        paper_verdict=paper_rule(family, plain),
    )  # fmt: skip


if TYPE_CHECKING:
    import altair

_COLOURS = {"pass": "#2e7d4f", "fail": "#b3372f", "undecided": "#c98a1b"}
_SHAPES = {"pass": "circle", "fail": "cross", "undecided": "diamond"}
_COLUMNS = 3
_MISSING = "altair is not installed: pip install 'gre-bench[plots]'"


def draw(effects: Sequence[Mapping[str, Any]], path: Path, title: str) -> Path:
    """Plots *effects* and writes the plot to *path*, an .svg or .png file; returns *path*.

    The file appears only when it is complete. Each row of *effects* is the effect of a change on a metric. Its keys are
    ``metric``, ``change``, ``family`` (degradation or manipulation), ``d``, ``low``, ``high`` and ``verdict``.
    """
    drawable(path)
    beside = path.with_name(f".{os.getpid()}-{path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    chart(effects, title).save(beside, format=path.suffix[1:])  # pyright: ignore[reportArgumentType]
    os.replace(beside, path)
    return path


def drawable(path: Path) -> None:
    """Raises `SettingsError` if *path* is no .svg or .png file, or altair is missing; before hours of scoring."""
    if path.suffix not in (".svg", ".png"):
        raise SettingsError(f"{path}: a picture is a .svg or .png file")
    if find_spec("altair") is None:
        raise SettingsError(_MISSING)


def chart(effects: Sequence[Mapping[str, Any]], title: str) -> altair.FacetChart:
    """Returns a panel per change: its effect d on each metric, with its 95% interval; *effects* as in `draw`."""
    try:
        import altair
    except ImportError as error:
        raise SettingsError(_MISSING) from error
    rows = [
        {
            "metric": recipe_of(row["metric"]).title,
            "change": f"{CHANGES[row['change']].title} ({row['family']})",
            **{name: row[name] for name in ("d", "low", "high", "verdict")},
        }
        for row in effects
        if row["d"] is not None
    ]
    metrics = [recipe_of(name).title for name in in_order(row["metric"] for row in effects)]
    changes = [f"{change.title} ({change.family})" for change in CHANGES.values()]
    colour = altair.Color(
        "verdict:N", title="verdict", scale=altair.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    )
    shape = altair.Shape(
        "verdict:N", title="verdict", scale=altair.Scale(domain=list(_SHAPES), range=list(_SHAPES.values()))
    )
    base = altair.Chart().encode(y=altair.Y("metric:N", title=None, sort=metrics), color=colour)
    lines = base.mark_rule(strokeWidth=2).encode(x=altair.X("low:Q", title="d"), x2="high:Q")
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x="d:Q", shape=shape)
    zero = altair.Chart().mark_rule(color="#777", strokeDash=[3, 3]).encode(x=altair.datum(0))
    panel = altair.layer(zero, lines, points).properties(width=230, height=max(60, 18 * len(metrics)))
    shown = [name for name in changes if any(row["change"] == name for row in rows)]
    facet = altair.Facet("change:N", title=None, sort=shown, header=altair.Header(labelLimit=300, labelFontSize=11))
    whole = panel.facet(facet, columns=_COLUMNS, data=altair.Data(values=rows)).resolve_scale(x="independent")
    about = "standardised mean difference d, 95% by paper: degradations must fall, manipulations must not rise"
    return whole.properties(title=altair.Title(title, subtitle=about, anchor="start")).configure_view(stroke=None)

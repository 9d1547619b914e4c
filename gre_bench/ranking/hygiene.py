"""Computes how much a board depends on who wrote the references, in three ways.

All three look at a candidate's lead: its score less the human baseline's score on the same paper and reference. Effects
of references that are easy or hard for everybody cancel in a lead. Intervals are 90%, by Student's t, and treat all
pairs of one paper as dependent. Means are over papers, as on the board, each the mean of its pairs.

If chance is in the scores, intervals are by exchange of reviews, as on the board (`exchange_error`). The score by
chance does not cancel in a shift: it depends on the reference, which changes.

- *reviewers*: how far leads and ranks move if one human reviewer of each paper, such as the first, gives no reference.
- *swap*: how far each lead would move if a tenth of the references were reviews by one candidate. That candidate's own
  lead is then measured against its own reviews, so its shift is the most that it could gain.
- *strata*: each lead on references that an LM probably wrote, less the lead on the other references. The caller
  supplies the likelihoods, from any detector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from gre_bench.core.records import HUMAN
from gre_bench.ranking.rank_statistics import Pairs
from gre_bench.stats.intervals import exchange_error, exchange_test, paired_test, student_test
from gre_bench.stats.length import by_paper
from gre_bench.stats.ranks import ranks

TENTH = 0.1
LEVEL = 0.90


@dataclass(frozen=True, slots=True)
class Shift:
    """How far the lead of one candidate over the human baseline moves if the references change.

    - *what*: the change of the references, in words. *lead*: the lead before it, in the metric's unit.
    - *shift*: the lead after the change less the lead before. *low*, *high*: its interval; None for only one paper.
    - *rank*, *new_rank*: the candidate's ranks before and after the change; None if ranks are not compared.
    - *upper_bound*: whether *shift* is only the most that the candidate could gain.
    """

    what: str
    candidate: str
    lead: float
    shift: float
    low: float | None
    high: float | None
    rank: int | None
    new_rank: int | None
    papers: int
    upper_bound: bool = False


def reviewers(pairs: Pairs, position_of: Mapping[str, int]) -> list[Shift]:
    """Returns how far each candidate's lead and rank move if the references of one human reviewer are left out.

    *position_of*: reference → the position of its reviewer among the reviewers of the paper, such as 1 or 2. Each
    position is left out in turn, on all papers. Returns [] if all have the same position.
    """
    leads = _leads(pairs)
    known = sorted(set(position_of.values()))
    shifts = []
    for position in known if len(known) > 1 else ():
        kept = pairs.at([index for index, name in enumerate(pairs.references) if position_of[name] != position])
        before, after = (ranks(each.values, each.papers, each.candidates) for each in (pairs, kept))
        left = _leads(kept)
        for name in (name for name in leads if name in left):
            shared = {key: lead for key, lead in leads[name].items() if key[0] in {paper for paper, _ in left[name]}}
            full, rest = _paper_means(shared), _paper_means(left[name])
            change = [rest[paper] - full[paper] for paper in rest]
            lead = float(np.mean(list(_paper_means(leads[name]).values())))
            shifts.append(
                Shift(f"without reviewer {position}", name, lead, float(np.mean(change)),
                      *_ends(pairs, name, rest, change), before.get(name), after.get(name), len(change))
            )  # fmt: skip
    return shifts


def swap(pairs: Pairs, swapped: Pairs, intruder: str) -> list[Shift]:
    """Returns the shift of each candidate's lead if a tenth of the references were reviews by the candidate *intruder*.

    *pairs*: the scores against human references. *swapped*: the scores against the intruder's reviews as references.
    """
    full, against = _leads(pairs), _leads(swapped)
    shifts = []
    for name in against:
        before, after = _paper_means(full.get(name, {})), _paper_means(against[name])
        papers = [paper for paper in after if paper in before]
        change = [TENTH * (after[paper] - before[paper]) for paper in papers]
        if change:
            lead = float(np.mean([before[paper] for paper in papers]))
            shifts.append(
                Shift(f"a tenth of the references by {intruder}", name, lead, float(np.mean(change)),
                      *_ends(pairs, name, papers, change), None, None, len(change), name == intruder)
            )  # fmt: skip
    return shifts


def strata(pairs: Pairs, likelihood: Mapping[str, float], threshold: float) -> list[Shift]:
    """Returns how far each candidate's lead over the human baseline depends on whether an LM wrote the references.

    *likelihood*: reference → the likelihood that an LM wrote it; references without one are left out. References from
    *threshold* upwards count as LM-written. *lead* is that on references below *threshold*, and *shift* that on
    LM-written ones less *lead*. A candidate is left out if all its references are on one side of *threshold*.
    """
    shifts = []
    for name, leads in _leads(pairs).items():
        below, above = (
            _paper_means({key: lead for key, lead in leads.items()
                          if key[1] in likelihood and (likelihood[key[1]] >= threshold) == high})
            for high in (False, True)
        )  # fmt: skip
        if not below or not above:
            continue
        influence = dict.fromkeys((*below, *above), 0.0)
        means = []
        for side, sign in ((below, -1), (above, 1)):
            means.append(float(np.mean(list(side.values()))))
            for paper, lead in side.items():
                influence[paper] += sign * (lead - means[-1]) / len(side)
        size, sums = len(influence), np.array(list(influence.values()))
        gap = means[1] - means[0]
        ends: tuple[float, float] | tuple[None, None] = None, None
        with suppress(ValueError, ZeroDivisionError):  # fewer than two papers, or exchanges
            exchanges = _exchanges(pairs, name, influence)
            error, units = exchange_error(sums * size, *exchanges) if exchanges else (by_paper(sums), size)
            ends = student_test(gap, error, units - 1, LEVEL)[:2]
        shifts.append(
            Shift(f"references with likelihood ≥ {threshold:g}", name, means[0], gap, *ends, None, None, size)
        )
    return shifts


def _ends(
    pairs: Pairs, name: str, papers: Iterable[str], change: Sequence[float]
) -> tuple[float, float] | tuple[None, None]:
    """Returns the interval of the mean *change*, one per paper, of the lead of *name*; None for too few papers."""
    try:
        exchanges = _exchanges(pairs, name, papers)
        test = exchange_test(change, *exchanges, LEVEL) if exchanges else paired_test(change, LEVEL)
    except ValueError:
        return None, None
    return test.low, test.high


def _exchanges(pairs: Pairs, name: str, papers: Iterable[str]) -> tuple[list[str], list[str]] | None:
    """Returns the exchanges that the lead of *name* on *papers* depends on: its own, the human baseline's."""
    own, human = (pairs.exchanges_of(each) for each in (name, HUMAN))
    return ([own[paper] for paper in papers], [human[paper] for paper in papers]) if own else None


def _leads(pairs: Pairs) -> dict[str, dict[tuple[str, str], float]]:
    """Returns candidate → (paper, reference) → lead, without the human baseline.

    A lead is the candidate's score less the human baseline's score on the same paper and reference.
    """
    rows = list(zip(*pairs.columns, strict=True))
    human = {(paper, reference): value for name, paper, reference, value in rows if name == HUMAN}
    leads: dict[str, dict[tuple[str, str], float]] = {}
    for name, paper, reference, value in rows:
        if name != HUMAN and (paper, reference) in human:
            leads.setdefault(name, {})[paper, reference] = value - human[paper, reference]
    return leads


def _paper_means(leads: Mapping[tuple[str, str], float]) -> dict[str, float]:
    by_paper: dict[str, list[float]] = {}
    for (paper, _), lead in leads.items():
        by_paper.setdefault(paper, []).append(lead)
    return {paper: float(np.mean(values)) for paper, values in by_paper.items()}

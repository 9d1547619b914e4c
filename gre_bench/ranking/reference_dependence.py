"""Computes how much a board depends on who wrote the references.

There are three methods:

- *orders*: how much AI writing in the references the order of two candidates withstands (`stats.reference_shares`).
  One result is a share of references. If more of them were like the reviews of an LM, the order would reverse. This LM
  is called a *stand-in*: its reviews take the place of human references. Another result is the difference of the two
  candidates if the most AI-like references are left out, compared with leaving out as many random ones.
- *reviewers*: how far leads and ranks move if one human reviewer of each paper, such as the first, is left out.
- *strata*: each lead on references that an LM probably wrote, less the lead on the other references. The caller
  supplies the likelihoods, which may come from any detector.

The last two look at a candidate's lead: its score less the human baseline's score on the same paper and reference.
Effects of references that are easy or hard for everybody cancel in a lead. The intervals of leads are 90% intervals by
Student's t, and treat all pairs of one paper as dependent. Means are over papers: as on the board, each paper counts
with the mean of its pairs. If the scores are those above chance, papers of one swap (`ScoredPairs`) are treated as
dependent, as on the board (`two_way_clustered_error`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from gre_bench.core.metrics import ALPHA
from gre_bench.core.records import HUMAN
from gre_bench.core.terminal import counted
from gre_bench.ranking.rank_statistics import ScoredPairs
from gre_bench.stats.families import CandidateTest, HolmFamily
from gre_bench.stats.intervals import (
    compute_t_interval_and_p,
    paired_test,
    two_way_clustered_error,
    two_way_clustered_test,
)
from gre_bench.stats.length import error_by_paper
from gre_bench.stats.ranks import ranks
from gre_bench.stats.reference_shares import (
    ONE_SIDED,
    TrimmedDifference,
    find_tipping_share,
    find_tipping_share_of_worst_assignment,
    measure_ai_likeness,
    reversal_share,
    trim_ai_like_references,
)
from gre_bench.stats.samples import Array

LEVEL = 0.90
TRIMS = (0.1, 0.2, 0.3)
"""The shares of the most AI-like references that are left out."""
NO_HUMAN = (
    "no share for differences to human: it needs what human reviews score on stand-ins, and two runs of a stand-in"
)


@dataclass(frozen=True, slots=True)
class LeadShift:
    """How far the lead of one candidate over the human baseline moves if the references change.

    - *what*: how the references change, in words. *lead*: the lead before the change, in the metric's unit.
    - *shift*: the lead after the change less the lead before. *low*, *high*: the shift's interval; None if there are
      too few papers.
    - *rank*, *new_rank*: the candidate's ranks before and after the change; None if ranks are not compared.
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


StandIns = Sequence[Mapping[str, Any]]
"""Rows of the table ``stand_ins`` of one signature: the scores if a review by *reference_by* is the reference.

*reference_by* is an LM, or the human baseline if one human review is scored on another.

Columns: *paper_id*, *candidate_id*, *reference_by*, *value* (the score on the whole reference), *cut* (the score if the
reference is cut in length), ...
"""


@dataclass(frozen=True, slots=True)
class TippingPoint:
    """How much AI writing in the references the order of two LM candidates withstands.

    A stand-in is another LM candidate whose reviews serve as references in place of human ones.

    - *first*, *second*: the candidates. Their mean *difference*, first less second, is positive. *p_holm*: as on the
      board.
    - *share*: the largest share of references like a stand-in's at which the order still holds (`find_tipping_share`).
      The stand-in's judgments are cut to the length in tokens of the references that they replace. *by*: the stand-in
      that reverses the order first.
    - *uncut*: the same as *share*, but the stand-in's judgments are not cut. *worst*: the same as *share*, if these
      references are on the worst papers for the order (`find_tipping_share_of_worst_assignment`).
    - *turned*: the smallest share at which the order is significantly reversed, Bonferroni-corrected over stand-ins;
      None if there is none.

    The last five fields are None if the two candidates do not differ significantly.
    """

    first: str
    second: str
    difference: float
    p_holm: float
    papers: int
    share: float | None = None
    by: str | None = None
    uncut: float | None = None
    worst: float | None = None
    turned: float | None = None


def find_tipping_points(
    pairs: ScoredPairs, stand_ins: StandIns, ranked: Sequence[str], tests: HolmFamily
) -> list[TippingPoint]:
    """Returns a `TippingPoint` for every two LM candidates that are neighbours in rank or differ significantly.

    They come in rank order. *ranked*: the candidates of one group, best first. *tests*: the board's tests. Returns []
    if there are no scores on stand-ins, or fewer than two LM candidates.
    """
    models = [name for name in ranked if name != HUMAN]
    if not stand_ins or len(models) < 2:
        return []
    neighbours = set(pairwise(models))
    scored = group_scores_by_stand_in(stand_ins)
    points = []
    for names in combinations(models, 2):
        test = tests.between(*names)
        if test and (names in neighbours or test.p_holm < ALPHA):
            points.append(
                _compute_tipping_point(test if test.difference >= 0 else test.with_candidates_reversed(), pairs, scored)
            )
    return points


def _compute_tipping_point(
    test: CandidateTest, pairs: ScoredPairs, scored: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> TippingPoint:
    plain = TippingPoint(test.first, test.second, test.difference, test.p_holm, test.papers)
    if test.p_holm >= ALPHA:
        return plain
    human = compute_paper_differences(pairs, test.first, test.second)
    shares: dict[str, dict[str, Any]] = defaultdict(dict)
    others = [name for name in scored if name not in (test.first, test.second)]
    for name in others:
        for text in ("cut", "value"):
            own, other = paired_stand_in_differences(human, scored[name], test.first, test.second, text)
            if len(own) < 2:
                continue
            shares[text][name] = find_tipping_share(own, other)
            if text == "cut":
                shares["worst"][name] = find_tipping_share_of_worst_assignment(own, other)
                turned = reversal_share(own, other, 1 - (1 - ONE_SIDED) / len(others))
                shares["turned"] |= {} if turned is None else {name: turned}
    least = {kind: None if None in own.values() else min(own.values()) for kind, own in shares.items() if own}
    first = least.get("cut")
    by = next((name for name, share in shares["cut"].items() if share == first), None) if first is not None else None
    return TippingPoint(
        test.first, test.second, test.difference, test.p_holm, test.papers, first, by, least.get("value"),
        least.get("worst"), least.get("turned"),
    )  # fmt: skip


def group_scores_by_stand_in(stand_ins: StandIns) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns stand-in → candidate → paper → row of *stand_ins*, for stand-ins and candidates that are LMs."""
    rows: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for row in stand_ins:
        if HUMAN not in (row["candidate_id"], row["reference_by"]):
            rows[row["reference_by"]][row["candidate_id"]][row["paper_id"]] = row
    return rows


def paired_stand_in_differences(
    human: Mapping[str, float], scored: Mapping[str, Mapping[str, Any]], first: str, second: str, text: str
) -> tuple[list[float], list[float]]:
    """Returns two differences between two candidates for each paper i that has both: δ_i and δ_Z,i.

    δ_i is the difference on human references. δ_Z,i is the difference on a reference by the stand-in Z, an LM. *human*:
    paper → δ_i. *scored*: candidate → paper → the candidate's row of `StandIns` for Z. *text*: ``cut`` or ``value``,
    the column to read.
    """
    rows = scored.get(first, {}), scored.get(second, {})
    papers = [paper for paper in human if all(paper in own and own[paper][text] is not None for own in rows)]
    return [human[paper] for paper in papers], [rows[0][paper][text] - rows[1][paper][text] for paper in papers]


def compute_paper_differences(pairs: ScoredPairs, first: str, second: str) -> dict[str, float]:
    """Returns paper → mean difference of *first* and *second* on the references that both are scored on."""
    by_paper: dict[str, list[float]] = defaultdict(list)
    for paper, _, difference in _list_reference_differences(pairs, first, second):
        by_paper[paper].append(difference)
    return {paper: float(np.mean(values)) for paper, values in by_paper.items()}


def _list_reference_differences(pairs: ScoredPairs, first: str, second: str) -> list[tuple[str, str, float]]:
    """Returns (paper, reference, difference) for each reference that both candidates are scored on."""
    values = {key[:3]: key[3] for key in zip(*pairs.columns, strict=True)}
    return [
        (paper, reference, value - values[second, paper, reference])
        for (name, paper, reference), value in values.items()
        if name == first and (second, paper, reference) in values
    ]


def describe_tipping_points(points: Sequence[TippingPoint]) -> str | None:
    """Returns the line that a board shows about *points*; None if there are none."""
    if not points:
        return None
    apart = [row for row in points if row.share is not None]
    if not apart:
        return (
            "No order of two LM candidates is told apart, so none has a share of AI-written references that it stands."
        )
    first, weakest = apart[0], min(apart, key=lambda row: row.share or 0.0)
    stands = format_percent_rounded_down(first.share)
    line = f"{first.first} over {first.second} stands up to {stands} AI-written references"
    line += ", if neither's own model wrote them"
    if len(apart) > 1:
        line += f"; of {counted(len(apart), 'order')} told apart, the weakest stands up to "
        line += format_percent_rounded_down(weakest.share)
    return line + "."


def format_percent_rounded_down(share: float | None) -> str:
    """Returns *share*, up to which share of AI-written references an order holds, as a whole percentage.

    It is rounded down, so the order also holds at the printed share. None gives 0%.
    """
    return f"{int(100 * (share or 0.0) + 1e-9)}%"


def compute_reference_likeness(
    pairs: ScoredPairs, stand_ins: StandIns, without: Iterable[str] = ()
) -> tuple[dict[tuple[str, str], float], list[str]]:
    """Returns (paper, reference) → how AI-like the reference is, and the LM candidates whose scores were used.

    A reference is AI-like if LM candidates score high on it, compared with the scores of other human reviews on it.
    *without*: LM candidates to leave out.
    """
    left_out = {HUMAN, *without}
    names = [name for name in dict.fromkeys(pairs.candidates) if name not in left_out]
    models: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    humans: dict[tuple[str, str], list[float]] = defaultdict(list)
    for name, paper, reference, value in zip(*pairs.columns, strict=True):
        if name != HUMAN:
            models[paper, reference][name] = value
    for row in stand_ins:
        if row["candidate_id"] == row["reference_by"] == HUMAN and row["value"] is not None:
            humans[row["paper_id"], row["reference_id"]].append(row["value"])
    keys = list(models)
    table = np.array([[models[key].get(name, np.nan) for name in names] for key in keys]).reshape(len(keys), len(names))
    other = np.array([np.mean(humans[key]) if humans.get(key) else np.nan for key in keys], dtype=np.float64)
    return dict(zip(keys, measure_ai_likeness(table, other).tolist(), strict=True)), names


def compute_differences_without_ai_like_references(
    pairs: ScoredPairs, stand_ins: StandIns, first: str, second: str
) -> list[TrimmedDifference]:
    """Returns the mean difference of *first* and *second* without the most AI-like references, for each of `TRIMS`."""
    like, _ = compute_reference_likeness(pairs, stand_ins, (first, second))
    rows = _list_reference_differences(pairs, first, second)
    values: Array = np.array([like[paper, reference] for paper, reference, _ in rows], dtype=np.float64)
    return trim_ai_like_references([row[2] for row in rows], [row[0] for row in rows], values, TRIMS)


def shifts_without_each_reviewer(
    pairs: ScoredPairs, position_of: Mapping[str, int], groups: Sequence[Sequence[str]]
) -> list[LeadShift]:
    """Returns how far each candidate's lead and rank move if the references of one human reviewer are left out.

    *position_of*: reference → the position of its reviewer among the paper's reviewers, such as 1 or 2. Each position
    is left out in turn, on all papers; references without a position always stay. *groups*: the candidates that are
    ranked together, group by group; other candidates have no rank. Returns [] if all references have the same position.
    """

    def assign_rank_groups(scored: ScoredPairs) -> dict[str, int]:
        scored_groups = (scored.of_candidates(group) for group in groups)
        return {
            name: rank
            for own in scored_groups
            if len(own.values) > 1
            for name, rank in ranks(own.values, own.papers, own.candidates).items()
        }

    leads = _compute_leads_by_reference(pairs)
    known = sorted(set(position_of.values()))
    shifts = []
    for position in known if len(known) > 1 else ():
        kept = pairs.select_positions(
            [index for index, name in enumerate(pairs.references) if position_of.get(name) != position]
        )
        before, after = assign_rank_groups(pairs), assign_rank_groups(kept)
        left = _compute_leads_by_reference(kept)
        for name in (name for name in leads if name in left):
            shared = {key: lead for key, lead in leads[name].items() if key[0] in {paper for paper, _ in left[name]}}
            full, rest = _average_by_paper(shared), _average_by_paper(left[name])
            change = [rest[paper] - full[paper] for paper in rest]
            lead = float(np.mean(list(_average_by_paper(leads[name]).values())))
            shifts.append(
                LeadShift(f"without reviewer {position}", name, lead, float(np.mean(change)),
                      *_compute_shift_interval(pairs, name, rest, change), before.get(name), after.get(name),
                      len(change))
            )  # fmt: skip
    return shifts


def shifts_by_lm_likelihood(pairs: ScoredPairs, likelihood: Mapping[str, float], threshold: float) -> list[LeadShift]:
    """Returns how much each candidate's lead over the human baseline depends on whether an LM wrote the references.

    *likelihood*: reference → the likelihood that an LM wrote it; references without a likelihood are left out.
    References count as LM-written if their likelihood is at least *threshold*. *lead* is the lead on the other
    references; *shift* is the lead on LM-written references less *lead*. A candidate is left out if all its references
    are on one side of *threshold*.
    """
    shifts = []
    for name, leads in _compute_leads_by_reference(pairs).items():
        below, above = (
            _average_by_paper({key: lead for key, lead in leads.items()
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
            exchanges = _find_swaps_of_lead(pairs, name, influence)
            error, units = (
                two_way_clustered_error(sums * size, *exchanges) if exchanges else (error_by_paper(sums), size)
            )
            ends = compute_t_interval_and_p(gap, error, units - 1, LEVEL)[:2]
        shifts.append(
            LeadShift(f"references with likelihood ≥ {threshold:g}", name, means[0], gap, *ends, None, None, size)
        )
    return shifts


def _compute_shift_interval(
    pairs: ScoredPairs, name: str, papers: Iterable[str], change: Sequence[float]
) -> tuple[float, float] | tuple[None, None]:
    """Returns the interval of the mean *change* (one per paper) in the lead of *name*; two Nones for too few papers."""
    try:
        exchanges = _find_swaps_of_lead(pairs, name, papers)
        test = two_way_clustered_test(change, *exchanges, LEVEL) if exchanges else paired_test(change, LEVEL)
    except ValueError:
        return None, None
    return test.low, test.high


def _find_swaps_of_lead(pairs: ScoredPairs, name: str, papers: Iterable[str]) -> tuple[list[str], list[str]] | None:
    """Returns two lists: for each of *papers*, the swap of the candidate *name*, and the swap of the human baseline.

    Returns None if the scores of *name* depend on no swap, because they are not scores above chance.
    """
    own, human = (pairs.swaps_of(each) for each in (name, HUMAN))
    return ([own[paper] for paper in papers], [human[paper] for paper in papers]) if own else None


def _compute_leads_by_reference(pairs: ScoredPairs) -> dict[str, dict[tuple[str, str], float]]:
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


def _average_by_paper(leads: Mapping[tuple[str, str], float]) -> dict[str, float]:
    by_paper: dict[str, list[float]] = {}
    for (paper, _), lead in leads.items():
        by_paper.setdefault(paper, []).append(lead)
    return {paper: float(np.mean(values)) for paper, values in by_paper.items()}

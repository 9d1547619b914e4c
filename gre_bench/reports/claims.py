"""Tests claims of published papers on an edition or a study.

A claim gets one of three verdicts: "holds", "does not hold" or "cannot be told". All claims that are tested together,
each under each of its metrics, form one family, over which Holm's method corrects (`gre_bench.stats.claims`).

Two candidates of a board are compared on the papers that both have reviewed, and only if both are ranked in one group.
Effects, agreements and cells of a study are compared by their stored intervals. Two intervals over the same papers are
treated as independent, which is slightly conservative.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from gre_bench.catalogs.claims import ON_STUDIES, Claim
from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import HUMAN
from gre_bench.ranking.exposure import entry_of
from gre_bench.ranking.published import Figure
from gre_bench.reports.comparisons import run_study
from gre_bench.reports.contrasts import leads
from gre_bench.stats.claims import ClaimResult, Contrast, contrast_of, decided, from_interval, judge_claim
from gre_bench.store import Row, Store, no_edition
from gre_bench.store.queries import (
    AGREEMENTS,
    CANDIDATE_PAIRS,
    EFFECTS,
    LEADERBOARD,
    PLANNED_SIGNATURES,
    EffectRow,
    Query,
    QueryRow,
    SignatureRow,
)

NO_RISE = 0.1
"""A manipulation does not raise a score if d is below this."""
_MANNER = re.compile(r"[+@]")
"""Separates a candidate's model from its guideline or protocol; two models are compared only if these are equal."""
SIZES = 1.5
"""Models whose sizes differ by up to this factor count as equally large."""


def edition_claims(edition: str, state: Path, claims: Sequence[Claim]) -> dict[str, Any]:
    """Returns the verdicts on *claims* for an edition; those about studies are left out."""
    store = Store(state, edition)
    if not store.exists:
        raise no_edition(state, edition)
    planned = store.read(PLANNED_SIGNATURES)
    if not planned:
        raise SettingsError(f"edition {store.key} has no scores yet; run: gre-bench refresh --edition {store.key}")
    return _summary(edition, claims_on(store, planned, claims))


def claims_on(store: Store, signatures: Sequence[SignatureRow], claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Tests each of *claims*, but those about studies, under each of its metrics: one row per claim and metric.

    A metric is tested under its first signature in *signatures*. *p* is Holm-corrected over *tests* claims and metrics.
    *contrasts*: the compared differences; *deciding*: the index of the smallest, or of the largest if one is enough.
    """
    by_metric = {row["metric"]: row for row in reversed(signatures)}
    rows = _Reader(store)
    tests = [(claim, metric) for claim in claims if claim.test not in ON_STUDIES for metric in claim.metrics]
    return _rows(
        (claim, metric, _on_edition(rows, by_metric[metric], claim, by_metric) if metric in by_metric else _UNSCORED)
        for claim, metric in tests
    )


def study_claims(name: str, state: Path, claims: Sequence[Claim]) -> dict[str, Any]:
    """Returns the verdicts on the *claims* about a study, given by name, folder or ``study.json``.

    Raises `SettingsError` if no claim is about it.
    """
    answers: list[tuple[Claim, str, ClaimResult]] = []
    problems: list[str] = []
    for claim in claims:
        if claim.test not in ON_STUDIES or claim.table is None:
            continue
        try:
            figures = run_study(name, claim.table, state).figures
        except (SettingsError, SourceError) as error:
            problems.append(str(error))
            continue
        cells = {(figure.metric, figure.item): figure for figure in figures}
        for lm in dict.fromkeys(figure.metric for figure in figures):
            contrasts = []
            for better, other in claim.pairs:
                first, second = _of_cell(cells.get((lm, better))), _of_cell(cells.get((lm, other)))
                if first is None or second is None:
                    continue
                if claim.lower_is_better:
                    contrasts.append(_less(f"{better} < {other}", second, first))
                else:
                    contrasts.append(_less(f"{better} > {other}", first, second))
            lacking = "" if len(contrasts) == len(claim.pairs) else "not all of its cells are there"
            answers.append((claim, lm, judge_claim(contrasts, claim.quantifier, lacking=lacking)))
    rows = _rows(answers)
    if not rows:
        raise SettingsError(problems[0] if problems else f"study {name} has no cell that a claim is about")
    return _summary(name, rows)


def _summary(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    counts = Counter(row["verdict"] for row in rows)
    line = f"{counts['holds']} claims hold, {counts['does not hold']} do not, {counts['cannot be told']} cannot be told"
    return {"of": name, "claims": rows, "counts": dict(counts), "line": line}


_UNSCORED = ClaimResult(why="the metric was not scored")


def _rows(answers: Iterable[tuple[Claim, str, ClaimResult]]) -> list[dict[str, Any]]:
    answers = list(answers)
    return [
        {
            "claim": claim.name, "paper": claim.paper, "where": claim.where, "says": claim.says, "note": claim.note,
            "metric": metric, "verdict": answer.verdict, "p": answer.p_holm, "tests": answer.tests,
            "why": answer.why,
            "deciding": answer.contrasts.index(answer.deciding) if answer.deciding else None,
            "contrasts": [
                {"name": item.name, "value": item.value, "error": item.error, "n": item.n,
                 "freedom": None if item.freedom == math.inf else item.freedom,
                 "low": item.interval()[0], "high": item.interval()[1]}
                for item in answer.contrasts
            ],
        }
        for (claim, metric, _), answer in zip(answers, decided([result for *_, result in answers]), strict=True)
    ]  # fmt: skip


class _Reader:
    """Reads rows from *store*, and reads the same rows only once, because many claims need them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[tuple[str, str], Any] = {}

    def read(self, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
        key = query.name, repr(parameters)
        if key not in self._kept:
            self._kept[key] = self._store.read(query, **parameters)
        return self._kept[key]


def _on_edition(
    store: _Reader, signature: SignatureRow, claim: Claim, signatures: Mapping[str, SignatureRow]
) -> ClaimResult:
    if claim.test in ("larger", "newer", "human_leads", "human_is_passed"):
        return _on_board(store, signature, claim, signatures)
    if claim.test in ("agrees", "agrees_more"):
        return _on_grades(store, claim, signature["metric"], signatures)
    ids = [signature["signature_id"]]
    effects = {row["change"]: row for row in store.read(EFFECTS, signature_ids=ids) if row["problem"] is None}
    return _on_effects(effects, claim)


def _on_board(
    store: _Reader, signature: SignatureRow, claim: Claim, signatures: Mapping[str, SignatureRow]
) -> ClaimResult:
    signature_id = signature["signature_id"]
    boards = store.read(LEADERBOARD, signature_ids=[row["signature_id"] for row in signatures.values()])
    group_of = {
        row["candidate"]: row["group_name"]
        for row in boards
        if row["signature_id"] == signature_id and row["rank"] is not None and row["kind"] in ("model", "human")
    }
    named = [name for name in group_of if name != HUMAN]
    known = load_models()
    models, manner = dict[str, Model](), dict[str, str]()
    for name in named:
        base, *how = _MANNER.split(name, maxsplit=1)
        if (model := entry_of(base, known)) is not None:
            models[name], manner[name] = model, "".join(how)
    if claim.test in ("larger", "newer"):
        pairs = [
            pair
            for pair in permutations(models, 2)
            if manner[pair[0]] == manner[pair[1]] and _ORDERS[claim.test](models[pair[0]], models[pair[1]])
        ]
        lacking = "no two ranked models here of one family and known sizes" if claim.test == "larger" else (
            "no two ranked models here of one maker and about one size, both with a known release"
        )  # fmt: skip
    else:
        human_first = claim.test == "human_leads"
        pairs = [(HUMAN, name) if human_first else (name, HUMAN) for name in named if HUMAN in group_of]
        lacking = "no model is ranked here with humans"
    pairs = [pair for pair in pairs if group_of[pair[0]] == group_of[pair[1]]]
    scored = [
        row
        for row in store.read(CANDIDATE_PAIRS, signature_id=signature_id, candidates=[HUMAN, *named])
        if row["state"] == "scored"
    ]
    contrasts = [
        contrast
        for pair in pairs
        if (contrast := contrast_of(f"{pair[0]} > {pair[1]}", list(leads(scored, pair).values()))) is not None
    ]
    return judge_claim(contrasts, claim.quantifier, lacking)


def _larger(first: Model, second: Model) -> bool:
    if not first.parameters or not second.parameters:
        return False
    return bool(first.family) and first.family == second.family and first.parameters > SIZES * second.parameters


def _newer(first: Model, second: Model) -> bool:
    makers = [(model.family or "").split(" ")[0] for model in (first, second)]
    if not makers[0] or makers[0] != makers[1] or not (first.released and second.released):
        return False
    if not first.parameters or not second.parameters or first.released <= second.released:
        return False
    return 1 / SIZES <= first.parameters / second.parameters <= SIZES


_ORDERS: dict[str, Callable[[Model, Model], bool]] = {"larger": _larger, "newer": _newer}


def _on_effects(effects: Mapping[str, EffectRow], claim: Claim) -> ClaimResult:
    wanted = (*claim.changes, *claim.more)
    lacking = [name for name in wanted if name not in effects]
    if len(lacking) == len(wanted):
        return ClaimResult(why="not validated on the papers of this edition; gre-bench study validate does it")
    if claim.test == "costs_less":
        contrasts = [
            _less(f"{less} costs less than {more}", _effect(effects[less], 1), _effect(effects[more], 1))
            for less in claim.changes for more in claim.more if less in effects and more in effects
        ]  # fmt: skip
    else:
        sign = 1 if claim.test == "rises" else -1
        contrasts = [_effect(effects[name], sign) for name in claim.changes if name in effects]
    # A claim that nothing rises holds if every d is below `NO_RISE`, and fails if some d is above zero.
    margin = NO_RISE if claim.test == "does_not_rise" else 0.0
    why = f"not tried: {', '.join(lacking)}" if lacking else ""
    return judge_claim(contrasts, margin=margin, lacking=why)


def _effect(row: Row, sign: int) -> Contrast:
    verb = "falls" if sign < 0 else "rises"
    low, high = sorted((sign * row["low"], sign * row["high"]))
    return from_interval(f"{verb} with {row['change']}", sign * row["d"], low, high, row["papers"])


def _on_grades(store: _Reader, claim: Claim, metric: str, signatures: Mapping[str, SignatureRow]) -> ClaimResult:
    rows = {
        row["metric"]: row
        for row in store.read(AGREEMENTS, signature_ids=[row["signature_id"] for row in signatures.values()])
        if row["kind"] == "spearman" and row["problem"] is None
    }
    if metric not in rows:
        return ClaimResult(why="no human grades of the reviews here; run gre-bench study agree")
    own = _agreement(rows[metric], f"{metric} agrees")
    if claim.test == "agrees":
        return judge_claim([own])
    others = [_agreement(rows[name], name) for name in claim.than if name in rows]
    contrasts = [_less(f"{metric} > {contrast.name}", own, contrast) for contrast in others]
    absent = [name for name in claim.than if name not in rows]
    return judge_claim(contrasts, lacking=f"not scored: {', '.join(absent)}" if absent else "")


def _agreement(row: Row, name: str) -> Contrast:
    return from_interval(name, row["value"], row["low"], row["high"], row["items"])


def _of_cell(cell: Figure | None) -> Contrast | None:
    if cell is None or cell.low is None or cell.high is None:
        return None
    return from_interval("", cell.value, cell.low, cell.high, None)


def _less(name: str, first: Contrast, second: Contrast) -> Contrast:
    """Returns the contrast *name*: *first* less *second*, as if the two were independent."""
    n = None if first.n is None or second.n is None else min(first.n, second.n)
    return Contrast(name, first.value - second.value, math.hypot(first.error, second.error), n)

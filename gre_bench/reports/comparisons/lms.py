"""Compares two evaluation LMs on the same pairs of one edition: do they rank candidates in the same order?

The scores of two LMs have different signatures, so the scores themselves are not compared. Only quantities without a
unit are compared. These are the ranks of candidates, the correlations of the scores, and leads over the human baseline
in standard errors. Each LM's scores also give a test of every two candidates (Student's test by paper, Holm-corrected,
5%). The results count on how many tests the two LMs agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import did_you_mean, whole
from gre_bench.core.records import HUMAN
from gre_bench.ranking.rank_statistics import ALPHA, SEED
from gre_bench.stats.pair_tests import pair_tests
from gre_bench.stats.ranks import agreement, leads, orders, ranks
from gre_bench.store import Store
from gre_bench.store.queries import BOARD_PAIRS, CANDIDATES, PLANNED_SIGNATURES, BoardPairRow, SignatureRow

LM = ("evaluation_lm", "lm_digest", "dtype", "quantisation", "attention", "template_digest", "engine_version")
"""Fields of a signature that identify the evaluation LM; in all others the two should agree."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Pairs that both LMs have scored, as columns of equal length; *values* has one column of scores for each LM."""

    candidates: Sequence[str]
    papers: Sequence[str]
    references: Sequence[str]
    values: tuple[Sequence[float], Sequence[float]]


def are_lms(store: Store, names: Sequence[str]) -> bool:
    """Returns whether every one of *names* is an evaluation LM or a signature of the edition, and none is a candidate.

    A signature may be given by the beginning of its id. Raises `SettingsError` if exactly one of *names* is unknown and
    the other is no candidate.
    """
    signatures = store.read(PLANNED_SIGNATURES)
    candidates = [row["candidate_id"] for row in store.read(CANDIDATES)]
    absent = [name for name in names if not _signatures_of(name, signatures)]
    if len(absent) == 1 and not whole(absent[0], candidates) and not set(names) & set(candidates):
        lms = {row["evaluation_lm"] for row in signatures if row["evaluation_lm"] != "none"}
        raise SettingsError(f"edition {store.key} has no scores by {absent[0]}; {did_you_mean(absent[0], lms)}")
    return not absent and not set(names) & set(candidates)


def compare_lms(state: Path, edition: str, names: Sequence[str], metrics: Sequence[str] | None) -> dict[str, Any]:
    """Compares two evaluation LMs, or two signatures, on an edition; returns one row per metric that both have scored.

    - *names*: two names of LMs, or beginnings of signatures' ids.
    - *metrics*: the metrics to compare; None means all.

    Raises `SettingsError` if the two share no metric, or fewer than two scored pairs.
    """
    store = Store(state, edition)
    planned = [row for row in store.read(PLANNED_SIGNATURES) if not metrics or row["metric"] in metrics]
    sides = [_signatures_of(name, planned) for name in names]
    shared = [metric for metric in dict.fromkeys(row["metric"] for row in sides[0])
              if metric in {row["metric"] for row in sides[1]}]  # fmt: skip
    if not shared:
        among = f" among {', '.join(metrics)}" if metrics else ""
        raise SettingsError(f"edition {store.key}: {names[0]} and {names[1]} have no metric in common{among}")
    rows = [_metric(store, *_closest(metric, *sides)) for metric in shared]
    return {"edition": store.key, "compared": list(names), "evaluation_lms": rows}


def _signatures_of(name: str, signatures: Sequence[SignatureRow]) -> list[SignatureRow]:
    """Returns the signatures whose id begins with *name*, in the order of *signatures*.

    If there are none, returns the signatures of the evaluation LM *name*.
    """
    by_id = [row for row in signatures if len(name) >= 6 and row["signature_id"].startswith(name)]
    return by_id or [row for row in signatures if row["evaluation_lm"] == name]


def _closest(
    metric: str, first: Sequence[SignatureRow], second: Sequence[SignatureRow]
) -> tuple[SignatureRow, SignatureRow]:
    """Returns one signature of *metric* from *first* and one from *second*, which differ in as few fields as possible.

    Fields about the evaluation LM do not count. Among equally good choices, the first is returned. Raises
    `SettingsError` if *first* and *second* hold the same single signature of *metric*.
    """
    both = [(a, b) for a in first for b in second if a["metric"] == b["metric"] == metric]
    both = [(a, b) for a, b in both if a["signature_id"] != b["signature_id"]]
    if not both:
        raise SettingsError(f"{metric}: that is one signature named twice; name two")
    return min(both, key=lambda pair: len(_differing(*pair)))


def _differing(first: SignatureRow, second: SignatureRow) -> dict[str, list[Any]]:
    own = ("signature_id", *LM)
    return {name: [first[name], second[name]] for name in first if name not in own and first[name] != second[name]}


def _metric(store: Store, first: SignatureRow, second: SignatureRow) -> dict[str, Any]:
    kept = _shared(*(store.read(BOARD_PAIRS, signature_id=row["signature_id"]) for row in (first, second)))
    row = {
        "metric": first["metric"], "signature_ids": [first["signature_id"], second["signature_id"]],
        "lms": [{name: row[name] for name in LM} for row in (first, second)],
        "differ_in": _differing(first, second), "pairs": len(kept.candidates), "papers": len(set(kept.papers)),
        "problem": None, "agreement": None, "order": None, "candidates": [],
    }  # fmt: skip
    try:
        tests = [pair_tests(column, kept.papers, kept.candidates, kept.references) for column in kept.values]
    except ValueError as problem:
        return row | {"problem": str(problem)}
    with suppress(ValueError):  # fewer than three candidates, or one LM that scores all alike
        row["agreement"] = asdict(agreement(*kept.values, kept.papers, kept.candidates, seed=SEED))
    ranked = [ranks(column, kept.papers, kept.candidates) for column in kept.values]
    ahead = [leads(tested, HUMAN) for tested in tests]
    row["candidates"] = [
        {"candidate": name, "ranks": [by_name[name] for by_name in ranked],
         "leads": [by_name.get(name) for by_name in ahead], **_by_pair(kept, name)}
        for name in sorted(ranked[0], key=lambda name: ranked[0][name])
    ]  # fmt: skip
    return row | {"order": asdict(orders(*tests, alpha=ALPHA))}


def _shared(left: Sequence[BoardPairRow], right: Sequence[BoardPairRow]) -> Shared:
    """Returns the pairs that both signatures have scored; raises `SettingsError` if there are fewer than two."""
    values = {(row["candidate_id"], row["paper_id"], row["reference_id"]): row["value"] for row in right}
    keys = [(row["candidate_id"], row["paper_id"], row["reference_id"]) for row in left]
    rows = [(*key, row["value"], values[key]) for key, row in zip(keys, left, strict=True) if key in values]
    if len(rows) < 2:
        raise SettingsError("the two evaluation LMs have fewer than two pairs in common")
    candidates, papers, references, first, second = zip(*rows, strict=True)
    return Shared(candidates, papers, references, (first, second))


def _by_pair(kept: Shared, name: str) -> dict[str, Any]:
    """Returns the number of pairs of the candidate *name*, and how the two LMs' scores on these pairs correlate.

    The correlation is Spearman's. It is None for fewer than three pairs, or if the scores of an LM do not vary.
    """
    from scipy.stats import spearmanr

    mine = [index for index, candidate in enumerate(kept.candidates) if candidate == name]
    first, second = ([column[index] for index in mine] for column in kept.values)
    varies = len(mine) > 2 and len(set(first)) > 1 and len(set(second)) > 1
    result: Any = spearmanr(first, second) if varies else None
    return {"pairs": len(mine), "spearman": result and float(result.statistic)}

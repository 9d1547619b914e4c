"""Compares two candidates of one edition on the pairs that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.ranking.rank_statistics import Pairs
from gre_bench.reports.comparisons.contrasts import columns_of, paired, parts_of
from gre_bench.reports.signatures import shown_signatures, the_candidate
from gre_bench.stats.pair_tests import PairTest, in_one_family, pair_tests
from gre_bench.store import Store
from gre_bench.store.queries import (
    CANDIDATE_PAIRS,
    LEADERBOARD,
    PLANNED_SIGNATURES,
    CandidatePairRow,
    LeaderboardRow,
    SignatureRow,
)

SHOWN_PAPERS = 3


def compare_candidates(state: Path, edition: str, names: Sequence[str], metrics: list[str] | None) -> dict[str, Any]:
    """Compares the two candidates *names* of one edition; returns one row per metric.

    A row has the paired test, the numbers of papers *won* and *lost* by the first candidate, and the papers with the
    largest differences. Other fields:

    - *p*: not corrected for multiple tests, so valid only if these two candidates were chosen beforehand.
    - *board*: the Holm-corrected p-value (*p_holm*) and the number of *tests* on the board that the correction covers.
      None unless both candidates are ranked in one group.
    - *chance*, *above_chance*: the same test on the two parts of the scores: what the candidates' reviews of other
      papers score, and the rest. None if there are no such scores.
    - *problem*: why there is no test.

    *metrics*: the metrics to compare; None means those shown on the board. Raises `SettingsError` for an unknown
    candidate, or if *names* are not two different candidates.
    """
    store = Store(state, edition)
    names = [the_candidate(store, name) for name in names]
    if len(names) != 2 or names[0] == names[1]:
        given = f"got {', '.join(names)}" if names else "got none"
        raise SettingsError(
            f"--edition compares two candidates, {given}; name two: gre-bench compare A B -e {store.key}"
        )
    planned = store.read(PLANNED_SIGNATURES)
    signatures = {row["signature_id"]: row for row in shown_signatures(store, metrics)}
    boards: dict[str, list[LeaderboardRow]] = {}
    for row in store.read(LEADERBOARD, signature_ids=list(signatures)):
        boards.setdefault(row["signature_id"], []).append(row)
    rows = []
    for signature_id in (*boards, *(signatures.keys() - boards.keys())):
        signature, board = signatures[signature_id], boards.get(signature_id, [])
        row = _compared(store, signature, names)
        row["board"] = None if row["problem"] else _on_the_board(store, board, names)
        pairs = Pairs(*columns_of(store, signature)).of_candidates(names)
        parts = {name: paired(part, names, 0.90) for name, part in parts_of(store, signature, pairs, planned).items()}
        row |= {name: asdict(test) if (test := parts.get(name)) else None for name in ("chance", "above_chance")}
        rows.append(row)
    return {"edition": store.key, "compared": list(names), "candidates": rows}


def _compared(store: Store, signature: SignatureRow, names: Sequence[str]) -> dict[str, Any]:
    rows = store.read(CANDIDATE_PAIRS, signature_id=signature["signature_id"], candidates=list(names))
    planned = {row["candidate_id"] for row in rows}
    if lost := [name for name in names if name not in planned]:
        raise SettingsError(f"edition {store.key}: {signature['metric']} has no pair of candidate {', '.join(lost)}")
    scored = [row for row in rows if row["state"] == "scored"]
    compared = {"metric": signature["metric"], "signature_id": signature["signature_id"]}
    try:
        (test,) = _tested(scored)
    except ValueError:
        return compared | {"problem": "fewer than two papers on which both are scored"}
    test = test if test.first == names[0] else test.flipped()
    differences = leads(scored, names)
    order = sorted(differences, key=lambda paper: differences[paper])
    won, lost = ([paper for paper in order if differences[paper] * sign > 0] for sign in (1, -1))
    return compared | asdict(test) | {
        "problem": None,
        "won": len(won),
        "lost": len(lost),
        "most": [{"paper_id": paper, "difference": differences[paper]} for paper in won[::-1][:SHOWN_PAPERS]],
        "least": [{"paper_id": paper, "difference": differences[paper]} for paper in lost[:SHOWN_PAPERS]],
    }  # fmt: skip


def _on_the_board(store: Store, board: Sequence[LeaderboardRow], names: Sequence[str]) -> dict[str, Any] | None:
    """Returns the Holm-corrected p-value of the difference between the two candidates *names*.

    The result also has the number of tests that the correction covers: those of all candidates in the same group of
    *board*. Returns None unless both candidates have a rank in one group.
    """
    groups = [row["group_name"] for row in board if row["candidate"] in names and row["rank"] is not None]
    if len(groups) < 2 or groups[0] != groups[1]:
        return None
    ranked = [row for row in board if row["rank"] is not None and row["group_name"] == groups[0]]
    above = [row["above_chance_p"] for row in ranked if row["above_chance_p"] is not None]
    candidates = [row["candidate"] for row in ranked]
    rows = store.read(CANDIDATE_PAIRS, signature_id=ranked[0]["signature_id"], candidates=candidates)
    try:
        tests, others = in_one_family(_tested([row for row in rows if row["state"] == "scored"]), above)
    except ValueError:
        return None
    (own,) = (test for test in tests if {test.first, test.second} == set(names))
    return {"p_holm": own.p_holm, "tests": len(tests) + len(others)}


def leads(scored: Sequence[CandidatePairRow], names: Sequence[str]) -> dict[str, float]:
    """Returns paper → mean score of the first candidate of *names* minus that of the second candidate.

    *scored*: the scored pairs of both candidates. A reference counts only if both candidates were scored against it.
    """
    values = {(row["candidate_id"], row["paper_id"], row["reference_id"]): row["value"] for row in scored}
    by_paper: dict[str, list[float]] = {}
    for (name, paper, reference), value in values.items():
        other = values.get((names[1], paper, reference))
        if name == names[0] and value is not None and other is not None:
            by_paper.setdefault(paper, []).append(value - other)
    return {paper: sum(differences) / len(differences) for paper, differences in by_paper.items()}


def _tested(scored: Sequence[CandidatePairRow]) -> list[PairTest]:
    """Returns the paired test of every two candidates in *scored*.

    Raises ValueError if two candidates share fewer than two papers.
    """
    papers, candidates, references = (
        [row[name] for row in scored] for name in ("paper_id", "candidate_id", "reference_id")
    )
    return pair_tests([row["value"] for row in scored if row["value"] is not None], papers, candidates, references)

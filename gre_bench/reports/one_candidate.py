"""Collects one candidate's rows on the boards, and its mean score on each paper."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gre_bench.store import Store
from gre_bench.store.queries import CANDIDATE_PAIRS, CURRENT_SIGNATURES, LEADERBOARD


def one_candidate(store: Store, name: str) -> dict[str, Any]:
    """Returns the candidate's rows on the current boards, and its mean score on each paper.

    *name*: the candidate's full name. Keys of the result:

    - *rows*: one per board, validated metrics first. In a row, *of* is the number of ranked candidates in its group.
    - *human*: the row of the human baseline on the first of these boards on which the candidate has scores.
    - *papers*: the candidate's mean score on each paper of that board, best first, in the unit of the metric.
    - *signatures*: the signatures of the current boards.
    """
    signatures = store.read(CURRENT_SIGNATURES)
    rows = store.read(LEADERBOARD, signature_ids=[row["signature_id"] for row in signatures])
    ranked = Counter((row["signature_id"], row["group_name"]) for row in rows if row["rank"] is not None)
    own = [row | {"of": ranked[row["signature_id"], row["group_name"]]} for row in rows if row["candidate"] == name]
    first = next((row for row in own if row["scored"]), None)
    human = next((row for row in rows if first and row["signature_id"] == first["signature_id"]
                  and row["candidate"] == "human"), None)  # fmt: skip
    return {
        "edition": store.key,
        "candidate": name,
        "rows": own,
        "human": human,
        "papers": _papers(store, str(first["signature_id"]), name) if first else [],
        "signatures": signatures,
    }


def _papers(store: Store, signature_id: str, name: str) -> list[dict[str, Any]]:
    values: dict[str, list[float]] = {}
    for row in store.read(CANDIDATE_PAIRS, signature_id=signature_id, candidates=[name]):
        if row["value"] is not None:
            values.setdefault(row["paper_id"], []).append(row["value"])
    papers = [{"paper_id": paper, "mean": sum(scores) / len(scores)} for paper, scores in values.items()]
    return sorted(papers, key=lambda row: (-row["mean"], row["paper_id"]))

"""Reads how a committee's score grows with its members.

A committee is a set of candidates. The reviews of its members are joined into one review, which is scored.

The scores come from an edition or from a release.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gre_bench.board.family import Read, read_scored_pairs
from gre_bench.core.records import HUMAN
from gre_bench.core.terminal import counted
from gre_bench.store.queries import COMMITTEES, LeaderboardRow

if TYPE_CHECKING:
    from gre_bench.ranking.committees import Members

JOINED = " and "
"""Separates the members' names in the name of a committee."""


def list_ranked_models(board: Sequence[LeaderboardRow]) -> list[str]:
    """Returns the members of the board's committee: the ranked LM candidates that belong to no group, by name."""
    return sorted(row["candidate"] for row in board
                  if row["rank"] and row["kind"] == "model" and row["group_name"] is None)  # fmt: skip


def read_scores_by_committee_size(
    read: Read, signature_id: str, board: Sequence[LeaderboardRow]
) -> dict[str, Any] | None:
    """Returns the mean score of the *board*'s committee by its number of members.

    Returns None if ``study committee`` has stored no scores under this signature, or if `compute_committee_curve`
    returns None. The keys of the result:

    - *papers*, *steps*, *human*: as in `CommitteeCurve`.
    - *references*: the number of human reviews against which the committee of all members and the human baseline was
      scored.
    - *left_out*: reason → number of excluded papers.
    - *repeats*: how many lines of the joined reviews repeat another line; a repeated line is joined only once.
    """
    rows = read(COMMITTEES, signature_id=signature_id)
    if not rows:
        return None
    from gre_bench.ranking.committees import compute_committee_curve

    names = list_ranked_models(board)
    scores, papers, problems = group_scores_by_committee(read, signature_id, rows, names)
    result = compute_committee_curve(scores, names, papers, frozenset(problems))
    if result is None:
        return None
    pairs = read_scored_pairs(read, signature_id)
    others = {paper for name, paper in zip(pairs.candidates, pairs.papers, strict=True) if name == HUMAN} - {*papers}
    left_out = Counter(problems.values()) + Counter({"no_review": len(others)})
    whole = JOINED.join(sorted([*names, HUMAN]))
    counts = [row for row in rows if row["members"] == whole and row["paper_id"] not in problems]
    more = {"references": len(counts), "repeats": sum(row["repeats"] for row in counts), "left_out": dict(left_out)}
    return {"signature_id": signature_id} | asdict(result) | more


def group_scores_by_committee(
    read: Read, signature_id: str, rows: Sequence[Any], names: Sequence[str]
) -> tuple[dict[Members, dict[str, float]], list[str], dict[str, str]]:
    """Returns three things about committees.

    - scores: members → paper → mean score over the paper's references. A committee with one member has the board's
      scores of this member.
    - the ids of the papers in *rows*, sorted.
    - problems: id of an excluded paper → why it is excluded.

    *rows*: rows of the table ``committees``. *names*: the LM candidates that can be members.
    """
    references = {(row["paper_id"], row["reference_id"]) for row in rows}
    values: dict[Members, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, paper, reference, value in zip(*read_scored_pairs(read, signature_id).columns, strict=True):
        if name in names and (paper, reference) in references:
            values[name,][paper].append(value)
    for row in rows:
        if row["value"] is not None:
            values[tuple(row["members"].split(JOINED))][row["paper_id"]].append(row["value"])
    scores = {who: {paper: sum(own) / len(own) for paper, own in by_paper.items()} for who, by_paper in values.items()}
    problems = {row["paper_id"]: row["problem"] for row in rows if row["problem"]}
    return scores, sorted({row["paper_id"] for row in rows}), problems


def describe_scores_by_committee_size(result: dict[str, Any]) -> str:
    """Puts the *result* of `read_scores_by_committee_size` into sentences for the board."""
    first, last = result["steps"][0], result["steps"][-1]
    kept = next(row for row in result["steps"] if row["value"] >= 0.9 * last["value"])
    human = result["human"]
    left = "".join(f"; {counted(count, 'paper')} left out: {why}" for why, count in result["left_out"].items())
    return (
        f"A committee of {last['reviewers']} LM reviewers tells {last['value']:+.1f} nats, the best alone "
        f"{first['value']:+.1f}; {kept['reviewers']} tell nine tenths of it. A human review adds {human['value']:+.1f} "
        f"({human['low']:+.1f} to {human['high']:+.1f}) to all ({counted(result['papers'], 'paper')}{left})."
    )

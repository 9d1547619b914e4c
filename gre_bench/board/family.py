"""Builds the family of significance tests that a board's order rests on: one family per metric and evaluation LM.

The board, its web page, the JSON output, the command ``compare`` and planned contrasts all use this family. Therefore
they cannot contradict each other. A *signature* stands for a metric with everything that its scores depend on, except
the texts: the evaluation LM, the prompt, the writer of judgments and so on.

The family also contains the tests of contrasts. They are not tested before the other differences: otherwise a single
contrast that is not significant would leave the board without any order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gre_bench.board.words import CandidateOrder, is_validated
from gre_bench.stats.families import CandidateTest, HolmFamily
from gre_bench.store.queries import BOARD_PAIRS, LEADERBOARD, LMS_OF_METRIC, PAIR_TESTS, LeaderboardRow, Query

if TYPE_CHECKING:
    from gre_bench.ranking.rank_statistics import ScoredPairs

Read = Callable[..., list[Any]]
"""A function that runs a query with its parameters and returns its rows, such as `Store.read`."""


def read_holm_family(read: Read, signature_id: str, rows: Sequence[LeaderboardRow], board: str = "clean") -> HolmFamily:
    """Returns the family of tests that is stored for the board of a signature.

    *board*: ``clean`` or ``all``. Under ``clean``, contaminated models have no rank, unless their group has no other
    models. *rows*: the rows of that board, ranked or not.
    """
    tests = tuple(CandidateTest(**row) for row in read(PAIR_TESTS, signature_id=signature_id, board=board))
    above = {row["candidate"]: p for row in rows if (p := row["above_chance_p_holm"]) is not None}
    alone = {
        row["candidate"]: p for row in rows if row["candidate"] in above and (p := row["above_chance_p"]) is not None
    }
    return HolmFamily(tests, above, {row["candidate"]: row["untested"] for row in rows if row["untested"]}, alone)


def compute_holm_family(read: Read, signature_id: str, rows: Sequence[LeaderboardRow]) -> HolmFamily:
    """Computes the family of tests from the scores under a signature; *rows*: the rows of its board."""
    from gre_bench.ranking.rank_statistics import build_test_family

    above = {row["candidate"]: row["above_chance_p"] for row in rows if row["above_chance_p"] is not None}
    return build_test_family(
        read_scored_pairs(read, signature_id),
        [[row["candidate"] for row in own] for own in group_ranked_rows(rows)],
        above,
    )


def read_candidate_orders_by_lm(
    read: Read, signature_id: str, rows: Sequence[LeaderboardRow], board: str = "clean"
) -> list[CandidateOrder]:
    """Returns one metric's order of candidates by each validated evaluation LM; the LM of *signature_id* comes first.

    *rows*: the board of *signature_id*. *board*: as in `read_holm_family`. The other LMs are those of signatures that
    differ only in the LM. Returns [] if the metric is not validated, because it then ranks no candidates.
    """
    if not is_validated(rows):
        return []
    lm_orders = []
    for lm in read(LMS_OF_METRIC, signature_id=signature_id):
        name = lm["signature_id"]
        own = rows if name == signature_id else read(LEADERBOARD, signature_ids=[name], board=board)
        if is_validated(own):
            lm_orders.append(CandidateOrder(lm["evaluation_lm"], own, read_holm_family(read, name, own, board)))
    return lm_orders


def read_candidate_orders_by_signature(
    read: Read, rows: Sequence[LeaderboardRow], board: str = "clean"
) -> dict[str, list[CandidateOrder]]:
    """Returns signature id → the result of `read_candidate_orders_by_lm`. *rows*: those of one or more boards."""
    boards: dict[str, list[LeaderboardRow]] = defaultdict(list)
    for row in rows:
        boards[row["signature_id"]].append(row)
    return {name: read_candidate_orders_by_lm(read, name, own, board) for name, own in boards.items()}


def list_pairwise_test_rows(lm_orders: Sequence[CandidateOrder]) -> Iterator[dict[str, Any]]:
    """Yields one row per evaluation LM and test of two candidates, with the results of the test."""
    for lm_order in lm_orders:
        for test in lm_order.tests.tests:
            each = test if test.difference >= 0 else test.with_candidates_reversed()
            more = {"win_rate": each.win_rate, "surely_ahead": each.surely_ahead, "tests": lm_order.tests.size}
            yield {"metric": lm_order.rows[0]["metric"], "evaluation_lm": lm_order.lm} | asdict(each) | more


def read_scored_pairs(read: Read, signature_id: str) -> ScoredPairs:
    """Returns the scored pairs of the human baseline and the models under a signature."""
    from gre_bench.ranking.rank_statistics import ScoredPairs

    query: Query[Any] = BOARD_PAIRS
    rows = [tuple(row.values()) for row in read(query, signature_id=signature_id)]
    return ScoredPairs(*map(list, zip(*rows, strict=True))) if rows else ScoredPairs([], [], [], [])


def group_ranked_rows(rows: Sequence[LeaderboardRow]) -> list[list[LeaderboardRow]]:
    """Returns the rows of the ranked candidates of each group, best first."""
    groups: dict[str | None, list[LeaderboardRow]] = defaultdict(list)
    for row in sorted((row for row in rows if row["rank"] is not None), key=lambda row: row["rank"] or 0):
        groups[row["group_name"]].append(row)
    return list(groups.values())

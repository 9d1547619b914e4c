"""How much AI writing in the references the orders of a board stand, from an edition or from a release."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from gre_bench.board.words import is_validated
from gre_bench.ranking.rank_statistics import Pairs
from gre_bench.ranking.references import TippingPoint, tipping_line, tipping_points
from gre_bench.store.queries import BOARD_PAIRS, STAND_INS, LeaderboardRow, Query

Read = Callable[..., list[Any]]
"""Runs a query with its parameters and returns its rows, such as `Store.read`."""


def tipping_points_of(read: Read, signature_id: str, rows: Sequence[LeaderboardRow]) -> list[TippingPoint]:
    """Returns the tipping_points of a board, group by group; *rows*: those of its candidates.

    Returns [] if ``study references`` has not scored any stand-in under this signature.
    """
    stand_ins = read(STAND_INS, signature_id=signature_id)
    if not stand_ins:
        return []
    pairs = pairs_of(read, signature_id)
    points: list[TippingPoint] = []
    for group in groups_of(rows):
        above = [row["above_chance_p"] for row in group if row["above_chance_p"] is not None]
        points += tipping_points(pairs, stand_ins, [row["candidate"] for row in group], above)
    return points


def board_line(read: Read, signature_id: str, rows: Sequence[LeaderboardRow]) -> str | None:
    """Returns the line of a board on AI-written references; None if it orders nobody, or was not computed."""
    return tipping_line(tipping_points_of(read, signature_id, rows)) if is_validated(rows) else None


def pairs_of(read: Read, signature_id: str) -> Pairs:
    """Returns the scored pairs of the human baseline and the models under a signature."""
    query: Query[Any] = BOARD_PAIRS
    rows = [tuple(row.values()) for row in read(query, signature_id=signature_id)]
    return Pairs(*map(list, zip(*rows, strict=True))) if rows else Pairs([], [], [], [])


def groups_of(rows: Sequence[LeaderboardRow]) -> list[list[LeaderboardRow]]:
    """Returns the rows of the ranked candidates of each group, best first."""
    groups: dict[str | None, list[LeaderboardRow]] = defaultdict(list)
    for row in sorted((row for row in rows if row["rank"] is not None), key=lambda row: row["rank"] or 0):
        groups[row["group_name"]].append(row)
    return list(groups.values())

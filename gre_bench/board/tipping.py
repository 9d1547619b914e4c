"""Computes up to which share of AI-written references a board's candidates keep their order.

The board may be that of an edition or of a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gre_bench.board.family import Read, group_ranked_rows, read_holm_family, read_scored_pairs
from gre_bench.board.words import is_validated
from gre_bench.store.queries import STAND_INS, LeaderboardRow

if TYPE_CHECKING:
    from gre_bench.ranking.reference_dependence import TippingPoint


def compute_ai_reference_tipping_points(
    read: Read, signature_id: str, rows: Sequence[LeaderboardRow]
) -> list[TippingPoint]:
    """Returns the tipping points of a board's LM candidates that are neighbours in rank or differ significantly.

    A tipping point is the share of AI-written references up to which two candidates keep their order. Only candidates
    of the same group are compared. *rows*: the rows of the board. Returns [] if ``study references`` has stored no
    scores under this signature.
    """
    stand_ins = read(STAND_INS, signature_id=signature_id)
    if not stand_ins:
        return []
    from gre_bench.ranking.reference_dependence import find_tipping_points

    pairs = read_scored_pairs(read, signature_id)
    tests = read_holm_family(read, signature_id, rows)
    return [point for group in group_ranked_rows(rows)
            for point in find_tipping_points(pairs, stand_ins, [row["candidate"] for row in group], tests)]  # fmt: skip


def describe_ai_reference_tipping_share(read: Read, signature_id: str, rows: Sequence[LeaderboardRow]) -> str | None:
    """Returns one line that says up to which share of AI-written references the board's order holds.

    Returns None if the board's metric is not validated, or if there are no tipping points.
    """
    points = compute_ai_reference_tipping_points(read, signature_id, rows) if is_validated(rows) else []
    if not points:
        return None
    from gre_bench.ranking.reference_dependence import describe_tipping_points

    return describe_tipping_points(points)

"""Controls: candidates made by rule. Under a valid metric, they score below the human baseline.

``other-paper`` gives each paper the human baseline's review of another paper. ``generic`` is one fixed text for every
paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from gre_bench.core.records import Candidate

OTHER_PAPER = "other-paper"
GENERIC = "generic"

CONTROLS = {
    OTHER_PAPER: Candidate(OTHER_PAPER, "control", change="the human candidate's review of another paper"),
    GENERIC: Candidate(GENERIC, "control", change="one fixed list of judgments for every paper"),
}

GENERIC_JUDGMENTS = "\n".join(
    (
        "The reviewer appreciates the clear writing.",
        "The reviewer appreciates the importance of the problem.",
        "The reviewer appreciates the extensive experiments.",
        "The reviewer criticizes the limited novelty.",
        "The reviewer criticizes the lack of comparison with recent baselines.",
        "The reviewer questions the choice of hyperparameters.",
        "The reviewer suggests adding an ablation study.",
        "The reviewer suggests discussing limitations.",
    )
)

T = TypeVar("T")


def pick_item_half_a_list_away(items: Sequence[T], index: int) -> T:
    """Returns the item that is half the length of *items* after *index*; after the last item, the first one follows."""
    return items[(index + max(1, len(items) // 2)) % len(items)]

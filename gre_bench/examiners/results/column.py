"""The grades of one rater in a study: an examiner, a metric without an LM, or a panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gre_bench.examiners.asking import FREE, Cost
from gre_bench.examiners.grading import Grade


@dataclass(frozen=True, slots=True)
class Column:
    """The *grades* of one examiner, baseline or panel; *by* names its LM (empty: none).

    *excluded*: why a text was never graded, by id. *before*, *after*: number of different scores before and after
    binning. *seconds*: duration of this run; archived replies take none. *usd*: price of all replies (None: unknown).
    """

    name: str
    by: str
    kind: Literal["examiner", "baseline", "panel"]
    grades: tuple[Grade, ...]
    excluded: Mapping[str, str] = field(default_factory=dict)
    before: int = 0
    after: int = 0
    seconds: float = 0.0
    usd: float | None = None

    @property
    def title(self) -> str:
        return f"{self.name} · {self.by}" if self.by else self.name

    @property
    def values(self) -> dict[str, float]:
        """The scores by text."""
        return {grade.item_id: grade.value for grade in self.grades if grade.value is not None}

    @property
    def cost(self) -> Cost:
        return sum((grade.cost for grade in self.grades), FREE)

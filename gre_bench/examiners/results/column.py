"""What one rater of a study gave: an examiner, a metric without an LM, or a panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gre_bench.examiners.asking import FREE, Cost
from gre_bench.examiners.grading import Grade


@dataclass(frozen=True, slots=True)
class Column:
    """The *grades* that one examiner, baseline or panel gave, *by* the LM asked (empty: none).

    *excluded*: why a text was never put to it, by id. *before*, *after*: different scores before and after binning.
    *seconds*: of this run, in which archived replies take no time. *usd*: at the price of all replies; None: unknown.
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

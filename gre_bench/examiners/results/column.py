"""The grades of one rater in a study. A rater is an examiner, a metric without an LM, or a panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gre_bench.examiners.asking import FREE, Cost
from gre_bench.examiners.grading import Grade


@dataclass(frozen=True, slots=True)
class Column:
    """The *grades* of all texts by one rater: an examiner, a metric without an LM (``baseline``), or a panel.

    - *by*: the name of the rater's LM; empty if it has none.
    - *excluded*: the reason why a text was not graded, by the text's id.
    - *before*, *after*: the numbers of distinct scores before and after binning.
    - *seconds*: the duration of this run; replies from the archive take no time.
    - *usd*: the price of all replies; None if unknown.
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
        """The name of the rater, followed by the name of its LM if it has one."""
        return f"{self.name} · {self.by}" if self.by else self.name

    @property
    def values(self) -> dict[str, float]:
        """The score of each text that was graded, by the text's id."""
        return {grade.item_id: grade.value for grade in self.grades if grade.value is not None}

    @property
    def cost(self) -> Cost:
        """The total cost of all grades."""
        return sum((grade.cost for grade in self.grades), FREE)

"""The scales of examiners: which scores a prompt declares, and the value of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Scores from *low* to *high*.

    *declared*: the scores as replies spell them, each with its value; empty where the prompt declares no steps.
    *only_declared*: the prompt lists the possible scores, so no other counts. *words*: the scores are words.
    """

    low: float
    high: float
    declared: tuple[tuple[str, float], ...] = ()
    only_declared: bool = False
    words: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        return tuple(spelling for spelling, _ in self.declared)

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(value for _, value in self.declared)

    def admits(self, value: float) -> bool:
        """Whether *value* is a score of this scale that the prompt allows."""
        return value in self.values if self.only_declared else self.low <= value <= self.high


def numbers(values: Iterable[float], *, only: bool = False) -> Scale:
    """Returns the scale whose declared scores are *values*, spelt as short as possible."""
    declared = tuple((f"{value:g}", float(value)) for value in values)
    return Scale(declared[0][1], declared[-1][1], declared, only)


def labels(*names: str) -> Scale:
    """Returns the scale of qualitative *names* from worst to best, worth 1, 2, 3 and so on."""
    return Scale(1.0, float(len(names)), tuple((name, float(index)) for index, name in enumerate(names, 1)), True, True)


FIVE = numbers(range(1, 6))
"""1 to 5; a reply may say 3.5."""
LEVELS = numbers(range(1, 6), only=True)
HALVES = numbers([place / 2 for place in range(2, 11)], only=True)
FREE_FIVE = Scale(1.0, 5.0)
"""An average between 1 and 5: no steps are declared."""
HUNDRED = numbers(range(101))
"""0 to 100, continuous; probabilities are computed for the whole numbers."""
UNITS = numbers(range(101), only=True)
TENS = numbers(range(0, 101, 10), only=True)
FIVES = numbers(range(0, 101, 5), only=True)
FIFTIES = numbers(range(-100, 101, 50), only=True)
GRADES = labels("Very Poor", "Poor", "Average", "Good", "Very Good")
VERDICTS = labels("Incomprehensible", "Poor", "Average", "Good", "Excellent")

"""The scales of examiners: the range of scores that a prompt asks for, and the scores that it lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale of scores from *low* to *high*.

    - *declared*: the scores that the prompt lists, as pairs (spelling in a reply, value); empty if it lists none.
    - *only_declared*: whether only declared scores count, because the prompt lists all possible ones.
    - *words*: whether the scores are words, such as Good.
    """

    low: float
    high: float
    declared: tuple[tuple[str, float], ...] = ()
    only_declared: bool = False
    words: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        """The declared scores as replies spell them, in the order of *declared*."""
        return tuple(spelling for spelling, _ in self.declared)

    @property
    def values(self) -> tuple[float, ...]:
        """The values of the declared scores, in the order of *declared*."""
        return tuple(value for _, value in self.declared)

    def admits(self, value: float) -> bool:
        """Whether the prompt allows the score *value*."""
        return value in self.values if self.only_declared else self.low <= value <= self.high


def numbers(values: Iterable[float], *, only: bool = False) -> Scale:
    """Returns the scale whose declared scores are the numbers *values*, which must be in ascending order.

    If *only*, no other score on the scale counts.
    """
    declared = tuple((f"{value:g}", float(value)) for value in values)
    return Scale(declared[0][1], declared[-1][1], declared, only)


def labels(*names: str) -> Scale:
    """Returns the scale whose scores are the words *names*, from worst to best; their values are 1, 2, 3 and so on."""
    return Scale(1.0, float(len(names)), tuple((name, float(index)) for index, name in enumerate(names, 1)), True, True)


FIVE = numbers(range(1, 6))
"""1 to 5; a reply may say 3.5."""
LEVELS = numbers(range(1, 6), only=True)
HALVES = numbers([step / 2 for step in range(2, 11)], only=True)
FREE_FIVE = Scale(1.0, 5.0)
"""Any number from 1 to 5, such as an average; no scores are declared."""
HUNDRED = numbers(range(101))
"""Any number from 0 to 100; the whole numbers are declared, and only these get probabilities."""
UNITS = numbers(range(101), only=True)
TENS = numbers(range(0, 101, 10), only=True)
FIVES = numbers(range(0, 101, 5), only=True)
FIFTIES = numbers(range(-100, 101, 50), only=True)
GRADES = labels("Very Poor", "Poor", "Average", "Good", "Very Good")
VERDICTS = labels("Incomprehensible", "Poor", "Average", "Good", "Excellent")

"""Computes what a committee of reviewers tells together as reviewers join it, and what a human review adds to it.

The score of a committee is that of its reviews joined into one. The next reviewer is the one that raises the mean score
most on one half of the papers; what the committee then tells is measured on the other half, and so both ways.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gre_bench.core.records import HUMAN
from gre_bench.stats.intervals import paired_test

SEED, LEVEL = 0, 0.90
Members = tuple[str, ...]
"""The members of a committee, sorted by name; the human baseline may be one."""
Told = Mapping[Members, Mapping[str, float]]
"""Members → paper → their mean score over the paper's references."""


@dataclass(frozen=True, slots=True)
class Step:
    """What the first *reviewers* members tell: the mean over papers of both halves, and its 90% interval.

    *added*: who joined last, as chosen on the first and on the second half.
    """

    reviewers: int
    value: float
    low: float
    high: float
    added: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Curve:
    """A committee's curve on *papers* papers. *human*: what the human baseline adds to all members, as a `Step`."""

    papers: int
    steps: tuple[Step, ...]
    human: Step


def members(*names: str) -> Members:
    return tuple(sorted(names))


def halves(papers: Sequence[str]) -> list[list[str]]:
    """Returns *papers* in two random halves, which depend on their number and order alone."""
    places: list[int] = np.random.default_rng(SEED).permutation(len(papers)).tolist()
    middle = (len(papers) + 1) // 2
    return [[papers[place] for place in sorted(part)] for part in (places[:middle], places[middle:])]


def orders(
    scores: Told, names: Sequence[str], papers: Sequence[str], without: set[str] | frozenset[str] = frozenset()
) -> tuple[list[list[str]], set[tuple[Members, str]]]:
    """Returns the order in which *names* join, as chosen on either half, and those that *scores* still lack.

    Orders are as long as the scores allow, and whole if none is lacking. *without*: papers that do not count.
    """
    sides = [[paper for paper in half if paper not in without] for half in halves(papers)]
    both: list[list[str]] = []
    lacking: set[tuple[Members, str]] = set()

    def lacks(committee: Members, side: Sequence[str]) -> bool:
        gone = {(committee, paper) for paper in side if paper not in scores.get(committee, {})}
        lacking.update(gone)
        return bool(gone)

    for chosen_on, measured_on in (sides, sides[::-1]):
        order: list[str] = []
        while len(order) < len(names):
            options = {name: members(*order, name) for name in names if name not in order}
            if any([lacks(option, chosen_on) for option in options.values()]):
                break
            order.append(max(options, key=lambda name: math.fsum(scores[options[name]][paper] for paper in chosen_on)))
            lacks(members(*order), measured_on)
        lacks(members(*names, HUMAN), measured_on)
        both.append(order)
    return both, lacking


def curve(
    scores: Told, names: Sequence[str], papers: Sequence[str], without: set[str] | frozenset[str] = frozenset()
) -> Curve | None:
    """Returns the curve of *names*; None if scores are lacking, or for fewer than two papers a half."""
    both, lacking = orders(scores, names, papers, without)
    sides = [[paper for paper in half if paper not in without] for half in halves(papers)][::-1]
    if lacking or min(map(len, sides)) < 2 or len(names) < 2:
        return None

    def step(count: int, values: list[float], added: tuple[str, str]) -> Step:
        test = paired_test(values, LEVEL)
        return Step(count, test.value, test.low, test.high, added)

    steps = []
    for count in range(1, len(names) + 1):
        values = [scores[members(*order[:count])][paper] for order, side in zip(both, sides, strict=True)
                  for paper in side]  # fmt: skip
        steps.append(step(count, values, (both[0][count - 1], both[1][count - 1])))
    every, whole = members(*names), members(*names, HUMAN)
    gains = [scores[whole][paper] - scores[every][paper] for side in sides for paper in side]
    return Curve(len(gains), tuple(steps), step(len(names) + 1, gains, (HUMAN, HUMAN)))

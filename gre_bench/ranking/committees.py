"""Computes how a committee's score grows as reviewers join it, and how much a human review adds to the score.

A committee's score is the score of its members' reviews, joined into one. The reviewer that joins next is the one that
raises the mean score most on one half of the papers. The committee is then scored on the other half. Each half takes
both roles in turn.
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
CommitteeScores = Mapping[Members, Mapping[str, float]]
"""Members → paper → the committee's mean score over the paper's references."""


@dataclass(frozen=True, slots=True)
class CommitteeStep:
    """The mean score of a committee's first members over the papers of both halves, with its 90% interval.

    *reviewers*: the number of these members. *added*: the reviewer that joined last in the order chosen on the first
    half, and in the order chosen on the second half.
    """

    reviewers: int
    value: float
    low: float
    high: float
    added: tuple[str, str]


@dataclass(frozen=True, slots=True)
class CommitteeCurve:
    """How a committee's mean score grows with its number of members. *papers*: the number of papers.

    *steps*: one for each number of members, from 1. *human*: the gain when the human baseline joins last.
    """

    papers: int
    steps: tuple[CommitteeStep, ...]
    human: CommitteeStep


def sort_members(*names: str) -> Members:
    return tuple(sorted(names))


def split_into_random_halves(papers: Sequence[str]) -> list[list[str]]:
    """Returns two random halves of *papers*. The split depends only on the number and the order of the papers."""
    places: list[int] = np.random.default_rng(SEED).permutation(len(papers)).tolist()
    middle = (len(papers) + 1) // 2
    return [[papers[place] for place in sorted(part)] for part in (places[:middle], places[middle:])]


def choose_joining_orders(
    scores: CommitteeScores,
    names: Sequence[str],
    papers: Sequence[str],
    without: set[str] | frozenset[str] = frozenset(),
) -> tuple[list[list[str]], set[tuple[Members, str]]]:
    """Returns two orders in which reviewers join a committee, and each (committee, paper) whose score is missing.

    *names*: the reviewers. Each order of joining is chosen on one half of *papers*. An order ends early if a score that
    the next choice needs is missing. *without*: papers to ignore.
    """
    sides = [[paper for paper in half if paper not in without] for half in split_into_random_halves(papers)]
    both: list[list[str]] = []
    lacking: set[tuple[Members, str]] = set()

    def lacks_scores(committee: Members, side: Sequence[str]) -> bool:
        gone = {(committee, paper) for paper in side if paper not in scores.get(committee, {})}
        lacking.update(gone)
        return bool(gone)

    for chosen_on, measured_on in (sides, sides[::-1]):
        order: list[str] = []
        while len(order) < len(names):
            options = {name: sort_members(*order, name) for name in names if name not in order}
            if any([lacks_scores(option, chosen_on) for option in options.values()]):
                break
            order.append(max(options, key=lambda name: math.fsum(scores[options[name]][paper] for paper in chosen_on)))
            lacks_scores(sort_members(*order), measured_on)
        lacks_scores(sort_members(*names, HUMAN), measured_on)
        both.append(order)
    return both, lacking


def compute_committee_curve(
    scores: CommitteeScores,
    names: Sequence[str],
    papers: Sequence[str],
    without: set[str] | frozenset[str] = frozenset(),
) -> CommitteeCurve | None:
    """Returns the mean score of a growing committee of *names*, by its number of members.

    Returns None if scores are missing, if there are fewer than two names, or if a half has fewer than two papers.
    """
    both, lacking = choose_joining_orders(scores, names, papers, without)
    sides = [[paper for paper in half if paper not in without] for half in split_into_random_halves(papers)][::-1]
    if lacking or min(map(len, sides)) < 2 or len(names) < 2:
        return None

    def compute_step(count: int, values: list[float], added: tuple[str, str]) -> CommitteeStep:
        test = paired_test(values, LEVEL)
        return CommitteeStep(count, test.value, test.low, test.high, added)

    steps = []
    for count in range(1, len(names) + 1):
        values = [scores[sort_members(*order[:count])][paper] for order, side in zip(both, sides, strict=True)
                  for paper in side]  # fmt: skip
        steps.append(compute_step(count, values, (both[0][count - 1], both[1][count - 1])))
    every, whole = sort_members(*names), sort_members(*names, HUMAN)
    gains = [scores[whole][paper] - scores[every][paper] for side in sides for paper in side]
    return CommitteeCurve(len(gains), tuple(steps), compute_step(len(names) + 1, gains, (HUMAN, HUMAN)))

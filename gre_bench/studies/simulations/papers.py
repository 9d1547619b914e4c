"""Papers of a world: drawn reviews and synopses by number, and the cases that they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gre_bench.core.records import Case
from gre_bench.studies.simulations.world import REVIEWS, SYNOPSES, Array, World

Numbers = np.ndarray[Any, np.dtype[np.intp]]
REFERENCES = 2
"""References of a paper (Xu et al. 2025, §5)."""


@dataclass(frozen=True, slots=True)
class Papers:
    """Places in `SYNOPSES` and `REVIEWS`: *synopses* (papers,), *candidates* (papers, garblings + 1): the candidate's
    review, then as it came out of each pass through Γ, *references* (papers, 2)."""

    synopses: Numbers
    candidates: Numbers
    references: Numbers

    def reviews(self) -> list[list[str]]:
        """By paper the texts of the candidate's review and of the references, as training data."""
        rows = np.concatenate([self.candidates[:, :1], self.references], axis=1)
        return [[REVIEWS[place] for place in row] for row in rows]


def draw_papers(world: World, count: int, seed: int, garblings: int = 0) -> Papers:
    """*count* papers of *world*. References of one paper depend on each other through its state alone."""
    random = np.random.default_rng([seed, 3])
    states = random.choice(len(world.states), size=count, p=world.states)
    candidates = [_pass(random, world.candidate, states)]
    for _ in range(garblings):
        candidates.append(_pass(random, world.garbling, candidates[-1]))
    references = [_pass(random, world.reference, states) for _ in range(REFERENCES)]
    return Papers(_pass(random, world.synopsis, states), np.stack(candidates, 1), np.stack(references, 1))


def cases_of(papers: Papers, with_synopsis: bool, garbled: int = 0) -> list[Case]:
    """The cases of one candidate, by paper and reference."""
    return [
        case_of(int(papers.synopses[paper]) if with_synopsis else None, int(x), int(y), f"p{paper}", f"r{place}")
        for paper, x in enumerate(papers.candidates[:, garbled])
        for place, y in enumerate(papers.references[paper])
    ]


@cache
def all_cases(with_synopsis: bool) -> tuple[Case, ...]:
    """Every (synopsis, x, y) that there is, y last; without synopsis every (x, y)."""
    synopses: list[int | None] = [*range(len(SYNOPSES))] if with_synopsis else [None]
    places = range(len(REVIEWS))
    return tuple(case_of(s, x, y, f"s{s}", f"y{y}") for s in synopses for x in places for y in places)


def case_of(synopsis: int | None, x: int, y: int, paper_id: str, reference_id: str) -> Case:
    """Review *x* against reference *y*, given what is known of the paper."""
    given = None if synopsis is None else SYNOPSES[synopsis]
    return Case(paper_id, f"x{x}", reference_id, "judgments", REVIEWS[x], REVIEWS[y], given)


def _pass(random: np.random.Generator, channel: Array, given: Numbers) -> Numbers:
    """One draw from the row of *channel* that each of *given* names."""
    return np.asarray((random.random((len(given), 1)) > channel.cumsum(axis=1)[given, :-1]).sum(axis=1))

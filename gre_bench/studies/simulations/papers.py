"""Samples papers of a simulation as indices of reviews and synopses, and makes cases from the papers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gre_bench.core.records import Case
from gre_bench.studies.simulations.simulation import REVIEWS, SYNOPSES, Array, Simulation

Numbers = np.ndarray[Any, np.dtype[np.intp]]
REFERENCES = 2
"""References per paper (Xu et al. 2025, §5)."""


@dataclass(frozen=True, slots=True)
class Papers:
    """Sampled papers as indices into `SYNOPSES` and `REVIEWS`.

    - *synopses*: shape (papers,).
    - *candidates*: shape (papers, garblings + 1). Column 0 is the candidate's review. Column n is this review after n
      passes through the garbling channel Γ.
    - *references*: shape (papers, 2).
    """

    synopses: Numbers
    candidates: Numbers
    references: Numbers

    def reviews(self) -> list[list[str]]:
        """Returns the training data: for each paper, the texts of the candidate's review and of the references."""
        rows = np.concatenate([self.candidates[:, :1], self.references], axis=1)
        return [[REVIEWS[index] for index in row] for row in rows]


def sample_papers(simulation: Simulation, count: int, seed: int, garblings: int = 0) -> Papers:
    """Returns *count* papers sampled from *simulation* with *seed*.

    The two references of a paper are independent, given the hidden state of the paper. *garblings*: the number of
    garbled versions of each candidate's review; each version garbles the one before.
    """
    random = np.random.default_rng([seed, 3])
    states = random.choice(len(simulation.states), size=count, p=simulation.states)
    candidates = [_pass(random, simulation.candidate, states)]
    for _ in range(garblings):
        candidates.append(_pass(random, simulation.garbling, candidates[-1]))
    references = [_pass(random, simulation.reference, states) for _ in range(REFERENCES)]
    return Papers(_pass(random, simulation.synopsis, states), np.stack(candidates, 1), np.stack(references, 1))


def cases_of(papers: Papers, with_synopsis: bool, garbled: int = 0) -> list[Case]:
    """Returns one case per paper and reference, for the candidate whose review was garbled *garbled* times."""
    return [
        case_of(int(papers.synopses[paper]) if with_synopsis else None, int(x), int(y), f"p{paper}", f"r{index}")
        for paper, x in enumerate(papers.candidates[:, garbled])
        for index, y in enumerate(papers.references[paper])
    ]


@cache
def all_cases(with_synopsis: bool) -> tuple[Case, ...]:
    """Returns one case for every (synopsis, x, y), or for every (x, y) if *with_synopsis* is false.

    The cases are in the order of nested loops, with y in the innermost one.
    """
    synopses: list[int | None] = [*range(len(SYNOPSES))] if with_synopsis else [None]
    indices = range(len(REVIEWS))
    return tuple(case_of(s, x, y, f"s{s}", f"y{y}") for s in synopses for x in indices for y in indices)


def case_of(synopsis: int | None, x: int, y: int, paper_id: str, reference_id: str) -> Case:
    """Returns the case of review *x* against reference *y*, given *synopsis* unless it is None.

    *x*, *y* and *synopsis* are indices into `REVIEWS` and `SYNOPSES`.
    """
    synopsis_text = None if synopsis is None else SYNOPSES[synopsis]
    return Case(paper_id, f"x{x}", reference_id, "judgments", REVIEWS[x], REVIEWS[y], synopsis_text)


def _pass(random: np.random.Generator, channel: Array, given: Numbers) -> Numbers:
    """Sends each of *given*, indices of inputs, once through *channel*; returns the sampled indices of outputs.

    Row i of *channel* is the distribution of outputs for input i.
    """
    return np.asarray((random.random((len(given), 1)) > channel.cumsum(axis=1)[given, :-1]).sum(axis=1))

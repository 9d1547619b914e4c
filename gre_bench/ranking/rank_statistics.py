"""Computes how sure the ranks of a board are, and what its candidates would score at the length of a human review.

Every claim about the order of candidates comes from one family of Student's paired tests by paper:

- Holm's correction covers the tests of every two ranked candidates, and each candidate's test against chance.
- Two candidates are tied unless their test is significant at 5%.
- The interval of a rank follows from these tests. The bootstrap's shorter interval is reported beside it.

Intervals of scores and differences are 90%, as on the board.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gre_bench.core.metrics import ALPHA
from gre_bench.core.records import HUMAN
from gre_bench.stats.intervals import Interval
from gre_bench.stats.length import human_length, length_controlled
from gre_bench.stats.pair_tests import PairTest, in_one_family, pair_tests, papers_needed
from gre_bench.stats.ranks import rank_intervals

POWER = 0.8
RESAMPLES = 4000
SEED = 0


@dataclass(frozen=True, slots=True)
class Pairs:
    """The scores of one signature, in four columns of equal length.

    Position i of the columns holds the candidate, the paper, the reference and the value of one score.
    """

    candidates: Sequence[str]
    papers: Sequence[str]
    references: Sequence[str]
    values: Sequence[float]

    def of_candidates(self, names: Sequence[str]) -> Pairs:
        """Returns the scores of the candidates *names*."""
        wanted = set(names)
        kept = [index for index, name in enumerate(self.candidates) if name in wanted]
        return self.at(kept)

    def at(self, indices: Sequence[int]) -> Pairs:
        """Returns the scores at the positions *indices* of the columns, in that order."""
        names, papers, references = (
            [column[index] for index in indices] for column in (self.candidates, self.papers, self.references)
        )
        return Pairs(names, papers, references, [self.values[index] for index in indices])

    @property
    def columns(self) -> tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[float]]:
        return self.candidates, self.papers, self.references, self.values


Next = tuple[str | None, float | None, float | None, float | None, float | None, bool | None, int | None]


@dataclass(frozen=True, slots=True)
class RankStatistics:
    """How sure the rank of one candidate is; a row of the table ``rank_statistics``.

    - *rank_low*, *rank_high*: the best and the worst rank that the tests allow. These intervals hold for all candidates
      at once with 95%.
    - *likely_low*, *likely_high*: the bootstrap's 95% interval of the rank, for this candidate alone.
    - *next_candidate*: the candidate that follows on the board; None for the last one.
    - *next_difference*: this candidate's mean lead over the next. *next_low*, *next_high*: the ends of its 90%
      interval.
    - *next_p*: the Holm-corrected p-value of the lead over the next candidate.
    - *tied*: whether the lead over the next candidate is not significant at 5%.
    - *more_papers*: how many further papers would tell the two apart. It is None if they are not tied, or if even a
      very large number would not.
    - *difference_p_holm*: the Holm-corrected p-value of the test against the human baseline.
    - *above_p_holm*: the Holm-corrected p-value of the test against chance.
    - *tests*: the number of tests that Holm's correction covers.
    - *problem*: the reason why there are no tests; None if there are.
    """

    candidate_id: str
    rank: int
    rank_low: int | None = None
    rank_high: int | None = None
    likely_low: int | None = None
    likely_high: int | None = None
    next_candidate: str | None = None
    next_difference: float | None = None
    next_low: float | None = None
    next_high: float | None = None
    next_p: float | None = None
    tied: bool | None = None
    more_papers: int | None = None
    difference_p_holm: float | None = None
    above_p_holm: float | None = None
    tests: int = 0
    problem: str | None = None


def rank_statistics(
    pairs: Pairs, ranked: Mapping[str, int], above: Mapping[str, float] | None = None
) -> list[RankStatistics]:
    """Returns the rank statistics of each candidate of *ranked* (candidate → rank, best first).

    - *pairs*: the scores, which may include candidates without a rank. These are not tested.
    - *above*: candidate → p-value of its test against chance. Holm's correction covers these p-values, too.
    """
    against_chance = {name: p for name, p in (above or {}).items() if name in ranked}
    if len(ranked) < 2:
        alone = in_one_family([], list(against_chance.values()))[1]
        corrected = dict(zip(against_chance, alone, strict=True))
        return [
            RankStatistics(name, rank, above_p_holm=corrected.get(name), problem="nobody to be compared with")
            for name, rank in ranked.items()
        ]
    kept = pairs.of_candidates(list(ranked))
    try:
        tests = pair_tests(kept.values, kept.papers, kept.candidates, kept.references)
        tests, adjusted = in_one_family(tests, list(against_chance.values()))
        ranks = rank_intervals(
            kept.values, kept.papers, kept.candidates, 1 - ALPHA, RESAMPLES, SEED, tests
        )  # fmt: skip
    except ValueError as error:
        return [RankStatistics(name, rank, problem=str(error)) for name, rank in ranked.items()]
    by_name = {result.candidate: result for result in ranks}
    between = {(test.first, test.second): test for test in tests}
    between |= {(test.second, test.first): test.flipped() for test in tests}
    corrected = dict(zip(against_chance, adjusted, strict=True))
    names = list(ranked)
    return [
        RankStatistics(
            name, rank, by_name[name].surely_low, by_name[name].surely_high, by_name[name].low, by_name[name].high,
            *_next(between.get((name, names[index + 1])) if index + 1 < len(names) else None),
            difference_p_holm=between[name, HUMAN].p_holm if name != HUMAN and HUMAN in ranked else None,
            above_p_holm=corrected.get(name),
            tests=len(tests) + len(corrected),
        )
        for index, (name, rank) in enumerate(ranked.items())
    ]  # fmt: skip


def _next(test: PairTest | None) -> Next:
    """Returns the fields of `RankStatistics` from *next_candidate* to *more_papers*, as one tuple.

    *test*: the test of the candidate against the next one on the board. All fields are None if *test* is None.
    """
    if test is None:
        return None, None, None, None, None, None, None
    # A higher mean is no lead if the test's difference is not positive, however small its p.
    tied = test.p_holm >= ALPHA or test.difference <= 0
    needed = papers_needed(test, ALPHA, POWER) if tied else None
    more = None if needed is None else max(1, needed - test.papers)
    return test.second, test.difference, test.low, test.high, test.p_holm, tied, more


Words = Mapping[tuple[str, str], int]
"""Words of the text that a metric reads, by candidate and paper."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts that a metric reads, in four columns: candidate, paper, mean score over references, and words."""

    candidates: list[str]
    papers: list[str]
    values: list[float]
    words: list[int]


def texts_of(pairs: Pairs, words: Words) -> Texts:
    """Returns one row per candidate and paper of *pairs*; texts without words are left out."""
    scores: dict[tuple[str, str], list[float]] = {}
    for name, paper, _, value in zip(*pairs.columns, strict=True):
        if words.get((name, paper)):
            scores.setdefault((name, paper), []).append(value)
    return Texts(
        [name for name, _ in scores],
        [paper for _, paper in scores],
        [sum(values) / len(values) for values in scores.values()],
        [words[key] for key in scores],
    )


def at_human_length(pairs: Pairs, words: Words) -> tuple[float | None, dict[str, Interval]]:
    """Returns the length of a human review in words, and each candidate's mean score at that length.

    The length of a human review is the geometric mean over the human baseline's texts. It is None if the human baseline
    has no texts. `length_controlled` computes the scores. No candidate has a score if the effect of length cannot be
    estimated: with a single candidate, or if paper and candidate determine the length.
    """
    texts = texts_of(pairs, words)
    human = [count for name, count in zip(texts.candidates, texts.words, strict=True) if name == HUMAN]
    if not human:
        return None, {}
    at = human_length(human)
    if len(set(texts.candidates)) < 2:
        return at, {}
    try:
        return at, length_controlled(texts.values, texts.words, texts.papers, at, texts.candidates).scores
    except ValueError:
        return at, {}

"""Computes how certain a board's ranks are, and what its candidates would score at the length of a human review.

Every claim about the order of candidates comes from one family of Student's paired tests by paper (`HolmFamily`):

- Holm's correction covers the test of every two ranked candidates of a group, and each candidate's test against chance.
  All groups of a board together are one family.
- Two candidates are tied unless their test is significant at 5%.
- The interval of a rank follows from these tests.

Intervals of scores and differences are 90%, as on the board.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from typing import Any

from gre_bench.core.metrics import ALPHA
from gre_bench.core.records import HUMAN
from gre_bench.stats.families import CandidateTest, HolmFamily
from gre_bench.stats.intervals import Interval
from gre_bench.stats.length import compute_human_length, length_controlled_means
from gre_bench.stats.pair_tests import correct_in_one_family, run_candidate_tests
from gre_bench.stats.ranks import rank_intervals

SEED = 0


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """The scores of one signature, in columns of equal length.

    *units*: for scores above chance, the swap that each score depends on. A swap is a group of two or three papers; the
    reviews of them by one candidate were exchanged to measure chance scores. None in place of a swap, or () in place of
    the column, means that a score depends on its paper alone.
    """

    candidates: Sequence[str]
    papers: Sequence[str]
    references: Sequence[str]
    values: Sequence[float]
    units: Sequence[str | None] = ()

    def of_candidates(self, names: Iterable[str]) -> ScoredPairs:
        wanted = set(names)
        return self.select_positions([index for index, name in enumerate(self.candidates) if name in wanted])

    def select_positions(self, indices: Sequence[int]) -> ScoredPairs:
        """Returns the rows at the positions *indices* of the columns, in that order."""
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: [column[k] for k in indices] for name, column in kept.items() if column})

    @property
    def columns(self) -> tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[float]]:
        return self.candidates, self.papers, self.references, self.values

    @property
    def swaps(self) -> Sequence[str | None] | None:
        """The swaps, which are the column *units*; None if all scores depend on their paper alone."""
        return self.units if any(self.units) else None

    def swaps_of(self, candidate: str) -> dict[str, str]:
        """Returns paper → the swap on which the scores of *candidate* on this paper depend; {} if on none."""
        rows = zip(self.candidates, self.papers, self.units, strict=False)
        return {paper: unit for name, paper, unit in rows if name == candidate and unit is not None}

    def tests(self, level: float = 0.90) -> list[CandidateTest]:
        """Returns `run_candidate_tests` of every two candidates; raises ValueError if there are too few papers."""
        return run_candidate_tests(self.values, self.papers, self.candidates, self.references, level, self.swaps)


@dataclass(frozen=True, slots=True)
class RankStatistics:
    """How certain the rank of one candidate is; a row of the table ``rank_statistics``.

    - *rank_low*, *rank_high*: the best and the worst rank that the tests allow. These intervals hold for all candidates
      at once with 95% probability.
    - *next_candidate*: the candidate that follows on the board; None for the last one.
    - *next_difference*: this candidate's mean lead over the next. *next_low*, *next_high*: the lead's 90% interval.
      *next_p*: its Holm-corrected p-value. *tied*: whether the lead is not significant at 5%.
    - *difference_p_holm*, *above_p_holm*: Holm-corrected p-values of the tests against the human baseline and against
      chance.
    - *tests*: the number of tests in the board's family. *problem*: why there is no test of this candidate against
      another one.
    """

    candidate_id: str
    rank: int
    rank_low: int | None = None
    rank_high: int | None = None
    next_candidate: str | None = None
    next_difference: float | None = None
    next_low: float | None = None
    next_high: float | None = None
    next_p: float | None = None
    tied: bool | None = None
    difference_p_holm: float | None = None
    above_p_holm: float | None = None
    tests: int = 0
    problem: str | None = None


def build_test_family(
    pairs: ScoredPairs, groups: Iterable[Iterable[str]], above: Mapping[str, float] | None = None
) -> HolmFamily:
    """Returns the family of tests of a board.

    *groups*: the ranked candidates of each group. *above*: candidate → p-value of its test against chance; entries of
    candidates without a rank are ignored.
    """
    tests: list[CandidateTest] = []
    problems: dict[str, str] = {}
    tested: list[str] = []
    for names in map(list, groups):
        try:
            tests += pairs.of_candidates(names).tests() if len(names) > 1 else []
            tested += names
        except ValueError as error:
            problems |= dict.fromkeys(names, str(error))
    against_chance = {name: p for name, p in (above or {}).items() if name in tested}
    corrected, adjusted = correct_in_one_family(tests, list(against_chance.values()))
    return HolmFamily(tuple(corrected), dict(zip(against_chance, adjusted, strict=True)), problems, against_chance)


def compute_rank_statistics(
    pairs: ScoredPairs, groups: Sequence[Mapping[str, int]], tests: HolmFamily
) -> list[RankStatistics]:
    """Returns the rank statistics of each candidate of one board.

    Args:
        pairs: the scores, which may include candidates without a rank.
        groups: for each group of the board, candidate → rank, best first.
        tests: the board's `build_test_family`.

    Returns:
        One row per candidate, group by group, best first. If a group could not be tested, its rows state the problem.
    """
    return [row for ranked in groups for row in _compute_group_statistics(pairs, ranked, tests)]


def _compute_group_statistics(pairs: ScoredPairs, ranked: Mapping[str, int], tests: HolmFamily) -> list[RankStatistics]:
    if problem := next((tests.problems[name] for name in ranked if name in tests.problems), None):
        return [RankStatistics(name, rank, problem=problem) for name, rank in ranked.items()]
    if len(ranked) < 2:
        alone = "nobody to be compared with"
        return [RankStatistics(name, rank, above_p_holm=tests.above.get(name), problem=alone)
                for name, rank in ranked.items()]  # fmt: skip
    kept = pairs.of_candidates(ranked)
    own = [test for test in tests.tests if test.first in ranked]
    by_name = {row.candidate: row for row in rank_intervals(kept.values, kept.papers, kept.candidates, 1 - ALPHA, own)}
    rows = []
    for (name, rank), after in zip_longest(ranked.items(), list(ranked)[1:]):
        compared: dict[str, Any] = {}
        if after and (test := tests.between(name, after)):
            tied = test.p_holm >= ALPHA
            compared = {
                "next_candidate": after, "next_difference": test.difference, "next_low": test.low,
                "next_high": test.high, "next_p": test.p_holm, "tied": tied,
            }  # fmt: skip
        human = tests.between(name, HUMAN)
        rows.append(
            RankStatistics(
                name, rank, by_name[name].surely_low, by_name[name].surely_high, **compared,
                difference_p_holm=human.p_holm if human else None,
                above_p_holm=tests.above.get(name),
                tests=tests.size,
            )
        )  # fmt: skip
    return rows


Words = Mapping[tuple[str, str], int]
"""(candidate, paper) → number of words in the text that a metric reads."""


@dataclass(frozen=True, slots=True)
class TextLengths:
    """The texts that a metric reads, in four columns: candidate, paper, mean score over references, and words."""

    candidates: list[str]
    papers: list[str]
    values: list[float]
    words: list[int]


def collect_text_lengths(pairs: ScoredPairs, words: Words) -> TextLengths:
    """Returns one row per candidate and paper of *pairs*; texts without words are left out."""
    scores: dict[tuple[str, str], list[float]] = {}
    for name, paper, _, value in zip(*pairs.columns, strict=True):
        if words.get((name, paper)):
            scores.setdefault((name, paper), []).append(value)
    means = [sum(values) / len(values) for values in scores.values()]
    return TextLengths(
        [name for name, _ in scores], [paper for _, paper in scores], means, [words[key] for key in scores]
    )


def scores_at_human_length(pairs: ScoredPairs, words: Words) -> tuple[float | None, dict[str, Interval]]:
    """Returns the length of a human review in words, and each candidate's mean score at that length.

    The length of a human review is the geometric mean over the human baseline's texts. Without a human baseline, it is
    that of the papers' first human reviews. It is None if there are no such texts. `length_controlled_means` computes
    the scores; its intervals treat papers of one swap as dependent. No candidate has a score if the effect of length
    cannot be estimated: with a single candidate, or if paper and candidate determine the length.
    """
    texts = collect_text_lengths(pairs, words)
    human = [count for name, count in zip(texts.candidates, texts.words, strict=True) if name == HUMAN]
    human = human or [count for (name, _), count in words.items() if name == HUMAN]
    if not human:
        return None, {}
    at = compute_human_length(human)
    try:
        units = {name: pairs.swaps_of(name) for name in set(texts.candidates)}
        return at, length_controlled_means(texts.values, texts.words, texts.papers, at, texts.candidates, units)
    except ValueError:
        return at, {}

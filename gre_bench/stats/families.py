"""Records of the tests that one Holm correction covers together. Reading stored records does not need NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gre_bench.core.metrics import ALPHA


@dataclass(frozen=True, slots=True)
class CandidateTest:
    """A test of two candidates: the mean over papers of *first*'s score less *second*'s score.

    - *sd*: the standard deviation, over papers, of the difference on one paper; where papers depend on each other, the
      standard error times √*papers*.
    - *papers*: the number of papers that both candidates have; *ahead*, *behind*: the numbers of papers with a
      difference above and below zero.
    - *median*, *trimmed*: median and trimmed mean of the differences; the latter leaves out 10% of the papers at each
      end. *trimmed_low*, *trimmed_high*: its one-sided 95% bounds (Tukey and McLaughlin 1963).
    - *sign_p*: the two-sided p-value of the sign test; papers without a difference do not count.

    The fields from *ahead* on treat papers as independent. They are therefore not valid for scores that involve chance
    scores, because reviews of several papers are swapped to measure these.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    sd: float
    p: float
    p_holm: float
    papers: int
    ahead: int
    behind: int
    median: float
    trimmed: float
    trimmed_low: float
    trimmed_high: float
    sign_p: float

    @property
    def win_rate(self) -> float:
        """The share of papers on which *first* is ahead; a paper without a difference counts half."""
        return (self.ahead + (self.papers - self.ahead - self.behind) / 2) / self.papers

    @property
    def surely_ahead(self) -> bool:
        """Whether *first* is ahead by the mean, by the trimmed mean and on more papers, each at 5%."""
        by_mean = self.difference > 0 and self.p_holm < ALPHA
        return by_mean and self.trimmed_low > 0 and self.ahead > self.behind and self.sign_p < ALPHA

    def with_candidates_reversed(self) -> CandidateTest:
        """Returns the same test with the two candidates exchanged, so the difference changes its sign."""
        return replace(
            self, first=self.second, second=self.first, difference=-self.difference, low=-self.high, high=-self.low,
            ahead=self.behind, behind=self.ahead, median=-self.median, trimmed=-self.trimmed,
            trimmed_low=-self.trimmed_high, trimmed_high=-self.trimmed_low,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class HolmFamily:
    """The tests of one board that Holm's correction covers together; each hypothesis occurs once.

    - *tests*: the tests of every two ranked candidates of a group.
    - *above*: candidate → the corrected p-value of its score above chance. *against_chance*: candidate → the same
      p-value before correction.
    - *problems*: candidate → the reason why its group has no tests.
    """

    tests: tuple[CandidateTest, ...]
    above: Mapping[str, float]
    problems: Mapping[str, str]
    against_chance: Mapping[str, float]

    @property
    def size(self) -> int:
        return len(self.tests) + len(self.above)

    def between(self, first: str, second: str) -> CandidateTest | None:
        """Returns the test of *first* against *second*; None if the family has none."""
        test = next((test for test in self.tests if {test.first, test.second} == {first, second}), None)
        return test.with_candidates_reversed() if test and test.first != first else test

    def correct_further_p_values(self, others: Sequence[float]) -> list[float]:
        """Returns *others*, p-values of hypotheses outside the family, corrected together with the family's tests."""
        from gre_bench.stats.pair_tests import correct_in_one_family

        return correct_in_one_family(self.tests, [*self.against_chance.values(), *others])[1][len(self.above) :]

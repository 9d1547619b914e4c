"""The data of a release's page besides its boards: validation, years, papers, errata, provenance."""

from __future__ import annotations

from dataclasses import dataclass

from gre_bench.release.pages.board import Board


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one change of reviews on a metric: standardised mean difference *d* with its 95% interval.

    *problem*: why there is no effect, where *d* is None.
    """

    change: str
    title: str
    family: str
    verdict: str
    d: float | None = None
    low: float | None = None
    high: float | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """The validation of one metric: its verdict, one line of detail, and the effects in the order of the changes."""

    title: str
    verdict: str
    detail: str
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Year:
    """A candidate's difference from the human baseline in one edition under one metric, with its 90% interval.

    The values are None if the candidate is not in the edition. *above_chance*: its score less that of its own reviews
    of other papers; *above_chance_high*: the upper end of its interval. *papers*: the number behind the difference.
    """

    edition: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    above_chance: float | None = None
    above_chance_high: float | None = None
    papers: int | None = None


@dataclass(frozen=True, slots=True)
class YearChange:
    """The change of a candidate's difference between two editions, with a 90% interval.

    *p*: p-value of Welch's test, Holm-corrected.
    """

    candidate: str
    earlier: str
    later: str
    value: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class History:
    """Differences of candidates from the human baseline, edition by edition; raw scores of two years do not compare.

    *title*: of the metric. *lines*: each candidate and its differences, one per edition. *changes*: the change of every
    candidate from one of its editions to the next.
    """

    title: str
    editions: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Year, ...]], ...]
    changes: tuple[YearChange, ...] = ()


@dataclass(frozen=True, slots=True)
class StratumCell:
    """A candidate's mean score in one part of the papers, with the upper end of its 90% interval by paper."""

    mean: float
    high: float | None


@dataclass(frozen=True, slots=True)
class Stratum:
    """A way to divide papers, such as by decision: its values, each with its number of papers, the largest first.

    *tables*: for each metric its title, and for each candidate its score for each value (None: no score).
    """

    name: str
    values: tuple[tuple[str, int], ...]
    tables: tuple[tuple[str, tuple[tuple[str, tuple[StratumCell | None, ...]], ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimTest:
    """A claim tested under one metric: its verdict (holds, does not hold, cannot be told) and the reasons.

    *needed*: estimated number of papers that would give a verdict. *why*: the reason if it cannot be told.
    *comparisons*: name, value, both ends of its 95% interval, and number of papers; the claim says that each value is
    above zero.
    """

    metric: str
    verdict: str
    needed: int | None
    why: str
    comparisons: tuple[tuple[str, float, float, float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """A claim of a published paper: what it says, where it is in the paper, and its tests on these boards."""

    says: str
    source: str
    note: str
    tests: tuple[ClaimTest, ...]


@dataclass(frozen=True, slots=True)
class PaperLine:
    """A paper in the list of papers: its page, its title, its numbers of pairs, and mean scores under the first board.

    *human*: the score of the human baseline; *best*: that of the best model, *best_candidate*.
    """

    paper_id: str
    href: str
    title: str | None
    scored: int
    planned: int
    human: float | None
    best: float | None
    best_candidate: str | None


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """Pairs of a board with the same outcome: their state, the reason if they have no score, and an example."""

    title: str
    state: str
    reason: str | None
    pairs: int
    candidates: tuple[str, ...]
    example: str | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of the page of a release's boards.

    *published*: the release and its date, in words. *facts*, *provenance*: names and values. *lead*, *remarks*: text
    before the boards. *errata*: day, release and text. *downloads*: address, name and description of each file beside
    the page. *rights*: lines on licences. *citation*: BibTeX.
    """

    name: str
    edition: str
    published: str
    boards: tuple[Board, ...]
    facts: tuple[tuple[str, str], ...] = ()
    lead: str = ""
    remarks: tuple[str, ...] = ()
    validations: tuple[Validation, ...] = ()
    histories: tuple[History, ...] = ()
    claims: tuple[ClaimLine, ...] = ()
    strata: tuple[Stratum, ...] = ()
    papers: tuple[PaperLine, ...] = ()
    errata: tuple[tuple[str, str, str], ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
    outcomes: tuple[PairOutcome, ...] = ()
    downloads: tuple[tuple[str, str, str], ...] = ()
    rights: tuple[str, ...] = ()
    citation: str = ""

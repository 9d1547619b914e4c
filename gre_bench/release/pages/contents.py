"""The data of a release's page besides its boards: validation, history, papers, errata, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gre_bench.release.pages.board import Board


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one change of reviews on a metric's scores.

    *change*, *title*: the name of the change in data and for readers. *family*: degradation or manipulation.
    *verdict*: pass, fail or undecided. *d*: standardised mean difference, with its 95% interval *low* to *high*.
    *problem*: why *d* is None.
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
    """The validation of one metric.

    *title*: title of the metric. *verdict*: pass, fail, undecided or unvalidated. *detail*: a line that explains the
    verdict, such as the changes that the metric does not pass. *effects*: one for each change that was tried.
    """

    title: str
    verdict: str
    detail: str
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Year:
    """A candidate under one metric in one edition. All values are None if the candidate is not in the edition.

    *difference*: the candidate's score less that of the human baseline, with its 90% interval *low* to *high*.
    *above_chance*: the candidate's score less that of its own reviews moved to other papers.
    *above_chance_high*: upper end of the 90% interval of *above_chance*.
    *papers*: number of papers behind *difference*.
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
    """How much a candidate's difference from the human baseline changed between two editions.

    *value*: the later difference less the earlier, with its 90% interval *low* to *high*. *p*: p-value of Welch's test,
    Holm-corrected.
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
    """Differences of candidates from the human baseline under one metric, edition by edition.

    Raw scores of different editions cannot be compared. *title*: of the metric.

    *lines*: (candidate, years) for each candidate, with one `Year` for each of *editions*.
    *changes*: for each candidate, the changes between successive editions that have the candidate.
    """

    title: str
    editions: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Year, ...]], ...]
    changes: tuple[YearChange, ...] = ()


@dataclass(frozen=True, slots=True)
class StratumCell:
    """A candidate's mean score on the papers of one value of a stratum.

    *high*: upper end of its 90% interval, clustered by paper.
    """

    mean: float
    high: float | None


@dataclass(frozen=True, slots=True)
class Stratum:
    """A property that divides papers, such as their decision.

    *values*: (value, number of papers with this value), the largest number first.
    *tables*: (metric's title, rows), one table for each metric. A row is (candidate, cells), with one cell for each of
    *values*. A cell is None if the candidate has no score there.
    """

    name: str
    values: tuple[tuple[str, int], ...]
    tables: tuple[tuple[str, tuple[tuple[str, tuple[StratumCell | None, ...]], ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimTest:
    """The test of a published claim under one metric.

    *verdict*: holds, does not hold, or cannot be told. *why*: why the verdict is ``cannot be told``.
    *needed*: estimated number of papers for a clear verdict. *p*: Holm-corrected over all claims and metrics.
    *deciding*: the index of the comparison that decides.
    *comparisons*: (name, value, lower end and upper end of the value's 95% interval, number of papers). The claim is
    that every value is above zero.
    """

    metric: str
    verdict: str
    needed: int | None
    why: str
    p: float | None = None
    deciding: int | None = None
    comparisons: tuple[tuple[str, float, float, float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """A claim of a published paper and its tests on this release's boards.

    *says*: the claim. *source*: the published paper and section. *note*: a remark. *tests*: one for each metric.
    """

    says: str
    source: str
    note: str
    tests: tuple[ClaimTest, ...]


@dataclass(frozen=True, slots=True)
class PaperLine:
    """A paper in the page's list of papers; all scores are under the first board.

    *href*: address of the paper's own page. *scored*, *planned*: numbers of the paper's pairs. *human*: mean score of
    the human baseline. *best*, *best_candidate*: mean score and name of the model with the highest score.
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
    """The number of pairs of one board with the same outcome.

    *title*: title of the board. *state*: scored, missing, failed or excluded. *reason*: why these pairs have no score.
    *candidates*: the candidates of these pairs. *example*: the error message of one of these pairs.
    """

    title: str
    state: str
    reason: str | None
    pairs: int
    candidates: tuple[str, ...]
    example: str | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of the page of a release's boards.

    - *name*: the release. *published*: the release's name and date in words.
    - *facts*, *provenance*: names and values at the top and at the bottom of the page.
    - *lead*: the introduction at the top of the page. *remarks*: sentences to read before the boards.
    - *errata*: (day, release, text). *outcomes*: number of pairs for each outcome.
    - *downloads*: (address, name, description) of each file that the page offers.
    - *contrasts*: those of the manifest: the file's name and digest, and a row for each contrast and metric.
    - *correctness*: the manifest's results of planted flaws; None if they were not measured.
    - *rights*: lines on licences. *citation*: BibTeX.
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
    contrasts: Mapping[str, Any] | None = None
    correctness: Mapping[str, Any] | None = None
    strata: tuple[Stratum, ...] = ()
    papers: tuple[PaperLine, ...] = ()
    errata: tuple[tuple[str, str, str], ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
    outcomes: tuple[PairOutcome, ...] = ()
    downloads: tuple[tuple[str, str, str], ...] = ()
    rights: tuple[str, ...] = ()
    citation: str = ""

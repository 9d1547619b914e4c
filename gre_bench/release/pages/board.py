"""The data of a board on a page. A board comes from a release or from a table published in a paper."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Flag:
    """A warning about an entry.

    *name*: its badge, a few words. *text*: a sentence that explains it. *verdict*: its severity, fail or undecided.
    """

    name: str
    text: str
    verdict: str = "undecided"


@dataclass(frozen=True, slots=True)
class Entry:
    """One candidate under one metric. Intervals are 90%, clustered by paper; None means unknown.

    - *rank_low*, *rank_high*: the range of ranks that the tests allow.
    - *tied*: whether no test tells the candidate apart from a neighbour in rank.
    - *difference*: *mean* less that of the human baseline, paired by paper. *p*: its p-value, Holm-corrected.
    - *above_chance*: *mean* less the score of the candidate's own reviews moved to other papers.
    - *surely_above_chance*: whether a test shows that *above_chance* is above zero.
    - *scored*: number of pairs with a score. *expected*: number of pairs that any candidate has.
    - *words*: mean length of the candidate's texts in words.
    - *extrapolated*: whether all these texts are longer than the human mean length, or all are shorter.
    - *at_length*: estimated score of the candidate at the human mean length; None if *extrapolated*.
    - *usd*: cost of the reviews and judgments, in USD. *tokens*: tokens read and written for these texts.
    - *unparsable*: share of the reviews without a judgment.
    - *contamination*: clean, contaminated or unknown.
    - *conflict*: the evaluation LM or writer that belongs to the candidate's own model family.
    - *parameters*: in billions. *cutoff*: last day of the training texts. *released*: first day of public use.
    - *group*: a group of related candidates, to filter by. *href*: address of the candidate's page, if there is one.
    """

    candidate: str
    kind: str
    mean: float | None
    low: float | None = None
    high: float | None = None
    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    tied: bool | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    above_chance: float | None = None
    above_chance_high: float | None = None
    surely_above_chance: bool | None = None
    scored: int | None = None
    expected: int | None = None
    words: float | None = None
    at_length: float | None = None
    extrapolated: bool | None = None
    usd: float | None = None
    tokens: int | None = None
    unparsable: float | None = None
    contamination: str | None = None
    conflict: str | None = None
    family: str | None = None
    parameters: float | None = None
    cutoff: date | None = None
    released: date | None = None
    group: str | None = None
    flags: tuple[Flag, ...] = ()
    href: str = ""

    @property
    def ranks(self) -> str:
        """Returns the rank with the range that the tests allow, such as ``2 (1–4)``; an empty string without a rank."""
        if self.rank is None:
            return ""
        alone = self.rank_low is None or self.rank_low == self.rank_high
        return str(self.rank) if alone else f"{self.rank} ({self.rank_low}–{self.rank_high})"


@dataclass(frozen=True, slots=True)
class Board:
    """All candidates under one metric and signature: ranked ones first, from the best, then the others.

    - *validation*: outcome of the metric's validation, in words. *auc*: the AUC with its interval, as text.
    - *answer*: who leads and who is not told apart, in a sentence or two; empty for a published table.
    - *order*: sentences about candidates that no test tells apart.
    - *exposed*: sentences about the LMs that may have been trained on the reviews.
    - *about*: names and values of the parts of the signature. *place*: position of the metric in the catalogue.
    - *papers*: the smallest number of scored papers of any ranked candidate.
    """

    metric: str
    title: str
    unit: str
    entries: tuple[Entry, ...]
    signature_id: str = ""
    answer: str = ""
    validation: str = "unvalidated"
    auc: str = ""
    order: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    about: tuple[tuple[str, str], ...] = ()
    place: int = 0
    papers: int | None = None

    @property
    def human(self) -> Entry | None:
        """Returns the entry of the human baseline; None if it is not on the board or has no score."""
        return next((entry for entry in self.entries if entry.kind == "human" and entry.mean is not None), None)

    @property
    def ranked(self) -> tuple[Entry, ...]:
        """Returns the entries with a rank, best first."""
        return tuple(entry for entry in self.entries if entry.rank is not None)

    @property
    def span(self) -> tuple[float, float]:
        """Returns the two ends of the board's axis, which holds all scores and intervals.

        The axis holds zero too, unless all values are far above zero.
        """
        ends = [value for entry in self.entries for value in (entry.mean, entry.low, entry.high) if value is not None]
        low, high = min(ends, default=0.0), max(ends, default=1.0)
        if low < 0 or low < 0.4 * high:
            low, high = min(low, 0.0), max(high, 0.0)
        edge = 0.04 * ((high - low) or 1.0)
        return low - edge, high + edge

    @property
    def digits(self) -> int:
        """Returns the number of decimals of the scores on the board."""
        largest = max((abs(entry.mean) for entry in self.entries if entry.mean is not None), default=1.0)
        return 1 if largest >= 100 else 2 if largest >= 1 else 3

    @property
    def shows_zero(self) -> bool:
        """Returns whether the axis includes zero."""
        return self.span[0] <= 0 <= self.span[1]

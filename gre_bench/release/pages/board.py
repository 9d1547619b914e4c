"""The data of a board on a page. A board comes from a release or from a table published in a paper."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

from markupsafe import Markup

from gre_bench.core.terminal import counted, csv_table
from gre_bench.store import Row


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


_LEFT_OUT = {"flags", "href"}
_NAMES = {
    "mean": "score", "difference": "vs_human", "difference_low": "vs_human_low", "difference_high": "vs_human_high",
}  # fmt: skip
"""Fields of an entry → the names that their columns have everywhere."""
_COLUMNS = tuple(field.name for field in fields(Entry) if field.name not in _LEFT_OUT)


def as_csv(board: Board) -> str:
    """Returns *board* as CSV: one row per candidate, one column per field, in full precision; unknown values are empty.

    Its cells are those of `gre_bench.core.terminal.csv_cell`.
    """
    about = (board.metric, board.unit, board.signature_id)
    rows = ([*about, *(getattr(entry, name) for name in _COLUMNS)] for entry in board.entries)
    heads = (_NAMES.get(name, name) for name in _COLUMNS)
    return csv_table(["metric", "unit", "signature_id", *heads], rows)


def as_link(board: Board) -> str:
    """Returns the CSV of *board* as a data URL, so that the page can offer it for download without a request."""
    return "data:text/csv;base64," + base64.b64encode(as_csv(board).encode()).decode()


Span = tuple[float, float]

FEWEST = 2
"""The fewest ticks on an axis. Their step is the largest 1, 2 or 5 times a power of ten that gives so many."""


def across(value: float, span: Span) -> str:
    """Returns the position of *value* on the axis *span* (its two ends), such as ``41.7%``."""
    return f"{_share(value, span):.2f}%"


def breadth(low: float, high: float, span: Span) -> str:
    """Returns the width of the range from *low* to *high* in percent of the axis *span*, such as ``12.5%``."""
    return f"{_share(high, span) - _share(low, span):.2f}%"


def ticks(span: Span) -> list[float]:
    """Returns two to five round values for tick marks on the axis *span*.

    The values keep a distance from the ends of the axis so that their labels fit.
    """
    low, high = span
    edge = 0.06 * (high - low)
    step = 10.0 ** math.ceil(math.log10(high - low))
    for divisor in _divisors():
        size = step / divisor
        values = [n * size for n in range(math.ceil((low + edge) / size), math.floor((high - edge) / size) + 1)]
        if len(values) >= FEWEST:
            return values
    return []


def span_of(values: Sequence[float]) -> Span:
    """Returns the two ends of an axis that holds zero and all *values*, with a margin."""
    low, high = min((*values, 0.0)), max((*values, 0.0))
    edge = 0.06 * ((high - low) or 1.0)
    return low - edge, high + edge


def _divisors() -> list[float]:
    return [factor * 10.0**power for power in range(3) for factor in (1, 2, 5)]


def _share(value: float, span: Span) -> float:
    low, high = span
    return (value - low) / (high - low) * 100


def number(value: float | None, digits: int | None = None) -> str:
    """Returns *value* with its sign (plus, or a true minus) and *digits* decimals.

    Without *digits*, values from 100 on have one decimal, and smaller ones have two.
    """
    if value is None:
        return ""
    decimals = _digits(value) if digits is None else digits
    return f"{round(value, decimals) + 0.0:+.{decimals}f}".replace("-", "−")


def named(candidate: str) -> Markup:
    """Returns a candidate's name as HTML, with the maker in a weaker colour. Lines may break before each ``+``."""
    maker, slash, name = candidate.rpartition("/")
    own = Markup("<wbr>+").join(name.split("+"))
    return Markup('<span class="org">{}</span>{}').format(maker + slash, own) if slash else own


def plain(value: float | None, digits: int | None = None) -> str:
    """Returns *value* as `number` does, but without a plus sign."""
    return "" if value is None else f"{value:.{_digits(value) if digits is None else digits}f}".replace("-", "−")


def count(value: float | None) -> str:
    """Returns *value* as a whole number with thousands separators."""
    return "" if value is None else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """Returns *share* (0 to 1) in percent; a share below 0.1% is shown as ``< 0.1%``."""
    if share is None:
        return ""
    return "< 0.1%" if 0 < share < 0.001 else f"{100 * share:.1f}%" if share else "0%"


def bare(value: float | None) -> str:
    """Returns *value* as text with at most nine decimals. The page's script sorts tables by this text."""
    return "" if value is None else repr(round(float(value), 9))


def billions(value: float | None) -> str:
    """Returns *value*, a number of parameters in billions, as text such as ``70 B``."""
    return "" if value is None else f"{value:g} B"


def _digits(value: float) -> int:
    return 1 if abs(value) >= 100 else 2


def spoken(entry: Entry) -> str:
    """Returns the score of *entry* in words, for screen readers."""
    if entry.mean is None:
        return "no score"
    between = "" if entry.low is None else f", 90% interval {number(entry.low)} to {number(entry.high)}"
    return f"{entry.candidate}: {number(entry.mean)}{between}"


_HANDS = {"evaluation_lm": "evaluation LM", "writer": "writer", "synopsis_writer": "writer of synopses"}


def order(board: Sequence[Row]) -> Iterator[str]:
    """Yields one sentence for any two neighbours in rank on *board* that no test tells apart.

    The sentence says how many more papers would tell the two candidates apart. If ranks were not tested, yields a
    sentence that says why.
    """
    ranked = [row for row in board if row["rank"] is not None]
    yield from sorted({f"The order is not tested: {row['untested']}." for row in ranked if row["untested"]})
    if len(ranked) > 1 and all(row["tests"] is None for row in ranked):
        yield "The order is not tested yet: the refresh that adds scores has not ended."
    for row in ranked:
        if row["tied"]:
            more = row["more_papers"]
            hope = (
                f"{counted(more, 'paper')} more would, if both go on as here" if more else "nor would a million papers"
            )
            p = f"p {row['next_p']:.3f}" if row["next_p"] is not None else "no test"
            yield f"Not told apart: {row['candidate']} and {row['next_candidate']} ({p}); {hope}."


def exposed(signature: Row, exposures: Sequence[Row], gap: Row | None) -> Iterator[str]:
    """Yields a sentence for each evaluation LM or writer of *signature* that may have been trained on the reviews.

    *exposures*: for each LM, whether it may have been trained on the reviews (`ExposureRow`).
    *gap*: how much higher contaminated candidates score than the other models (`CleanGapRow`). If given, yields one
    more sentence that says so.
    """
    for row in exposures:
        mine = row["role"] in _HANDS and signature[row["role"]] == row["name"]
        if mine and row["learnt"]:
            papers = counted(row["papers"], "paper")
            yield f"The {_HANDS[row['role']]} {row['name']} was learnt from {row['learnt']:,} of these {papers}."
        elif mine and row["status"] in ("contaminated", "unknown"):
            known = f"learnt until {row['cutoff']}, reviews of {row['released']}" if row["cutoff"] else "cutoff unknown"
            base = "" if row["learnt"] is None else "base of the "
            yield f"The {base}{_HANDS[row['role']]} {row['name']} may have read these reviews before ({known})."
    if gap is not None:
        between = f" ({number(gap['low'])} to {number(gap['high'])})" if gap["low"] is not None else ""
        yield (
            f"Contaminated candidates, which have no rank here, score {number(gap['gap'])}{between} against the "
            f"others, paired on {counted(gap['papers'], 'paper')}."
        )


def flags(row: Row, writer: str) -> Iterator[Flag]:
    """Yields the warnings about one candidate of a board, the most severe first.

    *row*: the candidate's row of the board. *writer*: name of the writer of the judgments.
    """
    status, model = row.get("contamination"), row["kind"] == "model"
    if status == "contaminated":
        why = (row["unranked"] or "").removeprefix("contaminated: ")
        ranked = "it may have read these reviews, as every other model of this board may"
        yield Flag("contaminated", f"{why}; it has no rank" if why else ranked, "fail")
    elif row["unranked"] and row["kind"] != "control":
        yield Flag("unranked", f"No rank: {row['unranked']}", "fail")
    for state in ("failed", "missing"):
        if row[state]:
            yield Flag(
                state, f"{row[state]:,} of its pairs {'have failed' if state == 'failed' else 'are missing'}", "fail"
            )
    if row.get("conflict"):
        yield Flag("same family", f"It is of the family of {row['conflict']}: an LM may find its own phrasing likelier")
    if row.get("surely_above_chance") is False:
        yield Flag("not above chance", "No test shows that its reviews score above its own reviews of other papers")
    if status == "unknown" and model:
        yield (
            Flag("may have read them", f"It learnt until {row['cutoff']}; the day on which these reviews were first "
                 "shown is not known")
            if row["cutoff"]
            else Flag("cutoff unknown", "Its makers do not state until when it learnt: it may have read these reviews")
        )  # fmt: skip
    if row.get("few_lines"):
        yield Flag("few judgments", f"{writer} found {row['median_lines']:.0f} judgments in a review of its, "
                   f"{row['human_lines']:.0f} in a human one")  # fmt: skip
    if row.get("extrapolated"):
        yield Flag("other length", f"Its reviews have {row['shortest']:,} to {row['longest']:,} words, never the human "
                   "length: a score there would be a guess, and is left out")  # fmt: skip
    if row.get("guideline"):
        yield Flag("guideline", f"{row['model_name']} under the guideline {row['guideline']}", "")
    if row["excluded"]:
        yield Flag("excluded", f"{row['excluded']:,} of its pairs are excluded", "")


_LONGEST = 60


def page_of(key: str) -> str:
    """Returns the file name of the page of the paper or candidate with the id *key*.

    A short, lower-case id without special characters is used as it is. Any other id is cut, and a hash is added.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", key).strip("-.")
    if plain == key and len(plain) <= _LONGEST and plain.lower() == plain:
        return f"{plain}.html"
    return f"{plain[:_LONGEST] or 'page'}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.html"

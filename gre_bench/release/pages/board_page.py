"""A board as a page shows it, from a release or a published table: data, warnings, number formats, axis, CSV."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, NamedTuple

from markupsafe import Markup

from gre_bench.board.words import format_rank_range
from gre_bench.core.terminal import format_csv_table
from gre_bench.stats.families import CandidateTest
from gre_bench.store import Row


class Flag(NamedTuple):
    """A warning about an entry.

    *name*: a label of a few words. *text*: a sentence that explains it. *verdict*: how severe it is: ``fail`` (severe),
    ``undecided``, or "" (only a note).
    """

    name: str
    text: str
    verdict: str = "undecided"


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """One candidate under one metric. Intervals are 90% intervals, clustered by paper. A field without a value is None.

    ``docs/columns.toml`` explains the fields that are columns of the leaderboard. The others:

    - *tied*: whether the candidate is not told apart from at least one of its neighbours: the candidates ranked just
      above and just below it.
    - *difference*: *mean* minus the human baseline's mean, paired by paper.
    - *tokens*: how many tokens were read and written to produce the candidate's texts.
    - *unparsable*: share of the judged reviews that judge nothing or whose judgments could not be read.
    - *parameters*: in billions. *cutoff*: last day of the training texts. *released*: first day of public use.
    - *group*: the group that the candidate is ranked in; None for the main group.
    - *href*: address of the candidate's page; "" if it has none.
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
        return format_rank_range(self.rank, self.rank_low, self.rank_high)


@dataclass(frozen=True, slots=True)
class Board:
    """All candidates under one metric and signature: first the ranked ones, from the best, then the others.

    A metric that is not validated ranks nobody: the entries of its board have neither a rank nor a p-value.

    - *answer*: the sentences on who leads. *untested*: why the order is not tested; "" if it is tested.
    - *ties*: sentences on candidates with adjacent ranks that no test tells apart.
    - *exposed*: sentences on LMs that may have been trained on the reviews.
    - *groups*: group of candidates → the sentence on who leads in the group.
    - *tipping*: a sentence on the share of AI-written references up to which candidates keep their order; "" if not
      computed.
    - *committee*: the scores of joint reviews, by the number of models whose reviews are joined (see
      `read_scores_by_committee_size`); None if not computed.
    - *tests*: the board's family of tests, each of two candidates of one group; empty if the metric is not validated.
    - *auc*: how often a review of the same paper scores above one of another paper: the AUC and its interval, as text.
    - *about*: (name, value) for each part of the signature. *place*: the metric's index in the list of all metrics.
    - *papers*: the smallest number of scored papers of any ranked candidate.
    """

    metric: str
    title: str
    unit: str
    entries: tuple[BoardEntry, ...]
    signature_id: str = ""
    answer: str = ""
    validation: str = "unvalidated"
    auc: str = ""
    untested: str = ""
    ties: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    about: tuple[tuple[str, str], ...] = ()
    place: int = 0
    papers: int | None = None
    tipping: str = ""
    committee: Mapping[str, Any] | None = None
    tests: tuple[CandidateTest, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)

    @property
    def human(self) -> BoardEntry | None:
        return next((entry for entry in self.entries if entry.kind == "human" and entry.mean is not None), None)

    @property
    def ranked(self) -> tuple[BoardEntry, ...]:
        return tuple(entry for entry in self.entries if entry.rank is not None)

    @property
    def span(self) -> tuple[float, float]:
        """The ends of the plot's axis. It covers all scores and intervals, and zero unless all lie far above it."""
        ends = [value for entry in self.entries for value in (entry.mean, entry.low, entry.high) if value is not None]
        low, high = min(ends, default=0.0), max(ends, default=1.0)
        if low < 0 or low < 0.4 * high:
            low, high = min(low, 0.0), max(high, 0.0)
        edge = 0.04 * ((high - low) or 1.0)
        return low - edge, high + edge

    @property
    def digits(self) -> int:
        largest = max((abs(entry.mean) for entry in self.entries if entry.mean is not None), default=1.0)
        return 1 if largest >= 100 else 2 if largest >= 1 else 3


_COLUMN_NAMES = {
    "mean": "score", "difference": "vs_human", "difference_low": "vs_human_low", "difference_high": "vs_human_high",
}  # fmt: skip
"""Field of `BoardEntry` → the name of the leaderboard's column with the same values, if that name differs."""
_COLUMNS = tuple(field.name for field in fields(BoardEntry) if field.name not in ("flags", "href"))


def format_board_csv(board: Board) -> str:
    """Returns *board* as CSV in full precision, with one row per candidate and one column per field."""
    about = (board.metric, board.unit, board.signature_id)
    rows = ([*about, *(getattr(entry, name) for name in _COLUMNS)] for entry in board.entries)
    heads = (_COLUMN_NAMES.get(name, name) for name in _COLUMNS)
    return format_csv_table(["metric", "unit", "signature_id", *heads], rows)


def build_csv_link(board: Board) -> str:
    """Returns the CSV of *board* as a data URL, so that the download also works offline, in a saved page."""
    return "data:text/csv;base64," + base64.b64encode(format_board_csv(board).encode()).decode()


def format_signed_number(value: float | None, digits: int | None = None) -> str:
    """Returns *value* with its sign (plus or a true minus) and *digits* decimals.

    If *digits* is None, there are two decimals, or one for values of 100 and above. Like all number formats here, it
    returns an empty text if *value* is None.
    """
    if value is None:
        return ""
    decimals = _choose_decimal_places(value) if digits is None else digits
    return f"{round(value, decimals) + 0.0:+.{decimals}f}".replace("-", "−")


def format_candidate_html(candidate: str) -> Markup:
    """Returns a candidate's name as HTML; the name may break into lines before each ``+``.

    The name of the model's maker, which ends at the last slash, has a lighter colour.
    """
    maker, slash, name = candidate.rpartition("/")
    own = Markup("<wbr>+").join(name.split("+"))
    return Markup('<span class="org">{}</span>{}').format(maker + slash, own) if slash else own


def format_number_without_plus(value: float | None, digits: int | None = None) -> str:
    """Returns *value* as `format_signed_number` does, but without a plus sign."""
    return (
        ""
        if value is None
        else f"{value:.{_choose_decimal_places(value) if digits is None else digits}f}".replace("-", "−")
    )


def format_whole_number(value: float | None) -> str:
    """Returns *value* as a whole number with thousands separators."""
    return "" if value is None else f"{value:,.0f}"


def format_percent(share: float | None) -> str:
    """Returns *share* (0 to 1) in percent; a share below 0.1% is shown as ``< 0.1%``."""
    if share is None:
        return ""
    return "< 0.1%" if 0 < share < 0.001 else f"{100 * share:.1f}%" if share else "0%"


def format_sort_key(value: float | None) -> str:
    """Returns *value* as text with at most nine decimals; the page's script sorts tables by these texts."""
    return "" if value is None else repr(round(float(value), 9))


def format_billions(value: float | None) -> str:
    """Returns *value*, a number of parameters in billions, as text such as ``70 B``."""
    return "" if value is None else f"{value:g} B"


def _choose_decimal_places(value: float) -> int:
    return 1 if abs(value) >= 100 else 2


def format_spoken_score(entry: BoardEntry) -> str:
    """Returns the score of *entry* in words, for screen readers."""
    if entry.mean is None:
        return "no score"
    between = (
        ""
        if entry.low is None
        else f", 90% interval {format_signed_number(entry.low)} to {format_signed_number(entry.high)}"
    )
    return f"{entry.candidate}: {format_signed_number(entry.mean)}{between}"


def list_warning_flags(row: Row, writer: str) -> Iterator[Flag]:
    """Yields the warnings about the candidate of *row*, a row of the board, the most severe first.

    *writer*: the rule or LM that turned the reviews into judgments; one of the warnings names it.
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
    if row.get("few_lines"):
        yield Flag("few judgments", f"{writer} found {row['median_lines']:.0f} judgments in a review of its, "
                   f"{row['human_lines']:.0f} in a human one")  # fmt: skip
    if status == "unknown" and model:
        yield (
            Flag("may have read them", f"It learnt until {row['cutoff']}; the day on which these reviews were first "
                 "shown is not known")
            if row["cutoff"]
            else Flag("cutoff unknown", "Its makers do not state until when it learnt: it may have read these reviews")
        )  # fmt: skip
    if row.get("extrapolated"):
        yield Flag("other length", f"Its reviews have {row['shortest']:,} to {row['longest']:,} words, never the human "
                   "length: a score there would be a guess, and is left out")  # fmt: skip
    if row.get("guideline"):
        yield Flag("guideline", f"{row['model']} under the guideline {row['guideline']}", "")
    if row["excluded"]:
        yield Flag("excluded", f"{row['excluded']:,} of its pairs are excluded", "")


def build_page_file_name(key: str) -> str:
    """Returns the file name of the page of the paper or candidate with the id *key*.

    A short, lower-case id without special characters is used as it is. Any other id is shortened, and a hash is added.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", key).strip("-.")
    if plain == key and len(plain) <= 60 and plain.lower() == plain:
        return f"{plain}.html"
    return f"{plain[:60] or 'page'}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.html"

"""The results of an examiner study: each rater's grades, their correlation with human scores, and published tables.

A rater is an examiner, a metric without an LM, or a panel. The coefficients are Kendall's tau-b, Spearman's and
Pearson's over all texts. Their intervals come from resampling groups of texts (`gre_bench.stats.correlation`).

Each rater is compared with the best examiner, and with text length as a score. A comparison uses the texts that both
raters graded. Holm's correction is applied separately to the comparisons with the best examiner and to the comparisons
with length. The best examiner is chosen on the same texts, which slightly favours it.

The tables are those of Kim et al. 2023 and Kotonya et al. 2023. Their rows have the order and the names of files such
as ``data/published/001_table1.csv``. Most cells hold Kendall's tau. There is one column per LM of the study; then come
the columns of the published table.

Table 9 of Kim et al. (§5.3.3) counts errors in rationales, an LM's reasons for a score. A human marks the errors in a
spreadsheet. A rationale can contradict the score, state something that neither the source nor the graded text says, or
be about another aspect. A rationale can have several errors, so the shares of errors need not add up to 1.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import comb
from typing import Any, Literal

from gre_bench.core.asking import FREE, ChatCost
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.published import read_printed_numbers
from gre_bench.examiners.examiner import Examiner, GradingItem, ItemKind, parse_examiner
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.templates import TEMPLATES
from gre_bench.stats.association import Kind
from gre_bench.stats.correlation import compare_correlations, correlate
from gre_bench.stats.effects import adjust_by_holm

LENGTH = "length"
KINDS: tuple[Kind, ...] = ("kendall", "spearman", "pearson")


@dataclass(frozen=True, slots=True)
class RaterGrades:
    """The *grades* of all texts by one rater: an examiner, a metric without an LM (``baseline``), or a panel.

    - *by*: the name of the rater's LM; empty if it has none.
    - *excluded*: text id → reason why the text was not graded.
    - *before*, *after*: the numbers of distinct scores before and after binning.
    - *seconds*: the duration of this run, in which archived replies take no time. *usd*: the cost of all replies; None
      if unknown.
    """

    name: str
    by: str
    kind: Literal["examiner", "baseline", "panel"]
    grades: tuple[Grade, ...]
    excluded: Mapping[str, str] = field(default_factory=dict)
    before: int = 0
    after: int = 0
    seconds: float = 0.0
    usd: float | None = None

    @property
    def title(self) -> str:
        return title(self.name, self.by)

    @property
    def values(self) -> dict[str, float]:
        return {grade.item_id: grade.value for grade in self.grades if grade.value is not None}

    @property
    def cost(self) -> ChatCost:
        return sum((grade.cost for grade in self.grades), FREE)


def title(name: str, by: str) -> str:
    return f"{name} · {by}" if by else name


@dataclass(frozen=True, slots=True)
class CorrelationEstimate:
    """A correlation coefficient. Its 95% interval and *p* come from resampling groups of texts.

    *flat_p*: the p-value of a test that treats all texts as independent.
    """

    value: float
    low: float
    high: float
    p: float
    flat_p: float | None


@dataclass(frozen=True, slots=True)
class RaterResult:
    """The result of one rater of a study; fields that are not listed here are as in `RaterGrades` and `ChatCost`.

    - *planned*: the number of texts: *scored*, *excluded*, *failed* and *missing* together. *failed*: how many texts
      have no score and are not retried. *missing*: how many texts the next run retries. *reasons*: reason → number of
      texts without a score.
    - *groups*: the number of groups with scored texts. *problem*: the reason why there are no coefficients.
    - *tied*: the share of pairs of texts with equal scores.
    - *filtered*: the number of texts that the LM called redundant.
    - *mass*: if the aggregation is ``logprob``, the mean total probability of the declared scores.
    """

    name: str
    by: str
    kind: str
    planned: int
    scored: int
    excluded: int
    failed: int
    missing: int
    reasons: dict[str, int]
    groups: int
    kendall: CorrelationEstimate | None
    spearman: CorrelationEstimate | None
    pearson: CorrelationEstimate | None
    problem: str | None
    tied: float | None
    before: int
    after: int
    filtered: int
    mass: float | None
    replies: int
    unparsable: int
    hallucinated: int
    prompt_tokens: int
    reply_tokens: int
    usd: float | None
    seconds: float


def compute_rater_result(
    column: RaterGrades, human: Mapping[str, float], groups: Mapping[str, str], resamples: int = 10_000, seed: int = 0
) -> RaterResult:
    """Returns the result of *column*. *human*: text id → human score. *groups*: text id → group, such as its source."""
    values = column.values
    names = [name for name in human if name in values]
    table = [values[name] for name in names], [human[name] for name in names], [groups[name] for name in names]
    coefficients: dict[Kind, CorrelationEstimate] = {}
    problem = None
    try:
        for kind in KINDS:
            result = correlate(kind, *table, resamples=resamples, seed=seed)
            coefficients[kind] = CorrelationEstimate(result.value, result.low, result.high, result.p, result.flat_p)
    except ValueError as error:
        coefficients, problem = {}, str(error)
    problems = [grade.problem for grade in column.grades if grade.problem is not None]
    reasons = Counter([*column.excluded.values(), *(item.code for item in problems)])
    masses = [mass for grade in column.grades for mass in grade.mass.values()]
    ties = sum(comb(count, 2) for count in Counter(values.values()).values())
    return RaterResult(
        column.name, column.by, column.kind,
        planned=len(column.grades) + len(column.excluded), scored=len(values), excluded=len(column.excluded),
        failed=sum(item.final for item in problems), missing=sum(not item.final for item in problems),
        reasons=dict(reasons), groups=len({groups[name] for name in values}),
        kendall=coefficients.get("kendall"), spearman=coefficients.get("spearman"),
        pearson=coefficients.get("pearson"), problem=problem,
        tied=ties / comb(len(values), 2) if len(values) > 1 else None,
        before=column.before, after=column.after, filtered=sum(grade.filtered for grade in column.grades),
        mass=sum(masses) / len(masses) if masses else None, **asdict(column.cost), usd=column.usd,
        seconds=column.seconds,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RaterDifference:
    """The difference between two raters in how closely their grades follow the human scores.

    - *family*: whether *second* is the ``best`` examiner or the ``length`` of the texts.
    - *items*: the number of texts that both raters graded.
    - *difference*: Kendall's tau of *first* minus tau of *second*, with its 95% interval and p-value.
    - *p_holm*: *p* after Holm's correction over the *family*. *problem*: why there is no difference.
    """

    family: Literal["best", "length"]
    first: str
    second: str
    items: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    problem: str | None = None


def compare_raters(
    columns: Sequence[RaterGrades],
    outcomes: Sequence[RaterResult],
    human: Mapping[str, float],
    groups: Mapping[str, str],
    resamples: int = 10_000,
    seed: int = 0,
) -> list[RaterDifference]:
    """Compares every rater with the best examiner, and with text length; returns the differences.

    *outcomes*: the result of each of *columns*, in the same order.
    """

    def compare_all_with(name: Literal["best", "length"], other: RaterGrades) -> list[RaterDifference]:
        rows = []
        for column in columns:
            if column is other:
                continue
            mine, theirs = column.values, other.values
            both = [item for item in human if item in mine and item in theirs]
            row = RaterDifference(name, column.title, other.title, len(both))
            own, rival, gold = ([scores[item] for item in both] for scores in (mine, theirs, human))
            clusters = [groups[item] for item in both]
            try:
                test = compare_correlations("kendall", own, rival, gold, clusters, resamples=resamples, seed=seed)
                row = replace(row, difference=test.difference, low=test.low, high=test.high, p=test.p)
            except ValueError as error:
                row = replace(row, problem=str(error))
            rows.append(row)
        adjusted = iter(adjust_by_holm([row.p for row in rows if row.p is not None]))
        return [row if row.p is None else replace(row, p_holm=next(adjusted)) for row in rows]

    out: list[RaterDifference] = []
    ranked = [
        (result.kendall.value, -index)
        for index, result in enumerate(outcomes)
        if result.kendall and result.kind == "examiner"
    ]
    if ranked:
        out += compare_all_with("best", columns[-max(ranked)[1]])
    by_length = next((column for column in columns if column.kind == "baseline" and column.name == LENGTH), None)
    return out + compare_all_with("length", by_length) if by_length is not None else out


GRID = ("Template", "Fine", "Demonstration", "Aggregation")
VARIED = ("Demonstration", "Aggregation", "Description", "Criteria", "Steps")


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The layout of a published *table* with a *title*.

    The first columns of a row state settings of an examiner; *heads* are the headers of these columns.
    """

    table: str
    title: str
    heads: tuple[str, ...]

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """Row name → settings of the examiner whose result goes into the row."""
        return {
            row: self._parse_row_label(row)
            for row in dict.fromkeys(cell.row for cell in read_printed_numbers(self.table))
        }

    def _parse_row_label(self, row: str) -> dict[str, Any]:
        labels = dict(zip(self.heads, row.split(" | "), strict=False))
        if prompt := labels.get("Prompt"):
            return {"template": (labels["Approaches"] if prompt == "Baseline" else prompt).lower().replace(" ", "_")}
        if test := labels.get("Test set"):
            more = {"Human": {}, "Filtering": {"filtering": True}, "Binning": {"filtering": True, "binning": {}}}
            return {"template": "human_test", "granularity": "fine"} | more[test]
        tree = {
            "template": labels["Template"].lower(),
            "granularity": "coarse" if labels.get("Fine") == "x" else "fine",
        }
        for name in VARIED:
            if labels.get(name, "x") != "x":
                tree[name.lower()] = labels[name].lower().replace("-", "_")
        return tree

    def examiners(self, item: ItemKind) -> dict[str, Examiner]:
        """Returns row name → examiner of the row. *item*: the kind of text to grade."""
        return {name: parse_examiner({**tree, "item": item}, name) for name, tree in self.rows.items()}


def find_table_layout(table: str) -> TableLayout:
    """Returns the layout of *table*, such as ``001_table1``; raises `SettingsError` for an unknown table."""
    if table not in LAYOUTS:
        raise SettingsError(f"no layout of a table {table}; there are: {', '.join(LAYOUTS)}")
    return LAYOUTS[table]


LAYOUTS = {
    each.table: each
    for each in (
        TableLayout("001_table1", "Main result", ("Strategy", *GRID)),
        TableLayout("001_table2", "Test set", ("Test set",)),
        TableLayout("001_table4", "Templates and models", GRID),
        TableLayout("001_table5", "Aggregation and models", GRID),
        TableLayout("001_table6", "Task description", ("Template", "Description")),
        TableLayout("001_table7", "Evaluation criteria", ("Template", "Criteria")),
        TableLayout("001_table8", "Evaluation steps", ("Template", "Steps")),
        TableLayout("003_table8", "Prompts and approaches", ("Prompt", "Approaches")),
        TableLayout("003_text", "Test set", ("Prompt",)),
        TableLayout("003_table9", "Score ranges", ("Prompt", "Scores")),
    )
}
"""Name of a file in ``data/published`` → layout, for every table that the results of a study can fill."""

PAPERS = {"001": "Kim et al. 2023", "003": "Kotonya et al. 2023"}
_ERROR_ROWS = {
    "0 | Good": "good",
    "1 | Inconsistent": "inconsistent",
    "2 | Hallucination": "hallucination",
    "3 | Different Aspect": "different_aspect",
}
ERRORS = ("inconsistent", "hallucination", "different_aspect")
"""The columns of the spreadsheet in which a human enters yes or no for each type of error (1 to 3)."""


def sample_rationales(
    items: Sequence[GradingItem], grades: Sequence[Grade], rows: int, seed: int
) -> list[dict[str, str]]:
    """Returns the rows of a spreadsheet: at most *rows* random rationales, with empty cells for a human.

    The human states in these cells which types of errors (`ERRORS`) a rationale has.
    """
    rows_of_items = [
        {
            "item_id": item.item_id, "aspect": aspect, "score": f"{grade.parts.get(aspect, grade.value):g}",
            "rationale": why, **dict.fromkeys(ERRORS, ""), "source": item.source, "text": item.text,
        }
        for item, grade in zip(items, grades, strict=True)
        if grade.value is not None
        for aspect, why in grade.rationales.items()
    ]  # fmt: skip
    return random.Random(seed).sample(rows_of_items, min(rows, len(rows_of_items)))


def compute_error_shares(filled: Sequence[Mapping[str, str | None]]) -> dict[str, float]:
    """Returns error → share (0 to 1) of the rationales that have it; ``good`` → share of rationales without errors.

    *filled*: the rows of the spreadsheet that a human filled in. Raises `SourceError` if there are no rows, or if a
    cell for an error is neither yes nor no.
    """
    if not filled:
        raise SourceError("the sheet has no rows")
    counts = Counter[str]()
    for number, row in enumerate(filled, 1):
        cells = {error: (row.get(error) or "").strip().lower() for error in ERRORS}
        for error, cell in cells.items():
            if cell not in ("yes", "no"):
                raise SourceError(f"row {number} of the sheet: write yes or no into column {error}, not {cell!r:.60}")
        counts.update([error for error, cell in cells.items() if cell == "yes"] or ["good"])
    return {name: counts[name] / len(filled) for name in ("good", *ERRORS)}


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of strings. The first *left* columns are left-aligned; *notes* are printed below the table."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    notes: tuple[str, ...] = ()


def fill_published_table(table: str, rows: Mapping[str, str], outcomes: Sequence[RaterResult]) -> TextTable:
    """Returns *table* with its published values next to the study's results. *rows*: row name → examiner's name."""
    by_name = {(outcome.name, outcome.by): outcome for outcome in outcomes if outcome.kind == "examiner"}
    lms = tuple(dict.fromkeys(by for name, by in by_name if by and name in rows.values())) or ("none",)
    own: dict[str, dict[str, str]] = {}
    for row, name in rows.items():
        own[row] = {}
        for lm in lms:
            # An examiner without an LM is in every LM's column.
            outcome = by_name.get((name, lm)) or by_name.get((name, ""))
            if outcome is not None and (tau := outcome.kendall) is not None:
                own[row][lm] = f"{tau.value:.4f} ({tau.low:.3f}, {tau.high:.3f})"
    return _build_table_with_published_values(find_table_layout(table), lms, own)


def build_error_table(shares: Mapping[str, Mapping[str, float]]) -> TextTable:
    """Returns Table 9 of Kim et al., in percent. *shares*: spreadsheet → result of `compute_error_shares`."""
    own = {
        row: {name: f"{100 * by_error[error]:.0f}" for name, by_error in shares.items()}
        for row, error in _ERROR_ROWS.items()
    }
    return _build_table_with_published_values(
        TableLayout("001_table9", "Errors of rationales, percent", ("Type", "Error")), tuple(shares), own
    )


def _build_table_with_published_values(
    form: TableLayout, columns: tuple[str, ...], own: Mapping[str, Mapping[str, str]]
) -> TextTable:
    paper, _, name = form.table.partition("_")
    where = f"Table {name[5:]}" if name.startswith("table") else "running text"
    published = {(cell.row, cell.column): cell for cell in read_printed_numbers(form.table)}
    theirs = tuple(dict.fromkeys(column for _, column in published))
    rows, notes = [], []
    for row, cells in own.items():
        labels = tuple(row.split(" | "))
        if form.table == "003_table9":
            scale = TEMPLATES[row.lower()].scale
            scores = f"{len(scale.declared)} of {scale.spellings[0]} to {scale.spellings[-1]}" if scale.declared else ""
            labels = row, scores or f"{scale.low:g} to {scale.high:g}"
        texts = [cells.get(column, "–") for column in columns]
        for column in theirs:
            cell = published.get((row, column))
            texts.append("–" if cell is None else f"{cell.value:.{cell.digits}f}")
            if cell is not None and cell.note:
                notes.append(f"{' '.join(labels)}, {column} (published): {cell.note}")
        rows.append((*labels, *texts))
    heads = (*form.heads, *columns, *(f"{column} (published)" for column in theirs))
    return TextTable(f"{PAPERS[paper]}, {where}: {form.title}", heads, tuple(rows), len(form.heads), tuple(notes))

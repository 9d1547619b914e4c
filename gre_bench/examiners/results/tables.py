"""Tables of a study in the layout of the papers' tables, with the published values beside the study's own.

Most cells hold Kendall's tau. The rows are those of the paper, in its order. The columns are the LMs of the study,
followed by those of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gre_bench.examiners.layouts import layout
from gre_bench.examiners.results.error_sheet import ERRORS
from gre_bench.examiners.results.outcomes import ExaminerResult
from gre_bench.examiners.results.published import printed

HEADS = {
    "001_table1": ("Strategy", "Template", "Fine", "Demonstration", "Aggregation"),
    "001_table2": ("Test set",),
    "001_table4": ("Template", "Fine", "Demonstration", "Aggregation"),
    "001_table5": ("Template", "Fine", "Demonstration", "Aggregation"),
    "001_table6": ("Template", "Description"),
    "001_table7": ("Template", "Criteria"),
    "001_table8": ("Template", "Steps"),
    "001_table9": ("Type", "Error"),
    "003_table8": ("Prompt", "Approaches"),
    "003_table9": ("Prompt", "Scores"),
    "003_text": ("Prompt",),
}
PAPERS = {"001": "Kim et al. 2023", "003": "Kotonya et al. 2023"}
_ERROR_ROWS = {"0 | Good": "good"} | {
    f"{number} | {name}": error
    for number, (name, error) in enumerate(
        zip(("Inconsistent", "Hallucination", "Different Aspect"), ERRORS, strict=True), 1
    )
}


@dataclass(frozen=True, slots=True)
class NumberCell:
    """A number to print.

    - *low*, *high*: its interval, if it has one.
    - *digits*: the number of decimals to print.
    - *note*: an explanation if the published number is doubtful.
    """

    value: float
    low: float | None = None
    high: float | None = None
    digits: int = 4
    note: str = ""


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A row of a table: the texts on its left (*labels*), and its *cells* by the name of their column."""

    labels: tuple[str, ...]
    cells: dict[str, NumberCell]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a study, beside the published one.

    - *key*: the name of the published table, such as ``001_table1``.
    - *heads*: the headings of the columns that hold the rows' labels.
    - *own*: the names of the columns with the study's values.
    - *published*: the names of the columns with the paper's values.
    - *lines*: the rows.
    """

    key: str
    title: str
    heads: tuple[str, ...]
    own: tuple[str, ...]
    published: tuple[str, ...]
    lines: tuple[NumberRow, ...]


def filled(table: str, rows: Mapping[str, str], outcomes: Sequence[ExaminerResult]) -> Table:
    """Returns the published *table*, such as ``001_table1``, with the study's results beside the published values.

    *rows* maps the name of each row to the name of its examiner. *outcomes* holds the results of the study.
    """
    by_name = {(outcome.name, outcome.by): outcome for outcome in outcomes if outcome.kind == "examiner"}
    lms = tuple(dict.fromkeys(by for name, by in by_name if by and name in rows.values()))
    own = lms or ("none",)
    lines = []
    for row, name in rows.items():
        cells = {}
        for column in own:
            # An examiner without an LM appears in every LM's column.
            outcome = by_name.get((name, column)) or by_name.get((name, ""))
            if outcome is not None and outcome.kendall is not None:
                cells[column] = NumberCell(outcome.kendall.value, outcome.kendall.low, outcome.kendall.high)
        lines.append(NumberRow(_labels(table, row), cells | _printed(table, row)))
    return _table(table, layout(table).title, own, lines)


def error_table(shares: Mapping[str, Mapping[str, float]]) -> Table:
    """Returns Table 9 of Kim et al., in percent.

    *shares* maps the name of each filled sheet to its shares (0 to 1), as `error_sheet.shares` returns them.
    """
    lines = [
        NumberRow(_labels("001_table9", row),
                  {name: NumberCell(100 * by_error[error], digits=0) for name, by_error in shares.items()}
                  | _printed("001_table9", row))
        for row, error in _ERROR_ROWS.items()
    ]  # fmt: skip
    return _table("001_table9", "Errors of rationales, percent", tuple(shares), lines)


def _table(table: str, title: str, own: tuple[str, ...], lines: Sequence[NumberRow]) -> Table:
    paper, _, name = table.partition("_")
    where = f"Table {name[5:]}" if name.startswith("table") else "running text"
    columns = tuple(dict.fromkeys(cell.column for cell in printed(table)))
    published = tuple(_title(column) for column in columns)
    return Table(table, f"{PAPERS[paper]}, {where}: {title}", HEADS[table], own, published, tuple(lines))


def _labels(table: str, row: str) -> tuple[str, ...]:
    if table == "003_table9":
        [examiner] = [known for name, known in layout(table).examiners().items() if name == row]
        scale = examiner.form.scale
        steps = f"{len(scale.declared)} of " if scale.declared else ""
        ends = (scale.spellings[0], scale.spellings[-1]) if scale.declared else (f"{scale.low:g}", f"{scale.high:g}")
        return row, f"{steps}{ends[0]} to {ends[1]}"
    return tuple(row.split(" | "))


def _printed(table: str, row: str) -> dict[str, NumberCell]:
    return {
        _title(cell.column): NumberCell(cell.value, digits=cell.digits, note=cell.note)
        for cell in printed(table)
        if cell.row == row
    }


def _title(column: str) -> str:
    return f"{column} (published)"

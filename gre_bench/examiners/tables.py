"""The settings of the examiner behind each row of the tables in Kim et al. 2023 and Kotonya et al. 2023.

Rows are in printed order and have the names used in ``data/published/001_table1.csv`` and the like. Results can thus
stand beside the printed values. Table 9 of Kim et al. counts errors in rationales. It is not here, because a human
fills it in (`results.error_sheet`).

Reads the published tables of Kim et al. 2023 (``data/published/001_*.csv``) and Kotonya et al. (``003_*.csv``).

The analysis of errors in rationales (Kim et al. 2023, §5.3.3): a sheet for a human to fill in, and its evaluation.

A rationale is an LM's reasons for a score. It can have three errors: it contradicts the score, it states something that
neither the source nor the graded text says, or it is about another aspect. One rationale can have several errors, so
the shares of errors need not sum to 1.

Tables of a study in the layout of the papers' tables, with the published values beside the study's own.

Most cells hold Kendall's tau. The rows are those of the paper, in its order. The columns are the LMs of the study,
followed by those of the paper.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.resources import resource
from gre_bench.examiners.examiner import Examiner, Item, ItemKind, examiner_of
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.results import ExaminerResult
from gre_bench.examiners.templates import TEMPLATES

FINE = {"granularity": "fine"}
GUIDELINES = {"Human": {"template": "human"} | FINE, "Model": {"template": "model"} | FINE}


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A printed table: its *title*, and *rows*, which maps a row's name to the settings of its examiner."""

    title: str
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def examiners(self, item: ItemKind = "summary") -> dict[str, Examiner]:
        """Returns the examiner of each row, by the row's name; *item* is the kind of text to grade."""
        return {name: examiner_of({**tree, "item": item}, name) for name, tree in self.rows.items()}


def layout(table: str) -> TableLayout:
    """Returns the layout of *table*, such as ``001_table1``; raises `SettingsError` for an unknown table."""
    if table not in LAYOUTS:
        raise SettingsError(f"no layout of a table {table}; there are: {', '.join(LAYOUTS)}")
    return LAYOUTS[table]


def _templates(*granularities: str) -> dict[str, dict[str, Any]]:
    return {
        f"{name} | {'o' if each == 'fine' else 'x'} | x | Direct": {"template": name.lower(), "granularity": each}
        for each in granularities
        for name in ("Base", "Human", "Model")
    }


def _aggregations() -> dict[str, dict[str, Any]]:
    return {
        f"{name} | o | x | {each}": tree | {"aggregation": each.lower()}
        for name, tree in GUIDELINES.items()
        for each in ("Approximation", "Logprob", "Direct")
    }


def _demonstrations(name: str, template: str, *kinds: str) -> dict[str, dict[str, Any]]:
    return {
        f"{name} | o | {kind} | Direct": {"template": template, "demonstration": kind.lower().replace("-", "_")} | FINE
        for kind in kinds
    }


def _variants(choice: str, *values: str) -> dict[str, dict[str, Any]]:
    return {
        f"{name} | {value}": tree | {choice: value.lower().replace("-", "_")}
        for name, tree in GUIDELINES.items()
        for value in values
    }


def _under(group: str, rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {f"{group} | {name}": tree for name, tree in rows.items()}


_TEST = {"template": "human_test"} | FINE
_STANDARD = ("P1", "P2", "P3", "P4", "P7", "P8")

LAYOUTS = {
    "001_table1": TableLayout(
        "Main result",
        {
            **_under("Prompting", _templates("coarse", "fine")),
            **_under(
                "Demonstration",
                _demonstrations("Human", "human", "Base-worst", "Base-best", "Reason-worst", "Reason-best"),
            ),
            **_under("Aggregation", _aggregations()),
            "Explainability | Rationale | o | x | Direct": {"template": "rationale"} | FINE,
            **_under("Explainability", _demonstrations("Rationale", "rationale", "Reason-worst", "Reason-best")),
        },
    ),
    "001_table2": TableLayout(
        "Test set",
        {
            "Human": _TEST,
            "Filtering": _TEST | {"filtering": True},
            "Binning": _TEST | {"filtering": True, "binning": {}},
        },
    ),
    "001_table4": TableLayout("Templates and models", _templates("coarse", "fine")),
    "001_table5": TableLayout("Aggregation and models", _aggregations()),
    "001_table6": TableLayout("Task description", _variants("description", "Base", "Expert", "Short", "Long")),
    "001_table7": TableLayout(
        "Evaluation criteria", _variants("criteria", "AD", "AD-GPT", "HT", "HT-GPT", "MT", "MT-GPT")
    ),
    "001_table8": TableLayout("Evaluation steps", _variants("steps", "Base", "Complex")),
    "003_table8": TableLayout(
        "Prompts and approaches",
        {
            **{
                f"{name.upper()} | {' '.join(TEMPLATES[name].labels)}": {"template": name}
                for name in ("p1", "p2", "p12", "p14", "p10", "p6", "p9", "p11", "p13", "p5", "p4", "p7", "p3", "p8")
            },
            "Baseline | Direct Assessment": {"template": "direct_assessment"},
            "Baseline | Random": {"template": "random"},
        },
    ),
    "003_text": TableLayout("Test set", {name: {"template": name.lower()} for name in ("P6", "P1", "P2")}),
    "003_table9": TableLayout("Score ranges", {name: {"template": name.lower()} for name in _STANDARD}),
}
"""Every table that a run can fill, by the name of its file of published values."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A number printed in a paper: Kendall's tau, or a percentage in ``001_table9``.

    - *digits*: the number of printed decimals.
    - *items*: the number of graded texts behind the number.
    - *anomaly*: a code if the printed number is doubtful; *note*: the explanation. Both are usually empty.
    """

    row: str
    column: str
    value: float
    digits: int
    items: int
    anomaly: str = ""
    note: str = ""


@cache
def printed(table: str) -> tuple[Printed, ...]:
    """Returns the printed numbers of *table*, such as ``001_table1``, row by row."""
    path = resource("data", "published", f"{table}.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(map(_printed_row, csv.DictReader(lines, strict=True)))


def _printed_row(row: dict[str, str]) -> Printed:
    digits = len(row["value"].partition(".")[2])
    return Printed(row["row"], row["column"], float(row["value"]), digits, int(row["n"]), row["anomaly"], row["note"])


ERRORS = ("inconsistent", "hallucination", "different_aspect")
"""The columns of error types 1 to 3, whose cells a human fills with yes or no."""
SAMPLED = 36
"""Number of rationales that Kim et al. examined."""
COLUMNS = ("item_id", "aspect", "score", "rationale", *ERRORS, "source", "text")


def sheet(items: Sequence[Item], grades: Sequence[Grade], rows: int = SAMPLED, seed: int = 0) -> list[dict[str, str]]:
    """Returns the rows of a sheet: a random sample of *rows* rationales, with empty cells for the errors.

    *grades* are the grades of *items*, in the same order. If there are fewer rationales than *rows*, the sheet has all
    of them.
    """
    rows_of_items = [
        {
            "item_id": item.item_id,
            "aspect": aspect,
            "score": f"{grade.parts.get(aspect, grade.value):g}",
            "rationale": why,
            **dict.fromkeys(ERRORS, ""),
            "source": item.source,
            "text": item.text,
        }
        for item, grade in zip(items, grades, strict=True)
        if grade.value is not None
        for aspect, why in grade.rationales.items()
    ]
    return random.Random(seed).sample(rows_of_items, min(rows, len(rows_of_items)))


def shares(filled: Sequence[Mapping[str, str | None]]) -> dict[str, float]:
    """Returns the share (0 to 1) of rationales with each error, from the rows of a *filled* sheet.

    The key ``good`` holds the share of rationales without error, as in Table 9. Raises `SourceError` if the sheet has
    no rows, or if a cell for an error is neither yes nor no.
    """
    if not filled:
        raise SourceError("the sheet has no rows")
    marked = [{error: _marked(row, index, error) for error in ERRORS} for index, row in enumerate(filled, 1)]
    good = sum(not any(row.values()) for row in marked) / len(marked)
    return {"good": good} | {error: sum(row[error] for row in marked) / len(marked) for error in ERRORS}


def _marked(row: Mapping[str, str | None], number: int, error: str) -> bool:
    cell = (row.get(error) or "").strip().lower()
    if cell not in ("yes", "no"):
        raise SourceError(f"row {number} of the sheet: write yes or no into column {error}, not {cell!r:.60}")
    return cell == "yes"


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

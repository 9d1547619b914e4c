"""The tables of Kim et al. 2023 and Kotonya et al. 2023: the examiner behind each row, and the study's results.

Rows are in printed order and have the names used in ``data/published/001_table1.csv`` and the like, so results stand
beside the printed values. Most cells hold Kendall's tau. The columns are the LMs of the study, followed by those of the
paper.

Table 9 of Kim et al. (§5.3.3) counts errors in rationales, an LM's reasons for a score. A human fills it in, on a
sheet. A rationale can contradict the score, state something that neither the source nor the graded text says, or be
about another aspect. It can have several errors, so the shares of errors need not sum to 1.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.published import printed
from gre_bench.examiners.examiner import Examiner, Item, ItemKind, examiner_of
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.results import ExaminerResult
from gre_bench.examiners.templates import TEMPLATES, Scale

FINE = {"granularity": "fine"}
GRID = ("Template", "Fine", "Demonstration", "Aggregation")
GUIDELINES = {"Human": {"template": "human"} | FINE, "Model": {"template": "model"} | FINE}


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A printed table: its *title*, the *heads* of the labels, and *rows*: a row's name → settings of its examiner."""

    title: str
    heads: tuple[str, ...]
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
        ("Strategy", "Template", "Fine", "Demonstration", "Aggregation"),
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
        ("Test set",),
        {
            "Human": _TEST,
            "Filtering": _TEST | {"filtering": True},
            "Binning": _TEST | {"filtering": True, "binning": {}},
        },
    ),
    "001_table4": TableLayout("Templates and models", GRID, _templates("coarse", "fine")),
    "001_table5": TableLayout("Aggregation and models", GRID, _aggregations()),
    "001_table6": TableLayout(
        "Task description", ("Template", "Description"), _variants("description", "Base", "Expert", "Short", "Long")
    ),
    "001_table7": TableLayout(
        "Evaluation criteria",
        ("Template", "Criteria"),
        _variants("criteria", "AD", "AD-GPT", "HT", "HT-GPT", "MT", "MT-GPT"),
    ),
    "001_table8": TableLayout("Evaluation steps", ("Template", "Steps"), _variants("steps", "Base", "Complex")),
    "003_table8": TableLayout(
        "Prompts and approaches",
        ("Prompt", "Approaches"),
        {
            **{
                f"{name.upper()} | {' '.join(TEMPLATES[name].labels)}": {"template": name}
                for name in ("p1", "p2", "p12", "p14", "p10", "p6", "p9", "p11", "p13", "p5", "p4", "p7", "p3", "p8")
            },
            "Baseline | Direct Assessment": {"template": "direct_assessment"},
            "Baseline | Random": {"template": "random"},
        },
    ),
    "003_text": TableLayout("Test set", ("Prompt",), {name: {"template": name.lower()} for name in ("P6", "P1", "P2")}),
    "003_table9": TableLayout(
        "Score ranges", ("Prompt", "Scores"), {name: {"template": name.lower()} for name in _STANDARD}
    ),
}
"""Every table that a run can fill, by the name of its file of published values."""

PAPERS = {"001": "Kim et al. 2023", "003": "Kotonya et al. 2023"}
_ERRORS = TableLayout("Errors of rationales, percent", ("Type", "Error"))
_ERROR_ROWS = {
    "0 | Good": "good",
    "1 | Inconsistent": "inconsistent",
    "2 | Hallucination": "hallucination",
    "3 | Different Aspect": "different_aspect",
}
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


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table ready to print, with all cells as text.

    *left*: how many of the first columns hold text and are aligned to the left. *notes*: lines to print below the
    table.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    notes: tuple[str, ...] = ()


def filled(table: str, rows: Mapping[str, str], outcomes: Sequence[ExaminerResult]) -> Sheet:
    """Returns the published *table*, such as ``001_table1``, with the study's results beside the published values.

    *rows* maps the name of each row to the name of its examiner. *outcomes* holds the results of the study.
    """
    by_name = {(outcome.name, outcome.by): outcome for outcome in outcomes if outcome.kind == "examiner"}
    lms = tuple(dict.fromkeys(by for name, by in by_name if by and name in rows.values())) or ("none",)
    own: dict[str, dict[str, str]] = {}
    for row, name in rows.items():
        own[row] = {}
        for lm in lms:
            # An examiner without an LM appears in every LM's column.
            outcome = by_name.get((name, lm)) or by_name.get((name, ""))
            if outcome is not None and (tau := outcome.kendall) is not None:
                own[row][lm] = f"{tau.value:.4f} ({tau.low:.3f}, {tau.high:.3f})"
    return _beside(table, layout(table), lms, own)


def error_table(shares: Mapping[str, Mapping[str, float]]) -> Sheet:
    """Returns Table 9 of Kim et al., in percent.

    *shares* maps the name of each filled sheet to its shares (0 to 1), as `shares` returns them.
    """
    own = {
        row: {name: f"{100 * by_error[error]:.0f}" for name, by_error in shares.items()}
        for row, error in _ERROR_ROWS.items()
    }
    return _beside("001_table9", _ERRORS, tuple(shares), own)


def _beside(table: str, form: TableLayout, columns: tuple[str, ...], own: Mapping[str, Mapping[str, str]]) -> Sheet:
    """Returns the cells of *own* (row → column → text) with the published values of *table* on their right."""
    paper, _, name = table.partition("_")
    where = f"Table {name[5:]}" if name.startswith("table") else "running text"
    published = {(cell.row, cell.column): cell for cell in printed(table)}
    theirs = tuple(dict.fromkeys(cell.column for cell in printed(table)))
    rows, notes = [], []
    for row, cells in own.items():
        labels = tuple(row.split(" | "))
        if table == "003_table9":
            labels = row, _range(TEMPLATES[row.lower()].scale)
        texts = [cells.get(column, "–") for column in columns]
        for column in theirs:
            cell = published.get((row, column))
            texts.append("–" if cell is None else f"{cell.value:.{cell.digits}f}")
            if cell is not None and cell.note:
                notes.append(f"{' '.join(labels)}, {column} (published): {cell.note}")
        rows.append((*labels, *texts))
    heads = (*form.heads, *columns, *(f"{column} (published)" for column in theirs))
    return Sheet(f"{PAPERS[paper]}, {where}: {form.title}", heads, tuple(rows), len(form.heads), tuple(notes))


def _range(scale: Scale) -> str:
    """Returns *scale* in words, such as ``5 of 1 to 5`` for five declared scores."""
    if not scale.declared:
        return f"{scale.low:g} to {scale.high:g}"
    return f"{len(scale.declared)} of {scale.spellings[0]} to {scale.spellings[-1]}"

"""Every writer of files of cells, with one table of hostile cells: none is a formula, steers a terminal or is markup."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from gre_bench.cli.views.formats import Format, write_rows
from gre_bench.core import terminal
from gre_bench.examiners.examiner import GradingItem
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.rater_results import RaterResult, sample_rationales
from gre_bench.guidelines.outcomes import ConditionResult
from gre_bench.guidelines.rmse_tables import RmseCell, RmseRow, Table
from gre_bench.release.pages.board_page import Board, BoardEntry, format_board_csv
from gre_bench.studies import guidelines as of_guidelines
from gre_bench.studies.examiners import results as of_examiners
from gre_bench.studies.guidelines import format_rows_as_csv
from tests.conftest import ROOT
from tests.faults.hostile import FORMULA, TEXTS, steering

CELLS = [
    *TEXTS.values(), "=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1", "＝1+1", "＋1", "－1", "＠x", "\u200b=1+1",
    "\x1b[2J=1+1", "\ufeff@x", "a\x00b", "a\u2028b", "\ud800", "| a |", "a\nb | c", "<script>alert(1)</script>", "</td>", "`code`", "[x](http://e)",
]  # fmt: skip


def _written(form: Format):
    def text(cell: str, folder: Path) -> str:
        write_rows([{cell: cell, "other": 1.5}], [cell, "other"], form, folder / "out", folder / "state")
        return (folder / "out").read_bytes().decode()

    return text


def _graded(cell: str) -> RaterResult:
    return RaterResult(cell, cell, "examiner", 1, 0, 0, 1, 0, {cell: 1}, 1, None, None, None, cell, None, 0, 0, 0, None, 1, 0, 0,
                          1, 1, None, 0.0)  # fmt: skip


def _rationales(cell: str, _: Path) -> str:
    grade = Grade(cell, 1.0, rationales={cell: cell})
    return format_rows_as_csv(sample_rationales([GradingItem(cell, cell, cell)], [grade], 1, 0))


def _of_examiners(cell: str, _: Path) -> str:
    results = [_graded(cell)]
    sheets = [of_examiners.build_agreement_sheet(results, []), of_examiners.build_cost_sheet(results)]
    sheets.append(of_examiners.TextTable(cell, (cell, "x"), ((cell, "1"),), 1, (cell,)))
    return of_examiners.format_tables_as_markdown(sheets, of_examiners.list_missing_grades(results))


def _of_guidelines(cell: str, _: Path) -> str:
    row = RmseRow((cell, cell), {"ARR": RmseCell(1.0, note="odd")})
    rated = ConditionResult(cell, cell, 1, 0, 0, 1, 0, {cell: 1}, None, None, dict.fromkeys(range(1, 11), 0), None)
    return of_guidelines.format_study_as_markdown(
        [Table("Table", ("Model", "Setting"), ("ARR",), (row,))], [rated], None
    )


CSV = {
    "leaderboard and sql, CSV": _written(Format.csv),
    "page of a board, CSV": lambda cell, _: format_board_csv(Board(cell, cell, cell, (BoardEntry(cell, cell, -1.5),), signature_id=cell)),
    "studies: grades, outcomes, quality": lambda cell, _: format_rows_as_csv([{cell: cell, "grade": -1.5}, {"reason": cell}]),
    "studies: rationales that people fill in": _rationales,
}  # fmt: skip
MARKDOWN = {
    "leaderboard and sql, Markdown": _written(Format.markdown),
    "study of examiners": _of_examiners,
    "study of guidelines": _of_guidelines,
}
MARK = re.compile(r"(?<!\\)(?:\\\\)*(?:<(?!/?u>)|`|\[)")
"""Markup that is not escaped; <u> is the program's own."""


@pytest.mark.parametrize("writer", CSV)
def test_no_cell_of_a_csv_is_a_formula_or_steers(writer, tmp_path, trial):
    trial(f"hostile cells: {writer}", "no cell begins as a formula, no control, same columns", len(CELLS))
    for cell in CELLS:
        text = CSV[writer](cell, tmp_path)
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert steering(text.replace("\r\n", "\n")) == [] and "\ud800" not in text, (cell, text)
        assert len({len(row) for row in rows}) == 1 and len(rows) >= 2, (cell, rows)
        for found in (found for row in rows for found in row):
            assert (not FORMULA.match(found) and not found.startswith("\n")) or found == "-1.5", (cell, found)


@pytest.mark.parametrize("writer", MARKDOWN)
def test_no_cell_of_a_markdown_table_is_markup_or_another_column(writer, tmp_path, trial):
    trial(f"hostile cells: {writer}", "no tag, link or code of theirs, no control, same columns", len(CELLS))
    plain = MARKDOWN[writer]("plain", tmp_path)
    for cell in CELLS:
        text = MARKDOWN[writer](cell, tmp_path)
        assert steering(text) == [] and not MARK.search(text), (cell, text)
        assert [_bars(line) for line in text.splitlines()] == [_bars(line) for line in plain.splitlines()], (cell, text)


def test_nothing_else_writes_cells(trial):
    trial("hostile cells: a writer of its own", "all files of cells are made in one module")
    own, writers = Path(terminal.__file__), re.compile(r"csv\.(?:writer|DictWriter)|to_csv|to_markdown|' \| '\.join\(")
    for folder in ("gre_bench", "flows", "tasks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert path == own or not writers.search(path.read_text(encoding="utf-8")), path


def _bars(line: str) -> int:
    return line.replace(r"\\", "").replace(r"\|", "").count("|")

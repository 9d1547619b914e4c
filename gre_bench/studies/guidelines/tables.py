"""Makes the Markdown tables of a guideline study, and the rows of cells that the terminal shows too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gre_bench.core.terminal import markdown_cell, markdown_table
from gre_bench.guidelines.outcomes import ConditionResult, Yardstick
from gre_bench.guidelines.ratings import HIGHEST, LOWEST
from gre_bench.guidelines.tables import RmseCell, RmseRow, Table

LEGEND = (
    "RMSE against the mean human rating, lower is better; in parentheses its 95% interval by paper. Bold: lowest of "
    "the row; underlined: the next. Published rows: ICLR 2024, 1,500 papers, other models."
)
CLOSE = ("Model", "Condition", "RMSE", "Bias", "Spearman", "Papers")
GIVEN = ("Model", "Condition", *map(str, range(LOWEST, HIGHEST + 1)), "Words", "TTR", "TTR 50")
WORDS = "Words: of a review, mean. TTR: distinct words over words, mean; TTR 50: over runs of 50 words, free of length."


def markdown(tables: Sequence[Table], outcomes: Sequence[ConditionResult], measure: Yardstick | None) -> str:
    """Returns the published *tables* and the *outcomes* as Markdown.

    *measure*: the values with which an RMSE can be compared; they are stated too.
    """
    ends = ["## How close to the human means", "", *_rows(CLOSE, map(close_cells, outcomes)), ""]
    ends += [
        "## Ratings given, and how the reviews are worded",
        "",
        *_rows(GIVEN, given_rows(outcomes, measure)),
        "",
        WORDS,
    ]
    reasons = [f"- {markdown_cell(line)}" for line in without_rating(outcomes)]
    ends += ["", "Without a rating:", "", *reasons] if reasons else []
    return "\n".join([LEGEND, "", *map(_markdown, tables), *yardstick_lines(measure), "", *ends, ""])


def yardstick_lines(measure: Yardstick | None) -> list[str]:
    """Returns lines that state the values with which an RMSE can be compared; no lines if *measure* is None."""
    if measure is None:
        return []
    lines = [
        f"For comparison, over {measure.papers} papers: the best constant rating ({measure.mean:.2f} for all, "
        f"known in hindsight) has an RMSE of {measure.constant:.2f}."
    ]
    if measure.reviewer is not None:
        lines += [
            f"One human reviewer against the mean of the paper's other reviewers has {measure.reviewer:.2f} "
            f"({measure.ratings} ratings)."
        ]
    return lines


def marked(line: RmseRow, column: str, lowest: tuple[str, str], second: tuple[str, str]) -> str:
    """Returns the text of one table cell: the value in *column* of the row *line*, with its interval.

    *lowest*, *second*: the texts (before, after) that mark the row's lowest and second lowest cell.
    """
    cell = line.cells.get(column)
    if cell is None:
        return "N/A" if line.published else "–"
    before, after = {1: lowest, 2: second}.get(line.best_rank(column) or 0, ("", ""))
    return f"{before}{_number(cell)}{after}"


def close_cells(outcome: ConditionResult) -> list[str]:
    """Returns the cells of *outcome* for the columns `CLOSE`."""
    close, cells = outcome.closeness, ["–", "–", "–"]
    if close:
        estimates = close.rmse, close.bias, close.spearman
        cells = [f"{item.value:.2f} ({item.low:.2f}, {item.high:.2f})" if item else "–" for item in estimates]
    return [outcome.model, outcome.condition, *cells, f"{outcome.scored} of {outcome.planned}"]


def given_rows(outcomes: Sequence[ConditionResult], measure: Yardstick | None) -> Iterable[list[str]]:
    """Yields rows of cells that show how often each rating was given, for the columns `GIVEN`.

    The first row is for the mean human ratings of the papers, the next ones for each of *outcomes*. A human mean is
    rounded to the nearest whole rating, and a half is rounded down.
    """
    if measure:
        yield ["human means", "", *map(str, measure.distribution.values()), "", "", ""]
    for outcome in outcomes:
        texts, cells = outcome.wording, ["–", "–", "–"]
        if texts:
            moving = "–" if texts.moving_ratio is None else f"{texts.moving_ratio:.2f}"
            cells = [f"{texts.mean_words:.0f}", f"{texts.type_token_ratio:.2f}", moving]
        yield [outcome.model, outcome.condition, *map(str, outcome.distribution.values()), *cells]


def without_rating(outcomes: Sequence[ConditionResult]) -> list[str]:
    """Returns one line for each model, condition and reason for missing ratings, with the number of papers."""
    return [f"{row.model}, {row.condition}: {why} ({count})" for row in outcomes for why, count in row.reasons.items()]


def _number(cell: RmseCell) -> str:
    interval = f" ({cell.low:.2f}, {cell.high:.2f})" if cell.low is not None and cell.high is not None else ""
    return f"{cell.value:.2f}{interval}"


def _markdown(table: Table) -> str:
    rows, notes = [], []
    for line in table.lines:
        labels = [f"{line.labels[0]} (published)" if line.published else line.labels[0], *line.labels[1:]]
        rows.append(
            [
                *map(markdown_cell, labels),
                *(marked(line, column, ("**", "**"), ("<u>", "</u>")) for column in table.columns),
            ]
        )
        notes += [
            f"- {markdown_cell(' '.join(line.labels))}, {column}: {cell.note}"
            for column, cell in line.cells.items()
            if cell.note
        ]
    shown = markdown_table((*table.heads, *table.columns), rows)
    return "\n".join([f"## {table.title}", "", *shown, "", *(["Printed, and odd:", "", *notes, ""] if notes else [])])


def _rows(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns a Markdown table of texts, line by line."""
    return markdown_table(heads, (list(map(markdown_cell, row)) for row in rows))

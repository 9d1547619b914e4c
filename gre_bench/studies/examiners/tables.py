"""Makes the tables of an examiner study with all cells as text, for Markdown and for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gre_bench.core.terminal import markdown_cell, markdown_table
from gre_bench.examiners.results.differences import Difference
from gre_bench.examiners.results.outcomes import Estimate, ExaminerResult
from gre_bench.examiners.results.tables import NumberCell, Table

LEGEND = (
    "Kendall's τ-b, Spearman's ρ and Pearson's r with the human scores over all texts, 95% intervals in parentheses: "
    "texts of one source are resampled together. Ties: share of pairs of texts with equal scores. Scores: different "
    "ones, before and after binning where it changes them. Unread: replies that could not be read. Published values: "
    "other LMs, and other texts (1,280 of the development set, 825 of the test set)."
)
BEST = (
    "Less the best: Kendall's τ minus that of the examiner with the highest one here, which was chosen on the same "
    "texts and is therefore slightly too high; less length: minus that of the number of words. Holm's correction "
    "within each column."
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table ready to print: its title, the heads of its columns, and its rows of cells.

    *left*: how many of the first columns hold text and are aligned to the left. *notes*: lines to print below the
    table.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    notes: tuple[str, ...] = ()


def agreement_sheet(results: Sequence[ExaminerResult], tests: Sequence[Difference]) -> Sheet:
    """Returns the table of agreement with the human scores, one row per examiner and LM, the best first.

    Rows without a Kendall coefficient come last. *tests*: the differences of each examiner from the best examiner and
    from the length baseline.
    """
    order = sorted(
        results, key=lambda result: (result.kendall is None, -(result.kendall.value if result.kendall else 0.0))
    )
    by_first = {(test.family, test.first): test for test in tests}
    best = {test.second for test in tests if test.family == "best"}
    rows = []
    for result in order:
        title = _title(result)
        differences = [
            "best" if family == "best" and title in best else _difference(by_first.get((family, title)))
            for family in ("best", "length")
        ]
        coefficients = [estimate(each) for each in (result.kendall, result.spearman, result.pearson)]
        rows.append((result.name, result.by or "–", *coefficients, *differences, f"{result.scored} of {result.planned}",
                     share(result.tied), _scores(result)))  # fmt: skip
    heads = ("Examiner", "LM", "Kendall τ-b", "Spearman ρ", "Pearson r", "less the best", "less length", "texts",
             "ties", "scores")  # fmt: skip
    return Sheet("Agreement with the human scores", heads, tuple(rows), 2, (LEGEND, BEST))


def cost_sheet(results: Sequence[ExaminerResult]) -> Sheet:
    """Returns the table of replies, tokens and costs, one row per examiner and LM."""
    rows = tuple(
        (result.name, result.by or "–", str(result.replies),
                 share(result.unparsable / result.replies if result.replies else None),
         share(result.hallucinated / result.replies if result.replies else None), str(result.filtered),
         "–" if result.mass is None else f"{result.mass:.2g}", str(result.prompt_tokens), str(result.reply_tokens),
         "unknown" if result.usd is None else f"{result.usd:.2f}", f"{result.seconds:.1f}")
        for result in results
        if result.kind != "panel"
    )  # fmt: skip
    heads = ("Examiner", "LM", "replies", "unread", "hallucinated", "filtered", "mass", "prompt tokens",
             "reply tokens", "USD", "s")  # fmt: skip
    notes = (
        "USD: all replies at the models file's prices, also those that the archive had. s: this run, in which archived "
        "replies take next to no time. Mass: mean probability of all declared scores together (logprob). Hallucinated: "
        'replies with an "Answer:" that the prompt did not ask for.',
    )
    return Sheet("What it cost", heads, rows, 2, notes)


def published_sheet(table: Table) -> Sheet:
    """Returns a published table with the study's own columns placed before the published columns."""
    columns = (*table.own, *table.published)
    rows = tuple((*line.labels, *(_cell(line.cells.get(column)) for column in columns)) for line in table.lines)
    notes = tuple(
        f"{' '.join(line.labels)}, {column}: {line.cells[column].note}"
        for line in table.lines
        for column in columns
        if column in line.cells and line.cells[column].note
    )
    return Sheet(table.title, (*table.heads, *columns), rows, len(table.heads), notes)


def estimate(coefficient: Estimate | None) -> str:
    """Returns *coefficient* with its interval as text; a dash for None."""
    return "–" if coefficient is None else f"{coefficient.value:+.3f} ({coefficient.low:+.3f}, {coefficient.high:+.3f})"


def without_grade(results: Sequence[ExaminerResult]) -> list[str]:
    """Returns lines that explain missing numbers.

    Each examiner and LM gets one line per reason why texts have no grade, with the number of texts. One more line says
    why there is no coefficient, if there is none.
    """
    lines = [f"{_title(result)}: {why} ({count})" for result in results for why, count in result.reasons.items()]
    return lines + [f"{_title(result)}: no coefficient: {result.problem}" for result in results if result.problem]


def markdown(sheets: Iterable[Sheet], reasons: Sequence[str]) -> str:
    """Returns all *sheets* as Markdown, followed by *reasons*.

    *reasons*: the lines of `without_grade`.
    """
    lines = []
    for sheet in sheets:
        rows = (list(map(markdown_cell, row)) for row in sheet.rows)
        table = markdown_table(list(map(markdown_cell, sheet.heads)), rows)
        lines += [f"## {markdown_cell(sheet.title)}", "", *table, ""]
        lines += [f"- {markdown_cell(note)}" for note in sheet.notes] + ([""] if sheet.notes else [])
    lines += ["## Without a grade", "", *(f"- {markdown_cell(line)}" for line in reasons), ""] if reasons else []
    return "\n".join(lines)


def _title(result: ExaminerResult) -> str:
    return f"{result.name} · {result.by}" if result.by else result.name


def _difference(test: Difference | None) -> str:
    if test is None or test.difference is None:
        return "–"
    return f"{test.difference:+.3f} (p {test.p_holm:.2g})"


def _scores(result: ExaminerResult) -> str:
    return f"{result.before} → {result.after}" if result.before != result.after else str(result.after)


def share(part: float | None) -> str:
    """Returns *part*, a share from 0 to 1, in percent; a dash for None."""
    return "–" if part is None else f"{part:.1%}"


def _cell(cell: NumberCell | None) -> str:
    if cell is None:
        return "–"
    interval = "" if cell.low is None else f" ({cell.low:.3f}, {cell.high:.3f})"
    return f"{cell.value:.{cell.digits}f}{interval}"

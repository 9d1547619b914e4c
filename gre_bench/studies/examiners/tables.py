"""Tables of an examiner study as rows of text, for markdown and for the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    "Less the best: Kendall's τ less that of the examiner with the highest one here, who was chosen on the same texts "
    "and is a little lucky; less length: less that of the number of words. Holm's correction within each column."
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table ready to be shown; the first *left* columns are texts."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    notes: tuple[str, ...] = ()


def agreement_sheet(found: Sequence[ExaminerResult], tests: Sequence[Difference]) -> Sheet:
    """Every column of the study, the closest to the humans first; those without a coefficient last."""
    order = sorted(found, key=lambda one: (one.kendall is None, -(one.kendall.value if one.kendall else 0.0)))
    by_first = {(test.family, test.first): test for test in tests}
    best = {test.second for test in tests if test.family == "best"}
    rows = []
    for one in order:
        title = _title(one)
        less = [
            "best" if family == "best" and title in best else _difference(by_first.get((family, title)))
            for family in ("best", "length")
        ]
        coefficients = [estimate(each) for each in (one.kendall, one.spearman, one.pearson)]
        rows.append((one.name, one.by or "–", *coefficients, *less, f"{one.scored} of {one.planned}",
                     share(one.tied), _scores(one)))  # fmt: skip
    heads = ("Examiner", "LM", "Kendall τ-b", "Spearman ρ", "Pearson r", "less the best", "less length", "texts",
             "ties", "scores")  # fmt: skip
    return Sheet("Agreement with the human scores", heads, tuple(rows), 2, (LEGEND, BEST))


def cost_sheet(found: Sequence[ExaminerResult]) -> Sheet:
    """What was asked for each examiner, and what it cost."""
    rows = tuple(
        (one.name, one.by or "–", str(one.replies), share(one.unparsable / one.replies if one.replies else None),
         share(one.hallucinated / one.replies if one.replies else None), str(one.filtered),
         "–" if one.mass is None else f"{one.mass:.2g}", str(one.prompt_tokens), str(one.reply_tokens),
         "unknown" if one.usd is None else f"{one.usd:.2f}", f"{one.seconds:.1f}")
        for one in found
        if one.kind != "panel"
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
    """A paper's table with one's own columns before the published ones."""
    columns = (*table.own, *table.published)
    rows = tuple((*line.labels, *(_cell(line.cells.get(column)) for column in columns)) for line in table.lines)
    notes = tuple(
        f"{' '.join(line.labels)}, {column}: {line.cells[column].note}"
        for line in table.lines
        for column in columns
        if column in line.cells and line.cells[column].note
    )
    return Sheet(table.title, (*table.heads, *columns), rows, len(table.heads), notes)


def estimate(one: Estimate | None) -> str:
    """A coefficient with its interval."""
    return "–" if one is None else f"{one.value:+.3f} ({one.low:+.3f}, {one.high:+.3f})"


def without_grade(found: Sequence[ExaminerResult]) -> list[str]:
    """Why texts have no grade, and why columns have no coefficient."""
    lines = [f"{_title(one)}: {why} ({count})" for one in found for why, count in one.reasons.items()]
    return lines + [f"{_title(one)}: no coefficient: {one.problem}" for one in found if one.problem]


def markdown(sheets: Iterable[Sheet], reasons: Sequence[str]) -> str:
    """All *sheets*, and why texts have no grade."""
    lines = []
    for sheet in sheets:
        rows = (sheet.heads, ("---",) * len(sheet.heads), *sheet.rows)
        lines += [f"## {sheet.title}", "", *(f"| {' | '.join(map(_escaped, row))} |" for row in rows), ""]
        lines += [f"- {note}" for note in sheet.notes] + ([""] if sheet.notes else [])
    lines += ["## Without a grade", "", *(f"- {line}" for line in reasons), ""] if reasons else []
    return "\n".join(lines)


def _title(one: ExaminerResult) -> str:
    return f"{one.name} · {one.by}" if one.by else one.name


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _difference(test: Difference | None) -> str:
    if test is None or test.difference is None:
        return "–"
    return f"{test.difference:+.3f} (p {test.p_holm:.2g})"


def _scores(one: ExaminerResult) -> str:
    return f"{one.before} → {one.after}" if one.before != one.after else str(one.after)


def share(part: float | None) -> str:
    """A share in percent."""
    return "–" if part is None else f"{part:.1%}"


def _cell(cell: NumberCell | None) -> str:
    if cell is None:
        return "–"
    interval = "" if cell.low is None else f" ({cell.low:.3f}, {cell.high:.3f})"
    return f"{cell.value:.{cell.digits}f}{interval}"

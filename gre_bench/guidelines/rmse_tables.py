"""Tables of the root mean squared errors (RMSE) of ratings under guidelines, and a chart of the ratings.

The tables have the layout of "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review".
They show this run's values, and below them the values that the paper published.

Table 1 has a column for ratings without a guideline, and one for each venue's guideline: ARR, NeurIPS and ICLR. It has
two blocks: one for the official guidelines, one for the same guidelines rewritten as instructions.

Table 2 has a column for ratings without a guideline (Base.), and columns for guidelines that imitate good, middle and
bad reviews. Each model has a row without a rubric, one with a rubric, and one with the ratings that the rubric's rule
computes.

A condition is a variant of the prompt for reviews: with one guideline, or without any. All conditions that neither
table has form another table in the layout of table 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gre_bench.core.published import read_printed_numbers
from gre_bench.guidelines.outcomes import ConditionResult, count_rounded_means
from gre_bench.guidelines.ratings import HIGHEST, LOWEST
from gre_bench.plots.drawing import Curve, draw_curve_panels
from gre_bench.prompts.conditions import RUBRIC

VENUES = {"arr": "ARR", "neurips": "NeurIPS", "iclr": "ICLR"}
BLOCKS = {
    "official": "Official conference guidelines",
    "instruction": "Guidelines rewritten into instruction-style prompts",
}
GROUPS = {"none": "Base.", "good": "Good", "middle": "Mid.", "bad": "Bad"}
SETTINGS = ("w/o Rubric", "w/ Rubric", "w/ Rubric, recomputed")
RATED, HUMAN = "ratings of the model", "human means, rounded half down"

Results = Mapping[tuple[str, str], ConditionResult]
"""(model, condition) → result."""


@dataclass(frozen=True, slots=True)
class RmseCell:
    """An RMSE with its 95% interval. A published RMSE has no interval, and may have a *note* on why it is doubtful."""

    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RmseRow:
    """A row of a table. *labels*: the texts at its left end, such as the model. *cells*: column title → cell."""

    labels: tuple[str, ...]
    cells: dict[str, RmseCell]
    published: bool = False

    def find_best_place(self, column: str) -> int | None:
        """Returns 1 if *column* has the row's lowest RMSE, 2 if the second lowest, else None; None if all are equal."""
        order = sorted({cell.value for cell in self.cells.values()})
        if column not in self.cells or len(order) < 2:
            return None
        index = order.index(self.cells[column].value)
        return index + 1 if index < 2 else None


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[RmseRow, ...]


def build_tables(outcomes: Sequence[ConditionResult]) -> list[Table]:
    """Returns the tables that *outcomes* fills, in this order: both blocks of table 1, table 2, all other conditions.

    If only the table of other conditions has values, the published table 1 follows for comparison.
    """
    results = {(outcome.model, outcome.condition): outcome for outcome in outcomes}
    models = list(dict.fromkeys(outcome.model for outcome in outcomes))
    conditions = {condition for _, condition in results}
    blocks = {block: _map_conditions_to_columns(block) for block in BLOCKS}
    groups = {f"{group}{end}" for group in GROUPS for end in ("", RUBRIC)}
    tables = [
        _build_conference_table(block, results, models) for block, names in blocks.items() if conditions & set(names)
    ]
    if conditions & (groups - {"none", f"none{RUBRIC}"}):
        tables.append(_build_imitation_table(results, models))
    known = {"none", *groups}.union(*blocks.values())
    others = [condition for condition in dict.fromkeys(item.condition for item in outcomes) if condition not in known]
    if others or not tables:
        columns = (*(["none"] if "none" in conditions else []), *others)
        lines = tuple(
            RmseRow((model,), _build_rmse_cells(results, model, {name: name for name in columns})) for model in models
        )
        tables.append(Table("RMSE by condition, in the layout of table 1", ("Model",), columns, lines))
        if len(tables) == 1:
            tables += [_build_conference_table(block, {}, ()) for block in BLOCKS]
    return tables


def _map_conditions_to_columns(block: str) -> dict[str, str]:
    """Returns condition → column title for a *block* of table 1 (see `BLOCKS`): ``arr_official`` → ARR for official."""
    return {f"{venue}{'' if block == 'instruction' else '_official'}": title for venue, title in VENUES.items()}


def _build_conference_table(block: str, results: Results, models: Sequence[str]) -> Table:
    names = {"none": "No-Guideline"} | _map_conditions_to_columns(block)
    lines = [RmseRow((model,), cells) for model in models if (cells := _build_rmse_cells(results, model, names))]
    prints = [
        RmseRow(row.labels[1:], row.cells, True)
        for row in _load_rows_printed_in_paper("002_table1")
        if row.labels[0] == block
    ]
    return Table(f"Table 1: {BLOCKS[block]}", ("Model",), tuple(names.values()), (*lines, *prints))


def _build_imitation_table(results: Results, models: Sequence[str]) -> Table:
    lines = []
    for model in models:
        for setting in SETTINGS:
            end = "" if setting == SETTINGS[0] else RUBRIC
            names = {f"{group}{end}": title for group, title in GROUPS.items()}
            if cells := _build_rmse_cells(results, model, names, recomputed=setting == SETTINGS[2]):
                lines.append(RmseRow((model, setting), cells))
    lines += _load_rows_printed_in_paper("002_table2")
    return Table("Table 2: reviewer-imitating guidelines", ("Model", "Setting"), tuple(GROUPS.values()), tuple(lines))


def _load_rows_printed_in_paper(table: str) -> list[RmseRow]:
    rows: dict[tuple[str, ...], dict[str, RmseCell]] = {}
    for cell in read_printed_numbers(table):
        rows.setdefault(tuple(cell.row.split(": ")), {})[cell.column] = RmseCell(cell.value, note=cell.note)
    return [RmseRow(labels, cells, published=True) for labels, cells in rows.items()]


def _build_rmse_cells(
    results: Results, model: str, names: Mapping[str, str], recomputed: bool = False
) -> dict[str, RmseCell]:
    """Returns column → RMSE of *model*.

    *names*: condition → column. *recomputed*: whether to use the ratings that the rubric's rule computes.
    """
    cells = {}
    for condition, column in names.items():
        outcome = results.get((model, condition))
        close = outcome and (outcome.recomputed if recomputed else outcome.closeness)
        if close:
            cells[column] = RmseCell(close.rmse.value, close.rmse.low, close.rmse.high)
    return cells


def draw_rating_shares(outcomes: Sequence[ConditionResult], human: Mapping[str, float], title: str) -> str:
    """Returns an SVG chart with the share of papers that got each rating, with one panel per model and condition.

    *human*: the papers' mean human ratings, which each panel shows for comparison.
    """
    panels = {}
    for outcome in outcomes:
        raters = (RATED, outcome.distribution, "main"), (HUMAN, count_rounded_means([*human.values()]), "level")
        panels[f"{outcome.model} · {outcome.condition}"] = [
            Curve(rater, [(rating, 100 * counts[rating] / papers) for rating in range(LOWEST, HIGHEST + 1)], look)
            for rater, counts, look in raters
            if (papers := sum(counts.values()))
        ]
    return draw_curve_panels(panels, "rating", "% of papers", title=title)

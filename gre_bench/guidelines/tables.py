"""Reads tables 1 and 2 of the guideline paper (`gre_bench.guidelines`) from ``data/published/002_table*.csv``.

Tables of RMSE in the layout of tables 1 and 2 of the guideline paper, with the paper's values below the study's.

Table 1 has a column without a guideline, and one for the guideline of each venue: ARR, NeurIPS and ICLR. It has two
blocks, for the official texts and for the same texts rewritten as instructions.

Table 2 has a column without a guideline (Base.), and columns for guidelines that imitate good, middle and bad reviews.
Each model has rows without a rubric, with a rubric, and with ratings that the rubric's rule computes.

All other conditions form one more table in the layout of table 1.

Draws a chart of the ratings that LMs gave under each condition.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import resource
from gre_bench.guidelines.closeness import Closeness
from gre_bench.guidelines.outcomes import ConditionResult
from gre_bench.guidelines.ratings import HIGHEST, LOWEST
from gre_bench.prompts.conditions import RUBRIC

if TYPE_CHECKING:
    import altair


@dataclass(frozen=True, slots=True)
class Printed:
    """An RMSE printed in the guideline paper, with its row and column.

    - *papers*: the number of papers behind the RMSE.
    - *anomaly*: a code if the printed number is doubtful; *note*: the explanation. Both are empty for most cells.
    """

    row: str
    column: str
    value: float
    papers: int
    anomaly: str = ""
    note: str = ""


@cache
def printed(table: Literal[1, 2]) -> tuple[Printed, ...]:
    """Returns the cells of *table* (1 or 2), row by row.

    The names of rows are like ``official: MODEL`` in table 1, and like ``MODEL: w/o Rubric`` in table 2.
    """
    path = resource("data", "published", f"002_table{table}.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(map(_printed_row, csv.DictReader(lines, strict=True)))


def _printed_row(row: dict[str, str]) -> Printed:
    return Printed(row["row"], row["column"], float(row["value"]), int(row["n"]), row["anomaly"], row["note"])


VENUES = {"arr": "ARR", "neurips": "NeurIPS", "iclr": "ICLR"}
BLOCKS = {
    "official": "Official conference guidelines",
    "instruction": "Guidelines rewritten into instruction-style prompts",
}
GROUPS = {"none": "Base.", "good": "Good", "middle": "Mid.", "bad": "Bad"}
SETTINGS = ("w/o Rubric", "w/ Rubric", "w/ Rubric, recomputed")


@dataclass(frozen=True, slots=True)
class RmseCell:
    """An RMSE in a table.

    - *low*, *high*: its 95% interval, if it has one.
    - *papers*: the number of papers behind the RMSE.
    - *note*: an explanation if the published number is doubtful.
    """

    value: float
    low: float | None = None
    high: float | None = None
    papers: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RmseRow:
    """A row of a table.

    - *labels*: the texts on its left, such as the model and the setting.
    - *cells*: the cells by the name of their column.
    - *published*: whether the values are printed in the paper rather than computed here.
    """

    labels: tuple[str, ...]
    cells: dict[str, RmseCell]
    published: bool = False

    def best_rank(self, column: str) -> int | None:
        """Returns the rank, 1 or 2, of the RMSE in *column* among the values of the row; 1 is the lowest.

        Returns None for all other ranks, or if the row has fewer than two different values.
        """
        order = sorted({cell.value for cell in self.cells.values()})
        if column not in self.cells or len(order) < 2:
            return None
        index = order.index(self.cells[column].value)
        return index + 1 if index < 2 else None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of RMSE; lower is better.

    - *heads*: the titles of the columns that hold the rows' labels.
    - *columns*: the titles of the columns that hold RMSE.
    - *lines*: the rows.
    """

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[RmseRow, ...]


def layout(outcomes: Sequence[ConditionResult]) -> list[Table]:
    """Returns the tables that *outcomes* fill, in this order: both blocks of table 1, table 2, all other conditions.

    Tables without a result are left out. If only the table of other conditions is filled, the published table 1 follows
    that table for comparison.
    """
    results = {(outcome.model, outcome.condition): outcome for outcome in outcomes}
    models = list(dict.fromkeys(outcome.model for outcome in outcomes))
    conditions = {condition for _, condition in results}
    tables = [
        _conference(block, results, models)
        for block in BLOCKS
        if any(_name(block, venue) in conditions for venue in VENUES)
    ]
    if conditions & {f"{group}{end}" for group in ("good", "middle", "bad") for end in ("", RUBRIC)}:
        tables.append(_imitating(results, models))
    known = {"none", *(_name(block, venue) for block in BLOCKS for venue in VENUES)}
    known |= {f"{group}{end}" for group in GROUPS for end in ("", RUBRIC)}
    others = tuple(dict.fromkeys(outcome.condition for outcome in outcomes if outcome.condition not in known))
    if others or not tables:
        columns = (*(["none"] if "none" in conditions else []), *others)
        lines = tuple(RmseRow((model,), _cells(results, model, {name: name for name in columns})) for model in models)
        tables.append(Table("RMSE by condition, in the layout of table 1", ("Model",), columns, lines))
        if len(tables) == 1:
            tables += [_conference(block, {}, ()) for block in BLOCKS]
    return tables


def _name(block: str, venue: str) -> str:
    """Returns the name of the condition with the guideline of *venue* in *block* of table 1.

    In the block ``instruction``, the guideline is rewritten as instructions, and the name is like ``arr``. In the block
    ``official``, the user supplies the official text, and the name is like ``arr_official``.
    """
    return venue if block == "instruction" else f"{venue}_official"


def _conference(block: str, outcomes: dict[tuple[str, str], ConditionResult], models: Sequence[str]) -> Table:
    names = {"none": "No-Guideline"} | {_name(block, venue): title for venue, title in VENUES.items()}
    own = [RmseRow((model,), _cells(outcomes, model, names)) for model in models]
    lines = [line for line in own if line.cells]
    prints: dict[str, dict[str, RmseCell]] = {}
    for cell in printed(1):
        part, _, model = cell.row.partition(": ")
        if part == block:
            prints.setdefault(model, {})[cell.column] = RmseCell(cell.value, papers=cell.papers, note=cell.note)
    lines += [RmseRow((model,), cells, published=True) for model, cells in prints.items()]
    return Table(f"Table 1: {BLOCKS[block]}", ("Model",), ("No-Guideline", *VENUES.values()), tuple(lines))


def _imitating(outcomes: dict[tuple[str, str], ConditionResult], models: Sequence[str]) -> Table:
    lines = []
    for model in models:
        for setting in SETTINGS:
            end = "" if setting == SETTINGS[0] else RUBRIC
            names = {f"{group}{end}": title for group, title in GROUPS.items()}
            cells = _cells(outcomes, model, names, recomputed=setting == SETTINGS[2])
            lines += [RmseRow((model, setting), cells)] if cells else []
    prints: dict[tuple[str, ...], dict[str, RmseCell]] = {}
    for cell in printed(2):
        prints.setdefault(tuple(cell.row.split(": ")), {})[cell.column] = RmseCell(
            cell.value, papers=cell.papers, note=cell.note
        )
    lines += [RmseRow(labels, cells, published=True) for labels, cells in prints.items()]
    title = "Table 2: reviewer-imitating guidelines"
    return Table(title, ("Model", "Setting"), tuple(GROUPS.values()), tuple(lines))


def _cells(
    outcomes: dict[tuple[str, str], ConditionResult], model: str, names: dict[str, str], recomputed: bool = False
) -> dict[str, RmseCell]:
    cells = {}
    for condition, column in names.items():
        outcome = outcomes.get((model, condition))
        close: Closeness | None = outcome and (outcome.recomputed if recomputed else outcome.closeness)
        if close:
            cells[column] = RmseCell(close.rmse.value, close.rmse.low, close.rmse.high, close.papers)
    return cells


FILE = "distributions.svg"
HUMAN = "human mean"
_COLUMNS = 3


def draw(outcomes: Sequence[ConditionResult], human: Mapping[str, float], folder: Path, title: str) -> Path:
    """Writes the chart that `chart` returns to ``distributions.svg`` in *folder*, and returns the path of the file.

    *human* holds the mean human rating of each paper.
    """
    path = folder / FILE
    beside = folder / f".{os.getpid()}-{FILE}"
    chart(outcomes, human, title).save(beside, format="svg")
    os.replace(beside, path)
    return path


def chart(outcomes: Sequence[ConditionResult], human: Mapping[str, float], title: str) -> altair.FacetChart:
    """Returns a chart of the share of papers by rating, with a panel for each model and condition.

    Bars show the model's ratings. A line shows *human*, the mean human rating of each paper. Raises `SettingsError` if
    altair is not installed.
    """
    try:
        import altair
    except ImportError as error:
        raise SettingsError("altair is not installed: pip install 'gre-bench[plots]'") from error
    rows = shares(outcomes, human)
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    base = altair.Chart().encode(
        x=altair.X("rating:O", title="rating", axis=altair.Axis(labelAngle=0), sort=list(range(LOWEST, HIGHEST + 1))),
        y=altair.Y("share:Q", title="share of papers", axis=altair.Axis(format="%", grid=True)),
    )
    bars = base.transform_filter(f"datum.who != '{HUMAN}'").mark_bar(color="#31639c", opacity=0.8)
    line = base.transform_filter(f"datum.who == '{HUMAN}'").mark_line(
        color="#c2571a", strokeWidth=2, point={"color": "#c2571a"}
    )
    layered = altair.layer(bars, line).properties(width=220, height=120)
    facet = altair.Facet("panel:N", title=None, sort=panels, header=altair.Header(labelLimit=260, labelFontSize=10))  # pyright: ignore[reportArgumentType]
    whole = layered.facet(facet, columns=_COLUMNS, data=altair.Data(values=rows))
    lines = [title, "bars: the model's ratings; line: human means, rounded half down"]
    return whole.properties(title=altair.Title(lines[0], subtitle=lines[1], anchor="start")).configure_view(stroke=None)


def shares(outcomes: Sequence[ConditionResult], human: Mapping[str, float]) -> list[dict[str, str | int | float]]:
    """Returns the share of papers (0 to 1) with each rating, as rows for the chart.

    Each row has *panel* (a model and condition), *who*, *rating* and *share*. *who* is the rater: the model, or the
    human mean with halves rounded down. *human* holds the mean human rating of each paper.
    """
    scale = range(LOWEST, HIGHEST + 1)
    rounded = [math.ceil(mean - 0.5) for mean in human.values()]
    rows: list[dict[str, str | int | float]] = []
    for outcome in outcomes:
        panel = f"{outcome.model} · {outcome.condition}"
        rated = sum(outcome.distribution.values())
        for rating in scale:
            if rated:
                share = outcome.distribution[rating] / rated
                rows.append({"panel": panel, "who": outcome.model, "rating": rating, "share": share})
            if rounded:
                rows.append(
                    {"panel": panel, "who": HUMAN, "rating": rating, "share": rounded.count(rating) / len(rounded)}
                )
    return rows

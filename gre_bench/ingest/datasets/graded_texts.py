"""Reads summaries with human scores in the format of the Eval4NLP 2023 shared task, to test examiners against.

- ``SRC``: the source text.
- ``HYP``: a summary of the source.
- ``Score``: the human score of the summary; blank if it has none.
- ``id`` (optional): the id of the source.
- ``model_id`` (optional): the author of the summary.

In a .tsv file, quotation marks are plain text, as in the shared task. In a .csv file, they quote cells.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gre_bench.core.errors import SourceError
from gre_bench.ingest.records.cells import Row
from gre_bench.ingest.records.row_files import read_all_rows

COLUMNS = ("SRC", "HYP", "Score")


@dataclass(frozen=True, slots=True)
class GradedText:
    """A summary with its human score.

    - *item_id*: the id of the summary, made of *group* and *player*.
    - *group*: the id of the source; summaries of one source are resampled together.
    - *player*: the author of the summary.
    - *source*, *text*: the source and the summary.
    - *human*: the human score; None if it has none.
    """

    item_id: str
    group: str
    player: str
    source: str
    text: str
    human: float | None


def read_graded_texts(path: Path) -> list[GradedText]:
    """Returns the summaries in the .tsv or .csv file *path*, in the order of its rows.

    Raises `SourceError` if the file or a row cannot be used. The message names the first such row.
    """
    kind = path.name.rpartition(".")[2].lower()
    if kind not in ("tsv", "csv"):
        raise SourceError(f"{path.name}: expected a .tsv or .csv file with the columns {', '.join(COLUMNS)}")
    rows, columns = read_all_rows(path)
    if missing := [name for name in COLUMNS if name not in columns]:
        also = "; texts without a human score cannot be compared with any" if missing == ["Score"] else ""
        raise SourceError(f"{path.name} has no column {missing[0]}; needed: {', '.join(COLUMNS)}{also}")
    groups: dict[str, str] = {}
    seen: Counter[str] = Counter()
    return [_row(path.name, number, row, groups, seen) for number, row in rows]


def _row(name: str, number: int, row: Row, groups: dict[str, str], seen: Counter[str]) -> GradedText:
    source, player = row["SRC"] or "", row.get("model_id") or ""
    # Equal sources share one id, whatever the file calls them, because their texts are not independent.
    group = groups.setdefault(source, str(row.get("id") or f"source {len(groups) + 1}"))
    item_id = f"{group}:{player}" if player else group
    seen[item_id] += 1
    item_id += f":{seen[item_id]}" if seen[item_id] > 1 else ""
    return GradedText(item_id, group, player, source, row["HYP"] or "", _score(name, number, row["Score"] or ""))


def _score(name: str, number: int, cell: str) -> float | None:
    if not cell.strip():
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SourceError(f"{name}, row {number}: Score {cell[:40]!r} is not a number")
    return value

"""Selects rows and columns of users' files of papers and reviews, and finds columns that seem to be misnamed."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from gre_bench.core.errors import SourceError
from gre_bench.core.known_names import listed
from gre_bench.ingest.records.cells import Row
from gre_bench.ingest.records.inspect_logs import COLUMNS as LOG_COLUMNS
from gre_bench.ingest.records.inspect_logs import is_log, read_logs
from gre_bench.ingest.records.merge_index import Imported, Refusal
from gre_bench.ingest.records.row_files import read_folder, read_rows

PAPER_COLUMNS = {"paper_id": True, "title": False, "abstract": False, "text": False, "row": False}
REVIEW_COLUMNS = {
    "paper_id": True,
    "review_id": False,
    "candidate": False,
    "review": False,
    "judgments": False,
    "writer": False,
    "slot": False,
    "rating": False,
    "grade": False,
    "row": False,
}
"""Column name → whether every row must have it."""

NUMBERS = ("slot", "rating", "grade", "row")
"""Columns of numbers; a .csv or .tsv file has them as text."""

OFTEN_MEANT = {
    "paper_id": ("paper", "id", "forum", "submission", "submission_id", "item_id"),
    "candidate": ("model", "author", "reviewer", "system", "llm", "model_name"),
    "review": ("text", "review_text", "content", "body", "comment", "output"),
}
"""Column → names that other people's files use for it."""

SURELY_MEANT = ("model", "model_name", "llm", "system")
"""Columns that distinguish candidates if there is no column candidate."""


def rows_of(
    path: Path, columns: Mapping[str, bool], keep: range | None, imported: Imported, epoch: int | None = None
) -> Iterator[tuple[int, Row]]:
    """Yields (number, cells) for the rows of *path* that *keep* selects.

    The number counts the rows of the file from 1. *keep* is a range of values of the column ``row``, which is the
    user's own numbering; None selects all rows.

    - *columns*: {name of a known column: whether it is required}.
    - *imported*: receives the columns of the file and the refused rows.
    - *epoch*: for a log of inspect_ai, the epoch whose reviews are read.

    Raises `SourceError` for a missing required column. The message names the column that was probably meant.
    """
    if "review" in columns and is_log(path):
        table, present_columns = read_logs(path, imported, epoch), set(LOG_COLUMNS)
    elif path.is_dir() and "review" in columns:
        table, present_columns = read_folder(path, imported), {"paper_id", "review"}
    else:
        table, present = read_rows(path, imported)
        table, present_columns = _with_known_names(table, present, columns)
    imported.columns = tuple(sorted(present_columns))
    imported.ignored_columns = tuple(sorted(present_columns - columns.keys()))
    lacking = [name for name, needed in columns.items() if needed and name not in present_columns]
    if "review" in columns and not present_columns & {"review", "judgments"}:
        lacking.append("review")
    if lacking and table:
        renamed = [f"{meant} to {name}" for name in lacking if (meant := likely(name, imported.ignored_columns))]
        hints = f"; rename {', '.join(renamed)}" if renamed else ""
        known = "" if len(renamed) == len(lacking) else f"; columns read: {', '.join(columns)}"
        raise SourceError(
            f"{path.name} has no column {' and no column '.join(lacking)}{hints}; columns there: "
            f"{', '.join(sorted(present_columns)) or 'none'}{known}"
        )
    if keep is not None and "row" not in present_columns:
        raise SourceError(f"{path.name}: rows {keep.start}:{keep.stop} were requested, but there is no column row")
    written = path.name.removesuffix(".gz").endswith((".csv", ".tsv"))
    for number, row in table:
        cells = {name: _number(cell) if written and name in NUMBERS else cell for name, cell in row.items()}
        if keep is not None and (not isinstance(cells.get("row"), int) or isinstance(cells["row"], bool)):
            reason = "row is no whole number, so it is unclear whether the row was requested"
            imported.refusals.append(Refusal(number, f"row {number}", reason))
        elif keep is None or cells["row"] in keep:
            yield number, cells


def _with_known_names(
    table: Sequence[tuple[int, Row]], present: Sequence[str], columns: Mapping[str, bool]
) -> tuple[list[tuple[int, Row]], set[str]]:
    """Renames columns that differ from a known name only in case or blanks; returns the rows and all column names.

    *present* holds the names of the columns of *table*, and *columns* the known names.
    """
    names = {name: name.strip().lower().replace(" ", "_") for name in present}
    spelt = Counter(names.values())
    renamed = {
        name: meant for name, meant in names.items()
        if name != meant and meant in columns and meant not in present and spelt[meant] == 1
    }  # fmt: skip
    rows = [(number, {renamed.get(name, name): cell for name, cell in row.items()}) for number, row in table]
    return rows if renamed else list(table), {renamed.get(name, name) for name in present}


def has(row: Row, name: str) -> bool:
    """Whether *row* has a value in the column *name*."""
    return row.get(name) not in (None, "")


def rows_of_one(path: Path, table: Sequence[tuple[int, Row]], by: str) -> list[tuple[int, Row]]:
    """Returns the rows with reviews by the candidate *by*; each gets ``candidate`` set to *by*.

    The column ``candidate``, or one such as ``model``, names a row's candidate.

    - If some rows name *by*, these rows and the rows that name nobody are returned.
    - If no row names *by*, all rows are returned. They may then name at most one candidate.

    Raises `SourceError` if the rows name several candidates but not *by*. The message names *path*, the rows' file.
    """
    named = dict.fromkeys(name for _, row in table for name in row if has(row, name))
    column = next(
        (
            column_name
            for meant in ("candidate", *SURELY_MEANT)
            for column_name in named
            if column_name.strip().lower() == meant
        ),
        None,
    )
    names = list(dict.fromkeys(str(row[column]) for _, row in table if has(row, column))) if column else []
    if len(names) > 1 and by not in names:
        raise SourceError(
            f"{path.name} holds reviews of {len(names)} candidates by its column {column}, and none is called {by}; "
            f"name one of them with --as: {listed(names)}"
        )
    kept = [(number, row) for number, row in table if by not in names or str(row.get(column or "") or by) == by]
    return [(number, row | {"candidate": by}) for number, row in kept]


def _number(cell: str | None) -> int | float | str | None:
    """Returns the number in *cell* of a .csv file; None if the cell is empty, the cell itself if it is no number."""
    for kind in (int, float):
        try:
            return kind(cell) if cell else None
        except ValueError:
            continue
    return cell


def likely(name: str, unread: Collection[str]) -> str | None:
    """Returns the column among *unread* that was probably meant to be called *name*; None if there is none.

    Upper and lower case count as equal.
    """
    spelt = {column.strip().lower(): column for column in unread}
    near = difflib.get_close_matches(name, spelt, n=1, cutoff=0.7)
    return next((column for low, column in spelt.items() if low in (*OFTEN_MEANT.get(name, ()), *near)), None)

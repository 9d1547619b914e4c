"""Editions side by side: differences to each edition's own human baseline, never raw scores of two years.

Only latest releases whose scores have the same metric, evaluation LM, writer and form are set beside each other.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tasks.release.contents import History, Year
from tasks.release.database import opened, rows
from tasks.release.shelf import Shelf
from tasks.settings import edition_of
from tasks.store import Row

_SAME = ("metric", "evaluation_lm", "lm_digest", "writer", "form")


def histories(shelf: Shelf, database: Path) -> tuple[History, ...]:
    """For each metric of the new *database* that another edition's latest release has too: its lines, year by year."""
    tables = {shelf.edition: _anchored(database)}
    for other in _siblings(shelf):
        tables[other] = _anchored(Shelf(shelf.folder, other).latest / "release.duckdb")
    editions = tuple(sorted(tables, key=lambda key: (edition_of(key).year, key)))
    found = []
    for key, title in dict.fromkeys((_key(row), row["title"] or row["metric"]) for row in tables[shelf.edition]):
        cells: dict[tuple[str, str], Row] = {
            (row["candidate"], edition): row for edition in editions for row in tables[edition] if _key(row) == key
        }
        shared = tuple(edition for edition in editions if any(place == edition for _, place in cells))
        if len(shared) > 1:
            names = sorted({name for name, _ in cells})
            lines = tuple(
                (name, tuple(_year(edition, cells.get((name, edition))) for edition in shared)) for name in names
            )
            found.append(History(title, shared, lines))
    return tuple(found)


def _siblings(shelf: Shelf) -> list[str]:
    """Other editions of the venue and sample that have a release."""
    own = edition_of(shelf.edition)
    keys = [path.name.removesuffix("-latest") for path in shelf.folder.glob("*-latest") if path.exists()]
    known = [edition_of(key) for key in keys if re.match(r".+-\d{4}(-.+)?$", key) and key != shelf.edition]
    return [one.key for one in known if (one.venue, one.sample) == (own.venue, own.sample)]


def _anchored(database: Path) -> list[Row]:
    with opened(database) as connection:
        return rows(connection, "anchored")


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _SAME)


def _year(edition: str, row: Row | None) -> Year:
    if row is None:
        return Year(edition)
    return Year(edition, row["difference"], row["difference_low"], row["difference_high"])

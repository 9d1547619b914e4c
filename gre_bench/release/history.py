"""Compares editions by the differences of candidates from the human baseline of the same edition.

Raw scores of different editions are never compared. Each edition is read from its latest release, and only scores of
the same signature are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from gre_bench.core.settings import edition_of
from gre_bench.release.database import opened, rows
from gre_bench.release.manifest import verify
from gre_bench.release.pages.contents import History, Year, YearChange
from gre_bench.release.release_store import ReleaseStore
from gre_bench.stats.effects import holm
from gre_bench.stats.intervals import Change, Moment, change
from gre_bench.store import Row

Cells = Mapping[tuple[str, str], Row]
"""Rows with the difference from the human baseline, by candidate and edition."""


def histories(release_store: ReleaseStore, release: Path) -> tuple[History, ...]:
    """Returns a `History` for each signature that the new release shares with the latest release of another edition.

    *release*: the new release (see `opened`). *release_store*: the new release's store; its folder holds the other
    editions' releases too. Only editions of the same venue and sample are compared. Raises `SourceError` if the release
    of another edition was altered.
    """
    tables = {release_store.edition: _anchored(release)}
    for other in _siblings(release_store):
        sibling = ReleaseStore(release_store.folder, other)
        newest = sibling.newest()
        folder = sibling.folder / newest["release"] if newest else sibling.latest.resolve()
        verify(folder)
        tables[other] = _anchored(folder)
    editions = tuple(sorted(tables, key=lambda key: (edition_of(key).year, key)))
    histories_found = []
    for signature, title in dict.fromkeys(
        (row["signature_id"], row["title"] or row["metric"]) for row in tables[release_store.edition]
    ):
        cells: Cells = {
            (row["candidate"], edition): row
            for edition in editions for row in tables[edition] if row["signature_id"] == signature
        }  # fmt: skip
        shared = tuple(
            edition for edition in editions if any(edition_of_cell == edition for _, edition_of_cell in cells)
        )
        if len(shared) > 1:
            names = sorted({name for name, _ in cells})
            lines = tuple(
                (name, tuple(_year(edition, cells.get((name, edition))) for edition in shared)) for name in names
            )
            histories_found.append(History(title, shared, lines, _changes(names, shared, cells)))
    return tuple(histories_found)


def _changes(names: Sequence[str], editions: Sequence[str], cells: Cells) -> tuple[YearChange, ...]:
    """Returns the changes of each candidate from edition to edition, with Holm-corrected p-values.

    *names*: the candidates; controls are skipped. *cells*: the candidates' rows by (candidate, edition). If a
    candidate's difference has no standard error in an edition, this edition is skipped for this candidate.
    """
    changes = list(_moved(names, editions, cells))
    adjusted = holm([test.p for *_, test in changes])
    return tuple(
        YearChange(name, earlier, later, test.value, test.low, test.high, p)
        for (name, earlier, later, test), p in zip(changes, adjusted, strict=True)
    )


def _moved(names: Sequence[str], editions: Sequence[str], cells: Cells) -> Iterator[tuple[str, str, str, Change]]:
    for name in names:
        own = {edition: cells[name, edition] for edition in editions if (name, edition) in cells}
        scored = [edition for edition, row in own.items() if row["se"] and row["kind"] != "control"]
        for earlier, later in pairwise(scored):
            before, after = (_moment(own[edition]) for edition in (earlier, later))
            yield name, earlier, later, change(before, after)


def _siblings(release_store: ReleaseStore) -> list[str]:
    """Returns the keys of the other editions that can be compared with the edition of *release_store*.

    These have the same venue and sample, and a release in the same folder.
    """
    own = edition_of(release_store.edition)
    keys = [path.name.removesuffix("-latest") for path in release_store.folder.glob("*-latest") if path.exists()]
    known = [edition_of(key) for key in keys if re.match(r".+-\d{4}(-.+)?$", key) and key != release_store.edition]
    return [edition.key for edition in known if (edition.venue, edition.sample) == (own.venue, own.sample)]


def _anchored(release: Path) -> list[dict[str, Any]]:
    with opened(release) as connection:
        return rows(connection, "anchored")


def _year(edition: str, row: Row | None) -> Year:
    if row is None:
        return Year(edition)
    names = ("difference", "difference_low", "difference_high", "above_chance", "above_chance_high", "papers")
    return Year(edition, *(row[name] for name in names))


def _moment(row: Row) -> Moment:
    return Moment(row["difference"], row["se"], row["papers"])

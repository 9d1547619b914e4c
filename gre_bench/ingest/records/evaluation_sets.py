"""Reads evaluation sets: files of papers that nothing may be learnt from, so that they can examine what is learnt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.core.learnt_from import PaperTexts, Register
from gre_bench.ingest.records.merge_index import Imported
from gre_bench.ingest.records.row_files import read_rows

_TEXT = 200
"""The fewest characters of a note's field that counts as the text of a review."""


def evaluation_set(path: Path) -> Register:
    """Returns the entries of the papers in *path*, as those of a register of that name.

    The file holds papers, reviews or OpenReview notes, in any format that the imports read. A row names its paper in
    ``forum``, ``paper_id`` or ``id``. Raises `SourceError` for a file that cannot be read or a row without a name.
    """
    imported = Imported()
    rows, _ = read_rows(path, imported)
    if imported.refusals:
        first = imported.refusals[0]
        raise SourceError(f"evaluation set {path.name}: row {first.number}: {first.reason}; correct the file")
    entries: set[str] = set()
    for number, row in rows:
        name = row.get("forum") or row.get("paper_id") or row.get("id")
        if not isinstance(name, str):
            raise SourceError(f"evaluation set {path.name}: row {number} names no paper (forum, paper_id or id)")
        entries |= PaperTexts(name, _text(row.get("abstract")), tuple(_reviews(row))).entries
        if isinstance(content := row.get("content"), Mapping):
            entries |= PaperTexts(name, _text(content.get("abstract")), tuple(_fields(content))).entries
    return Register(path.name, frozenset(entries))


def _reviews(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (text for name in ("review", "text") if (text := _text(row.get(name))))


def _fields(content: Mapping[str, Any]) -> Iterator[str]:
    """Yields the long texts of a note's *content*, of either version of the API."""
    texts = (_text(value) for name, value in content.items() if name != "abstract")
    yield from (text for text in texts if text and len(text) >= _TEXT)


def _text(value: object) -> str | None:
    value = value.get("value") if isinstance(value, Mapping) else value
    return value if isinstance(value, str) else None

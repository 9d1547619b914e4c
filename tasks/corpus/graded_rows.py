"""Rows of a .csv or .jsonl file, gzipped or not, each with its place; a row that is none is refused."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from tasks.corpus.cells import LARGEST, RefusedError, Row
from tasks.corpus.json_lines import lines, opened, read_object
from tasks.corpus.shelf import Imported, Refusal
from tasks.errors import SourceError


def read_rows(path: Path, taken: Imported) -> list[tuple[int, Row]]:
    """Place (from 1, a heading not counted) and cells of every row; blank cells of a .csv file are None."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "csv":
        return list(_csv(path, taken))
    if kind in ("jsonl", "ndjson"):
        return list(_json(path, taken))
    raise SourceError(f"{path.name}: expected a .csv or .jsonl file, or one of these gzipped (.gz)")


def _csv(path: Path, taken: Imported) -> Iterator[tuple[int, Row]]:
    csv.field_size_limit(LARGEST)
    try:
        with opened(path) as file:
            reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), strict=True)
            heading = next(reader, [])
            if len(set(heading)) < len(heading):
                raise SourceError(f"{path.name}: two columns have the same name")
            for place, cells in enumerate(filter(None, reader), start=1):
                if len(cells) == len(heading):
                    yield place, {name: cell or None for name, cell in zip(heading, cells, strict=True)}
                else:
                    reason = f"it has {len(cells)} cells, and the heading has {len(heading)}"
                    taken.refusals.append(Refusal(place, f"row {place}", reason))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{path.name} cannot be read as CSV in UTF-8: {error}") from None


def _json(path: Path, taken: Imported) -> Iterator[tuple[int, Row]]:
    for place, _, line in lines(path):
        try:
            yield place, read_object(line)
        except RefusedError as reason:
            taken.refusals.append(Refusal(place, f"line {place}", str(reason)))

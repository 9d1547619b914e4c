"""Reads users' files of notes, texts and paper ids; errors name the faulty row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError, no_file
from gre_bench.core.incoming import read_text
from gre_bench.ingest.records.cells import Row, is_name
from gre_bench.ingest.records.row_files import read_all_rows

_FORUM = re.compile(r"https?://openreview\.net/(?:forum|pdf)\?id=")


def read_notes_file(path: Path) -> list[dict[str, Any]]:
    """Returns the raw notes of *path* (.jsonl or .jsonl.gz), one per line.

    Raises `SourceError` if the file cannot be read or a line is no JSON object. The message names that line.
    """
    return [row for _, row in _json_lines(path)]


def read_texts(path: Path) -> dict[str, str]:
    """Returns {paper id: text} from the columns ``paper_id`` and ``text`` (or ``markdown``) of *path*.

    The file is .parquet, .csv or .jsonl. A paper whose text is null or blank is left out. Raises `SourceError` for a
    row that cannot be used.
    """
    rows = read_all_rows(path)[0] if path.suffix in (".parquet", ".csv") else _json_lines(path)
    texts: dict[str, str] = {}
    for number, row in rows:
        paper_id, text = row.get("paper_id"), row["text"] if "text" in row else row.get("markdown")
        where = f"{path.name}, row {number}"
        if not isinstance(paper_id, str) or not paper_id:
            raise SourceError(f"{where}: paper_id is missing")
        if "text" not in row and "markdown" not in row:
            raise SourceError(f"{where}: paper {paper_id!a:.60} has neither text nor markdown")
        if text is None:
            continue
        if not is_text(text) or not is_text(paper_id):
            raise SourceError(f"{where}: the text of paper {paper_id!a:.60} is not valid text")
        if texts.get(paper_id, text) != text:
            raise SourceError(f"{where}: paper {paper_id!a:.60} occurs twice, with different texts")
        if text.strip():
            texts[paper_id] = text
    return texts


def read_ids(path: Path) -> tuple[str, ...]:
    """Returns the distinct paper ids of the text file *path*, one per line.

    Blank lines and lines that begin with # are skipped. In place of an id, a line may hold the address of the paper's
    forum. Raises `SourceError` if there is no id, or if a line holds anything else; the message names that line.
    """
    try:
        lines = read_text(path, "utf-8-sig").splitlines()
    except FileNotFoundError:
        raise no_file(path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path.name} cannot be read as a list of paper ids: {error}") from None
    ids: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        name = _FORUM.sub("", line.strip())
        if not name or name.startswith("#"):
            continue
        if not is_name(name):
            raise SourceError(f"{path.name}, line {number}: {line.strip()!r:.60} is no paper id")
        ids[name] = None
    if not ids:
        raise SourceError(f"{path.name} names no paper; write one id a line")
    return tuple(ids)


def _json_lines(path: Path) -> list[tuple[int, Row]]:
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise SourceError(f"{path.name}: expected .jsonl or .jsonl.gz, a JSON object a line")
    return read_all_rows(path)[0]


def is_text(value: object) -> bool:
    """Whether *value* is a text that UTF-8 can encode.

    A text from JSON may hold a lone surrogate, which UTF-8 cannot encode.
    """
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False

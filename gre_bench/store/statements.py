"""The program's SQL statements by kind and name, from the files below ``sql/``.

A kind is a file ``sql/<kind>.sql`` or all files of a folder ``sql/<kind>/``. Names are unique within a kind. In a file,
``-- name: papers`` starts the statement *papers*, which ends at the next ``-- name:`` line. A file without ``-- name:``
lines holds one statement, named after the file. Each file is read once. `TABLE_STATEMENTS` are templates of statements
on any table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from gre_bench.core.errors import StoreError
from gre_bench.core.known_names import suggest_known_names
from gre_bench.core.resources import locate_resource

HEADER = re.compile(r"^-- name:(.*)\n", re.MULTILINE)
NAME = re.compile(r"[a-z0-9_]+")
TABLE_STATEMENTS = {
    "add_new": "adds incoming rows whose keys are not yet known\ninsert or ignore into {} by name from incoming",
    "add": "adds incoming rows\ninsert into {} by name from incoming",
    "put": "adds incoming rows, or replaces those of the same keys\ninsert or replace into {} by name from incoming",
    "clear": "deletes rows\ndelete from {} where signature_id in (select unnest($signature_ids::varchar[]))",
    "empty": "deletes all rows\ndelete from {}",
}
"""Verb → its SQL, where ``{}`` is a table; the query ``put_papers`` puts the incoming rows into ``papers``."""


def get_statement(kind: str, name: str) -> str:
    """Returns the SQL text of the statement *name* of a *kind*, such as ``queries``.

    Queries such as ``put_papers``, which are in no file, are made from `TABLE_STATEMENTS`. Raises `StoreError` if there
    is no such statement.
    """
    known = load_statements(kind)
    if name not in known:
        for verb, text in TABLE_STATEMENTS.items() if kind == "queries" else ():
            table = name.removeprefix(f"{verb}_")
            if table != name and table in load_statements("schema"):
                return f"-- {text.format(table)};\n"
        raise StoreError(f"sql: {kind} has no statement {name!r}; {suggest_known_names(name, list(known))}")
    return known[name]


def load_statements(kind: str) -> Mapping[str, str]:
    """Returns name → SQL text for all statements of a *kind*, sorted by file name, and within a file by line.

    Raises `StoreError` if a file cannot be read, a statement is empty, or a name occurs twice or is not ``lower_case``.
    """
    return read_statements_from_folder(locate_resource("sql"), kind)


@cache
def read_statements_from_folder(folder: Path, kind: str) -> Mapping[str, str]:
    """Does the same as `load_statements`, but reads from *folder* instead of ``sql/``."""
    single = folder / f"{kind}.sql"
    files = [single] if single.is_file() else sorted((folder / kind).glob("*.sql"))
    if not files:
        raise StoreError(f"{folder} has no SQL of the kind {kind!r}; install the program again")
    texts: dict[str, str] = {}
    place_of: dict[str, Path] = {}
    for file in files:
        path = file.relative_to(folder.parent)
        for name, text in _split_into_statements(file):
            if not NAME.fullmatch(name):
                raise StoreError(f"{path}: a statement is named {name!r}; use lower-case letters, digits and _")
            if name in texts:
                raise StoreError(f"{path}: the name {name!r} is already used in {place_of[name]}; rename one of them")
            if not re.sub(r"(?m)^\s*--.*$", "", text).strip():
                raise StoreError(f"{path}: the statement {name!r} is empty; write it, or delete its name")
            texts[name], place_of[name] = text, path
    return MappingProxyType(texts)


def _split_into_statements(file: Path) -> Iterator[tuple[str, str]]:
    """Yields (name, SQL text) for each statement of *file*; raises `StoreError` if text precedes the first name."""
    try:
        before, *named = HEADER.split(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{file} cannot be read: {error}; install the program again") from None
    if not named:
        yield file.stem, before
        return
    if before.strip():
        raise StoreError(f"{file.name}: text before the first '-- name:' line has no name; give it one")
    for name, text in zip(named[::2], named[1::2], strict=True):
        yield name.strip(), text.strip() + "\n"

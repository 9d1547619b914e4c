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


@cache
def load_statements(kind: str) -> Mapping[str, str]:
    """Returns name → SQL text for all statements of a *kind*, sorted by file name, and within a file by line.

    Raises `StoreError` if there is no file of this kind, or a file cannot be read.
    """
    folder = locate_resource("sql")
    single = folder / f"{kind}.sql"
    files = [single] if single.is_file() else sorted((folder / kind).glob("*.sql"))
    if not files:
        raise StoreError(f"{folder} has no SQL of the kind {kind!r}; install the program again")
    return MappingProxyType({name: text for file in files for name, text in split_into_statements(file)})


def split_into_statements(file: Path) -> Iterator[tuple[str, str]]:
    """Yields (name, SQL text) for each statement of *file*."""
    try:
        before, *named = HEADER.split(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{file} cannot be read: {error}; install the program again") from None
    if not named:
        yield file.stem, before
    for name, text in zip(named[::2], named[1::2], strict=True):
        yield name.strip(), text.strip() + "\n"

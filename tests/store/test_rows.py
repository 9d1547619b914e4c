"""Rows of queries: their names and types are those that DuckDB describes, and what a board holds is of these types."""

from __future__ import annotations

import re
from datetime import date, datetime
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import duckdb
import pytest

from gre_bench.store import Store, queries
from gre_bench.store.queries import Plain, Query, as_arrow
from gre_bench.store.schema import TABLES, define_schema
from gre_bench.store.statements import TABLE_STATEMENTS, load_statements
from tests.flows.refreshing import refreshed

EDITION = "SAMPLE-2026"
TYPES = {
    "BIGINT": int, "HUGEINT": int, "INTEGER": int, "DOUBLE": float, "VARCHAR": str, "JSON": str, "BOOLEAN": bool,
    "DATE": date, "TIMESTAMP WITH TIME ZONE": datetime, "VARCHAR[]": list[str], "INTEGER[]": list[int],
    "FLOAT[]": list[float],
}  # fmt: skip
TYPED = {query.name: query for query in vars(queries).values() if isinstance(query, Query)}
"""What the program reads by, with the type of its rows."""
QUERIES = {
    name: text
    for name, text in load_statements("queries").items()
    if re.match(r"(?:select|with|from)\b", re.sub(r"(?m)^\s*--.*\n", "", text))
}
"""Those that give rows."""


DECLARED = [name for name, query in TYPED.items() if query.row is not Plain]
"""Those whose rows have a type."""


def declared(query: str) -> dict[str, tuple[Any, ...]]:
    """The types that each column of a query's rows may have, None apart; a literal counts as what it is of."""
    return {name: tuple(map(plain, parts(type_))) for name, type_ in get_type_hints(TYPED[query].row).items()}


def parts(type_: Any) -> tuple[Any, ...]:
    return get_args(type_) if isinstance(type_, UnionType) else (type_,)


def plain(type_: Any) -> Any:
    return type(get_args(type_)[0]) if get_origin(type_) is Literal else type_


def parameters(query: str, lists: dict[str, list[str]], plain: dict[str, str]) -> dict[str, Any]:
    """A value for each parameter of a *query*, a list where the query unnests one."""
    names = set(re.findall(r"\$(\w+)", re.sub(r"--.*", "", QUERIES[query])))
    cast = dict(re.findall(r"\$(\w+)::(\w+)\[\]", QUERIES[query]))
    listed = {name: [1] if type_ == "integer" else lists.get(name, ["x"]) for name, type_ in cast.items()}
    return {name: listed.get(name, 8000 if name == "cut" else plain.get(name, "x")) for name in names}


@pytest.fixture(scope="module")
def schema():
    with duckdb.connect() as connection:
        define_schema(connection)
        yield connection


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A reading connection to a refreshed edition, and values that its queries find rows with."""
    store = Store(refreshed(tmp_path_factory.mktemp("rows")), EDITION)
    with store.reading() as connection:
        first = {
            name: connection.execute(f"select {column} from {table} limit 1").fetchall()[0][0]
            for name, table, column in (
                ("signature_id", "signatures", "signature_id"), ("paper_id", "sample", "paper_id"),
                ("lm_id", "spans", "lm_id"), ("writer", "judgments", "writer"),
            )
        }  # fmt: skip
        first |= dict.fromkeys(("candidate_id", "candidate"), "human") | dict.fromkeys(("task", "source"), "review")
        first |= {"kind": "assw", "board": "clean"}
        lists = {
            name: [row[0] for row in connection.execute(f"select distinct {column} from {table}").fetchall()]
            for name, table, column in (
                ("signature_ids", "signatures", "signature_id"), ("candidates", "candidates", "candidate_id"),
                ("review_ids", "reviews", "review_id"), ("predictions", "spans", "prediction"),
                ("writers", "judgments", "writer"),
            )
        }  # fmt: skip
        yield connection, first, lists


def test_every_query_that_gives_rows_has_a_constant_of_its_name_and_can_be_bound(schema):
    assert set(QUERIES) == set(TYPED)
    assert all(vars(queries)[name.upper()] is query for name, query in TYPED.items())
    for name, text in QUERIES.items():
        schema.execute(f"describe {text}", parameters(name, {}, {}) or None)


@pytest.mark.parametrize("query", DECLARED)
def test_a_row_has_the_columns_and_types_that_duckdb_describes(schema, query):
    found = schema.execute(f"describe {QUERIES[query]}", parameters(query, {}, {}) or None).fetchall()
    columns = {name: next(part for part in types if part is not NoneType) for name, types in declared(query).items()}
    assert columns == {name: TYPES[type_] for name, type_, *_ in found}


def test_what_a_refreshed_edition_holds_is_of_the_types_declared(sample):
    connection, first, lists = sample
    given = set()
    for query in DECLARED:
        cursor = connection.execute(QUERIES[query], parameters(query, lists, first) or None)
        names = [column[0] for column in cursor.description]
        for row in cursor.fetchall():
            given.add(query)
            for name, value in zip(names, row, strict=True):
                allowed = declared(query)[name]
                assert isinstance(value, tuple(get_origin(one) or one for one in allowed)), (query, name, value)
    assert len(given) > len(DECLARED) / 2, sorted(set(DECLARED) - given)


@pytest.mark.parametrize("table", TABLES)
def test_an_insertion_takes_every_column_of_its_table_by_name_even_if_all_values_are_unknown(schema, table):
    text = TABLE_STATEMENTS["add"].format(table).partition("\n")[2]
    columns = [column for column, *_ in schema.execute(f"describe {table}").fetchall()]
    schema.register("incoming", as_arrow({column: [None] for column in columns}))
    schema.execute(f"explain {text}")
    schema.register("incoming", as_arrow({column: [None] for column in [*columns, "no_such_column"]}))
    with pytest.raises(duckdb.BinderException, match="no_such_column"):
        schema.execute(f"explain {text}")

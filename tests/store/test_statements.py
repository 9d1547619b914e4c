"""Named SQL: what the loader takes and refuses, and that the program and its SQL know the same names."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from gre_bench.core.errors import StoreError
from gre_bench.core.resources import locate_resource
from gre_bench.release.public_tables import RECORDS, REDACTED, WHOLE
from gre_bench.store import TABLES, VIEWS, queries
from gre_bench.store.queries import Query
from gre_bench.store.statements import HEADER, get_statement, load_statements, split_into_statements
from tests.conftest import ROOT
from tests.one_line import one_line

MOST_FILES = 40
KINDS = ("schema", "views", "queries", "pages", "release")
COUNTS = {
    "words", "p.pairs", "u.pairs", "u.papers", "pairs", "j.lines + j.strays", "j.strays", "prompt_tokens", "reply_tokens",
    "greatest(num_values, row_group_num_rows)", "total_uncompressed_size",
}  # fmt: skip
"""What may be added in any order: whole numbers."""
FLOATING = re.compile(
    r"\b(f?sum|f?avg|mean|kahan_sum|sumkahan|product|stddev\w*|var_\w+|variance|corr|covar_\w+|regr_\w+|skewness|kurtosis\w*|"
    r"sem|entropy|geomean|geometric_mean)\("
)
READERS = {"rows", "run_page_query", "_read_rows_if_possible", "read", "read_with_repair", "columns"}
"""What asks for the rows of a query by its name; the functions among them (not the methods) take the store first."""


def test_a_file_holds_statements_by_name_and_a_file_without_names_is_one(tmp_path):
    (tmp_path / "b.sql").write_text("-- name: second\n-- one row\nselect 2;\n\n-- name: third\nselect '-- name: no';\n")
    assert dict(split_into_statements(tmp_path / "b.sql")) == {
        "second": "-- one row\nselect 2;\n", "third": "select '-- name: no';\n",
    }  # fmt: skip
    (tmp_path / "a.sql").write_text("-- one row\nselect 1;\n")
    assert dict(split_into_statements(tmp_path / "a.sql")) == {"a": "-- one row\nselect 1;\n"}
    with one_line("cannot be read", kind=StoreError):
        list(split_into_statements(tmp_path / "none.sql"))
    with one_line("no SQL of the kind 'other'", kind=StoreError):
        load_statements("other")


def test_every_statement_has_a_lower_case_name_that_is_unique_in_its_kind_and_a_text():
    folder = locate_resource("sql")
    for kind in KINDS:
        files = (
            [folder / f"{kind}.sql"] if (folder / f"{kind}.sql").is_file() else sorted((folder / kind).glob("*.sql"))
        )
        found = [statement for file in files for statement in split_into_statements(file)]
        assert len(found) == len(load_statements(kind)), f"a name occurs twice in {kind}"
        for name, text in found:
            assert re.fullmatch("[a-z0-9_]+", name) and re.sub(r"(?m)^\s*--.*$", "", text).strip(), (kind, name)
        for file in files:
            before, *named = HEADER.split(file.read_text())
            assert not (named and before.strip()), f"{file.name}: text before the first name"


def test_an_unknown_name_is_refused_with_one_line_and_the_nearest():
    with pytest.raises(StoreError) as caught:
        get_statement("queries", "leaderbord")
    assert str(caught.value) == "sql: queries has no statement 'leaderbord'; did you mean leaderboard?"


def test_every_statement_says_first_what_a_row_is_or_what_it_does():
    for kind in KINDS:
        for name, text in load_statements(kind).items():
            assert text.startswith("-- ") and text.endswith(("\n", ";\n")), (kind, name)
    assert set(VIEWS) == set(load_statements("views"))
    assert len(list(locate_resource("sql").rglob("*.sql"))) <= MOST_FILES


def argument(text: str, start: int) -> str:
    """What stands between the bracket that opens before *start* and the one that closes it."""
    depth = 1
    for place, mark in enumerate(text[start:], start):
        depth += {"(": 1, ")": -1}.get(mark, 0)
        if not depth:
            return text[start:place]
    raise AssertionError(text)


def unordered(text: str) -> list[str]:
    """The aggregates over floating-point numbers in *text* whose last digits depend on the order of the rows.

    The order that holds is that of the very numbers: the result is then one of the numbers alone.
    """
    code = re.sub(r"--.*", "", text)
    found = ((match[1], argument(code, match.end())) for match in FLOATING.finditer(code))
    return [
        f"{name}({inner})"
        for name, inner in found
        if inner not in COUNTS and len(set(inner.split(" order by "))) + inner.count(" order by ") != 2
    ]


def test_every_aggregate_over_floating_point_numbers_adds_them_up_in_their_own_order():
    assert unordered("select avg(a), sum(a order by b), corr(a, b)") == ["avg(a)", "sum(a order by b)", "corr(a, b)"]
    assert unordered("select avg(f(a, b) order by f(a, b)) filter (x), sum(words)") == []
    for kind in KINDS:
        for name, text in load_statements(kind).items():
            assert not unordered(text), (kind, name)


def constants(node: ast.AST) -> set[str]:
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def declared() -> dict[str, str]:
    """The name of the query behind each constant of `gre_bench.store.queries`."""
    return {name: value.name for name, value in vars(queries).items() if isinstance(value, Query)}


@cache
def named_in_code() -> tuple[set[str], set[str]]:
    """Names whose rows are asked for, and names that may stand in a step of `Store.write`."""
    constants_of = declared()
    read, steps = set(), set()
    for path in (path for folder in ("gre_bench", "flows", "tasks") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr=called), args=[query, *_]) if called in READERS:
                    read |= set() if isinstance(query, ast.Subscript) else constants(query)
                case ast.Call(func=ast.Name(id=called), args=[_, query, *_]) if called in READERS:
                    read |= constants(query)
                case ast.Call(func=ast.Name(id="get_statement"), args=[_, query]):
                    steps |= constants(query)
                case ast.Tuple(elts=[ast.Constant(value=str(name)), _]):
                    steps.add(name)
                case ast.Attribute(value=ast.Name(id="queries"), attr=name) if name in constants_of:
                    read.add(constants_of[name])
                case ast.ImportFrom(module="gre_bench.store.queries"):
                    read |= {constants_of[alias.name] for alias in node.names if alias.name in constants_of}
    return read - {"content-length"}, steps


def test_every_query_is_used_and_every_name_that_is_used_is_a_query():
    known = {*load_statements("queries"), *load_statements("pages")}
    read, steps = named_in_code()
    changes = {name for name in steps if name.startswith(("add_", "put_", "clear_", "forget_", "empty_"))}
    for name in (read | changes) - known - {"add_free_licences"}:
        assert get_statement("queries", name)
    assert known - read - steps == set(), "nothing uses these queries"


def test_every_statement_of_a_release_is_used():
    _, steps = named_in_code()
    made = {f"make_{name}" for name in ("metrics", "models", "changes", "signatures_shown", "word_counts")}
    public = {"public_papers", "public_reviews", "public_replies"}
    assert {*REDACTED, *made, *public} <= set(load_statements("release"))
    assert set(load_statements("release")) - {*REDACTED, *made, *public} <= steps
    assert {*REDACTED, *WHOLE, *RECORDS, "word_counts"} == set(TABLES)

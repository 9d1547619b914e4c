"""Stores of earlier schema versions: a real one comes forward with all it holds, one that cannot is left as it was."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import pytest

import gre_bench.store.schema
from gre_bench.core.errors import StoreError
from gre_bench.core.resources import resource
from gre_bench.store import EARLIEST_VERSION, SCHEMA_VERSION, TABLES, Store, now, statement
from gre_bench.store.queries.ingest import PAPERS
from tests.conftest import ROOT

FIXTURE = ROOT / "tests" / "fixtures" / "store_v3.duckdb.gz"


def contents(file: Path) -> dict[str, tuple[list[str], list[tuple]]]:
    """Columns and rows of every table, in an order of their own."""
    with duckdb.connect(str(file), read_only=True) as run:
        found = {}
        for (table,) in run.sql("select table_name from duckdb_tables()").fetchall():
            names = sorted(name for (name,) in run.execute(
                "select column_name from duckdb_columns() where table_name = $1", [table]).fetchall())  # fmt: skip
            found[table] = names, sorted(run.sql(f"select {', '.join(names)} from {table}").fetchall(), key=repr)
        return found


def columns(file: Path) -> dict[str, list[tuple]]:
    """Columns, with types and nullability, and constraints of every table, in an order of their own."""
    with duckdb.connect(str(file), read_only=True) as run:
        return {
            "columns": sorted(
                run.sql("select table_name, column_name, data_type, is_nullable from duckdb_columns()").fetchall()
            ),
            "constraints": sorted(run.sql("select table_name, constraint_text from duckdb_constraints()").fetchall()),
        }


@pytest.fixture
def earlier(tmp_path) -> Store:
    """The sample edition with two papers, as the program of schema version 3 left it."""
    store = Store(tmp_path, "SAMPLE-2026")
    store.folder.mkdir(parents=True)
    store.file.write_bytes(gzip.decompress(FIXTURE.read_bytes()))
    return store


@pytest.fixture
def next_version(monkeypatch):
    """Makes this program one of the next schema version, whose migration is the text given."""

    def make(text: str) -> None:
        real = statement
        monkeypatch.setattr(gre_bench.store.schema, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
        monkeypatch.setattr(
            gre_bench.store.schema,
            "statement",
            lambda kind, name: text if (kind, name) == ("migrations", f"{SCHEMA_VERSION + 1:03}") else real(kind, name),
        )

    return make


def test_a_store_of_version_3_comes_forward_with_every_row_and_its_board(earlier):
    before = contents(earlier.file)
    with earlier.lock("test"):
        earlier.copy_for_readers()
    after = contents(earlier.file)
    for table, (names, rows) in before.items():
        if table == "meta":
            continue
        new = [name for name in after[table][0] if name not in names]
        kept = [
            tuple(value for name, value in zip(after[table][0], row, strict=True) if name in names)
            for row in after[table][1]
        ]
        assert sorted(kept, key=repr) == rows, table
        later = {"imports": ["domain"], "signatures": ["chance"], "candidates": ["group_name", "note"],
                 "draws": ["avoid_learnt", "reference_count"], "separation": ["left_out"]}  # fmt: skip
        assert new == later.get(table, [])
    assert len(before["scores"][1]) == 20
    with duckdb.connect(str(earlier.read_file), read_only=True) as run:
        shown = run.sql("select candidate, round(mean, 2) from leaderboard order by mean desc").fetchall()
    assert shown == [
        ("extractive-full", 51.01),
        ("human", 35.76),
        ("extractive-abstract", 17.03),
        ("other-paper", 3.79),
        ("generic", -3.86),
    ]


def test_a_migrated_store_has_the_tables_of_a_new_one(earlier, tmp_path):
    new = Store(tmp_path, "NEW-2026")
    for store in (earlier, new):
        with store.lock("test"):
            pass
    assert columns(earlier.file) == columns(new.file)


def test_a_store_of_version_7_keeps_its_rank_statistics_and_needs_no_series_for_p(tmp_path):
    store = Store(tmp_path, "SAMPLE-2026")
    with store.lock("test"), store.transaction() as run:
        signature = "('s', 'gem', '', 'lm', '', '', '', '', '', '', '', '', '', false, '', 'none')"
        run.execute(f"insert into signatures values {signature}")
        run.execute(
            "insert into rank_statistics by name select 'clean' as board, 's' as signature_id, 'human' as candidate_id, "
            "1 as rank, 0 as tests, 'nobody to be compared with' as problem, 'r' as run_id"
        )
    with duckdb.connect(str(store.file)) as run:
        run.execute("drop table differences; drop table licences; alter table rank_statistics rename to standings")
        run.execute("create macro student_p(t, df) as 0.5; update meta set schema_version = 7")
    with store.lock("test"), store.transaction() as run:
        assert run.sql("select candidate_id, rank from rank_statistics").fetchall() == [("human", 1)]
        assert run.sql("select count(*) from differences").fetchall() == [(0,)]
        names = {name for (name,) in run.sql("select function_name from duckdb_functions()").fetchall()}
        assert not {"student_p", "student_series", "student_density"} & names


def test_the_store_as_it_was_is_kept_beside(earlier):
    before = contents(earlier.file)
    with earlier.lock("test"):
        pass
    assert contents(earlier.folder / "edition.v3.duckdb") == before
    assert contents(earlier.file)["meta"][1][0][-1] == SCHEMA_VERSION
    moved = earlier.file.stat().st_ino
    with earlier.lock("test"):
        pass
    assert earlier.file.stat().st_ino == moved, "migrated a second time"


def test_versions_are_passed_through_one_by_one(earlier, next_version):
    next_version("alter table papers add column pages integer; update papers set pages = 9")
    with earlier.lock("test"), earlier.transaction() as run:
        assert run.sql("select distinct pages from papers").fetchall() == [(9,)]
        assert run.sql("select schema_version from meta").fetchall() == [(SCHEMA_VERSION + 1,)]
        assert run.sql("select count(domain) from imports").fetchall() == [(0,)]


def test_a_migration_that_fails_leaves_the_store_as_it_was(earlier, next_version):
    next_version("delete from papers; select * from no_such_table")
    before = earlier.file.read_bytes()
    with pytest.raises(duckdb.CatalogException, match="no_such_table"), earlier.lock("test"):
        pass
    assert earlier.file.read_bytes() == before
    assert not (earlier.folder / "edition.v3.duckdb").exists()


def test_what_a_killed_migration_left_beside_is_no_hindrance(earlier):
    (earlier.folder / ".migrated.duckdb").write_bytes(b"half a file")
    (earlier.folder / ".migrated.duckdb.wal").write_bytes(b"half a log")
    with earlier.lock("test"):
        assert len(earlier.rows(PAPERS)) == 16


@pytest.mark.parametrize(
    ("version", "todo"),
    [(SCHEMA_VERSION + 1, "update the program"), (EARLIEST_VERSION - 1, "refresh the edition in another --state")],
)
def test_a_version_with_no_way_from_it_is_refused_and_left_alone(earlier, version, todo):
    with duckdb.connect(str(earlier.file)) as run:
        run.execute("update meta set schema_version = $1", [version])
    before = earlier.file.read_bytes()
    with pytest.raises(StoreError, match=f"schema version {version}, .*{todo}") as caught, earlier.lock("test"):
        pass
    assert "\n" not in str(caught.value)
    assert earlier.file.read_bytes() == before


def test_every_step_has_a_file_that_says_where_it_comes_from():
    names = sorted(path.stem for path in (resource("sql", "migrations")).glob("*.sql"))
    assert names == [f"{step:03}" for step in range(EARLIEST_VERSION + 1, SCHEMA_VERSION + 1)]
    for name in names:
        assert statement("migrations", name).startswith(f"-- from schema version {int(name) - 1}: ")


def test_a_new_store_is_of_this_version_and_nothing_is_kept_beside(tmp_path):
    store = Store(tmp_path, "NEW-2026")
    with store.lock("test"), store.transaction() as run:
        assert run.sql("select schema_version, created_at <= $now from meta", params={"now": now()}).fetchall() == [
            (SCHEMA_VERSION, True)
        ]
        assert {name for (name,) in run.sql("select table_name from duckdb_tables()").fetchall()} == set(TABLES)
    assert sorted(path.name for path in store.folder.iterdir()) == ["edition.duckdb", "edition.lock"]

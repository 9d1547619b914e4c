"""The store: what it refuses, who may write, what readers see, what a cut leaves behind."""

from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
import re
import time
from pathlib import Path

import duckdb
import pytest

from gre_bench.core.errors import DuplicateRowError, LockedError, SettingsError, Stopped, StoreError
from gre_bench.core.records import Edition
from gre_bench.store import EARLIEST, NEW_FILE, SCHEMA_VERSION, TABLES, Store, find_editions, get_statement, now
from gre_bench.store.queries import PAPERS, SPANS_OF
from tests.bench.bench_board import SIGNED
from tests.one_line import one_line

EDITION = Edition("TEST", 2026)
SIGNATURE = SIGNED | {"signature_id": "s1", "metric": "gem"}


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, EDITION)
    with store.lock("test"):
        store.write(("add_new_signatures", [SIGNATURE]))
        yield store


def score(**changes):
    return {
        "signature_id": "s1", "paper_id": "p", "candidate_id": "c", "reference_id": "r", "value": 1.0, "problem": None,
        "problem_message": None, "broken": False, "predictions": ("a", "b"), "run_id": "run",
    } | changes  # fmt: skip


SPAN = {"lm_id": "l", "prediction": "a", "total": -1.0, "ids": [1, 2], "logprobs": [-0.5, -0.5], "escaped": 0}
NO_SCORES = [{"value": float("nan")}, {"value": float("inf")}, {"value": None}, {"problem": "too_long"},
             {"signature_id": "unknown"}, {"signature_id": None}, {"predictions": None}]  # fmt: skip
NO_SPANS = [{"total": float("nan")}, {"total": 1.0}, {"ids": [1]}]


def test_the_database_refuses_a_score_or_a_span_that_cannot_be_and_a_second_score_of_a_pair(store):
    refused = [("add_scores", score(**changes)) for changes in NO_SCORES]
    refused += [("add_spans", SPAN | changes) for changes in NO_SPANS]
    for query, row in refused:
        with pytest.raises(duckdb.Error):
            store.write((query, [row]))
            pytest.fail(f"{query} took {row}")
    store.write(("add_scores", [score()]), ("add_spans", [SPAN]))
    spans = store.rows(SPANS_OF, lm_id="l", predictions=["a", "z"])
    assert spans == [{name: SPAN[name] for name in ("prediction", "total", "ids", "logprobs", "escaped")}]
    with pytest.raises(DuplicateRowError, match="Duplicate key"):
        store.write(("add_scores", [score(value=2.0)]))


def test_a_transaction_that_fails_leaves_nothing(store):
    with pytest.raises(duckdb.Error):
        store.write(("add_scores", [score()]), ("add_scores", [score(paper_id="q", value=float("nan"))]))
    store.write(("add_scores", [score()]))


def test_a_stop_that_comes_while_duckdb_reads_python_objects_is_a_stop(store):
    class Stopping:
        def __arrow_c_stream__(self, _schema=None):
            raise Stopped("SIGTERM")

    with pytest.raises(Stopped), store.transaction() as run:
        run.register("incoming", Stopping())


def test_the_file_has_the_pinned_format_and_block_size(store):
    with store.transaction() as run:
        (tags,) = run.execute("select tags from duckdb_databases() where not internal").fetchone()
        (block_size,) = run.execute("select block_size from pragma_database_size()").fetchone()
    assert tags["storage_version"].startswith(NEW_FILE["storage_compatibility_version"])
    assert str(block_size) == NEW_FILE["default_block_size"]


def hold(folder: Path, held) -> None:
    with Store(folder, EDITION).lock("refresh"):
        held.set()
        time.sleep(60)


def test_who_holds_the_lock_is_named_to_writers_and_readers_until_it_is_killed(tmp_path):
    context = multiprocessing.get_context("fork")
    held, store = context.Event(), Store(tmp_path, EDITION)
    holder = context.Process(target=hold, args=(tmp_path, held))
    holder.start()
    assert held.wait(60) and store.is_being_written()
    with pytest.raises(LockedError, match=rf"process {holder.pid} on .*\(refresh, since"), store.lock("refresh"):
        pass
    with pytest.raises(StoreError, match="a run is writing it now; follow it: gre-bench status"):
        store.read(PAPERS)
    store.discard()
    assert store.file.exists(), "what another process writes is never thrown away"
    holder.kill()
    holder.join()
    assert not store.is_being_written()
    with pytest.raises(StoreError, match="nothing to read yet; run: gre-bench refresh"):
        store.read(PAPERS)
    with store.lock("refresh"):
        assert store.rows(PAPERS) == []


def test_a_reader_sees_the_copy_and_not_what_came_after(store):
    with pytest.raises(StoreError, match="nothing to read yet"):
        store.read(PAPERS)
    store.copy_for_readers()
    paper = {"paper_id": "p", "title": "", "abstract": None, "text": None, "source_row": None}
    store.write(("put_papers", [paper]))
    assert store.read(PAPERS) == []
    store.copy_for_readers()
    assert [row["paper_id"] for row in store.read(PAPERS)] == ["p"]


def test_an_unknown_edition_is_named_with_the_known_ones(store, tmp_path):
    with pytest.raises(SettingsError, match="no edition NONE-2020 .* known: TEST-2026"):
        Store(tmp_path, "NONE-2020").read(PAPERS)
    assert find_editions(tmp_path) == ["TEST-2026"]


@pytest.mark.parametrize(
    ("version", "todo"),
    [(SCHEMA_VERSION + 1, "update the program"), (EARLIEST - 1, "refresh the edition in another --state")],
)
def test_a_store_of_another_schema_version_is_refused_and_left_alone(tmp_path, version, todo):
    store = Store(tmp_path, EDITION)
    with store.lock("test"):
        pass
    with duckdb.connect(str(store.file)) as run:
        run.execute("update meta set schema_version = $1", [version])
        run.execute("drop table licences")
    before = store.file.read_bytes()
    with one_line(f"schema version {version}, ", todo, kind=StoreError), store.lock("test"):
        pass
    assert store.file.read_bytes() == before


def test_ranks_of_a_store_of_before_whose_tests_are_not_stored_go_so_that_the_next_refresh_makes_both(tmp_path):
    store = Store(tmp_path, EDITION)
    ranks = "insert into rank_statistics by name select 'clean' as board, 's1' as signature_id, 'c' as candidate_id, "
    with store.lock("test"):
        store.write(("add_new_signatures", [SIGNATURE]))
        with store.transaction() as run:
            run.execute(ranks + "1 as rank, 1 as rank_low, 1 as rank_high, 3 as tests, 'run' as run_id")
            run.execute(ranks.replace("'c'", "'alone'") + "1 as rank, 'nobody' as problem, 0 as tests, 'run' as run_id")
            run.execute("drop table pair_tests; update meta set schema_version = 10; comment on table meta is 'before'")
    with store.lock("test"), store.transaction() as run:
        assert run.execute("select candidate_id from rank_statistics").fetchall() == [("alone",)]
        assert run.execute("from pair_tests").fetchall() == []
        assert run.execute("select schema_version from meta").fetchall() == [(SCHEMA_VERSION,)]


def test_a_new_store_is_of_this_version_and_nothing_is_kept_beside(tmp_path):
    store = Store(tmp_path, "NEW-2026")
    with store.lock("test"), store.transaction() as run:
        assert run.sql("select schema_version, created_at <= $now from meta", params={"now": now()}).fetchall() == [
            (SCHEMA_VERSION, True)
        ]
        assert {name for (name,) in run.sql("select table_name from duckdb_tables()").fetchall()} == set(TABLES)
    assert sorted(path.name for path in store.folder.iterdir()) == ["edition.duckdb", "edition.lock"]


def test_what_a_killed_making_left_beside_is_no_hindrance(tmp_path):
    store = Store(tmp_path, EDITION)
    store.folder.mkdir(parents=True)
    (store.folder / ".new.duckdb").write_bytes(b"half a file")
    with store.lock("test"):
        assert store.rows(PAPERS) == []


def foreign(file: Path) -> None:
    with duckdb.connect(str(file)) as run:
        run.execute("create table mine (x integer)")


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda file: file.write_bytes(b"not a database" * 1000), "damaged"),
        (Path.touch, "damaged"),
        (foreign, "not made here"),
    ],
)
def test_a_file_that_is_no_store_is_one_line(tmp_path, make, line):
    store = Store(tmp_path, EDITION)
    store.folder.mkdir(parents=True)
    make(store.file)
    with one_line(line, kind=StoreError), store.lock("test"):
        pass


def test_a_process_that_may_open_no_more_files_is_told_so_and_the_store_is_not_called_damaged(tmp_path, monkeypatch):
    store = Store(tmp_path, EDITION)
    with store.lock("test"):
        store.write(("add_new_signatures", [SIGNATURE]))

    def refuse(*_: object, **__: object) -> None:
        raise duckdb.IOException(f'Cannot open file "{store.file}": {os.strerror(errno.EMFILE)}')

    monkeypatch.setattr(duckdb, "connect", refuse)
    with one_line("Too many open files", "give the same command again", kind=StoreError, never=("damaged",)):
        store.rows(PAPERS)


def test_a_status_is_read_back(store):
    assert store.status() is None
    counts = {"due": 2, "done": 1, "pairs_per_s": None, "remaining_s": 1.5, "metrics": []}
    store.save_status({"state": "running", "stage": "scoring", "message": "", "pid": 1, "at": now(), **counts})
    assert store.status()["state"] == "running"
    assert json.loads(store.status_file.read_text())["state"] == "running"


def test_a_change_of_the_tables_needs_a_new_schema_version():
    defined = re.sub(r"--.*", "", "\n".join(get_statement("schema", name) for name in sorted(TABLES)))
    tables = hashlib.sha256(" ".join(defined.split()).encode()).hexdigest()
    assert (SCHEMA_VERSION, tables[:16]) == (11, "035125bd6b0a6c97")


def test_views_of_another_program_are_replaced_and_those_of_this_one_left_alone(tmp_path):
    store = Store(tmp_path, EDITION)
    with store.lock("test"), store.transaction() as run:
        run.execute("create or replace view pairs as select 1 as planted")
    with store.lock("test"), store.transaction() as run:
        assert run.execute("from pairs").fetchall() == [(1,)], "nothing says that the views differ"
        run.execute("comment on table meta is 'the digest of another program'")
    with store.lock("test"), store.transaction() as run:
        assert run.execute("from pairs").fetchall() == []

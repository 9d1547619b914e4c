"""The copy for readers: it never changes, and no kill makes a good one unreadable."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import duckdb
import pytest

from gre_bench.core.errors import StoreError
from gre_bench.core.whole_files import sha256
from gre_bench.store import Store, fetch
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD, PAPERS
from gre_bench.store.read_copy import keep_copies_open
from tests.faults.endpoints import refused
from tests.flows.refreshing import EDITION, refreshed

MENDED = "gre-bench refresh --edition SAMPLE-2026"
NEW = {"paper_id": "new", "title": "", "abstract": None, "text": None, "source_row": None}
MEAN = "select round(avg(value), 6) as mean from pairs where candidate_id = 'human' and state = 'scored'"


@pytest.fixture
def store(tmp_path):
    return Store(refreshed(tmp_path / "state"), EDITION)


@pytest.fixture
def state(store):
    return store.folder.parent.parent


def believed(store: Store) -> float:
    return store.query(MEAN)[1][0]["mean"]


def raised_by_one(store: Store) -> None:
    """Adds 1 to the human scores of *store* and replaces the copy for readers."""
    with store.lock("test"):
        with store.transaction() as run:
            run.execute("update scores set value = value + 1 where candidate_id = 'human'")
        store.copy_for_readers()


def mean_of(store: Store) -> float:
    with store.reading() as run:
        return run.execute(MEAN).fetchall()[0][0]


def added(store: Store, name: str) -> None:
    store.write(("put_papers", [NEW | {"paper_id": name}]))
    store.copy_for_readers()


def test_a_copy_is_named_by_its_content_and_those_that_nobody_uses_go(store):
    first = store.read_file
    assert sha256(first).startswith(first.stem.removeprefix("read-"))
    with store.reading() as reading:
        with store.lock("refresh"):
            added(store, "new")
        assert not first.exists() and len(store.read(PAPERS)) == 1 + len(fetch(reading, PAPERS))
    assert [path.name for path in store.folder.glob("read*")] == [store.read_file.name]
    assert (store.folder / "current").read_text() == f"{store.read_file.name}\n"


@pytest.mark.parametrize(
    "line", ["", "no name\n", "../read-0123456789abcdef.duckdb\n", "read-0123456789abcdef.duckdb\n"]
)
def test_a_copy_that_is_not_there_or_damaged_is_one_line_and_a_run_that_writes_mends_it(store, line):
    (store.folder / "current").write_text(line)
    store.read_file.write_bytes(b"no database")
    with pytest.raises(StoreError, match=f"cannot be read .*; {MENDED} makes a new one"):
        store.read(PAPERS)
    assert store.read_with_repair(PAPERS)


def test_a_state_of_an_earlier_version_is_refused_in_one_line_and_a_write_brings_it_up_to_date(store):
    rows = store.read(LEADERBOARD, signature_ids=[row["signature_id"] for row in store.read(CURRENT_SIGNATURES)])
    made = store.read_file
    with store.lock("test"), store.transaction() as run:
        for step in ("drop table board", "drop table strata", "update meta set schema_version = 9",
                     "comment on table meta is 'another'", "create view boards as select 1",
                     "create view strata as select 1"):  # fmt: skip
            run.execute(step)
    shutil.copyfile(store.file, store.folder / "read.duckdb")
    (store.folder / "current").unlink()
    made.unlink()
    line = refused("leaderboard", EDITION, "--state", store.folder.parent.parent, says="name board", code=1)
    assert MENDED in line
    with store.lock("refresh"):
        store.copy_for_readers()
    found = store.read(LEADERBOARD, signature_ids=[row["signature_id"] for row in store.read(CURRENT_SIGNATURES)])
    assert found == rows and rows
    assert not (store.folder / "read.duckdb").exists()


@pytest.mark.parametrize("before", ["copy", "line"])
def test_a_writer_that_is_killed_between_the_two_leaves_a_copy_that_is_believed(store, before):
    earlier = len(store.read(PAPERS))
    process = os.fork()
    if process == 0:
        replace, done = os.replace, []

        def killing(source: Path, target: Path) -> None:
            done.append(target)
            if len(done) == ["copy", "line"].index(before) + 1:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)

        os.replace = killing
        with store.lock("refresh"):
            store.write(("put_papers", [NEW]))
            store.copy_for_readers()
        os._exit(1)
    assert os.waitpid(process, 0)[1] == signal.SIGKILL
    assert len(Store(store.folder.parent.parent, EDITION).read(PAPERS)) == earlier
    with store.lock("refresh"):
        store.copy_for_readers()
    assert len(store.read(PAPERS)) == earlier + 1
    assert sorted(path.name for path in store.folder.iterdir()) == [
        "current", "edition.duckdb", "edition.lock", "last_refresh.json", store.read_file.name, "status.json"
    ]  # fmt: skip


def test_readers_never_refuse_a_copy_that_a_writer_replaces_again_and_again(store):
    stop, faults = threading.Event(), []

    def write() -> None:
        try:
            with store.lock("refresh"):
                for k in range(40):
                    store.write(("put_papers", [NEW | {"paper_id": f"new{k}"}]))
                    store.copy_for_readers()
        finally:
            stop.set()

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while not stop.is_set() or looks < 5:
        try:
            store.read(PAPERS)
        except StoreError as error:
            faults.append(str(error))
        looks += 1
    writer.join()
    assert not faults


def test_reading_leaves_nothing_beside_the_copy(store):
    before = sorted(path.name for path in store.folder.iterdir())
    store.read(PAPERS)
    believed(store)
    assert sorted(path.name for path in store.folder.iterdir()) == before


def test_a_copy_that_is_kept_open_is_left_for_a_newer_one(store, state):
    with keep_copies_open(), keep_copies_open():
        first = mean_of(Store(state, EDITION))
        assert first == mean_of(Store(state, EDITION)) == believed(store)
        raised_by_one(store)
        assert mean_of(Store(state, EDITION)) == pytest.approx(first + 1)


def test_one_state_under_two_names_is_never_read_as_it_was_before(store, state, monkeypatch):
    """DuckDB takes a path that is open in the process for the same database, even after the file was replaced."""
    monkeypatch.chdir(state.parent)
    relative = Store(Path(state.name), EDITION)
    with keep_copies_open():
        first = mean_of(store)
        assert mean_of(relative) == first
        raised_by_one(store)
        assert mean_of(relative) == mean_of(store) == pytest.approx(first + 1)


def test_a_thread_that_still_reads_the_copy_of_before_delays_the_others_and_misleads_none(store):
    reads, replaced = threading.Event(), threading.Event()

    def read_slowly() -> None:
        with store.reading() as run:
            reads.set()
            replaced.wait(20)
            run.execute(MEAN).fetchall()

    first = mean_of(store)
    other = threading.Thread(target=read_slowly)
    other.start()
    reads.wait(20)
    raised_by_one(store)
    threading.Timer(0.2, replaced.set).start()
    with keep_copies_open():
        assert mean_of(store) == pytest.approx(first + 1)
        assert mean_of(store) == pytest.approx(first + 1)
    other.join()


def test_copies_are_kept_open_for_one_thread_alone_and_closed_at_the_end(store, state, monkeypatch):
    opened = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *a, **k: opened.append(connect(*a, **k)) or opened[-1])
    with keep_copies_open():
        for _ in range(3):
            store.read(PAPERS)
        other = threading.Thread(target=store.read, args=(PAPERS,))
        other.start()
        other.join()
    assert len(opened) == 2
    for connection in opened:
        with pytest.raises(duckdb.ConnectionException):
            connection.execute("select 1")

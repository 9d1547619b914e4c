"""The copy for readers: forged ones and logs beside it are never believed, and no kill makes a good one unreadable."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import duckdb
import pytest

from gre_bench.core.errors import StoreError
from gre_bench.release.database import opened
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publishing import publish_edition
from gre_bench.store import Store
from gre_bench.store.queries import PAPERS
from gre_bench.store.read_copy import CopyForReaders, kept_open, sha256
from tests.faults.endpoints import refused
from tests.flows.refreshing import EDITION, refreshed

MENDED = "gre-bench refresh --edition SAMPLE-2026"
NEW = {"paper_id": "new", "title": "", "abstract": None, "text": None, "source_row": None}
MEAN = "select round(avg(value), 6) as mean from pairs where candidate_id = 'human' and state = 'scored'"

ASKED = (
    ("sql", EDITION, MEAN),
    ("leaderboard", EDITION),
    ("publish", EDITION),
    ("why", EDITION, "human", "--metric=gem"),
)


@pytest.fixture
def store(tmp_path):
    return Store(refreshed(tmp_path / "state"), EDITION)


@pytest.fixture
def state(store):
    return store.folder.parent.parent


def forge(file: Path, log: Path | None = None) -> None:
    """Raises the human scores of the copy *file* by 1000; with *log* only there, as a writer's log before it is brought in."""
    made = file.with_name("forged.duckdb")
    shutil.copyfile(file, made)
    with duckdb.connect(str(made)) as run:
        run.execute("pragma disable_checkpoint_on_shutdown" if log else "select 1")
        run.execute("set checkpoint_threshold = '1GB'")
        run.execute("update scores set value = value + 1000 where candidate_id = 'human'")
    os.replace(made.with_name("forged.duckdb.wal") if log else made, log or file)
    made.unlink(missing_ok=True)


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


@pytest.mark.parametrize("end", ["wal", "wal.recovery", "wal.checkpoint"])
def test_a_forged_log_is_refused_wherever_the_copy_is_read_and_the_next_write_takes_it_away(store, state, end):
    mean = believed(store)
    log = store.read_file.with_name(f"read.duckdb.{end}")
    forge(store.read_file, log)
    if end == "wal":
        with duckdb.connect(str(store.read_file), read_only=True) as run:
            assert run.execute(MEAN).fetchall()[0][0] > 900, "DuckDB itself does not replay it"
    for arguments in ASKED if end == "wal" else ASKED[:3]:
        line = refused(*arguments, "--state", state, says="lies beside the copy", code=1)
        assert log.name in line and MENDED in line
    assert not (state / "releases").exists() or not ReleaseStore(state / "releases", EDITION).names()
    with store.lock("refresh"):
        store.copy_for_readers()
    assert not log.exists() and believed(store) == mean


def test_a_forged_copy_is_refused_wherever_it_is_read_and_the_next_write_makes_it_anew(store, state):
    mean = believed(store)
    times = store.read_file.stat()
    forge(store.read_file)
    os.utime(store.read_file, ns=(times.st_atime_ns, times.st_mtime_ns))
    for arguments in (*ASKED[:3], ("leaderboard", EDITION, "--figures", state)):
        line = refused(*arguments, "--state", state, says="not as it was written", code=1)
        assert "read.duckdb" in line and MENDED in line
    with store.lock("refresh"):
        store.copy_for_readers()
    assert believed(store) == mean


def test_a_copy_that_is_changed_where_it_lies_is_refused_by_who_has_read_it_before(store):
    store.read(PAPERS)
    whole = store.read_file.read_bytes()
    with store.read_file.open("r+b") as file:
        file.seek(len(whole) // 2)
        file.write(bytes([whole[len(whole) // 2] ^ 1]))
    with pytest.raises(StoreError, match="not as it was written"):
        store.read(PAPERS)


@pytest.mark.parametrize("sums", [None, "", "no digest\n", "0" * 64 + "  read.duckdb\n"])
def test_a_copy_without_its_digest_is_refused_and_a_refresh_makes_it_anew(store, sums):
    if sums is None:
        store.copy.sums.unlink()
    else:
        store.copy.sums.write_text(sums)
    with pytest.raises(StoreError, match="(no digest of it in read.sha256|not as it was written).*makes a new one"):
        store.read(PAPERS)
    assert store.read_mended(PAPERS)
    assert store.copy.sums.read_text().count("read.duckdb\n") == 1


@pytest.mark.parametrize("before", ["record", "replace", "second record"])
def test_a_writer_that_is_killed_between_the_two_leaves_a_copy_that_is_believed(store, before):
    earlier = len(store.read(PAPERS))
    process = os.fork()
    if process == 0:
        replace, done = os.replace, []

        def killing(source: Path, target: Path) -> None:
            done.append(target)
            if len(done) == ["record", "replace", "second record"].index(before) + 1:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)

        os.replace = killing
        with store.lock("refresh"):
            store.write(("put_papers", [NEW]))
            store.copy_for_readers()
        os._exit(1)
    assert os.waitpid(process, 0)[1] == signal.SIGKILL
    assert len(Store(store.folder.parent.parent, EDITION).read(PAPERS)) == earlier + (before == "second record")
    with store.lock("refresh"):
        store.copy_for_readers()
    assert len(store.read(PAPERS)) == earlier + 1
    assert store.copy.sums.read_text().count("\n") == 1
    assert sorted(path.name for path in store.folder.iterdir()) == [
        "edition.duckdb", "edition.lock", "last_refresh.json", "read.duckdb", "read.sha256", "status.json"
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
        copy = CopyForReaders(EDITION, store.read_file)
        try:
            copy.check()
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


def test_what_is_published_comes_from_the_store_and_not_from_a_copy_that_somebody_also_gave_a_digest(store, state):
    mean = believed(store)
    forge(store.read_file)
    store.copy.sums.write_text(f"{sha256(store.read_file)}  read.duckdb\n")
    assert believed(store) > mean + 900
    made = publish_edition(store, ReleaseStore(state / "releases", EDITION))
    with opened(made.folder) as run:
        assert run.execute(MEAN).fetchall() == [(mean,)]


def test_a_copy_that_is_kept_open_is_left_for_a_newer_one_and_never_for_a_forged_one(store, state):
    with kept_open(), kept_open():
        first = mean_of(Store(state, EDITION))
        assert first == mean_of(Store(state, EDITION)) == believed(store)
        raised_by_one(store)
        assert mean_of(Store(state, EDITION)) == pytest.approx(first + 1)
        forge(store.read_file)
        with pytest.raises(StoreError, match="not as it was written"):
            mean_of(Store(state, EDITION))


def test_one_state_under_two_names_is_never_read_as_it_was_before(store, state, monkeypatch):
    """DuckDB takes a path that is open in the process for the same database, even after the file was replaced."""
    monkeypatch.chdir(state.parent)
    relative = Store(Path(state.name), EDITION)
    with kept_open():
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
    with kept_open():
        assert mean_of(store) == pytest.approx(first + 1)
        assert mean_of(store) == pytest.approx(first + 1)
    other.join()


def test_copies_are_kept_open_for_one_thread_alone_and_closed_at_the_end(store, state, monkeypatch):
    opened = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *a, **k: opened.append(connect(*a, **k)) or opened[-1])
    with kept_open():
        for _ in range(3):
            store.read(PAPERS)
        other = threading.Thread(target=store.read, args=(PAPERS,))
        other.start()
        other.join()
    assert len(opened) == 2
    for connection in opened:
        with pytest.raises(duckdb.ConnectionException):
            connection.execute("select 1")

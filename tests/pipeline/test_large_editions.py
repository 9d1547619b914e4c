"""What keeps the memory of a large edition small: texts come in parts, and files are closed between stages."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import duckdb
import pyarrow.parquet as pq
import pytest

from gre_bench.core.records import Paper, Review
from gre_bench.ingest.records.cells import ImportResult
from gre_bench.pipeline import importing, refreshing
from gre_bench.release import public_tables
from gre_bench.release.pages import paper_pages
from gre_bench.reports.publish_editions import open_release_store, publish_edition
from gre_bench.store import Store, connect
from tests.flows.refreshing import EDITION, add_papers, add_reviews, query, refreshed, run, use
from tests.scripted_lms import OverlapLM

PAPERS = [{"paper_id": f"n{place}", "title": f"Title {place}", "text": "Text. " * 999} for place in range(7)]
REVIEWS = [{"paper_id": f"n{place}", "candidate": "model-a", "review": f"Review {place}."} for place in range(7)]


class Killed(BaseException):
    pass


@pytest.fixture
def parts_of_two(monkeypatch):
    monkeypatch.setattr(importing, "AT_ONCE", 2)


def killed_at(monkeypatch, wanted: str, count: int) -> None:
    """Ends the process, so to speak, before the transaction that holds the query *wanted* for the time *count*."""
    write, met = Store.write, []

    def until(self, *steps):
        met.extend(name for name, values in steps if name == wanted and values)
        if len(met) >= count:
            raise Killed
        return write(self, *steps)

    monkeypatch.setattr(Store, "write", until)


def stored(state, table: str) -> list[tuple]:
    return query(state, f"from {table} order by all")


def test_an_import_that_stopped_between_two_parts_goes_on_with_the_rest(tmp_path, parts_of_two, monkeypatch):
    add_papers(tmp_path / "whole", PAPERS)
    with monkeypatch.context() as stopped, pytest.raises(Killed):
        killed_at(stopped, "put_papers", 3)
        add_papers(tmp_path / "stopped", PAPERS)
    assert [row[0] for row in query(tmp_path / "stopped", "select paper_id from papers order by 1")] == [
        "n0", "n1", "n2", "n3",
    ]  # fmt: skip
    assert stored(tmp_path / "stopped", "imports") == []
    report = add_papers(tmp_path / "stopped", PAPERS)
    assert (report["papers"], report["unchanged"], report["refused"]) == (3, 4, 0)
    assert stored(tmp_path / "stopped", "papers") == stored(tmp_path / "whole", "papers")


def test_texts_that_are_there_already_are_compared_part_by_part(tmp_path, parts_of_two, monkeypatch):
    add_papers(tmp_path, PAPERS)
    sizes, rows = [], Store.rows

    def sized(self, query, **parameters):
        fetched = rows(self, query, **parameters)
        if query is importing.queries.PAPERS:
            sizes.append(sum(row["text"] is not None for row in fetched))
        return fetched

    monkeypatch.setattr(Store, "rows", sized)
    other = [row | {"text": "Other."} if row["paper_id"] == "n6" else row for row in PAPERS]
    report = add_papers(tmp_path, other)
    assert (report["papers"], report["unchanged"], report["refused"]) == (0, 6, 1)
    assert max(sizes) == 2 and sum(sizes) == len(PAPERS)


def test_a_thousand_reviews_are_stored_all_or_none(tmp_path, parts_of_two, monkeypatch):
    add_papers(tmp_path, PAPERS)
    with monkeypatch.context() as stopped, pytest.raises(Killed):
        killed_at(stopped, "add_judgments", 3)
        add_reviews(tmp_path, [row | {"judgments": "The paper is sound.", "writer": "people"} for row in REVIEWS])
    assert stored(tmp_path, "reviews") == stored(tmp_path, "judgments") == []
    report = add_reviews(tmp_path, [row | {"judgments": "The paper is sound.", "writer": "people"} for row in REVIEWS])
    assert (report["reviews"], report["judgments"]) == (len(REVIEWS), len(REVIEWS))
    assert len(stored(tmp_path, "reviews")) == len(stored(tmp_path, "judgments")) == len(REVIEWS)


@pytest.mark.parametrize(
    ("stop", "left"), [(("put_reviews", 3), (4, 0)), (("add_judgments", 2), (6, 2))], ids=["reviews", "judgments"]
)
def test_an_import_of_many_reviews_that_stopped_between_two_parts_goes_on_with_the_rest(
    tmp_path, monkeypatch, stop, left
):
    monkeypatch.setattr(importing, "MOST_STORED", 2)
    judged = [row | {"judgments": "The paper is sound.", "writer": "people"} for row in REVIEWS]
    for state in (tmp_path / "whole", tmp_path / "stopped"):
        add_papers(state, PAPERS)
    add_reviews(tmp_path / "whole", judged)
    with monkeypatch.context() as stopped, pytest.raises(Killed):
        killed_at(stopped, *stop)
        add_reviews(tmp_path / "stopped", judged)
    assert (
        tuple(len(stored(tmp_path / "stopped", name)) for name in ("reviews", "judgments")) == left
    )  # the 7th comes last
    assert query(tmp_path / "stopped", "select kind from imports") == [("papers",)]
    report = add_reviews(tmp_path / "stopped", judged)
    assert (report["reviews"], report["judgments"], report["refused"]) == (7 - left[0], 7 - left[1], 0)
    for name in ("reviews", "judgments"):
        assert stored(tmp_path / "stopped", name) == stored(tmp_path / "whole", name)
    added = "select kind, item, writer from additions order by all"
    assert query(tmp_path / "stopped", added) == query(tmp_path / "whole", added)


def test_reviews_that_replace_others_are_stored_all_or_none(tmp_path, monkeypatch):
    monkeypatch.setattr(importing, "MOST_STORED", 2)
    add_papers(tmp_path, PAPERS)
    transactions, write = [], Store.write

    def counted(self, *steps):
        transactions.append([name for name, _ in steps])
        return write(self, *steps)

    monkeypatch.setattr(Store, "write", counted)
    imported = ImportResult(reviews=[Review(f"r{place}", f"n{place}", "model-a", "Text.") for place in range(7)])
    (tmp_path / "given.jsonl").write_text("{}")
    with Store(tmp_path, EDITION).lock("test"):
        importing.store_imported(
            Store(tmp_path, EDITION), "test", tmp_path / "given.jsonl", "reviews", imported,
            before=[("forget_licences", {"kind": "review", "item": ["r0"]})],
        )  # fmt: skip
    assert len(transactions) == 1 and {"forget_licences", "put_reviews", "add_import"} <= set(transactions[0])


def test_papers_leave_the_memory_as_they_are_stored(tmp_path, parts_of_two):
    imported = ImportResult(papers=[Paper(row["paper_id"], row["title"], None, row["text"]) for row in PAPERS])
    (tmp_path / "given.jsonl").write_text("{}")
    with Store(tmp_path, EDITION).lock("test"):
        importing.store_imported(Store(tmp_path, EDITION), "test", tmp_path / "given.jsonl", "papers", imported)
    assert len(imported.papers) == 1
    assert query(tmp_path, "select count(*) from papers") == [(7,)]


def test_freed_memory_goes_back_to_the_system():
    """In a process of its own, since other tests' objects may lie between the freed ones."""
    program = """
from gre_bench.core.process import return_freed_memory
def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
texts = [str(place) * 8_000 for place in range(5_000)]
kept = texts[::500]
before = held()
del texts
freed = held()
return_freed_memory()
print(before - freed, freed - held())
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    by_itself, returned = map(int, answer.split())
    if by_itself > 50_000_000 or not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("this C library returns memory by itself, or cannot be asked to")
    assert returned > 50_000_000


def memory_limit(connection: duckdb.DuckDBPyConnection) -> float:
    number, unit = connection.execute("select current_setting('memory_limit')").fetchall()[0][0].split()
    return float(number) * 1024 ** ["KiB", "MiB", "GiB", "TiB"].index(unit)


def test_duckdb_takes_a_smaller_share_of_the_memory_than_by_itself(tmp_path):
    refreshed(tmp_path)
    published = publish_edition(Store(tmp_path, EDITION), open_release_store(tmp_path, EDITION)).folder
    with duckdb.connect() as alone:
        every = memory_limit(alone) / 0.8
    with Store(tmp_path, EDITION).transaction() as run, public_tables.open_release_tables(published) as release:
        assert memory_limit(run) / every == pytest.approx(0.3, rel=0.02)
        assert memory_limit(release) / every == pytest.approx(0.4, rel=0.02)


def test_pairs_are_planned_from_papers_without_their_texts(tmp_path, monkeypatch):
    planned, plan = [], refreshing.plan_pairs

    def seen(store, job, sign, entries, *more):
        planned.extend(entries)
        return plan(store, job, sign, entries, *more)

    use(OverlapLM())
    monkeypatch.setattr(refreshing, "plan_pairs", seen)
    run(tmp_path)
    assert planned and {entry.paper.text for entry in planned} == {None}
    assert query(tmp_path, "select count(*) from papers where text is not null")[0][0] >= len(planned)


def is_closed(store: Store) -> bool:
    """Whether this process has *store* open: DuckDB then refuses to open it in another way."""
    try:
        duckdb.connect(store.file, read_only=True).close()
    except duckdb.ConnectionException:
        return False
    return True


def test_the_file_is_closed_after_an_import_and_after_a_copy_so_that_no_page_of_it_stays_in_memory(tmp_path):
    refreshed(tmp_path)
    store = Store(tmp_path, EDITION)
    with store.lock("test"):
        assert not is_closed(store)
        store.copy_for_readers()
        assert is_closed(store)
        file = tmp_path / "papers.jsonl"
        file.write_text('{"paper_id": "late", "title": "Late"}\n')
        importing.import_papers(store, "test", file)
        assert is_closed(store)
        assert store.rows(importing.queries.PAPERS, ids=["late"])[0]["title"] == "Late"


@pytest.mark.parametrize(("table", "part"), [("spans", public_tables.PART), ("papers", public_tables.PART_OF_BODIES)])
def test_a_large_table_is_a_parquet_file_of_parts_in_its_order(tmp_path, table, part):
    rows = 2 * part + 5
    with connect(tmp_path / "release.duckdb") as made:
        made.execute(f"create table {table} as select range as place, repeat('x', 20) as text from range({rows})")
    public_tables.write_parquet(tmp_path / "release.duckdb", tmp_path)
    file = pq.ParquetFile(tmp_path / "tables" / f"{table}.parquet")
    sizes = [file.metadata.row_group(place).num_rows for place in range(file.metadata.num_row_groups)]
    assert sizes == [part, part, 5]
    assert file.read(["place"])["place"].to_pylist() == list(range(rows))


def test_texts_of_papers_in_a_release_are_the_same_however_many_are_sorted_at_once(tmp_path, monkeypatch):
    refreshed(tmp_path)
    contents = []
    for count in (500, 3):
        monkeypatch.setattr(public_tables, "PAPERS_AT_ONCE", count)
        folder = publish_edition(Store(tmp_path, EDITION), open_release_store(tmp_path, EDITION), again=True).folder
        contents.append([(folder / "tables" / f"{name}.parquet").read_bytes() for name in public_tables.BODIES])
    assert contents[0] == contents[1]
    assert pq.read_table(folder / "tables" / "papers.parquet", columns=["paper_id"]).num_rows > 3


def test_pages_of_papers_are_the_same_however_many_are_written_at_once(tmp_path, monkeypatch):
    refreshed(tmp_path)
    folders, asked, rows = [], [], paper_pages.run_page_query

    def counted(connection, query, **parameters):
        asked.append(len(parameters.get("papers", ())))
        return rows(connection, query, **parameters)

    for count in (1000, 4):
        monkeypatch.setattr(paper_pages, "AT_ONCE", count)
        monkeypatch.setattr(paper_pages, "run_page_query", counted)
        folders.append(
            publish_edition(Store(tmp_path, EDITION), open_release_store(tmp_path, EDITION), again=True).folder
        )
    first, second = ({path.name: path.read_text() for path in (folder / "papers").iterdir()} for folder in folders)
    assert len(first) > 4 and first.keys() == second.keys()
    assert {name: text.replace(f"{EDITION}-r1", f"{EDITION}-r2") for name, text in first.items()} == second
    assert max(asked[-4:]) <= 4

"""The journal of a fetch: what is in it stays, however it ends, and two processes never write one."""

from __future__ import annotations

from gre_bench.core.errors import LockedError, SourceError
from gre_bench.ingest.openreview import journal as journals
from gre_bench.ingest.openreview.journal import (
    ApiHost,
    FetchJournal,
    choose_run_folder,
    iter_latest_notes,
    open_journal_read_only,
)
from tests.one_line import one_line, small_files

HERE = ApiHost("http://127.0.0.1:3001", 2)
REAL = ApiHost("https://api2.openreview.net", 2)


def note(name, forum=None, tmdate=1, **more):
    return {"id": name, "forum": forum or name, "tcdate": 1, "tmdate": tmdate, **more}


def page(*notes):
    """Submissions with their replies as a listing has them."""
    return [one | {"details": {"replies": [note(f"{one['id']}r", one["id"])]}} for one in notes]


def filled(folder, origin=HERE):
    with FetchJournal(folder, origin) as journal:
        journal.add_page("v/-/S", page(note("a"), note("b")), 3, False)
        journal.add_page("v/-/S", page(note("c")), 3, True)
        journal.add_note_versions("ar", [{"id": "v1"}])
        journal.add_pdf("a", "/pdf/1", b"%PDF a")
        journal.add_pdf("b", "/pdf/2", None, "none there")
        journal.add_forum("c", [note("c"), note("c2", "c")])
        journal.record_snapshot_digest("0" * 64)
    return journal


def shown(journal):
    return (journal.pages, journal.forums, journal.histories, journal.pdfs, journal.sealed)


def test_what_was_added_is_there_when_it_is_opened_again(tmp_path):
    first = filled(tmp_path / "take")
    with FetchJournal(tmp_path / "take", HERE) as again:
        assert shown(again) == shown(first)
        assert again.pdf(again.pdfs["a"].sha256) == b"%PDF a"
        assert (again.pdfs["b"].sha256, again.pdfs["b"].problem) == (None, "none there")
        assert [one["id"] for one in iter_latest_notes(again)] == ["a", "ar", "b", "br", "c", "c2"]
    assert shown(open_journal_read_only(tmp_path / "take")) == shown(first)


def test_wherever_its_file_is_cut_the_whole_lines_count_and_it_goes_on(tmp_path):
    filled(tmp_path / "take")
    path = tmp_path / "take" / "journal.jsonl"
    data = path.read_bytes()
    for cut in range(0, len(data), 7):
        path.write_bytes(data[:cut])
        with FetchJournal(tmp_path / "take", HERE) as journal:
            whole = data[:cut].count(b"\n")
            assert path.stat().st_size == len(b"".join(data.splitlines(keepends=True)[:whole]))
            journal.record_snapshot_digest("1" * 64)
        with FetchJournal(tmp_path / "take", HERE) as journal:
            assert journal.sealed[-1] == "1" * 64
            # The line of the host stands before the first.
            assert len(path.read_bytes().splitlines()) == whole + 1 + (whole == 0)


def test_a_damaged_line_or_page_is_named_also_to_who_only_looks(tmp_path):
    journal = filled(tmp_path / "take")
    path = tmp_path / "take" / "journal.jsonl"
    whole = path.read_bytes()
    for damaged in (
        whole.replace(b'"history"', b'"history', 1),
        whole.replace(b'"stated"', b'"staled"', 1),
        b"\xff\n",
        b"[]\n",
        b'{"page": {}}\n',
    ):
        path.write_bytes(damaged)
        for look in (open_journal_read_only, lambda folder: FetchJournal(folder, HERE).__enter__()):
            with one_line("journal.jsonl: line ", " is damaged and nothing was changed", kind=SourceError):
                look(tmp_path / "take")
            assert path.read_bytes() == damaged
    path.write_bytes(whole + b'{"seal": "half')
    assert shown(open_journal_read_only(tmp_path / "take"))[-1] == ["0" * 64]
    (tmp_path / "take" / journal.pages[1].file).write_bytes(b"x")
    with one_line("pages/000001.json.gz is damaged; delete", kind=SourceError):
        list(iter_latest_notes(open_journal_read_only(tmp_path / "take")))
    path.unlink()
    with one_line("cannot be read: No such file"):
        open_journal_read_only(tmp_path / "take")
    (tmp_path / "file").write_text("x")
    with one_line("cannot be written"), FetchJournal(tmp_path / "file" / "take", HERE):
        pass


def test_a_full_disk_is_one_line_and_the_journal_stays_whole(tmp_path):
    filled(tmp_path / "take")
    path = tmp_path / "take" / "journal.jsonl"
    before, long = path.read_bytes(), b"%PDF " + b"x" * 5000
    with FetchJournal(tmp_path / "take", HERE) as journal:
        for add in (
            lambda: journal.record_snapshot_digest("1" * 64),
            lambda: journal.add_pdf("z", "/pdf/z", long),
            lambda: journal.add_page("v/-/S", [note(str(n)) for n in range(3000)], 9, False),
        ):
            with small_files(len(before) + 10), one_line("cannot be written: File too large; earlier files are kept"):
                add()
            assert path.read_bytes() == before
        files = {file.name for file in tmp_path.rglob("*") if file.is_file()}
        assert not [name for name in files if name.startswith(".")], "a half file was left"
        journal.record_snapshot_digest("1" * 64)
    assert open_journal_read_only(tmp_path / "take").sealed == ["0" * 64, "1" * 64]


def test_of_copies_that_differ_the_latest_counts_and_of_those_alike_the_first(tmp_path):
    with FetchJournal(tmp_path / "take", HERE) as journal:
        journal.add_page("v/-/S", page(note("a", title="old"), note("b", tmdate=9, title="new")), 3, False)
        later = page(note("b", tmdate=8, title="older"), note("a", tmdate=2, title="changed"))
        journal.add_page("v/-/S", later, 3, True)
        found = {one["id"]: one.get("title") for one in iter_latest_notes(journal)}
        assert found == {"a": "changed", "ar": None, "b": "new", "br": None}
        assert len(list(iter_latest_notes(journal))) == 4
        assert journals.count_repeated_notes(journal) == 4


def test_replies_that_a_listing_lacks_or_the_service_counts_and_does_not_show_are_known(tmp_path):
    def listed(name, **details):
        return note(name) | {"details": details or None}

    with FetchJournal(tmp_path / "take", HERE) as journal:
        stated = [listed("a", replies=[], replyCount=4), note("b"), listed("c", replies=[], replyCount=1), listed("d")]
        journal.add_page("v/-/S", [*stated, listed("e", replies=[])], 5, True)
        assert journals.find_submissions_lacking_replies(journal) == ("a", "b", "c", "d")
        journal.add_forum("a", [note("a"), note("a1", "a"), note("a2", "a")], 3)
        journal.add_forum("b", [note("b")], 6)
        journal.add_forum("c", [note("c"), note("c1", "c")])
        assert (
            journals.count_hidden_replies(journal)
            == 2 + 5 + 0
            == journals.count_hidden_replies(open_journal_read_only(tmp_path / "take"))
        )


def test_a_take_belongs_to_the_host_and_the_api_that_it_was_begun_at(tmp_path):
    first = choose_run_folder(tmp_path, "ICLR-2025", HERE)
    filled(first)
    filled(tmp_path / "ICLR-2024-0002")
    real = choose_run_folder(tmp_path, "ICLR-2025", REAL)
    assert (first.name, real.name) == ("ICLR-2025-0001", "ICLR-2025-0002")
    filled(real, REAL)
    (tmp_path / "ICLR-2025-0009").mkdir()
    assert journals.list_run_folders(tmp_path, "ICLR-2025") == [first, real]
    other_api = choose_run_folder(tmp_path, "ICLR-2025", ApiHost(HERE.host, 1))
    assert other_api.name == "ICLR-2025-0003"
    assert (
        choose_run_folder(tmp_path, "ICLR-2025", HERE) == first
        and choose_run_folder(tmp_path, "ICLR-2025", REAL) == real
    )
    again = choose_run_folder(tmp_path, "ICLR-2025", REAL, again=True)
    assert again.name == "ICLR-2025-0003"
    assert [
        one.folder
        for one in (*journals.list_earlier_journals(again, REAL), *journals.list_earlier_journals(again, HERE))
    ] == [real, first]
    assert journals.list_earlier_journals(real, REAL) == []
    assert [(set(one.pdfs), one.sealed) for one in journals.list_earlier_journals(again, REAL)] == [
        ({"a", "b"}, ["0" * 64])
    ]


def test_a_journal_in_use_or_of_another_host_or_of_none_is_not_opened_and_an_empty_one_is_anybodys(tmp_path):
    take = tmp_path / "ICLR-2025-0001"
    with FetchJournal(take, HERE), one_line(f"{take.name} is being fetched by another process", kind=LockedError):
        FetchJournal(take, HERE).__enter__()
    assert choose_run_folder(tmp_path, "ICLR-2025", REAL) == take
    filled(take, REAL)
    assert open_journal_read_only(take).origin == REAL
    of = "is of https://api2.openreview.net, API v2, not of http://127.0.0.1:3001, API v2; move"
    with one_line(of, kind=SourceError), FetchJournal(take, HERE):
        pass
    whole = (take / "journal.jsonl").read_bytes()
    (take / "journal.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[1:]))
    with one_line("is of a host that it does not name", kind=SourceError), FetchJournal(take, REAL):
        pass

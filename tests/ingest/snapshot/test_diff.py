"""What changed between two snapshots, in lines a person reads; and what of a snapshot may be published."""

from __future__ import annotations

import errno
import json
import os

import pytest

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Edition
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.records.venues import venue_of
from gre_bench.ingest.snapshot import changes, make_snapshot, may_publish, public_rows, write_public
from tests.conftest import SIXTEEN
from tests.one_line import one_line

EDITION, VENUE = Edition("SAMPLE", 2026), venue_of("SAMPLE", 2026)
NOTES = read_notes_file(SIXTEEN / "notes.jsonl")


def frozen(folder, notes, pdfs=(), **more):
    paths = {}
    for paper_id, data in dict(pdfs).items():
        paths[paper_id] = folder.parent / f"{folder.name}-{paper_id}.pdf"
        paths[paper_id].write_bytes(data)
    return make_snapshot(folder, EDITION, notes, pdfs=paths, source="a test", **more)


def changed(note_id, notes=NOTES, envelope=(), **fields):
    """The notes with one of them changed."""
    content = {name: {"value": value} for name, value in fields.items()}
    return [
        note | dict(envelope) | {"content": note["content"] | content} if note["id"] == note_id else note
        for note in notes
    ]


def lines_of(tmp_path, notes, **more):
    found = changes(frozen(tmp_path / "old", NOTES), frozen(tmp_path / "new", notes, **more))
    return found["lines"], found["counts"]


def test_nothing_is_said_of_what_stayed(tmp_path):
    assert lines_of(tmp_path, NOTES) == ([], {})
    assert changes(frozen(tmp_path / "a", NOTES), frozen(tmp_path / "b", NOTES[::-1]))["lines"] == []


def test_an_edited_review_is_told_with_its_short_fields(tmp_path):
    rating = next(note for note in NOTES if note["id"] == "s01-r1")["content"]["rating"]["value"]
    lines, counts = lines_of(tmp_path, changed("s01-r1", rating="1: poor", weaknesses="A long text. " * 9))
    assert lines == [f"edited Official_Review s01-r1 of paper s01: rating {str(rating)!r} → '1: poor', weaknesses"]
    assert counts == {"edited Official_Review": 1}


def test_new_gone_deleted_and_withdrawn_notes_are_told(tmp_path):
    more = [note for note in NOTES if note["id"] != "s02-r1"]
    more = changed("s03-r1", more, {"ddate": 1})
    more = changed("s04", more, venueid="SAMPLE.cc/2026/Conference/Withdrawn_Submission")
    more = changed("s05", more, venueid="SAMPLE.cc/2026/Conference/Desk_Rejected_Submission")
    more.append(NOTES[1] | {"id": "s01-r99"})
    lines, counts = lines_of(tmp_path, more)
    assert lines == [
        "new Official_Review s01-r99 of paper s01",
        "deleted Official_Review s02-r1 of paper s02: it is not there any more",
        "deleted Official_Review s03-r1 of paper s03",
        "withdrawn Submission s04",
        "desk_rejected Submission s05",
    ]
    assert sum(counts.values()) == len(lines)


def test_another_pdf_is_told(tmp_path):
    old = frozen(tmp_path / "old", NOTES, {"s01": b"%PDF 1", "s02": b"%PDF 2", "s03": b"%PDF 3"})
    new = frozen(tmp_path / "new", NOTES, {"s01": b"%PDF 1", "s02": b"%PDF other", "s04": b"%PDF 4"})
    assert changes(old, new)["lines"] == ["another PDF of paper s02"]


FREE = ("CC BY 4.0", "CC BY-SA 4.0", "CC0 1.0", "CC0", "cc-by-4.0", " CC BY 4.0 ")
OTHER = (None, "", "CC BY-NC 4.0", "CC BY-ND 4.0", "CC BY-NC-SA 4.0", "All rights reserved", "not CC BY 4.0")


def test_a_text_goes_out_only_under_a_licence_that_lets_anyone_pass_it_on():
    assert [licence for licence in (*FREE, *OTHER) if may_publish(licence)] == [*FREE]


def test_what_is_published_names_nobody_and_withholds_what_is_not_free(tmp_path):
    notes = changed("s01-r1", [note | {"license": "CC BY-NC-SA 4.0"} for note in NOTES], {"license": "CC BY 4.0"})
    notes = changed("s01", notes, {"license": "CC BY 4.0"}, authors=["Zyxa Writer"], authorids=["~Zyxa_Writer1"])
    snapshot = frozen(tmp_path / "snap", notes, {"s01": b"%PDF 1"})
    rows = list(public_rows(snapshot, VENUE))
    assert len(rows) == sum(note["id"] == note["forum"] or "-r" in note["id"] for note in NOTES)
    with_text = [row for row in rows if row["text"] is not None]
    assert [row.get("review_id") or row["paper_id"] for row in with_text] == ["s01", "s01-r1"]
    assert all(row["sha256"] and row["licence"] for row in rows)
    whole = json.dumps(rows)
    for word in ("Reviewer_", "Zyxa", "Authors", "signatures", "readers", "writers"):
        assert word not in whole, word
    names = {signature for note in NOTES for signature in note["signatures"]}
    assert names and not [name for name in names if name in whole]


@pytest.mark.parametrize(("stated", "other"), [("texts", "withheld"), ("withheld", "texts")])
def test_what_is_published_is_counted(tmp_path, stated, other):
    notes = NOTES if stated == "texts" else [{k: v for k, v in note.items() if k != "license"} for note in NOTES]
    snapshot = frozen(tmp_path / "snap", notes)
    counts = write_public(snapshot, VENUE, tmp_path / "public.jsonl")
    assert counts == {other: 0, stated: len((tmp_path / "public.jsonl").read_text().splitlines())}
    with pytest.raises(SourceError, match="cannot be written"):
        write_public(snapshot, VENUE, tmp_path / "none" / "public.jsonl")


@pytest.mark.parametrize(
    "where", ["snap/notes.jsonl", "snap/new.jsonl", "snap/pdfs/../public.jsonl", "link/notes.jsonl", "other.jsonl"]
)
def test_nothing_is_published_into_the_snapshot_itself(tmp_path, where):
    snapshot = frozen(tmp_path / "snap", NOTES, {"s01": b"%PDF 1"})
    (tmp_path / "link").symlink_to(tmp_path / "snap", target_is_directory=True)
    (tmp_path / "other.jsonl").symlink_to(tmp_path / "snap" / "notes.jsonl")
    with one_line("is in the snapshot ", ", which never changes; name another place", kind=SourceError):
        write_public(snapshot, VENUE, tmp_path / where)
    snapshot.verify()


def test_what_was_published_before_stays_until_all_of_the_new_is_there(tmp_path, monkeypatch):
    snapshot, path = frozen(tmp_path / "snap", NOTES), tmp_path / "public.jsonl"
    # A hard link to a file of the snapshot is replaced, not written over.
    path.hardlink_to(snapshot.folder / "notes.jsonl")
    before = path.read_bytes()
    monkeypatch.setattr("gre_bench.ingest.snapshot.public_rows", _rows_that_stop)
    with pytest.raises(SourceError, match="cannot be written: No space left"):
        write_public(snapshot, VENUE, path)
    assert path.read_bytes() == before
    monkeypatch.undo()
    write_public(snapshot, VENUE, path)
    assert path.read_bytes() != before and sorted(tmp_path.iterdir()) == [path, snapshot.folder]
    snapshot.verify()
    with pytest.raises(SourceError, match="is a folder; name a file"):
        write_public(snapshot, VENUE, tmp_path)


def _rows_that_stop(*_):
    yield {"text": None}
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

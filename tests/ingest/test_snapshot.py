"""Snapshots: what goes in comes out, no changed byte goes unnoticed, what changed is told, and what may be published."""

from __future__ import annotations

import hashlib
import json
import shutil
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Edition, digest
from gre_bench.ingest.records.notes import read_notes
from gre_bench.ingest.records.row_files import read_notes_file, read_paper_texts
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.ingest.snapshot import Snapshot, compare_snapshots, is_redistributable, make_snapshot
from tests.conftest import SIXTEEN, real
from tests.one_line import one_line

EDITION = Edition("SAMPLE", 2026)
NOTES = [
    {"id": "r1", "forum": "p1", "content": {"review": {"value": "Nice\u2028one \ud800 \x00"}}},
    {"id": "p1", "forum": "p1", "content": {}, "odd": [1.5, None, True]},
    {"id": "r2", "forum": "p2"},
    {"id": "r3", "forum": "p1"},
    {"id": "p2", "forum": "p2"},
    {"no": "forum"},
]
PDF = {name: f"pdfs/{hashlib.sha256(b'%PDF-1.7 of ' + repr(name).encode()).hexdigest()}.pdf" for name in ("p1", "p2")}
FILES = ["manifest.json", "notes.jsonl", "papers.jsonl", *sorted(PDF.values()), "texts.parquet"]


def made(tmp_path, notes=NOTES, ids=("p1", "p2"), name="snap", edition=EDITION, **more):
    pdfs = {}
    for place, paper_id in enumerate(ids):
        pdfs[paper_id] = tmp_path / f"{place}.pdf"
        pdfs[paper_id].write_bytes(b"%PDF-1.7 of " + repr(paper_id).encode())
    more = {"texts": {"p2": "Text of p2.\n", "p1": "é\u2028"}, "source": "a test"} | more
    return make_snapshot(tmp_path / name, edition, notes, pdfs=pdfs, **more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return made(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def copied(whole, tmp_path):
    shutil.copytree(whole.folder, tmp_path / "copy")
    return tmp_path / "copy"


def test_what_is_frozen_comes_out_unchanged_and_the_manifest_states_it_and_nothing_else_is_left(whole):
    opened = Snapshot.open(whole.folder)
    opened.verify()
    assert [note.get("id") for note in opened.notes()] == ["p1", "r1", "r3", "p2", "r2", None]
    by_id = {note.get("id"): note for note in opened.notes()}
    assert all(by_id[note.get("id")] == note for note in NOTES)
    assert opened.pdf("p1") == b"%PDF-1.7 of 'p1'"
    assert (opened.text("p1"), opened.text("p2")) == ("é\u2028", "Text of p2.\n")
    assert (opened.pdf("zz"), opened.text("zz")) == (None, None)
    assert (opened.manifest, opened.digest) == (whole.manifest, whole.digest)
    parts = [path for path in whole.folder.rglob("*") if path.is_file()]
    assert sorted(path.relative_to(whole.folder).as_posix() for path in parts) == FILES
    assert sorted(path.name for path in whole.folder.parent.iterdir()) == ["0.pdf", "1.pdf", "snap"]
    stated = json.loads((whole.folder / "manifest.json").read_text())
    assert (stated["format"], stated["venue"], stated["year"], stated["source"]) == (2, "SAMPLE", 2026, "a test")
    assert stated["counts"] == {"notes": 6, "papers": 2, "pdfs": 2, "texts": 2, "pdfs_left_out": 0, "texts_left_out": 0}
    assert stated["created_at"].endswith("+00:00")
    assert sorted(file["name"] for file in stated["files"]) == FILES[1:]
    for file in stated["files"]:
        data = (whole.folder / file["name"]).read_bytes()
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (file["sha256"], file["bytes"])


def test_pdfs_and_texts_of_other_papers_are_left_out_none_are_needed_and_equal_pdfs_share_a_file(tmp_path):
    bare = made(tmp_path, notes=iter(NOTES), ids=(), texts={}, name="bare")
    Snapshot.open(bare.folder).verify()
    assert (bare.pdf("p1"), bare.text("p1"), len(list(bare.notes()))) == (None, None, 6)
    snapshot = made(tmp_path, ids=("p1", "r1", "p9"), texts={"p2": "t", "p8": "t"})
    counts = snapshot.manifest.counts
    assert (counts["pdfs"], counts["pdfs_left_out"], counts["texts"], counts["texts_left_out"]) == (1, 2, 1, 1)
    assert (snapshot.pdf("r1"), snapshot.text("p8")) == (None, None)
    same = frozen(tmp_path / "same", NOTES, dict.fromkeys(("p1", "p2"), b"%PDF-1.7 same"))
    assert len(list((same.folder / "pdfs").iterdir())) == 1
    assert same.pdf("p1") == same.pdf("p2") == b"%PDF-1.7 same"
    Snapshot.open(same.folder).verify()


def test_the_digest_is_of_the_contents_alone(tmp_path, monkeypatch):
    first = made(tmp_path, name="one")
    later = SimpleNamespace(now=lambda _: datetime(2031, 1, 1, tzinfo=UTC))
    monkeypatch.setattr("gre_bench.ingest.snapshot.datetime", later)
    second = made(tmp_path, name="two", source="another")
    assert second.manifest.created_at != first.manifest.created_at
    assert second.digest == first.digest
    differing = [
        made(tmp_path, name="three", notes=[*NOTES, {"id": "r4", "forum": "p1"}]),
        made(tmp_path, name="four", ids=("p1",)),
        made(tmp_path, name="five", ids=("p2", "p1"), texts={"p1": "x"}),
    ]
    assert len({snapshot.digest for snapshot in (first, *differing)}) == 4


IDS = ["../../up", "/etc/passwd", "..", ".", "a/b", "a\\b", "Ab", "aB", "AB", "-_E9ibRUQ1iq", "é", "a" * 300, "x.pdf",
       "nul\x00", "a b", "CON\n", "=x"]  # fmt: skip


def test_no_paper_id_leaves_the_folder_or_takes_anothers_name(tmp_path):
    (inner := tmp_path / "inner").mkdir()
    notes = [{"id": name, "forum": name} for name in IDS]
    snapshot = made(inner, notes=notes, ids=IDS, texts={name: name for name in IDS})
    names = [file.name for file in snapshot.manifest.files]
    assert len({name.casefold() for name in names}) == len(IDS) + 3
    assert {path.name for path in tmp_path.iterdir()} == {"inner"}
    assert {path.parent for path in snapshot.folder.rglob("*.pdf")} == {snapshot.folder / "pdfs"}
    opened = Snapshot.open(snapshot.folder)
    opened.verify()
    for name in IDS:
        assert opened.pdf(name) == b"%PDF-1.7 of " + repr(name).encode()
        assert opened.text(name) == name


@given(st.data())
def test_a_changed_byte_is_found_and_its_file_named(whole, tmp_path_factory, data):
    name = data.draw(st.sampled_from(FILES))
    content = bytearray((whole.folder / name).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    folder = tmp_path_factory.mktemp("changed") / "copy"
    shutil.copytree(whole.folder, folder)
    (folder / name).write_bytes(content)
    with pytest.raises(SourceError, match=rf"{name}|is of format" if name == "manifest.json" else name):
        Snapshot.open(folder).verify()
    shutil.rmtree(folder)


def test_a_file_of_another_length_is_named_on_opening_and_what_changed_since_or_is_a_stranger_by_verify(
    copied, tmp_path
):
    opened = Snapshot.open(copied)
    for name in FILES:
        path = copied / name
        content = path.read_bytes()
        path.unlink()
        with one_line(name):
            opened.verify()
        for other in (None, content + b"\n", content[:-1], b""):
            if other is not None:
                path.write_bytes(other)
            with one_line(name):
                Snapshot.open(copied)
        path.write_bytes(content)
    for name in ("more.txt", "pdfs/p3.pdf", "pdfs/sub/p1.pdf", ".hidden"):
        (copied / name).parent.mkdir(exist_ok=True)
        (copied / name).write_bytes(b"x")
        with one_line(f"{name.removesuffix('/p1.pdf')} does not belong"):
            opened.verify()
        (copied / name).unlink()
        if "sub" in name:
            (copied / name).parent.rmdir()
    shutil.copy(made(tmp_path, source="another").folder / "manifest.json", copied / "manifest.json")
    with one_line("manifest.json"):
        opened.verify()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("notes.jsonl", lambda snapshot: list(snapshot.notes())),
        ("papers.jsonl", lambda snapshot: snapshot.pdf("p1")),
        (PDF["p1"], lambda snapshot: snapshot.pdf("p1")),
        ("texts.parquet", lambda snapshot: snapshot.text("p1")),
    ],
)
def test_another_file_in_its_place_is_never_read(copied, name, read, tmp_path):
    opened = Snapshot.open(copied)
    other = made(tmp_path, notes=[*NOTES, {"id": "r4", "forum": "p1"}], texts={"p1": "another"})
    (other.folder / PDF["p1"]).write_bytes(b"%PDF-1.7 of another")
    (other.folder / "papers.jsonl").write_text('{"paper_id": "p1", "pdf": null}\n')
    shutil.copy(other.folder / name, copied / name)
    with one_line(name):
        read(opened)


def resealed(folder, files, **more):
    """The manifest with other *files*, changed by someone who knows how it is sealed."""
    tree = json.loads((folder / "manifest.json").read_text()) | {"files": files}
    tree |= {"digest": digest([[file["name"], file["sha256"]] for file in files])} | more
    tree["seal"] = digest({key: value for key, value in tree.items() if key != "seal"})
    (folder / "manifest.json").write_bytes((json.dumps(tree, indent=1) + "\n").encode())


@pytest.mark.parametrize(
    "name",
    ["../secret.pdf", "pdfs/../../secret.pdf", "/etc/passwd", "pdfs/a/b.pdf", "notes.jsonl\n", "manifest.json", "pdfs/..pdf"],
)  # fmt: skip
def test_a_manifest_cannot_name_a_file_outside_the_folder_nor_another_digest_nor_leave_out_the_notes(copied, name):
    (copied.parent / "secret.pdf").write_bytes(b"secret")
    files = json.loads((copied / "manifest.json").read_text())["files"]
    stranger = {"name": name, "sha256": hashlib.sha256(b"secret").hexdigest(), "bytes": 6}
    resealed(copied, files)
    Snapshot.open(copied).verify()
    for listed, more in (([*files, stranger], {}), (files, {"digest": "0" * 64}), (files[1:], {})):
        resealed(copied, listed, **more)
        with one_line("manifest.json is not as it was written", kind=SourceError):
            Snapshot.open(copied)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{}", "is of format None; known is format 2"),
        (b'{"format": 1}', "is of format 1; known is format 2"),
        *((part, "not as it was written") for part in (b"{", b"[]", b'{"format": 2}', b"[" * 100_000, b"\xff\xfe")),
    ],
)
def test_a_manifest_that_is_none_is_refused_in_one_line(copied, content, says):
    (copied / "manifest.json").write_bytes(content)
    with one_line(says):
        Snapshot.open(copied)


def test_a_folder_that_is_there_is_not_touched(tmp_path):
    with one_line("no snapshot at ", "none: manifest.json cannot be read"):
        Snapshot.open(tmp_path / "none")
    first = made(tmp_path, source="a\udcffb")
    with one_line("never changes"):
        made(tmp_path, source="another")
    assert Snapshot.open(first.folder).manifest == first.manifest
    assert first.manifest.source == "a?b", "a source that is no valid text is told as far as it goes"


@pytest.mark.parametrize(
    ("notes", "pdfs", "says"),
    [(NOTES, {"p1": "none.pdf"}, "the PDF of paper 'p1'"), ([*NOTES, "a note"], {}, "note 7 is not a JSON object")],
)
def test_a_snapshot_that_fails_leaves_nothing(tmp_path, notes, pdfs, says):
    pdfs = {key: tmp_path / name for key, name in pdfs.items()}
    with one_line(says):
        make_snapshot(tmp_path / "snap", EDITION, notes, pdfs=pdfs, source="a test")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    with one_line("cannot be written"):
        make_snapshot(tmp_path / "file" / "snap", EDITION, NOTES, source="a test")


def test_a_shared_pdf_that_is_not_what_its_name_says_is_never_frozen(tmp_path):
    file = tmp_path / f"{hashlib.sha256(b'%PDF-1.7 as it came').hexdigest()}.pdf"
    file.write_bytes(b"%PDF-1.7 as it came")
    how = {"pdfs": {"p1": file}, "source": "a test", "link": True}
    assert make_snapshot(tmp_path / "one", EDITION, NOTES, **how).pdf("p1") == b"%PDF-1.7 as it came"
    file.unlink()
    file.write_bytes(b"%PDF-1.7 as it is now")
    with one_line("the PDF of paper 'p1'", "is not as it was received"):
        make_snapshot(tmp_path / "two", EDITION, NOTES, **how)
    assert not (tmp_path / "two").exists()


KEYS, VALUES = st.sampled_from(["id", "forum", "x"]), st.sampled_from(["p", "q", "r", "é\n", None, 3])


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=3), max_size=8))
def test_all_notes_come_out_once_and_a_submission_before_its_replies(tmp_path_factory, notes):
    folder = tmp_path_factory.mktemp("any") / "snap"
    found = list(make_snapshot(folder, EDITION, notes, source="a test").notes())
    assert sorted(json.dumps(note) for note in found) == sorted(json.dumps(note) for note in notes)
    for forum in {"p", "q", "r"}:
        opens = [note.get("id") == forum for note in found if note.get("forum") == forum]
        assert opens == sorted(opens, reverse=True)
    shutil.rmtree(folder)


@pytest.mark.shared
def test_a_real_edition_is_frozen_and_read_again(tmp_path):
    texts = read_paper_texts(real("openreview", "paper_text.parquet"))
    assert len(texts) == 413
    notes = read_notes_file(real("openreview", "iclr2023.notes.jsonl.gz"))
    made = make_snapshot(tmp_path / "snap", Edition("ICLR", 2023), notes, texts=texts, source="files")
    opened = Snapshot.open(made.folder)
    opened.verify()
    counts = {"notes": 292, "papers": 73, "pdfs": 0, "texts": 73, "pdfs_left_out": 0, "texts_left_out": 340}
    assert opened.manifest.counts == counts
    venue = find_venue_entry("ICLR", 2023)
    found = read_notes(opened.notes(), venue)
    assert found == read_notes(notes, venue)
    assert all(opened.text(paper.paper_id) == texts[paper.paper_id] for paper in found.papers)


VENUE = find_venue_entry("SAMPLE", 2026)
SAMPLE = read_notes_file(SIXTEEN / "notes.jsonl")


def frozen(folder, notes, pdfs=(), **more):
    paths = {}
    for paper_id, data in dict(pdfs).items():
        paths[paper_id] = folder.parent / f"{folder.name}-{paper_id}.pdf"
        paths[paper_id].write_bytes(data)
    return make_snapshot(folder, EDITION, notes, pdfs=paths, source="a test", **more)


def changed(note_id, notes=SAMPLE, envelope=(), **fields):
    """The notes with one of them changed."""
    content = {name: {"value": value} for name, value in fields.items()}
    return [
        note | dict(envelope) | {"content": note["content"] | content} if note["id"] == note_id else note
        for note in notes
    ]


def test_what_changed_is_told_and_nothing_of_what_stayed(tmp_path):
    old = frozen(tmp_path / "old", SAMPLE, {"s01": b"%PDF 1", "s02": b"%PDF 2", "s03": b"%PDF 3"})

    def told(name, notes, pdfs=()):
        found = compare_snapshots(old, frozen(tmp_path / name, notes, pdfs))
        return found["lines"], found["counts"]

    assert told("other order", SAMPLE[::-1]) == ([], {})
    pdfs = {"s01": b"%PDF 1", "s02": b"%PDF other", "s04": b"%PDF 4"}
    assert told("another PDF", SAMPLE, pdfs) == (["another PDF of paper s02"], {"another PDF": 1})
    rating = next(note for note in SAMPLE if note["id"] == "s01-r1")["content"]["rating"]["value"]
    lines, counts = told("edited", changed("s01-r1", rating="1: poor", weaknesses="A long text. " * 9))
    assert lines == [f"edited Official_Review s01-r1 of paper s01: rating {str(rating)!r} → '1: poor', weaknesses"]
    assert counts == {"edited Official_Review": 1}
    more = [note for note in SAMPLE if note["id"] != "s02-r1"]
    more = changed("s03-r1", more, {"ddate": 1})
    more = changed("s04", more, venueid="SAMPLE.cc/2026/Conference/Withdrawn_Submission")
    more = changed("s05", more, venueid="SAMPLE.cc/2026/Conference/Desk_Rejected_Submission")
    more.append(SAMPLE[1] | {"id": "s01-r99"})
    lines, counts = told("new", more)
    assert lines == [
        "new Official_Review s01-r99 of paper s01",
        "deleted Official_Review s02-r1 of paper s02: it is not there any more",
        "deleted Official_Review s03-r1 of paper s03",
        "withdrawn Submission s04",
        "desk_rejected Submission s05",
    ]
    assert sum(counts.values()) == len(lines)


def test_a_text_may_be_published_only_under_a_licence_that_lets_anyone_pass_it_on():
    free = ("CC BY 4.0", "CC BY-SA 4.0", "CC0 1.0", "CC0", "cc-by-4.0", " CC BY 4.0 ")
    other = (None, "", "CC BY-NC 4.0", "CC BY-ND 4.0", "CC BY-NC-SA 4.0", "All rights reserved", "not CC BY 4.0")
    assert [licence for licence in (*free, *other) if is_redistributable(licence)] == [*free]

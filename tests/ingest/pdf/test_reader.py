"""Files read in child processes: limits hold, a file that does harm never takes its neighbours."""

from __future__ import annotations

import csv
import os
import signal
import threading
import zlib
from functools import cache
from pathlib import Path

import pymupdf
import pytest

from gre_bench.ingest.pdf.extraction import read_pdf
from gre_bench.ingest.pdf.reader import Limits, PdfReader
from tests.conftest import ROOT, SIXTEEN, real
from tests.holds import hold_until
from tests.ingest.pdf.reading import read_of

SAMPLES = sorted((SIXTEEN / "pdfs").glob("s??.pdf"))
PATIENT = Limits(wall_s=280.0, cpu_s=280.0)


@cache
def endless(megabytes: int) -> bytes:
    """A page whose contents are small in the file and take minutes to go through."""
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((72, 72), "text")
        xref = page.get_contents()[0]
        block = b"q 1 0 0 1 0 0 cm Q\n" * 50_000
        packer = zlib.compressobj(9)
        packed = b"".join(packer.compress(block) for _ in range(megabytes)) + packer.flush()
        document.update_stream(xref, b"x", compress=False)
        document.xref_set_key(xref, "Filter", "/FlateDecode")
        raw = document.tobytes(no_new_id=True)
    return raw.replace(b"/Length 1\n", b"/Length %d\n" % len(packed)).replace(
        b"stream\nx\nendstream", b"stream\n" + packed + b"\nendstream"
    )


@cache
def small() -> bytes:
    with pymupdf.open() as document:
        document.new_page().insert_text((72, 72), "A text.")
        return document.tobytes(no_new_id=True)


def test_files_come_back_in_order_beside_one_that_is_none_as_this_process_reads_them():
    files = [SAMPLES[0], ROOT / "README.md", SAMPLES[1]]
    with PdfReader(children=2) as reader:
        got = list(reader.read_all(files, Path.read_bytes))
    assert [read for _, read in got] == [read_of(path) for path in files]
    assert [(path, read.status) for path, read in got] == list(zip(files, ("ok", "not_a_pdf", "ok"), strict=True))


def test_a_file_that_takes_too_long_on_the_clock_or_computes_too_long_is_a_timeout_and_the_next_is_read():
    with PdfReader(Limits(wall_s=0.5), children=1) as reader:
        assert reader.read(endless(60)).status == "timeout"
    with PdfReader(Limits(wall_s=280.0, cpu_s=0.5), children=1) as reader:
        got = reader.read(endless(60))
        assert got.status == "timeout" and "computing" in got.notes[0]
        assert reader.read(endless(0)) == read_pdf(endless(0))


def test_a_file_that_needs_too_much_memory_is_told_and_the_next_is_read():
    with PdfReader(Limits(memory_bytes=448 * 2**20), children=1) as reader:
        got = reader.read(b"%PDF-1.4\n1 0 obj\n" + b"a" * 350_000_000)
        assert got.status == "crashed" and "memory" in got.notes[0]
        assert reader.read(small()).status == "ok"


def test_a_child_that_dies_is_a_crash_and_replaced_and_a_file_is_not_blamed_for_the_harm_of_an_earlier_one(monkeypatch):
    monkeypatch.setenv("OPENREVIEW_PASSWORD", "hush")
    with PdfReader(Limits(), children=1) as reader:
        reader.read(small())
        os.kill(reader._idle.queue[0].process.pid, signal.SIGKILL)
        assert reader.read(small()).status == "ok"
        child = reader._idle.queue[0]
        data = endless(60)
        until = received(child.process.pid) + len(data)
        killer = threading.Thread(target=kill_at_work, args=(child.process.pid, until))
        killer.start()
        # The second file of a child is tried again in a fresh one: the first may have done the harm.
        child.requests = 0
        got = reader.read(data)
        killer.join()
        assert got.status == "crashed" and "SIGSEGV" in got.notes[0]
        assert reader.read(small()).status == "ok"
        process = reader._idle.queue[0].process
        assert b"hush" not in Path(f"/proc/{process.pid}/environ").read_bytes(), "a child sees no secrets"
    assert process.returncode == 0, "children end with their reader"


def kill_at_work(pid, until):
    """Ends the process *pid* once it has received *until* bytes in all and is at work on them."""
    hold_until(lambda: received(pid) >= until)
    os.kill(pid, signal.SIGSEGV)


def received(pid):
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])


@pytest.mark.shared
# Papers of over a hundred pages take half a minute each: they are read with all files.
@pytest.mark.parametrize(
    ("of_a_kind", "left_out"), [(2, {"many_pages"}), pytest.param(99, set(), marks=pytest.mark.night)]
)
def test_every_hostile_file_has_a_status_and_none_that_lost_pages_is_ok(of_a_kind, left_out):
    expected = {
        "needs_password": {"encrypted"},
        "open_error": {"not_a_pdf", "empty", "truncated"},
        "zero_pages": {"not_a_pdf", "empty", "truncated"},
        "page_error": {"truncated"},
        "image_only": {"scanned", "truncated"},
        "no_text_no_image": {"empty"},
        "repaired": {"repaired", "truncated"},
        "hidden_text": {"scanned", "ok"},
    }
    hostile = real("hostile-pdfs")
    with (hostile / "manifest.csv").open() as handle:
        categories = {row["file"]: row["category"] for row in csv.DictReader(handle)}
    every = sorted(hostile.glob("*.pdf"), key=lambda path: path.stat().st_size)
    kinds = {
        kind: [path for path in every if categories[path.name] == kind] for kind in set(categories.values()) - left_out
    }
    files = [path for paths in kinds.values() for path in paths[:of_a_kind]]
    with PdfReader(PATIENT) as reader:
        found = dict(reader.read_all(files, Path.read_bytes))
    wrong = {
        path.name: read.status
        for path, read in found.items()
        if read.status not in expected.get(categories[path.name], {read.status})
    }
    assert len(found) == len(files) > len(kinds) > 8 and wrong == {}
    assert not [path.name for path, read in found.items() if read.status in ("timeout", "crashed")]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("share", "every"), [(0.5, 6), *(pytest.param(share, 1, marks=pytest.mark.night) for share in (0.3, 0.5, 0.9))]
)
def test_every_real_paper_that_is_cut_off_is_truncated(share, every):
    files = sorted(real("paper-pdfs").glob("*.pdf"))[::every]

    def cut(path: Path) -> bytes:
        data = path.read_bytes()
        return data[: int(share * len(data))]

    with PdfReader(PATIENT) as reader:
        found = {path.name: read.status for path, read in reader.read_all(files, cut)}
    assert len(found) == len(files) > 4
    assert {name: status for name, status in found.items() if status != "truncated"} == {}

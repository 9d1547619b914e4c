"""``gre-bench papers``, as a user runs them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gre_bench.core.records import Edition
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.snapshot import make_snapshot
from gre_bench.tasks.steps import read_papers
from tests.cli.calling import call
from tests.conftest import ROOT, SIXTEEN
from tests.ingest.pdf.hiding import PHRASE, with_hidden
from tests.ingest.pdf.layouts import Press, front

PAPER = SIXTEEN / "pdfs" / "s01.pdf"


def of_tables() -> bytes:
    """A paper of little text and long tables."""
    press = Press()
    front(press, "Tables and Nothing Else")
    press.heading("1 Introduction")
    press.running(2)
    for number in range(4):
        press.table(str(number), "figures of the cohort", rows=45)
    return press.made().data


def test_parse_prints_statuses_and_texts_and_ends_with_2_where_one_file_is_not_sound(tmp_path):
    code, out, err = call("papers", "parse", PAPER)
    assert code == 0, err
    assert f"{PAPER}: ok, 3 pages" in out and "1,274  kept" in out and "all words" in out
    assert "Trust Before Speed" in out and "Learning-rate warmup is used" in out
    page, cut, tables = (tmp_path / f"{name}.pdf" for name in ("saved", "cut", "tables"))
    page.write_text("<!doctype html><title>Verifying your browser</title>")
    cut.write_bytes(PAPER.read_bytes()[:5000])
    tables.write_bytes(of_tables())
    code, out, _ = call("papers", "parse", "--json", page, PAPER, cut)
    found = json.loads(out)
    assert (code, [row["status"] for row in found]) == (2, ["not_a_pdf", "ok", "truncated"])
    assert found[1]["text"] and found[1]["findings"] == []
    assert [page["page"] for page in found[1]["words"]] == [1, 2, 3] and found[1]["words"][0]["words"]["kept"] > 400
    code, out, _ = call("papers", "parse", "--quiet", tables)
    assert code == 2, out
    assert "doubtful" in out and "most words are dropped" in out and "figures and tables" in out


def test_audit_lists_what_is_hidden_and_draws_the_page(tmp_path):
    paper = tmp_path / "doubtful.pdf"
    paper.write_bytes(with_hidden(PAPER.read_bytes(), "white"))
    code, out, err = call("papers", "audit", paper, "--out", tmp_path / "seen", "--json")
    assert code == 0, err
    found = json.loads(out)
    (finding,) = found["findings"]
    assert (finding["kind"], finding["text"], finding["page"]) == ("pale", PHRASE, 1) and finding["instructs"]
    assert found["pictures"] == [str(tmp_path / "seen" / "page-001.png")]
    page = (tmp_path / "seen" / "index.html").read_text()
    assert PHRASE in page and "page-001.png" in page and Path(found["pictures"][0]).stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("parse", "nowhere.pdf"), "cannot read nowhere.pdf"),
        (("audit", "P1"), "no editions in"),
        (("audit", "missing.pdf"), "missing.pdf"),
    ],
)
def test_what_is_not_there_is_one_line(arguments, told, tmp_path):
    code, _, err = call("papers", *arguments, *(("--state", tmp_path) if arguments[0] == "audit" else ()))
    assert code == 2 and told in err and err.count("\n") <= 1


def test_papers_of_a_snapshot_are_read_with_their_status_and_remarks(tmp_path):
    notes = read_notes_file(SIXTEEN / "notes.jsonl")
    ids = [note["id"] for note in notes if note["id"] == note.get("forum")][:3]
    given = {
        ids[0]: PAPER.read_bytes(),
        ids[1]: with_hidden(PAPER.read_bytes(), "tiny"),
        ids[2]: PAPER.read_bytes()[:9000],
    }
    files = {}
    for paper_id, data in given.items():
        files[paper_id] = tmp_path / f"{paper_id}.pdf"
        files[paper_id].write_bytes(data)
    folder = tmp_path / "frozen"
    make_snapshot(folder, Edition("SAMPLE", 2026), notes, pdfs=files, texts={}, source="test")
    rows = {row["paper_id"]: row for row in read_papers(str(folder), [*ids, "unknown"])}
    assert [rows[paper_id]["status"] for paper_id in ids] == ["ok", "ok", "truncated"]
    assert rows[ids[0]]["text"] == rows[ids[1]]["text"] and rows[ids[2]]["text"] is None
    assert rows[ids[0]]["notes"] == [] and any("too small to be seen" in note for note in rows[ids[1]]["notes"])
    assert any("end of the file" in note for note in rows[ids[2]]["notes"]) and "unknown" not in rows
    assert [rows[paper_id]["words"][0][0] for paper_id in ids] == [1, 1, 1]
    assert rows[ids[1]]["words"][0][1]["hidden"] == len(PHRASE.split())


def test_a_refresh_reports_doubtful_papers_and_texts_shows_where_their_words_went(tmp_path):
    pdfs = tmp_path / "pdfs"
    shutil.copytree(PAPER.parent, pdfs)
    doubtful, cut = sorted(pdfs.glob("*.pdf"))[:2]
    doubtful.write_bytes(of_tables())
    cut.write_bytes(cut.read_bytes()[:9000])
    state = ("--state", tmp_path / "state")
    sources = ("--set", f"sources.pdfs={pdfs}", "--set", 'scoring.metrics=["gem"]')
    code, out, err = call("refresh", "--settings", ROOT / "deployments" / "demo.toml", *sources, "--no-prefect", *state)
    assert code == 0, out + err
    assert f"papers read with status doubtful: 1 (text in use), first {doubtful.stem}" in out
    assert f"papers read with status truncated: 1 (without text), first {cut.stem}" in out
    code, out, _ = call("papers", "texts", *state)
    assert code == 0 and "1 pdf: doubtful" in out and "references" in out
    rows = {row["paper_id"]: row for row in json.loads(call("papers", "texts", "--json", *state)[1])}
    assert len(rows) == 16
    for row in rows.values():
        counts = [count for page in row["by_page"] for count in page["words"].values()]
        assert sum(counts) == row["kept"] + row["dropped"] + row["hidden"] == row["words"]
    assert rows[doubtful.stem]["status"] == "doubtful" and rows[doubtful.stem]["characters"]
    assert rows[doubtful.stem]["kept"] < rows[doubtful.stem]["dropped"]

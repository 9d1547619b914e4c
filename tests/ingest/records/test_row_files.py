"""The one reader of rows: every format gives the same rows, and what cannot be read is one line that names the place."""

from __future__ import annotations

import gzip
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.core.errors import SourceError
from gre_bench.ingest.records import row_files
from gre_bench.ingest.records.cells import ImportResult
from gre_bench.ingest.records.row_files import read_notes_file, read_paper_texts, read_rows, read_rows_without_refusals
from tests.one_line import one_line

PACKED = gzip.compress(b'{"id": 1}\n' * 9, mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        *((name, None, "no file ") for name in ("rows.jsonl", "rows.jsonl.gz", "rows.parquet")),
        ("rows.xlsx", b"a,b", "rows.xlsx has columns and no row"),
        ("rows.xlsx", b"PK\x03\x04 but not really", "rows.xlsx cannot be read as .xlsx: File is not a zip file"),
        ("rows.csv", b"%PDF-1.7", "rows.csv is a PDF"),
        ("rows.xls", b"\xd0\xcf\x11\xe0\xa1", "rows.xls is an old or encrypted Excel file; save it as .xlsx"),
        ("rows.csv", b"a\x00b", "rows.csv is not a table, JSON, Parquet or .xlsx file"),
        ("rows.csv", b"", "rows.csv is empty: no row in it"),
        ("rows.jsonl", b"", "rows.jsonl is empty: no row in it"),
        ("rows.csv", b"a,b\n", "rows.csv has columns and no row"),
        ("rows.csv", b"a,b,b\np,x,y\n", "rows.csv: two columns have the same name"),
        ("rows.csv", b"paper_id;review\n", "rows.csv has columns and no row"),
        ("rows.csv", b"paper_id,review;x\np1,a;b\n", "rows.csv: commas or semicolons may separate its columns"),
        ("rows.csv", b"paper_id,review\np1,fine\np2,caf\xe9\x81\n", "rows.csv: line 3 is not UTF-8; save the file as UTF-8"),
        ("rows.csv", "paper_id,review\np1,论文缺少基线\n".encode("gb18030"), "rows.csv: line 2 is not UTF-8; save the file"),
        ("rows.csv", b'item_id,review,grade\np,"x', "rows.csv cannot be read as CSV"),
        ("rows.csv", b"a,b\n1,2\n1,2,3\n", "rows.csv, row 2: it has 3 cells, and the heading has 2"),
        ("rows.csv.gz", b"item_id,review,grade\n", "rows.csv.gz cannot be read as CSV"),
        ("rows.parquet", b"PAR1 but not really", "rows.parquet cannot be read as parquet"),
        ("rows.parquet", b"", "rows.parquet cannot be read as parquet"),
        ("rows.jsonl", b'{"id": 1}\n\n{"id"\n', "rows.jsonl, line 3: not JSON"),
        ("rows.jsonl", b'{"id": 1}\n[2]\n', "rows.jsonl, line 2: not a JSON object"),
        ("rows.jsonl", b'{"id": "\xff"}\n', "rows.jsonl, line 1: not JSON"),
        ("rows.jsonl", b"[" * 100_000, "rows.jsonl, line 1: not JSON"),
        ("rows.jsonl", b"<html>\n", "rows.jsonl, line 1: not JSON"),
        ("rows.json", b"{}", "rows.json holds no array"),
        ("rows.jsonl.gz", b'{"id": 1}\n', "rows.jsonl.gz cannot be read after line 0"),
        ("rows.jsonl.gz", PACKED[:-6], "rows.jsonl.gz cannot be read after line"),
        ("rows.jsonl.gz", PACKED[:10] + b"\xff\xff", "rows.jsonl.gz cannot be read after line 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with one_line(says, kind=SourceError):
        read_rows_without_refusals(tmp_path / name)


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(str.strip)


@given(st.lists(st.tuples(TEXTS, st.integers(0, 9), st.floats(1, 10)), min_size=1, max_size=6))
@settings(max_examples=20)
def test_the_same_rows_in_every_format_are_the_same(tmp_path_factory, cells):
    rows = [{"paper_id": f"0{text[:3]}", "review": f'{text},\n"{text}"', "n": n, "x": x} for text, n, x in cells]
    folder, table = tmp_path_factory.mktemp("same"), pd.DataFrame(rows)
    table.to_csv(folder / "r.csv", index=False)
    table.to_csv(folder / "r.tsv", index=False, sep="\t")
    table.to_parquet(folder / "r.parquet")
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "r.jsonl").write_text(f"\n{lines}  \n\n")
    (folder / "r.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "r.json").write_text(json.dumps(rows))

    def read_here(read, files):
        """A process for each Parquet file would take a second."""
        return [(file, read(file)) for file in files]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_files, "read_files_in_child_process", read_here)
        for name in ("r.csv", "r.tsv", "r.parquet", "r.jsonl", "r.jsonl.gz", "r.json"):
            found = [row for _, row in read_rows(folder / name, ImportResult())[0]]
            if name in ("r.csv", "r.tsv"):
                found = [row | {"n": int(row["n"]), "x": float(row["x"])} for row in found]
            assert found == rows


def test_a_row_of_too_many_cells_is_refused_and_the_rest_read_and_notes_are_json_lines_alone(tmp_path):
    (tmp_path / "g.csv").write_bytes('\ufeffid,review\np1,"one, two\nthree"\np1,x,extra\n\np1,last\n'.encode())
    imported = ImportResult()
    rows, columns = read_rows(tmp_path / "g.csv", imported)
    assert ([row["review"] for _, row in rows], columns) == (["one, two\nthree", "last"], ["id", "review"])
    assert [(one.number, one.reason) for one in imported.refusals] == [(2, "it has 3 cells, and the heading has 2")]
    notes = [{"id": "r1", "content": {"review": {"value": "Nice\u2028one \ud800 \x00"}}}, {"no": "forum"}]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    assert read_notes_file(tmp_path / "notes.jsonl") == notes
    with pytest.raises(SourceError, match=r"^notes\.json: expected \.jsonl or \.jsonl\.gz"):
        read_notes_file(tmp_path / "notes.json")


@pytest.mark.parametrize(("column", "name"), [("text", "t.parquet"), ("markdown", "t.jsonl")])
def test_texts_are_read_by_paper(tmp_path, column, name):
    texts = (("a", "A.\n"), ("b", None), ("c", " \n"), ("a", "A.\n"))
    table = pd.DataFrame([{"paper_id": paper, column: text, "venue": "x"} for paper, text in texts])
    if name == "t.parquet":
        table.to_parquet(tmp_path / name)
    else:
        table.to_json(tmp_path / name, orient="records", lines=True)
    assert read_paper_texts(tmp_path / name) == {"a": "A.\n"}


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"paper_id": "a", "body": "x"}], "t.jsonl, row 1: paper 'a' has neither text nor markdown"),
        ([{"text": "x"}], "t.jsonl, row 1: paper_id is missing"),
        ([{"paper_id": "a", "text": 3}], "t.jsonl, row 1: the text of paper 'a' is not valid text"),
        ([{"paper_id": "a", "text": "\ud800"}], "t.jsonl, row 1: the text of paper 'a' is not valid text"),
        ([{"paper_id": "\ud800", "text": "x"}], "t.jsonl, row 1: the text of paper '\\ud800' is not valid text"),
        ([{"paper_id": "a", "text": text} for text in "xy"], "t.jsonl, row 2: paper 'a' occurs twice, with different texts"),
    ],
)  # fmt: skip
def test_texts_that_cannot_be_used_are_refused_in_one_line(tmp_path, rows, says):
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(SourceError) as error:
        read_paper_texts(tmp_path / "t.jsonl")
    assert str(error.value) == says

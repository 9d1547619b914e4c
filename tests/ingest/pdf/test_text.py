"""PDFs as text: the sample papers against their sources, then the parts, then files that are no papers."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.ingest.pdf.extraction import read_pdf, sort_in_reading_order
from gre_bench.ingest.pdf.hidden import detect_hidden_text
from gre_bench.ingest.pdf.matter import extract_abstract
from gre_bench.ingest.pdf.paragraphs import (
    FontMetrics,
    Paragraph,
    count_row_words,
    drop_formula_and_table_fragments,
    join_rows_into_one_line,
    measure_font_metrics,
    reads_as_prose,
)
from gre_bench.ingest.pdf.rows import TextLine, is_footnote_mark, read_page
from gre_bench.ingest.pdf.text import PdfText, SuspectText, sum_by_fate
from tests.conftest import ROOT, real, script
from tests.ingest.pdf.reading import QUICK, read_of

SAMPLE = ROOT / "data" / "sample"
PAPERS = sorted((SAMPLE / "sources").glob("s??.md"))[:16]
NUMBERED = {"s03", "s07", "s10", "s11", "s14", "s15"}


def made(name: str) -> PdfText:
    return read_of(SAMPLE / "pdfs" / f"{name}.pdf")


@cache
def source(path: Path) -> dict[str, str]:
    title, abstract, rest = re.fullmatch(
        r"# (.+?)\n+## Abstract\n+(.+?)\n+(## .+)", path.read_text().strip(), re.S
    ).groups()
    body, references, appendix = re.split(r"\n## (?:References|A Additional details)\n", rest)
    return {"title": title, "abstract": abstract, "body": body, "references": references, "appendix": appendix}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def captions(text: str) -> list[str]:
    return re.findall(r"^(?:Figure|Table) \d+:.*$", text, re.M)


def without_captions(text: str) -> list[str]:
    return words(re.sub(r"^(?:Figure|Table) \d+:.*$", "", text, flags=re.M))


def rows(*texts: str) -> list[TextLine]:
    return [
        TextLine(text, 72, 100 + 12 * place, 300, 110 + 12 * place, 10, 10, False, False, 0, 0, 72, 300)
        for place, text in enumerate(texts)
    ]


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
class TestASamplePaper:
    def test_gives_back_its_body_in_order_and_title_and_abstract_but_for_hyphens_at_line_ends(self, path):
        got = made(path.stem)
        expected, found = without_captions(source(path)["body"]), without_captions(got.text)
        blocks = difflib.SequenceMatcher(None, expected, found, autojunk=False).get_matching_blocks()
        assert sum(block.size for block in blocks) >= 0.995 * max(len(expected), len(found))
        assert got.status == "ok" and got.notes == ()
        assert got.title.casefold() == source(path)["title"].casefold()
        assert got.abstract.replace("-", "") == source(path)["abstract"].replace("-", "")

    def test_keeps_each_caption_and_heading_on_its_own_line_and_each_paragraph_in_one_piece(self, path):
        got, expected = (sorted(captions(text)) for text in (made(path.stem).text, source(path)["body"]))
        assert [re.sub(r"\W", "", caption) for caption in got] == [re.sub(r"\W", "", caption) for caption in expected]
        lines = {line.casefold() for line in made(path.stem).text.split("\n")}
        headings = [heading.casefold() for heading in re.findall(r"^#+ (.+)$", source(path)["body"], re.M)]
        assert headings and set(headings) <= lines
        got = {re.sub(r"\W", "", paragraph).casefold() for paragraph in made(path.stem).text.split("\n\n")}
        paragraphs = re.split(r"\n+", re.sub(r"^#.*$", "", source(path)["body"], flags=re.M).strip())
        kept = [re.sub(r"\W", "", paragraph).casefold() in got for paragraph in paragraphs]
        assert sum(kept) >= 0.95 * len(kept)

    def test_loses_its_references_and_its_appendix(self, path):
        text, body = (" ".join(words(text)) for text in (made(path.stem).text, source(path)["body"]))
        for part in ("references", "appendix"):
            cut = words(source(path)[part])
            runs = {" ".join(cut[place : place + 6]) for place in range(len(cut) - 5)}
            assert not [run for run in runs if run in text and run not in body]
        gone = sum_by_fate(made(path.stem).words)
        listed = len(source(path)["references"].split())
        assert listed < gone["references"] <= listed + 4, "words broken at the ends of lines count twice"
        assert gone["appendices"] >= len(source(path)["appendix"].split())

    def test_loses_headers_numbers_of_pages_and_lines_labels_of_its_figure_cells_of_its_table_and_ligatures(self, path):
        got = made(path.stem)
        assert "Do not distribute" not in got.text and "double-blind" not in got.text
        gone = sum_by_fate(got.words)
        assert gone["page numbers"] == got.pages and gone["headers and footers"] == 11 * got.pages
        assert ("line numbers" in gone) == (path.stem in NUMBERED)
        assert not re.search(r"\b\d{3}\b \d{3}\b", got.text)
        assert gone["figures and tables"] >= 4
        assert not re.search("[\ufb00-\ufb06\u00ad]", got.text + got.abstract)


def test_the_sample_pdfs_are_what_their_sources_make():
    make_pdfs = script("make_pdfs")
    sources = sorted((SAMPLE / "sources").glob("s??.md"))
    assert len(sources) == 30
    for path in sources:
        data = (SAMPLE / "pdfs" / f"{path.stem}.pdf").read_bytes()
        assert make_pdfs.typeset(path) == data, f"run python data/sample/make_pdfs.py: {path.stem}.pdf is out of date"
        assert len(data) < 60_000


@pytest.mark.parametrize(
    ("lines", "elsewhere", "expected"),
    [
        (("the repre-", "sentation is"), (), "the representation is"),
        (("a well-", "known fact"), (), "a well-known fact"),
        (("state-of-", "the-art models"), (), "state-of-the-art models"),
        (("with pre-", "training on"), ("pre-training", "pre-training"), "with pre-training on"),
        (("with pre-", "training on"), ("pretraining",), "with pretraining on"),
        (("by Smith-", "Waterman"), (), "by Smith-Waterman"),
        (("SOLV-", "ING PDES"), (), "SOLVING PDES"),
        (("range 3-", "5 holds"), (), "range 3-5 holds"),
        (("a soft\u00ad", "ware"), (), "a software"),
        (("\ufb01nd the e\ufb00ect",), (), "find the effect"),
        (("one -", "two"), (), "one - two"),
    ],
)
def test_a_word_broken_at_the_end_of_a_line_is_mended(lines, elsewhere, expected):
    assert join_rows_into_one_line(rows(*lines), count_row_words(rows(*elsewhere, *lines))) == expected


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12), max_size=6))
def test_joining_never_leaves_a_line_break_or_a_control_character(texts):
    joint = join_rows_into_one_line(rows(*texts), count_row_words(rows(*texts)))
    assert not re.search(r"[\x00-\x1f]", joint)


@given(st.binary(max_size=2000))
def test_bytes_that_do_not_begin_as_a_pdf_are_not_a_pdf(data):
    if b"%PDF-" not in data[:1024]:
        assert read_pdf(data).status == "not_a_pdf"


@cache
def opening() -> bytes:
    with pymupdf.open(SAMPLE / "pdfs" / "s05.pdf") as document:
        document.select([0])
        return document.tobytes(garbage=3, no_new_id=True)


@given(st.data())
@settings(max_examples=40)
def test_a_paper_with_bytes_overwritten_or_cut_off_always_has_a_status(data):
    paper = bytearray(opening())
    for _ in range(data.draw(st.integers(0, 5))):
        paper[data.draw(st.integers(8, len(paper) - 1))] = data.draw(st.integers(0, 255))
    got = read_pdf(bytes(paper[: data.draw(st.integers(0, len(paper)))]))
    assert got.status in ("ok", "repaired", "truncated", "not_a_pdf", "encrypted", "empty")
    if got.status in ("ok", "repaired"):
        assert got.pages == 1 and (got.text or got.title or got.abstract)


FIRST = (SAMPLE / "pdfs" / "s01.pdf").read_bytes()


def without_text() -> bytes:
    with pymupdf.open() as document:
        document.new_page()
        return document.tobytes()


def encrypted(**passwords: str) -> bytes:
    with pymupdf.open(stream=FIRST) as document:
        return document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner", **passwords)


def with_a_hole_in_the_contents_of_a_page() -> bytes:
    with pymupdf.open(stream=FIRST) as document:
        data = document.tobytes(deflate=True)
    start = max(re.finditer(rb"stream\r?\n(.*?)endstream", data, re.S), key=lambda found: len(found[1])).start(1)
    return data[: start + 400] + bytes(200) + data[start + 600 :]


def pictures() -> bytes:
    with pymupdf.open(stream=FIRST) as paper, pymupdf.open() as scan:
        for page in paper:
            scan.new_page(width=612, height=792).insert_image((0, 0, 612, 792), pixmap=page.get_pixmap(dpi=60))
        return scan.tobytes()


WRONG_TABLE = FIRST.rindex(b"startxref") + 10
FILES = {
    "no bytes": (lambda: b"", "not_a_pdf", "begin as a PDF"),
    "a web page": (lambda: b"<!doctype html><html><body>429 Too Many</body></html>", "not_a_pdf", "begin as a"),
    "a web page that begins as a PDF": (lambda: b"%PDF-1.4\n<html>Not found</html>", "not_a_pdf", "no object"),
    "a document without text": (without_text, "empty", "no text"),
    "a document under a password": (lambda: encrypted(user_pw="reader"), "encrypted", "a password"),
    "an end pasted on after a cut": (lambda: FIRST[: len(FIRST) // 2] + b"\ntrailer\n%%EOF\n", "truncated", ""),
    "a hole": (with_a_hole_in_the_contents_of_a_page, "truncated", "is damaged"),
    "a document of pictures": (pictures, "scanned", ""),
    **{
        f"{share} of a file": (
            lambda share=share: FIRST[: int(share * len(FIRST))],
            "truncated",
            "the end of the file is",
        )
        for share in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
    },
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_whole_paper_has_a_status_with_a_note_and_no_usable_text(name):
    make, status, said = FILES[name]
    got = read_pdf(make())
    assert (got.status, got.usable) == (status, None) and said in "\n".join(got.notes)


def test_a_document_anyone_may_open_is_read_though_encrypted_and_one_with_errors_or_a_wrong_table_is_repaired():
    assert read_pdf(encrypted()).text == made("s01").text
    got = read_pdf(FIRST.replace(b" Tj", b" T<", 3))
    assert got.status == "repaired" and any("syntax" in note for note in got.notes)
    got = read_pdf(FIRST[:WRONG_TABLE] + b"7" + FIRST[WRONG_TABLE + 1 :])
    assert got.status == "repaired" and got.text == got.usable == made("s01").text


def test_only_as_many_pages_are_read_as_asked_for_and_what_was_read_travels_as_json():
    got = read_pdf(FIRST, max_pages=1)
    assert got.status == "too_long" and got.pages == 1 and got.notes == ("only 1 of 3 pages were read",)
    assert made("s01").text.startswith(got.text[:1000])
    got = replace(made("s02"), findings=(SuspectText("pale", 2, (1.0, 2.0, 3.0, 4.0), "x", "rule"),))
    assert PdfText.from_json(json.loads(json.dumps(got.to_json()))) == got


@pytest.mark.shared
@pytest.mark.parametrize("some", [QUICK, pytest.param(slice(None), marks=pytest.mark.night)])
def test_every_real_paper_gives_a_title_and_a_long_body(some):
    files = sorted(real("paper-pdfs").glob("*.pdf"))[some]
    assert len(files) > (2 if some is QUICK else 25)
    found = {file.name: read_of(file) for file in files}
    assert {got.status for got in found.values()} == {"ok"}
    assert [name for name, got in found.items() if not got.title or len(got.text.split()) < 2000] == []
    assert [name for name, got in found.items() if "references" not in sum_by_fate(got.words)] == []
    assert sum(got.abstract is not None for got in found.values()) >= 0.85 * len(files)


def test_the_marks_of_footnotes_do_not_stick_to_words_and_exponents_stay():
    with pymupdf.open(SAMPLE / "pdfs" / "s01.pdf") as document:
        page = document[1]
        page.insert_text((108, 60), "a wholly new remark", fontsize=9)
        page.insert_text((108 + pymupdf.get_text_length("a wholly new remark", fontsize=9), 57), "7", fontsize=5)
        page.insert_text((300, 60), "x", fontsize=9)
        page.insert_text((304.6, 57), "2", fontsize=5)
        sight = detect_hidden_text(page, 2)
        read = read_page(sight, 0, 2, (612, 792))
    line = " ".join(row.text for row in sort_in_reading_order([read]) if "remark" in row.text)
    assert "remark7" not in line and "remark" in line and "x2" in line


@pytest.mark.parametrize(
    ("mark", "before", "expected"),
    [("4", "our baseline", True), ("12", "the end.", True), ("∗", "Smith", True), ("2", "x", False),
     ("2", "(1 + k)", False), ("2", "log", False), ("th", "the fourth", False), ("3", "the 10", False),
     ("123", "reference", False)],
)  # fmt: skip
def test_a_footnote_mark_is_told_from_an_exponent(mark, before, expected):
    assert is_footnote_mark(mark, before) is expected


@pytest.mark.parametrize(
    ("texts", "debris"),
    [(("(3)",), True), (("j=1 i=1",), True), (("\uf8ec \uf8f7 W \uf8ec b \uf8f7",), True), (("end for",), True),
     (("Q1 5.8 28.8 6.7 28.8 Q2 2.8 2.6 3.5 2.0 Q3 2.2",), True), (("This gives",), False),
     (("It rose from 3.1 to 4.5 and 5.6 over 7 years in 12 of 14 countries, 2 of 3 in 2010 and 2011",), False),
     (("L = sum over all pairs (i, j) of the squared distance between the two",), False)],
)  # fmt: skip
def test_scraps_of_formulas_and_tables_are_dropped_and_sentences_kept(texts, debris):
    part = Paragraph("text", rows(*texts))
    heading = Paragraph("heading", rows(*texts))
    drop_formula_and_table_fragments([part, heading])
    assert {row.fate for row in part.rows} == {"scraps" if debris else None}
    assert {row.fate for row in heading.rows} == {None}


def test_an_abstract_without_a_heading_is_the_longest_paragraph_before_the_introduction():
    sentence = "We study how often readers notice a claim in the abstract of a paper they read"
    sentences = [f"{sentence} and", f"{sentence[0].lower()}{sentence[1:]}."] * 3
    heads = [("A Study of Nothing", 20, False), *((text, 10, False) for text in sentences)]
    lines = [*heads, ("1 Introduction", 12, True), ("Reading is done.", 10, False)]
    made_up = [
        replace(row, x1=470 if size == 10 else 200, size=size, peak=size, bold=bold, right=470)
        for row, (_, size, bold) in zip(rows(*(text for text, _, _ in lines)), lines, strict=True)
    ]
    notes: list[str] = []
    abstract = extract_abstract(made_up[1:], measure_font_metrics(made_up), count_row_words(made_up), [792.0], notes)
    assert abstract == " ".join(sentences)
    assert [row.fate for row in made_up] == [None, *["kept"] * 6, None, None]
    assert any("no heading" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "size", "gap", "is_prose"),
    [
        ("we train the model on a set of images and report the mean of five runs in the table", 10.0, 0.5, True),
        ("we train the model on a set of images and report the mean", 10.0, 0.5, False),  # thirteen words
        ("the mean of the a 0.9312 0.8421 0.7711 0.6612 0.5513 of the a in b to c on d 0.4418 0.3321", 10.0, 0.5, False),
        ("we train the model on a set of images and report the mean of five runs in the table", 7.0, 0.5, False),
        ("accuracy precision recall baseline ours resnet vgg densenet adam sgd dropout batch depth width epochs", 10.0, 0.5, False),
    ],
)  # fmt: skip
def test_rows_are_prose_if_they_are_enough_words_of_the_running_text(text, size, gap, is_prose):
    row = SimpleNamespace(text=text, size=size, gap=gap)
    assert reads_as_prose([row], FontMetrics(10.0, 12.0)) is is_prose


def test_a_notice_at_the_end_of_a_column_of_the_first_page_is_no_part_of_the_abstract():
    def row(text: str, y: float, column: int) -> TextLine:
        left = 72 + 240 * column
        bold = text in ("Abstract", "1 Introduction")
        width = 60 if bold else 228
        return TextLine(text, left, y, left + width, y + 10, 10, 10, bold, False, 0, 0, left, left + 228, column)

    found = extract_abstract(
        [
            row("Abstract", 100, 0),
            row("We train a small model on reviews, and measure what a", 112, 0),
            row("Copyright 2024 by the authors of this paper", 700, 0),
            row("review of it tells of another one.", 100, 1),
            row("1 Introduction", 140, 1),
            row("Reviews of papers are long.", 152, 1),
        ],
        FontMetrics(10.0, 12.0), Counter(), [800.0], [],
    )  # fmt: skip
    assert found == "We train a small model on reviews, and measure what a review of it tells of another one."

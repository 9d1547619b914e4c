"""No word of a paper is lost in silence: known text comes back from every layout, and each page's words add up."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter

import numpy as np
import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.ingest.pdf.extraction import read_pdf
from gre_bench.ingest.pdf.hidden import read_glyphs
from gre_bench.ingest.pdf.text import (
    FATES,
    PageWordCounts,
    PdfText,
    format_ranges,
    list_completeness_doubts,
    sum_by_fate,
)
from tests.conftest import SIXTEEN, real
from tests.ingest.pdf.hiding import PHRASE, with_hidden
from tests.ingest.pdf.layouts import LAYOUTS, Press, contents, front, paragraph
from tests.ingest.pdf.reading import QUICK, compared, read_layout, read_of, words

SAMPLES = sorted((SIXTEEN / "pdfs").glob("s??.pdf"))
THESES = [name for name in LAYOUTS if name.startswith("thesis, contents")]


def whole(read: PdfText) -> str:
    return f"{read.title or ''}\n\n{read.abstract or ''}\n\n{read.text}"


def words_on_pages(data: bytes) -> list[int]:
    """Words of each page, counted on their own: runs without white on a line that have a letter or digit."""
    counts = []
    with pymupdf.open(stream=data, filetype="pdf") as document:
        for page in document:
            lines = [line for block in read_glyphs(page).blocks for line in block["lines"]]
            texts = ["".join(char["c"] for span in line["spans"] for char in span["chars"]) for line in lines]
            counts.append(sum(any(map(str.isalnum, word)) for text in texts for word in text.split()))
    return counts


# The same contents pages are read in short reports below; a thesis of each kind costs four seconds.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.night] if name in THESES[2:] else []) for name in LAYOUTS]
)
class TestALayout:
    def test_gives_back_its_words_in_order_and_nothing_of_its_end_and_is_not_doubtful(self, name):
        paper, read = read_layout(name)
        found = compared(paper, whole(read))
        assert found.recall >= (0.98 if paper.columns == 1 else 0.96)
        assert (found.inversions, found.left) == (0, 0)
        assert read.status == "ok" and read.pages == len(read.words)

    def test_accounts_for_the_words_of_every_page(self, name):
        paper, read = read_layout(name)
        assert [page.total for page in read.words] == words_on_pages(paper.data)
        assert "unaccounted" not in sum_by_fate(read.words)
        kept = len([word for word in whole(read).split() if any(map(str.isalnum, word))])
        # A word broken at the end of a line was two; text said twice (the title of slides) is kept twice.
        assert 0.94 * sum_by_fate(read.words)["kept"] <= kept <= sum_by_fate(read.words)["kept"]


@given(st.data())
@settings(max_examples=8)
def test_whatever_is_set_on_a_page_every_word_has_a_fate(data):
    """Lines of any size at any place, some turned, some white, some off the page."""
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    with pymupdf.open() as document:
        for _ in range(data.draw(st.integers(1, 2))):
            page = document.new_page()
            for _ in range(data.draw(st.integers(0, 40))):
                words_of = ["References", "Table 1:", "a", "12", "•", "= 3", *paragraph(rng.randint(1, 99)).split()]
                text = " ".join(rng.choices(words_of, k=rng.randint(1, 14)))
                page.insert_text(
                    (rng.uniform(-50, 600), rng.uniform(-20, 820)), text, fontsize=rng.choice([0.4, 5, 8, 10, 10, 10, 14]),
                    rotate=rng.choice([0, 0, 0, 0, 90, 270, 180]), color=rng.choice([(0, 0, 0), (0, 0, 0), (1, 1, 1)]),
                )  # fmt: skip
        given_data = document.tobytes()
    read = read_pdf(given_data)
    assert [page.total for page in read.words] == words_on_pages(given_data)
    assert "unaccounted" not in sum_by_fate(read.words)
    assert all(set(page.words) <= set(FATES) for page in read.words)


def test_hidden_words_are_counted_apart_and_a_word_is_hidden_where_no_letter_of_it_is_seen():
    hiding = with_hidden(SAMPLES[0].read_bytes(), "white")
    before, after = sum_by_fate(read_of(SAMPLES[0]).words), sum_by_fate(read_pdf(hiding).words)
    assert after.pop("hidden") == len(PHRASE.split()) and before == after
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((72, 72), "one two . . . . three-four 5 =")
        glyphs = read_glyphs(page)
    hidden = np.array([letter in "otnet5" for letter in glyphs.text])
    seen, unseen = glyphs.count_words_by_line(hidden, np.zeros_like(hidden))
    # "one" has no letter left, "two" its w.
    assert (seen.sum(), unseen.sum()) == (2, 2)


@pytest.mark.parametrize("style", ["plain", "bold", "dotted", "plain unnumbered", "bold unnumbered"])
def test_an_entry_of_references_in_the_contents_of_a_short_report_is_no_end(style):
    press = Press()
    front(press, "A Report on Ledgers")
    contents(press, style, ["Scope", "Findings", "References"], sections=4)
    for name in ("1 Scope", "2 Findings"):
        press.section(name, 3, first=10 * int(name[0]))
    press.references(5)
    paper = press.made()
    read = read_pdf(paper.data)
    assert compared(paper, whole(read)).recall == 1.0 and read.status == "ok"
    assert sum_by_fate(read.words)["table of contents"] >= 11


def contents_without_a_heading_of_their_own(press: Press) -> None:
    front(press, "A Report on Panels")
    for entry in ("Introduction", "Method", "References", "Appendix A"):
        press.lines(entry, "B")
    for name in ("1 Introduction", "2 Method"):
        press.section(name, 4)
    press.references(5)


def a_heading_of_references_that_no_references_follow(press: Press) -> None:
    front(press, "On References")
    press.section("References", 5)


def text_before_an_introduction_on_the_second_page(press: Press) -> None:
    front(press, "An Essay without an Abstract", abstract=False)
    press.running(7)
    press.section("Background", 4)
    press.references(6)


def a_row_that_begins_with_abstract(press: Press) -> None:
    front(press, "Trees", abstract=False)
    press.running(2)
    press.lines("Abstract interpretation is none of what we do in this report of a careful cohort, and")
    press.lines("it ends here.")
    press.running(2)


ODD = (
    contents_without_a_heading_of_their_own, a_heading_of_references_that_no_references_follow,
    text_before_an_introduction_on_the_second_page, a_row_that_begins_with_abstract,
)  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.__name__)
def test_nothing_is_lost_for(odd):
    press = Press()
    odd(press)
    paper = press.made()
    assert compared(paper, whole(read_pdf(paper.data))).recall == 1.0


def test_captions_alike_at_the_head_of_pages_are_no_headers():
    press = Press()
    press.page()
    for number in range(4):
        press.table(str(number), "results of the same cohort")
        press.running(4)
        press.page()
    press.running(2, 30)
    got = words(read_pdf(press.made().data).text)
    assert Counter(got)["cohort"] >= 4 and " ".join(got).count("results of the same cohort") == 4


def counts(**fates: int) -> PageWordCounts:
    return PageWordCounts(1, {fate.replace("_", " "): count for fate, count in fates.items()})


@pytest.mark.parametrize(
    ("pages", "doubtful"),
    [
        ([counts(kept=9000, references=1500, appendices=20_000)], False),
        ([counts(kept=9000, references=1500, appendices=90_000)], True),
        ([counts(kept=646, references=17_818)], True),
        ([counts(kept=9, references=1043)], True),
        ([counts(kept=700, references=300, appendices=300)], False),
        ([counts(kept=3000, figures_and_tables=3500)], True),
        ([counts(kept=3000, figures_and_tables=2500, line_numbers=900)], False),
        ([counts(kept=3000), counts(references=400, headers_and_footers=20)], False),
        ([counts(kept=3000), counts(references=19, headers_and_footers=11, line_numbers=56)], False),
        ([counts(kept=3000), counts(figures_and_tables=400)], True),
        ([counts(kept=3000), counts(hidden=400)], True),
        ([counts(kept=3000), counts(turned=15)], False),
        ([counts(kept=3000, unaccounted=1)], True),
        ([counts(line_numbers=56)], False),
        ([], False),
    ],
)  # fmt: skip
def test_a_text_is_doubtful_where_most_of_it_is_gone_or_a_page_without_a_reason(pages, doubtful):
    assert bool(list_completeness_doubts(pages)) is doubtful
    assert all("\n" not in line for line in list_completeness_doubts(pages))


@given(st.lists(st.dictionaries(st.sampled_from(sorted(FATES)), st.integers(1, 9999)), max_size=5))
def test_doubts_never_fail_and_totals_keep_every_word(fates):
    pages = [PageWordCounts(number, words) for number, words in enumerate(fates, 1)]
    assert sum(sum_by_fate(pages).values()) == sum(page.total for page in pages)
    assert isinstance(list_completeness_doubts(pages), list)


def test_a_paper_of_which_most_is_dropped_is_doubtful_and_its_text_still_usable_and_pages_are_shown_as_ranges():
    assert [format_ranges(numbers) for numbers in ([], [3], [1, 2, 3, 7, 9, 10])] == ["", "3", "1-3, 7, 9-10"]
    press = Press()
    front(press, "Tables and Nothing Else")
    press.running(2, words=40)
    for number in range(4):
        press.table(str(number), "figures of the cohort", rows=45)
    read = read_pdf(press.made().data)
    assert read.status == "doubtful" and read.usable == read.text
    assert any("most words are dropped" in note for note in read.notes)


@pytest.mark.shared
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext (poppler-utils) is not installed")
@pytest.mark.parametrize("some", [QUICK, pytest.param(slice(None), marks=pytest.mark.night)])
def test_what_a_real_paper_keeps_and_drops_is_what_pdftotext_finds(some):
    for path in sorted(real("paper-pdfs").glob("*.pdf"))[some]:
        data, read = path.read_bytes(), read_of(path)
        assert [page.total for page in read.words] == words_on_pages(data), path.name
        assert "unaccounted" not in sum_by_fate(read.words), path.name
        other = subprocess.run(["pdftotext", "-q", str(path), "-"], capture_output=True, check=True).stdout.decode()
        found = Counter(words(other))
        ours = Counter(words(whole(read)))
        # What we give back is on the pages for another reader too; words mended at line ends are not.
        assert (ours & found).total() >= 0.93 * ours.total(), path.name
        assert 0.9 < len(other.split()) / max(sum(sum_by_fate(read.words).values()), 1) < 1.6, path.name

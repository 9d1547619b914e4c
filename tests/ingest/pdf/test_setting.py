"""Papers whose text is drawn twice, or is in a script that sets no blanks between words, are read as any other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import pymupdf
import pytest

from gre_bench.ingest.pdf.extraction import read_pdf
from gre_bench.ingest.pdf.hidden import find_repeated_characters, read_glyphs
from gre_bench.ingest.pdf.matter import parse_abstract_and_body
from gre_bench.ingest.pdf.paragraphs import FontMetrics, find_running_text, join_rows_into_one_line, reads_as_prose
from gre_bench.ingest.pdf.rows import TextLine
from gre_bench.ingest.pdf.text import PdfText, count_words, sum_by_fate
from tests.conftest import SIXTEEN

GREY, BLACK = (0.6, 0.6, 0.6), (0.0, 0.0, 0.0)
ONCE = ((0.0, 0.0, BLACK, 0),)
Drawn = Sequence[tuple[float, float, tuple[float, float, float], int]]
"""How often a text is drawn: each time with a shift to the right and down in points, a colour and a render mode."""


class Sheet:
    """Pages of lines, one below the other; headings are drawn as *heads* says, and the rest as *rest* says."""

    def __init__(self, font: str = "tiro", heads: Drawn = ONCE, rest: Drawn = ONCE):
        self.document, self.font, self.heads, self.rest = pymupdf.open(), font, heads, rest
        self.y = 1000.0

    def line(self, text: str, size: float = 10, drawn: Drawn | None = None) -> None:
        if self.y > 700:
            self.page, self.y = self.document.new_page(width=612, height=792), 72.0
        for right, down, colour, mode in drawn or self.rest:
            at = (72 + right, self.y + down)
            self.page.insert_text(at, text, fontsize=size, fontname=self.font, color=colour, render_mode=mode)
        self.y += 1.25 * size

    def head(self, text: str, size: float = 12) -> None:
        self.y += 8
        self.line(text, size, self.heads)
        self.y += 2


def paper(heads: Drawn = ONCE, rest: Drawn = ONCE) -> bytes:
    sheet = Sheet("tiro", heads, rest)
    sheet.head("A Study of that that Small Steps Do", 17)
    sheet.line("A. Nobody")
    sheet.head("Abstract")
    for number in range(5):
        sheet.line(
            f"We study step {number} and find that the error of the model is small and that it is stable for all."
        )
    for name in ("1 Introduction", "2 Method"):
        sheet.head(name)
        for number in range(12):
            sheet.line(
                f"Line {name[0]}{number:02} says that that will fall when the ||weights|| and the rates of all are well..."
            )
    sheet.head("References")
    for number in range(8):
        sheet.line(
            f"[{number}] A. Writer{number}. A note on step sizes {number}. In Proc. of Things, pp. 1-9, {1999 + number}."
        )
    return sheet.document.tobytes()


@cache
def plain() -> PdfText:
    return read_pdf(paper())


def shifted(*shifts: float, colours: Sequence[tuple[float, float, float]] = (BLACK,) * 4) -> Drawn:
    return [(shift, 0.5 * shift * (GREY in colours), colour, 0) for shift, colour in zip(shifts, colours, strict=False)]


@pytest.mark.parametrize(
    ("drawn", "parts"),
    [
        (shifted(0, 0), ("heads", "all")),
        (shifted(0, 0.3), ("heads", "all")),
        (shifted(0, 0.8), ("heads", "all")),
        (shifted(0, -0.8), ("heads",)),
        (shifted(0, 0.4, 0.8), ("heads",)),
        (shifted(0.8, 0, colours=(GREY, BLACK)), ("heads",)),
        (shifted(0, 0.8, colours=(BLACK, GREY)), ("heads",)),
        ([(0, 0, BLACK, 2)], ("heads", "all")),
        ([(0, 0, BLACK, 0), (0, 0, BLACK, 1)], ("heads", "all")),
    ],
    ids=["0", "0.3", "0.8", "left", "thrice", "shadow", "shadow later", "outline", "filled, then stroked"],
)  # fmt: skip
def test_text_that_is_drawn_twice_to_look_bold_is_read_once(drawn, parts):
    assert plain().abstract and plain().abstract.startswith("We study") and "Writer" not in plain().text
    assert plain().title == "A Study of that that Small Steps Do"
    for part in parts:
        read = read_pdf(paper(drawn, drawn if part == "all" else ONCE))
        assert (read.title, read.abstract, read.text) == (plain().title, plain().abstract, plain().text)
        assert (read.status, sum_by_fate(read.words), read.findings) == ("ok", sum_by_fate(plain().words), ())


@cache
def piecewise(pieces: str, *shifts: float) -> PdfText:
    """A sample paper set again: each of the *pieces* of a line, a pattern, is drawn at all *shifts* before the next."""
    with pymupdf.open(SIXTEEN / "pdfs" / "s03.pdf") as paper, pymupdf.open() as again:
        for page in paper:
            shape = again.new_page(width=612, height=792).new_shape()
            for block in page.get_text("rawdict", flags=pymupdf.TEXTFLAGS_TEXT)["blocks"]:
                for span in (span for line in block["lines"] for span in line["spans"]):
                    for piece in re.finditer(pieces, "".join(char["c"] for char in span["chars"])):
                        x, y = span["chars"][piece.start()]["origin"]
                        for shift in shifts:
                            shape.insert_text((x + shift, y), piece[0], fontsize=span["size"], fontname="tiro")
            shape.commit()
        return read_pdf(again.tobytes())


@pytest.mark.parametrize("shift", [0, 0.2, 0.4, 0.6, 0.8])
def test_text_whose_every_word_is_drawn_twice_before_the_next_is_read_once(shift):
    once, twice = piecewise(r"\S+", 0), piecewise(r"\S+", 0, shift)
    assert (twice.title, twice.abstract, twice.text) == (once.title, once.abstract, once.text)
    assert (twice.status, sum_by_fate(twice.words), twice.findings) == ("ok", sum_by_fate(once.words), ())


def test_text_whose_every_letter_is_drawn_thrice_before_the_next_is_read_once():
    once, thrice = piecewise(r"\S", 0), piecewise(r"\S", 0, 0.4, 0.8)
    assert (thrice.title, thrice.abstract, thrice.text) == (once.title, once.abstract, once.text)


def test_a_page_that_is_drawn_twice_is_read_once():
    with pymupdf.open(stream=paper()) as once, pymupdf.open() as twice:
        for page in once:
            sheet = twice.new_page(width=612, height=792)
            for shift in (0, 0.5):
                sheet.show_pdf_page(pymupdf.Rect(shift, shift, 612 + shift, 792 + shift), once, page.number)
        read = read_pdf(twice.tobytes())
    assert (read.abstract, read.text) == (plain().abstract, plain().text)


def test_letters_and_signs_that_stand_close_are_no_copies():
    with pymupdf.open() as document:
        page = document.new_page()
        for number, text in enumerate(("ill", "that that", "1111", "......", "the norm |")):
            page.insert_text((72, 72 + 20 * number), text, fontsize=10, fontname="helv")
        for shift in (1.1, 2.2):  # the bars of a norm, set by themselves
            page.insert_text(
                (72 + pymupdf.get_text_length("the norm ", "helv", 10) + shift, 152), "|", fontsize=10, fontname="helv"
            )
        glyphs = read_glyphs(page)
        assert "|||" in glyphs.text
        assert not find_repeated_characters(glyphs, glyphs.painted).any()


ZH = "本文研究大模型训练中的小步长问题并给出一种简单的方法实验表明该方法在四个数据集上误差较小而且稳定"
JA = "本研究では大きな模型の学習における小さな歩幅の問題を扱い四つの集合で誤差が小さく安定する方法を示す"
KO = "본 연구에서는 큰 모형의 학습에서 작은 걸음의 문제를 다루고 네 자료에서 오차가 작고 안정된 방법을 보인다 "
ENGLISH = ("Abstract", "1 Introduction", "2 Method", "References")


@pytest.mark.parametrize(
    ("font", "text", "heads", "caption"),
    [
        ("china-s", ZH, ENGLISH, "Figure 1: 误差与步长"),
        ("china-s", ZH, ("摘要", "1 引言", "2 方法", "参考文献"), "图 1 误差与步长"),
        ("china-s", ZH, ("摘 要", "一、引言", "二、方法", "参考文献"), "图1：误差与步长"),
        ("japan", JA, ENGLISH, "Figure 1: 誤差と歩幅"),
        ("japan", JA, ("概要", "1 はじめに", "2 手法", "参考文献"), "図 1: 誤差と歩幅"),
        ("korea", KO, ENGLISH, "Figure 1: 오차와 걸음"),
        ("korea", KO, ("초록", "1 서론", "2 방법", "참고문헌"), "그림 1. 오차와 걸음"),
    ],
    ids=["zh, English", "zh", "zh, unspaced", "ja, English", "ja", "ko, English", "ko"],
)  # fmt: skip
def test_a_paper_in_an_east_asian_script_keeps_its_lines_beside_a_caption(font, text, heads, caption):
    sheet, numbers = Sheet(font), iter(range(100, 200))

    def lines(count: int) -> None:
        for number in (next(numbers) for _ in range(count)):
            start = number % len(text)
            sheet.line(f"{number}{(text[start:] + text)[:42]}。")

    sheet.line(text[:14], 17)
    sheet.line("A. B.")
    for place, head in enumerate(heads[:3]):
        sheet.head(head)
        lines(12)
        if place == 1:
            for label in ("0.1", "0.2"):
                sheet.line(label, 6)
            sheet.y += 40
            sheet.line(caption, 9)
            sheet.y += 8
            lines(6)
    sheet.head(heads[3])
    for number in range(8):
        sheet.line(f"[{number}] Writer{number}. {text[:9]}. {text[9:14]}, {1999 + number}, 1-9.")
    read = read_pdf(sheet.document.tobytes())
    assert (read.status, read.title, read.findings) == ("ok", " ".join(text[:14].split()), ())
    assert re.findall(r"1\d\d", read.abstract or "") == [str(number) for number in range(100, 112)]
    assert set(re.findall(r"1\d\d", read.text)) == {str(number) for number in range(112, 142)}
    assert caption in read.text and "Writer" not in read.text
    assert heads[1] in read.text.split("\n\n")


THAI = "การศึกษานี้เกี่ยวกับปัญหาของก้าวเล็กในการฝึกแบบจำลองขนาดใหญ่และเสนอวิธีการที่ง่าย"


def row(text: str, y: float) -> TextLine:
    return TextLine(text, 72, y, 540, y + 10, 10, 10, False, False, 0, 0, 72, 540)


@pytest.mark.parametrize("text", [ZH, JA, THAI])
def test_lines_of_a_script_without_blanks_are_running_text_and_are_joined_without_blanks(text):
    rows = [row(text, 100 + 12 * number) for number in range(4)]
    assert find_running_text(rows, FontMetrics(10, 12)) == [True] * 4
    assert reads_as_prose(rows, FontMetrics(10, 12))
    assert join_rows_into_one_line(rows, words={}) == 4 * text


def test_words_are_pieces_between_blanks_or_as_many_letters_as_a_word_has():
    assert count_words("We report a mean of 0.5 (see §2).") == 8
    assert [count_words(text) for text in ("本文研究大模型", "本文 BERT 模型", "การศึกษานี้", "본 연구에서는")] == [
        4,
        3,
        3,
        2,
    ]


def test_a_text_in_chinese_is_cut_at_its_headings_too():
    body = parse_abstract_and_body(
        f"# 题目\n\n## 摘要\n\n{ZH}。\n\n## 1 引言\n\n{20 * ZH}。\n\n## 参考文献\n\n[1] 张三. 学报, 2019.\n"
    )
    assert body.abstract == f"{ZH}。" and body.text.startswith("## 1 引言") and "张三" not in body.text
    assert not body.doubts

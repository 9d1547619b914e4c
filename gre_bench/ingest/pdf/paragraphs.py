"""Distinguishes headings, captions, footnotes and running text, and joins lines of text (`TextLine`) into paragraphs.

Lines are classified by wording, font and position. A caption or footnote that interrupts a paragraph is moved after the
whole paragraph. Hyphens at the ends of lines are removed, and ligatures are expanded.
"""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from gre_bench.core.resources import load_word_lists
from gre_bench.ingest.pdf.rows import TextLine, set_fate
from gre_bench.ingest.pdf.text import PIECE, UNSPACED, count_words

NUMBER = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,4}\.|[A-Z](?:\.\d{1,2})*[.:]?)\s+|(?:section|appendix)\s+\w{1,3}[.:]?\s*"
    rf"|\d{{1,2}}(?:\.\d{{1,2}}){{0,3}}[.、．]?\s*(?=[{UNSPACED}])|[一二三四五六七八九十]{{1,3}}[、.．]\s*",
    re.I,
)
FIGURE = "fig|图|圖|図|그림|รูป|ภาพ"
CAPTION = re.compile(
    r"(?:figure|fig\.?|table|tab\.|algorithm|listing|scheme)\s*(?:[A-Z]?\.?\d{1,3}[a-z]?|[IVX]{1,5})"
    r"(?:\s*[:.|–—-]|\s+[A-Z(]|\s*$)"
    r"|(?:图|圖|図|그림|รูป(?:ที่)?|ภาพ(?:ที่)?|表|표|ตาราง(?:ที่)?)\s*\d{1,3}(?:[-–.]\d{1,3})?(?:\s*[:：.．|]|\s+\S|\s*$)",
    re.I,
)
BULLET = re.compile(r"(?:[•●◦▪■∙·‣–—*\x00-\x1f\ue000-\uf8ff]|-|\(?(?:\d{1,2}|[ivx]{1,4}|[a-z])[).]|\[\d+\])\s+\S")
MARK = re.compile(r"[∗*†‡§¶]\s?\w")
LISTS = r"参考文献|參考文獻|引用文献|참고\s*문헌|เอกสารอ้างอิง|บรรณานุกรม"
REFERENCES = re.compile(
    rf"references|bibliography|references and notes|literature cited|works cited|references cited|{LISTS}", re.I
)
APPENDIX = re.compile(
    r"(?:(?:technical|supplementary|online|proof)\s+)?append(?:ix|ices)\b.*"
    r"|supplement(?:ary|al)\s+(?:materials?|information)|(?:附\s*录|附\s*錄|付録|부록|ภาคผนวก).*",
    re.I,
)
ABSTRACTS = r"摘\s*要|要旨|概要|초\s*록|요\s*약|บทคัดย่อ"
INTRODUCTIONS = r"引\s*言|前\s*言|绪\s*论|緒\s*論|导\s*论|序\s*論|はじめに|서\s*론|บทนำ"
INTRODUCTION = re.compile(rf"introduction|background|motivation|overview|introduction and .*|{INTRODUCTIONS}", re.I)
KNOWN = re.compile(
    rf"{ABSTRACTS}|{INTRODUCTIONS}|"
    r"abstract|introduction|background|motivation|overview|related works?|previous work|preliminaries|methods?"
    r"|materials and methods|experiments?|evaluation|results|discussions?|results and discussion|limitations"
    r"|conclusions?|concluding remarks|conclusions? and future works?|summary|future work|acknowledge?ments?"
    r"|ethics statement|reproducibility statement|broader impacts?|author contributions",
    re.I,
)
STOPS = ".!?。．！？"
LONG_WORD = re.compile(rf"[^\W\d_]{{3,}}|[{UNSPACED}\uac00-\ud7a3]{{2,}}")
"""Matches a run of letters that is long enough for a word: three, or two in East Asian scripts."""


@dataclass(frozen=True, slots=True)
class FontMetrics:
    """The font size (*size*) and the distance between baselines (*leading*) of a text, both in points."""

    size: float
    leading: float


def measure_font_metrics(rows: Sequence[TextLine]) -> FontMetrics:
    """Returns the font size and leading of the text lines *rows*.

    The size is that of most letters. The leading is the median distance between lines of that size that fill their
    column.
    """
    sizes: Counter[float] = Counter()
    for row in rows:
        sizes[row.size] += len(row.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    near = [row for row in rows if abs(row.size - size) < 0.06 * size and row.filled_share_of_column > 0.8]
    steps = [below.y1 - above.y1 for above, below in pairwise(near) if above.page_and_column == below.page_and_column]
    steps = [step for step in steps if 0.9 * size < step < 2.5 * size]
    return FontMetrics(size, statistics.median(steps) if steps else 1.2 * size)


def is_directly_under(row: TextLine, above: TextLine | None, text_type: FontMetrics) -> bool:
    """Whether the line *row* is directly under the line *above*, in the same column and font size."""
    if above is None or row.page_and_column != above.page_and_column:
        return False
    step = row.y1 - above.y1
    return (
        0 < step < 1.3 * max(text_type.leading * above.size / text_type.size, 1.05 * above.size)
        and abs(row.size - above.size) < 0.08 * above.size
    )


def strip_heading_number(text: str) -> str:
    """Returns the heading *text* without its number and final punctuation; a heading that is only a number is kept."""
    return NUMBER.sub("", text, count=1).strip(" .:—–-") or text.strip(" .:—–-")


def is_heading(row: TextLine, above: TextLine | None, text_type: FontMetrics) -> bool:
    """Whether *row* is a heading, by its wording, number, font (bold, larger, capitals) and distance from *above*."""
    text, name = row.text, strip_heading_number(row.text)
    if row.gap > 4 or not _is_worded_as_heading(text, name):
        return False
    apart = above is None or row.page_and_column != above.page_and_column or row.y1 - above.y1 > 1.2 * text_type.leading
    letters = [letter for letter in name if letter.isalpha()]
    if any(pattern.fullmatch(name) for pattern in (KNOWN, REFERENCES, APPENDIX)):
        like = above is not None and row.bold == above.bold and not row.text.isupper()
        return row.filled_share_of_column < 0.9 and not (like and _continues_sentence(row, above, text_type))
    large = row.bold or row.peak > 1.06 * text_type.size
    capitals = len(letters) >= 4 and sum(letter.isupper() for letter in letters) > 0.9 * len(letters)
    if re.match(r"\d|[A-Z][. ]|[IVX]+\.", text) and NUMBER.match(text):
        dotted = re.match(r"\d+\.\d+", text) is not None
        return not text.endswith((",", ";")) and (
            large or capitals or (dotted and apart and row.filled_share_of_column < 0.8 and text[-1] not in ".:")
        )
    plain = text[-1] not in ".,;:?。，；：？、"
    return (large or (capitals and len(text.split()) > 1)) and apart and row.filled_share_of_column < 0.85 and plain


def _is_worded_as_heading(text: str, name: str) -> bool:
    """Whether *text* is worded like a heading: few words, mostly letters, no lower-case first letter.

    *name*: *text* without the heading's number.
    """
    if not 0 < count_words(text) <= 14 or not LONG_WORD.search(text) or CAPTION.match(text):
        return False
    if not name or name[0].islower():
        return False
    return sum(letter.isalpha() for letter in name) >= 0.6 * len(name.replace(" ", ""))


def _continues_sentence(row: TextLine, above: TextLine | None, text_type: FontMetrics) -> bool:
    """Whether *row* continues a sentence of the line *above*, although it begins like a heading or a caption."""
    if above is None or not is_directly_under(row, above, text_type):
        return False
    return above.filled_share_of_column > 0.85 and above.text[-1] not in f"{STOPS}:："


def starts_caption(row: TextLine, above: TextLine | None, text_type: FontMetrics) -> bool:
    """Whether *row* begins the caption of a figure or table, and is not a sentence that mentions one."""
    match = CAPTION.match(row.text)
    worded = match and not row.text[0].islower() and not match[0][-1].islower()
    return bool(worded) and not _continues_sentence(row, above, text_type)


def continues_caption(row: TextLine, above: TextLine, text_type: FontMetrics) -> bool:
    """Whether *row* continues the caption in the line *above*.

    If that line holds only the label, such as "Table 1", *row* may be farther below.
    """
    label = CAPTION.match(above.text)
    if label and label.end() >= len(above.text) - 1 and row.page_and_column == above.page_and_column:
        return 0 < row.y1 - above.y1 < 2.5 * above.size and row.gap < 2
    return is_directly_under(row, above, text_type)


def find_footnotes(rows: Sequence[TextLine], text_type: FontMetrics, heights: Sequence[float]) -> set[int]:
    """Returns the indices of the lines *rows* that belong to footnotes. *heights*: the heights of the pages, in points.

    Footnotes are at the end of a column, in the lower half of a page, in a small font or after a footnote mark.
    """
    columns: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        columns[row.page_and_column].append(index)
    lower = {index for index, row in enumerate(rows) if row.y0 > 0.5 * heights[row.page]}
    notes = set()
    for indices in columns.values():
        indices.sort(key=lambda index: rows[index].y0)
        start = len(indices)
        while start and rows[indices[start - 1]].size <= 0.93 * text_type.size:
            start -= 1
        for number in range(1, start):
            row, above = rows[indices[number]], rows[indices[number - 1]]
            marked = row.raised or MARK.match(row.text)
            if marked and indices[number] in lower and not is_directly_under(row, above, text_type):
                start = number
                break
        notes |= lower.intersection(indices[start:])
    return notes


FUNCTION_WORDS = frozenset(load_word_lists()["function words"])
SHARE = 0.25
"""The lowest share of function words in running text; figure labels and table cells have fewer."""
SENTENCE = 15
"""A text with fewer words than this is not recognised as prose."""


def find_running_text(rows: Sequence[TextLine], text_type: FontMetrics, captions: Container[int] = ()) -> list[bool]:
    """Returns for each of the lines *rows* whether it is running text.

    A line is running text if it fills its column or stands directly under running text. The last line of a paragraph
    that continues in a new column or page is running text too. *captions*: the indices of caption lines; none of them
    is so continued.
    """
    marks: list[bool] = []
    last: TextLine | None = None
    for index, row in enumerate(rows):
        dense = row.text.replace(" ", "")
        worded = sum(letter.isalpha() for letter in dense) > 0.65 * len(dense) and row.gap < 1.6
        full = worded and row.filled_share_of_column > 0.8 and count_words(row.text) >= 6
        above = rows[index - 1] if index else None
        runs_on = (
            above is not None
            and marks[-1]
            and row.gap < 1.6
            and is_directly_under(row, above, text_type)
            and (abs(row.x0 - above.x0) < 2 or abs(row.x0 - row.left) < 2)
        )
        marks.append(full or runs_on or _ends_open_paragraph(last, row, text_type))
        last = row if marks[-1] and index not in captions else last
    return marks


def reads_as_prose(rows: Sequence[TextLine], text_type: FontMetrics) -> bool:
    """Whether the lines *rows* are sentences in the font size of the running text, whatever the lines' width."""
    text = " ".join(row.text for row in rows)
    words = PIECE.findall(" ".join(re.findall(r"[^\W\d_]+", text.lower())))
    if len(words) < SENTENCE or sum(map(len, words)) < 0.6 * sum(len(row.text.replace(" ", "")) for row in rows):
        return False
    like = sum(len(row.text) for row in rows if abs(row.size - text_type.size) < 0.06 * text_type.size)
    wide = sum(row.gap > 2 for row in rows)
    return (
        like > 0.5 * sum(len(row.text) for row in rows)
        and wide <= 0.3 * len(rows)
        and len(words) >= 4 * len(rows)
        and (
            compute_function_word_share(" ".join(words)) >= SHARE
            or len(re.findall(f"[{UNSPACED}]", text)) > 0.5 * len(text)
        )
    )


def compute_function_word_share(text: str) -> float:
    """Returns the share of function words, such as *the* and *of*, among the words of *text*, from 0 to 1."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    return sum(word in FUNCTION_WORDS for word in words) / max(len(words), 1)


def _ends_open_paragraph(last: TextLine | None, row: TextLine, text_type: FontMetrics) -> bool:
    """Whether *row*, in a new column or on a new page, is the last line of the paragraph that *last* leaves open."""
    if (
        last is None
        or last.filled_share_of_column < 0.8
        or last.text[-1] in f"{STOPS}:;：；"
        or row.text[-1] not in STOPS
        or row.gap > 1.2
    ):
        return False
    return (
        abs(row.x0 - row.left) < 2
        and abs(row.size - text_type.size) < 0.03 * text_type.size
        and row.page_and_column != last.page_and_column
    )


Kind = Literal["heading", "caption", "note", "text"]

MENDED: dict[int, str | None] = {ord(sign): unicodedata.normalize("NFKD", sign) for sign in "ﬀﬁﬂﬃﬄﬅﬆ"}
MENDED |= dict.fromkeys(range(32))
ENDED = re.compile(rf"[{STOPS}:;：；][\"'”’)\]」』]*$")
BROKEN = re.compile(r"([^\W\d_]+)[-\u00ad]$")
SMALL_WORDS = frozenset(load_word_lists()["small words"])
FIRST_PARTS = frozenset(load_word_lists()["first parts"])
_UNSPACED_PAIR = re.compile(rf"[{UNSPACED}\u3000-\u303f\uff00-\uff65]{{2}}")
"""Matches two characters of scripts without spaces; lines that are joined between two such characters get no space."""
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass(slots=True)
class Paragraph:
    """The text lines (*rows*) of one paragraph. *kind*: text, heading, caption or footnote (``note``)."""

    kind: Kind
    rows: list[TextLine]


def split_into_paragraphs(
    rows: Sequence[TextLine], text_type: FontMetrics, heights: Sequence[float]
) -> list[Paragraph]:
    """Groups the lines *rows*, in reading order, into paragraphs. *heights*: the heights of the pages, in points."""
    notes = find_footnotes(rows, text_type, heights)
    parts: list[Paragraph] = []
    current: Paragraph | None = None
    running: Paragraph | None = None
    above: TextLine | None = None
    for index, row in enumerate(rows):
        kind: Kind = "note" if index in notes else "heading" if is_heading(row, above, text_type) else "text"
        kind = "caption" if starts_caption(row, above, text_type) else kind
        if current and _continues_paragraph(current, kind, row, text_type):
            current.rows.append(row)
        elif running and kind == "text" and _resumes_paragraph(running, current, row):
            running.rows.append(row)
            current = running
        else:
            current = Paragraph(kind, [row])
            parts.append(current)
            if kind in ("text", "heading"):
                running = current if kind == "text" else None
        above = row
    return parts


def count_row_words(rows: Sequence[TextLine]) -> Counter[str]:
    """Returns how often each word, in lower case, occurs in the lines *rows*.

    The parts of hyphenated compounds are counted too; words that are broken at the end of a line are not.
    """
    counts: Counter[str] = Counter()
    cut = False
    for row in rows:
        text = _normalise_row_text(row.text).lower()
        for word in WORD.findall(BROKEN.sub("", WORD.sub("", text, count=1) if cut else text)):
            counts[word] += 1
            counts.update(word.split("-") if "-" in word else ())
        cut = BROKEN.search(text) is not None
    return counts


def join_rows_into_one_line(rows: Sequence[TextLine], words: Counter[str]) -> str:
    """Joins the lines *rows* into one line, and rejoins words that are broken between lines.

    *words*: see `count_row_words`.
    """
    text = ""
    for row in rows:
        piece = _normalise_row_text(row.text)
        broken = BROKEN.search(text)
        if not text:
            text = piece
        elif _UNSPACED_PAIR.fullmatch(text[-1] + piece[:1]):
            text += piece
        elif text.endswith("\u00ad"):
            text = text[:-1] + piece
        elif broken and piece[:1].isalpha():
            text = text[:-1] + ("-" if _keeps_hyphen(text, piece, words) else "") + piece
        elif text.endswith(("-", "–", "/")) and not text.endswith((" -", " –", " /")):
            text += piece
        else:
            text = f"{text} {piece}"
    return text.replace("\u00ad", "")


def _normalise_row_text(text: str) -> str:
    return " ".join(text.translate(MENDED).split())


def _keeps_hyphen(text: str, piece: str, words: Counter[str]) -> bool:
    """Whether to keep the hyphen at the end of *text* when *piece*, the text of the next line, is appended.

    The more frequent spelling in *words* (word → count), with or without the hyphen, decides. If neither occurs, the
    two parts of the word decide.
    """
    before = re.search(r"[^\W\d_]+(?:-[^\W\d_]+)*-$", text)
    after = re.match(r"[^\W\d_]+(?:-[^\W\d_]+)*", piece)
    if not before or not after:
        return True
    left, right = before[0][:-1].lower(), after[0].lower()
    if piece[0].isupper() and not before[0][:-1].isupper():
        return True
    whole, hyphened = words[left + right], words[f"{left}-{right}"]
    if whole or hyphened:
        return hyphened > whole
    last, first = left.rsplit("-", 1)[-1], right.split("-", 1)[0]
    if len(last) == 1 or ("-" in left and last in SMALL_WORDS) or (first in SMALL_WORDS and first != right):
        return True
    if last in FIRST_PARTS and len(first) > 4:
        return True
    return words[first] > 0 and len(first) > 3 and ((words[last] > 0 and len(last) > 2) or len(last) > 5)


def _continues_paragraph(current: Paragraph, kind: Kind, row: TextLine, text_type: FontMetrics) -> bool:
    """Whether the line *row*, which is of *kind*, continues the paragraph *current* directly above it."""
    last = current.rows[-1]
    if current.kind == "caption" and last is current.rows[0]:
        return kind != "caption" and continues_caption(row, last, text_type)
    if not is_directly_under(row, last, text_type):
        return False
    if current.kind == "caption":
        return kind in ("text", "note")
    if current.kind == "heading":
        alike = row.bold == last.bold and abs(row.peak - last.peak) < 0.5 and row.text.isupper() == last.text.isupper()
        if KNOWN.fullmatch(strip_heading_number(last.text)):
            return False
        marked = row.bold or row.peak > 1.06 * text_type.size or row.text.isupper()
        return alike and marked and not NUMBER.match(row.text)
    if current.kind != kind:
        return False
    if kind == "note":
        return not re.match(r"[\d*†‡§¶]{1,3}\s?[A-Z]", row.text)
    if BULLET.match(row.text) and (ENDED.search(last.text) or BULLET.match(current.rows[0].text)):
        return False
    listed = BULLET.match(current.rows[0].text) is not None and len(current.rows) == 1
    shift = (row.x0 - last.x0) / text_type.size
    if shift > 0.7 and not listed:
        return not ENDED.search(last.text) and row.text[:1].islower()
    if shift < -0.7 and len(current.rows) > 1:
        return not ENDED.search(last.text)
    short = last.x1 < last.right - 0.12 * (last.right - last.left)
    return not (short and ENDED.search(last.text) and row.text[:1].isupper() and last.filled_share_of_column < 0.85)


def _resumes_paragraph(running: Paragraph, current: Paragraph | None, row: TextLine) -> bool:
    """Whether *row* continues the paragraph *running* after a break.

    The break is a new column or page, or the caption or footnote *current*.
    """
    last = running.rows[-1]
    if current is running and last.page_and_column == row.page_and_column:
        return False
    if BULLET.match(row.text) or abs(row.size - last.size) > 0.08 * last.size:
        return False
    if BROKEN.search(last.text):
        return True
    if row.text[:1].islower() or (not ENDED.search(last.text) and last.filled_share_of_column > 0.8):
        return True
    # A full line that ends a sentence may end the paragraph, but if the next line is flush left, it rarely does.
    full = last.x1 > last.right - 0.02 * (last.right - last.left)
    return (
        full
        and row.x0 < row.left + 0.5 * row.size
        and row.page_and_column != last.page_and_column
        and last.text[-1] != ":"
    )


FUNCTIONS = frozenset(load_word_lists()["function names"])
BRACKET_PIECES = re.compile("[\uf8e5-\uf8ff]")
SHORT = 40
"""A line without words is dropped if it has at most this many characters; a longer one may be a whole formula."""
FIGURES = 8
"""A paragraph of mostly numbers is dropped as part of a table if it has at least this many numbers."""


def drop_formula_and_table_fragments(parts: Sequence[Paragraph]) -> None:
    """Drops text paragraphs that are only pieces of formulas or tables, without sentences."""
    for part in parts:
        text = " ".join(row.text for row in part.rows)
        words = [word for word in LONG_WORD.findall(text) if word.lower() not in FUNCTIONS]
        pieces = not words and (len(text) <= SHORT or BRACKET_PIECES.search(text))
        tokens = text.split()
        figures = sum(re.fullmatch(r"[-−+±@]?[\d.,]+%?\*?", token) is not None for token in tokens)
        if part.kind == "text" and (pieces or (figures >= FIGURES and figures > 0.6 * len(tokens))):
            set_fate(part.rows, "scraps")

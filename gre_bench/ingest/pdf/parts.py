"""Recognises headings, captions and footnotes by the wording, type and position of their rows."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gre_bench.ingest.pdf.rows import Row

NUMBER = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,4}\.|[A-Z](?:\.\d{1,2})*[.:]?)\s+|(?:section|appendix)\s+\w{1,3}[.:]?\s*",
    re.I,
)
CAPTION = re.compile(
    r"(?:figure|fig\.?|table|tab\.|algorithm|listing|scheme)\s*(?:[A-Z]?\.?\d{1,3}[a-z]?|[IVX]{1,5})"
    r"(?:\s*[:.|–—-]|\s+[A-Z(]|\s*$)",
    re.I,
)
BULLET = re.compile(r"(?:[•●◦▪■∙·‣–—*\x00-\x1f\ue000-\uf8ff]|-|\(?(?:\d{1,2}|[ivx]{1,4}|[a-z])[).]|\[\d+\])\s+\S")
MARK = re.compile(r"[∗*†‡§¶]\s?\w")
REFERENCES = re.compile(
    r"references|bibliography|references and notes|literature cited|works cited|references cited", re.I
)
APPENDIX = re.compile(
    r"(?:(?:technical|supplementary|online|proof)\s+)?append(?:ix|ices)\b.*"
    r"|supplement(?:ary|al)\s+(?:materials?|information)",
    re.I,
)
INTRODUCTION = re.compile(r"introduction|background|motivation|overview|introduction and .*", re.I)
KNOWN = re.compile(
    r"abstract|introduction|background|motivation|overview|related works?|previous work|preliminaries|methods?"
    r"|materials and methods|experiments?|evaluation|results|discussions?|results and discussion|limitations"
    r"|conclusions?|concluding remarks|conclusions? and future works?|summary|future work|acknowledge?ments?"
    r"|ethics statement|reproducibility statement|broader impacts?|author contributions",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a text: *size* is its font size, and *leading* the distance between base lines; both in points."""

    size: float
    leading: float


def type_of(rows: Sequence[Row]) -> Type:
    """Returns the type of *rows*: the font size of most letters, and the median step of full consecutive rows in it."""
    sizes: Counter[float] = Counter()
    for row in rows:
        sizes[row.size] += len(row.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    near = [row for row in rows if abs(row.size - size) < 0.06 * size and row.filled > 0.8]
    steps = [below.y1 - above.y1 for above, below in pairwise(near) if above.page_and_column == below.page_and_column]
    steps = [step for step in steps if 0.9 * size < step < 2.5 * size]
    return Type(size, statistics.median(steps) if steps else 1.2 * size)


def follows(row: Row, above: Row | None, text_type: Type) -> bool:
    """Whether *row* is directly under the row *above*, in the same column and font size."""
    if above is None or row.page_and_column != above.page_and_column:
        return False
    step = row.y1 - above.y1
    return (
        0 < step < 1.3 * max(text_type.leading * above.size / text_type.size, 1.05 * above.size)
        and abs(row.size - above.size) < 0.08 * above.size
    )


def bare(text: str) -> str:
    """Returns the *text* of a heading without its number and closing punctuation; a mere number is kept."""
    return NUMBER.sub("", text, count=1).strip(" .:—–-") or text.strip(" .:—–-")


def is_heading(row: Row, above: Row | None, text_type: Type) -> bool:
    """Whether *row* is a heading: by its wording, or by its number and type (bold, larger or in capitals)."""
    text, name = row.text, bare(row.text)
    if row.gap > 4 or not _words_as_heading(text, name):
        return False
    apart = above is None or row.page_and_column != above.page_and_column or row.y1 - above.y1 > 1.2 * text_type.leading
    letters = [letter for letter in name if letter.isalpha()]
    if any(pattern.fullmatch(name) for pattern in (KNOWN, REFERENCES, APPENDIX)):
        return row.filled < 0.9 and not _runs_on(row, above, text_type)
    large = row.bold or row.peak > 1.06 * text_type.size
    capitals = len(letters) >= 4 and sum(letter.isupper() for letter in letters) > 0.9 * len(letters)
    if re.match(r"\d|[A-Z][. ]|[IVX]+\.", text) and NUMBER.match(text):
        dotted = re.match(r"\d+\.\d+", text) is not None
        return not text.endswith((",", ";")) and (
            large or capitals or (dotted and apart and row.filled < 0.8 and text[-1] not in ".:")
        )
    return (large or (capitals and len(text.split()) > 1)) and apart and row.filled < 0.85 and text[-1] not in ".,;:?"


def _words_as_heading(text: str, name: str) -> bool:
    """Whether *text*, *name* without its number, is worded like a heading: few words, mostly letters, a capital."""
    if not 0 < len(text.split()) <= 14 or not re.search(r"[^\W\d_]{3}", text) or CAPTION.match(text):
        return False
    if not name or not (name[0].isupper() or not name[0].isalpha()):
        return False
    return sum(letter.isalpha() for letter in name) >= 0.6 * len(name.replace(" ", ""))


def _runs_on(row: Row, above: Row | None, text_type: Type) -> bool:
    """Whether *row* continues a sentence of the row *above* in the same type, although it begins as a heading does."""
    if (
        above is None
        or row.page_and_column != above.page_and_column
        or row.bold != above.bold
        or not follows(row, above, text_type)
    ):
        return False
    return above.filled > 0.85 and above.text[-1] not in ".!?:" and not row.text.isupper()


def starts_caption(row: Row, above: Row | None, text_type: Type) -> bool:
    """Whether *row* opens the caption of a figure or table, and is no sentence that mentions one."""
    match = CAPTION.match(row.text)
    if not match or not row.text[0].isupper() or match[0][-1].islower():
        return False
    runs_on = (
        follows(row, above, text_type) and above is not None and above.filled > 0.85 and above.text[-1] not in ".!?:"
    )
    return not runs_on


def goes_on(row: Row, above: Row, text_type: Type) -> bool:
    """Whether *row* continues the caption of the row *above*, which lies further from a bare label."""
    label = CAPTION.match(above.text)
    if label and label.end() >= len(above.text) - 1 and row.page_and_column == above.page_and_column:
        return 0 < row.y1 - above.y1 < 2.5 * above.size and row.gap < 2
    return follows(row, above, text_type)


def footnotes(rows: Sequence[Row], text_type: Type, heights: Sequence[float]) -> set[int]:
    """Returns the indices of those *rows* that belong to footnotes; *heights* are those of the pages, in points.

    Footnotes stand at the end of a column, in the lower half of a page. They are in small type, or begin with a mark.
    """
    columns: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        columns[row.page_and_column].append(index)
    notes = set()
    for indices in columns.values():
        indices.sort(key=lambda index: rows[index].y0)
        start = len(indices)
        while start and rows[indices[start - 1]].size <= 0.93 * text_type.size:
            start -= 1
        marked = (
            number
            for number, index in enumerate(indices)
            if number
            and (rows[index].raised or MARK.match(rows[index].text))
            and not follows(rows[index], rows[indices[number - 1]], text_type)
        )
        start = min(
            start,
            next(
                (number for number in marked if rows[indices[number]].y0 > 0.5 * heights[rows[indices[number]].page]),
                start,
            ),
        )
        notes |= {index for index in indices[start:] if rows[index].y0 > 0.5 * heights[rows[index].page]}
    return notes


FUNCTION_WORDS = frozenset([
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "before", "between",
    "both", "but", "by", "can", "could", "did", "do", "does", "each", "either", "for", "from", "had", "has", "have",
    "how", "however", "if", "in", "into", "is", "it", "its", "may", "more", "most", "no", "not", "of", "on", "one",
    "only", "or", "other", "our", "over", "same", "should", "since", "so", "some", "such", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "under", "until", "upon",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "will", "with", "within", "without",
    "would", "you",
])  # fmt: skip
"""Frequent English words without content, which sentences need."""
SHARE = 0.25
"""The lowest share of function words in running text; labels of figures and cells of tables have fewer."""
SENTENCE = 15
"""How many words are needed to recognise running text."""


def prose(rows: Sequence[Row], text_type: Type, captions: Container[int] = ()) -> list[bool]:
    """Returns for each of *rows* whether it is running text.

    Running text is a row that fills its column, a row directly under such text, or the last row of an interrupted
    paragraph. No later row continues a caption, whose rows have the indices *captions*.
    """
    marks: list[bool] = []
    last: Row | None = None
    for index, row in enumerate(rows):
        dense = row.text.replace(" ", "")
        worded = sum(letter.isalpha() for letter in dense) > 0.65 * len(dense) and row.gap < 1.6
        full = worded and row.filled > 0.8 and len(row.text.split()) >= 6
        above = rows[index - 1] if index else None
        runs_on = (
            above is not None
            and marks[-1]
            and row.gap < 1.6
            and follows(row, above, text_type)
            and (abs(row.x0 - above.x0) < 2 or abs(row.x0 - row.left) < 2)
        )
        marks.append(full or runs_on or _ends(last, row, text_type))
        last = row if marks[-1] and index not in captions else last
    return marks


def reads_as_prose(rows: Sequence[Row], text_type: Type) -> bool:
    """Whether *rows* are sentences in the size of the running text, whatever their width."""
    words = re.findall(r"[^\W\d_]+", " ".join(row.text for row in rows).lower())
    if len(words) < SENTENCE or sum(map(len, words)) < 0.6 * sum(len(row.text.replace(" ", "")) for row in rows):
        return False
    like = sum(len(row.text) for row in rows if abs(row.size - text_type.size) < 0.06 * text_type.size)
    wide = sum(row.gap > 2 for row in rows)
    return (
        like > 0.5 * sum(len(row.text) for row in rows)
        and wide <= 0.3 * len(rows)
        and len(words) >= 4 * len(rows)
        and function_words(" ".join(words)) >= SHARE
    )


def function_words(text: str) -> float:
    """Returns the share of function words, such as *the* and *of*, among the words of *text*, from 0 to 1."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    return sum(word in FUNCTION_WORDS for word in words) / max(len(words), 1)


def _ends(last: Row | None, row: Row, text_type: Type) -> bool:
    """Whether *row* ends a paragraph that *last*, the last row of running text before a float or break, left open."""
    if last is None or last.filled < 0.8 or last.text[-1] in ".!?:;" or row.text[-1] not in ".!?" or row.gap > 1.2:
        return False
    return (
        abs(row.x0 - row.left) < 2
        and abs(row.size - text_type.size) < 0.03 * text_type.size
        and row.page_and_column != last.page_and_column
    )

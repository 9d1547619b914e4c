"""Classifies a row of a paper by wording, type and position: heading, caption, footnote."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
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
    """The running text of a paper: its size and the distance of its baselines, in points."""

    size: float
    leading: float


def type_of(rows: Sequence[Row]) -> Type:
    """Returns the size that most letters have, and the usual distance of two full rows of that size."""
    sizes: Counter[float] = Counter()
    for row in rows:
        sizes[row.size] += len(row.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    near = [row for row in rows if abs(row.size - size) < 0.06 * size and row.filled > 0.8]
    steps = [below.y1 - above.y1 for above, below in pairwise(near) if above.place == below.place]
    steps = [step for step in steps if 0.9 * size < step < 2.5 * size]
    return Type(size, statistics.median(steps) if steps else 1.2 * size)


def follows(row: Row, above: Row | None, usual: Type) -> bool:
    """Whether *row* is directly under *above*, in the same column and size."""
    if above is None or row.place != above.place:
        return False
    step = row.y1 - above.y1
    return (
        0 < step < 1.3 * max(usual.leading * above.size / usual.size, 1.05 * above.size)
        and abs(row.size - above.size) < 0.08 * above.size
    )


def bare(text: str) -> str:
    """Returns a heading's *text* without number and closing punctuation; a text that is only a number stays."""
    return NUMBER.sub("", text, count=1).strip(" .:—–-") or text.strip(" .:—–-")


def is_heading(row: Row, above: Row | None, usual: Type) -> bool:
    """Whether *row* is a heading: by its wording, or by number and type (bold, larger or in capitals)."""
    text, name = row.text, bare(row.text)
    if row.gap > 4 or not _words_as_heading(text, name):
        return False
    apart = above is None or row.place != above.place or row.y1 - above.y1 > 1.2 * usual.leading
    letters = [letter for letter in name if letter.isalpha()]
    if any(pattern.fullmatch(name) for pattern in (KNOWN, REFERENCES, APPENDIX)):
        return row.filled < 0.9 and not _runs_on(row, above, usual)
    large = row.bold or row.peak > 1.06 * usual.size
    capitals = len(letters) >= 4 and sum(letter.isupper() for letter in letters) > 0.9 * len(letters)
    if re.match(r"\d|[A-Z][. ]|[IVX]+\.", text) and NUMBER.match(text):
        dotted = re.match(r"\d+\.\d+", text) is not None
        return not text.endswith((",", ";")) and (
            large or capitals or (dotted and apart and row.filled < 0.8 and text[-1] not in ".:")
        )
    return (large or (capitals and len(text.split()) > 1)) and apart and row.filled < 0.85 and text[-1] not in ".,;:?"


def _words_as_heading(text: str, name: str) -> bool:
    """Whether *text*, with *name* after its number, has the words of a heading: few, of letters, with a capital."""
    if not 0 < len(text.split()) <= 14 or not re.search(r"[^\W\d_]{3}", text) or CAPTION.match(text):
        return False
    if not name or not (name[0].isupper() or not name[0].isalpha()):
        return False
    return sum(letter.isalpha() for letter in name) >= 0.6 * len(name.replace(" ", ""))


def _runs_on(row: Row, above: Row | None, usual: Type) -> bool:
    """Whether *row* is set like the row above it and continues its sentence, such as "Appendix B gives."."""
    if above is None or row.place != above.place or row.bold != above.bold or not follows(row, above, usual):
        return False
    return above.filled > 0.85 and above.text[-1] not in ".!?:" and not row.text.isupper()


def starts_caption(row: Row, above: Row | None, usual: Type) -> bool:
    """Whether *row* opens the caption of a figure or table, and is no sentence that mentions one."""
    found = CAPTION.match(row.text)
    if not found or not row.text[0].isupper() or found[0][-1].islower():
        return False
    runs_on = follows(row, above, usual) and above is not None and above.filled > 0.85 and above.text[-1] not in ".!?:"
    return not runs_on


def goes_on(row: Row, above: Row, usual: Type) -> bool:
    """Whether *row* continues a caption; the title may be further away after a bare "TABLE II"."""
    label = CAPTION.match(above.text)
    if label and label.end() >= len(above.text) - 1 and row.place == above.place:
        return 0 < row.y1 - above.y1 < 2.5 * above.size and row.gap < 2
    return follows(row, above, usual)


def footnotes(rows: Sequence[Row], usual: Type, heights: Sequence[float]) -> set[int]:
    """Returns the indices of rows that end a column in small type, or after a footnote's mark."""
    columns: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        columns[row.place].append(place)
    found = set()
    for places in columns.values():
        places.sort(key=lambda place: rows[place].y0)
        start = len(places)
        while start and rows[places[start - 1]].size <= 0.93 * usual.size:
            start -= 1
        marked = (
            number
            for number, place in enumerate(places)
            if number
            and (rows[place].raised or MARK.match(rows[place].text))
            and not follows(rows[place], rows[places[number - 1]], usual)
        )
        start = min(
            start,
            next(
                (number for number in marked if rows[places[number]].y0 > 0.5 * heights[rows[places[number]].page]),
                start,
            ),
        )
        found |= {place for place in places[start:] if rows[place].y0 > 0.5 * heights[rows[place].page]}
    return found

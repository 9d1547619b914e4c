"""Finds title, abstract and body of a paper; drops front and back matter, tables of contents, and figures and tables.

For PDFs, the rules use the font, position and wording of each line of text (`TextLine`). To keep or drop a line is to
set its *fate*. For a user's text in Markdown or plain text, `parse_abstract_and_body` uses only the headings.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from gre_bench.ingest.pdf.paragraphs import (
    ABSTRACTS,
    APPENDIX,
    BULLET,
    FIGURE,
    INTRODUCTION,
    INTRODUCTIONS,
    KNOWN,
    LISTS,
    NUMBER,
    REFERENCES,
    STOPS,
    FontMetrics,
    Paragraph,
    compute_function_word_share,
    continues_caption,
    find_running_text,
    is_directly_under,
    is_heading,
    join_rows_into_one_line,
    measure_font_metrics,
    reads_as_prose,
    split_into_paragraphs,
    starts_caption,
    strip_heading_number,
)
from gre_bench.ingest.pdf.rows import TextLine, list_undecided_rows, set_fate
from gre_bench.ingest.pdf.text import UNSPACED, PageWordCounts, count_words, list_completeness_doubts

ABSTRACT = re.compile(
    rf"(?:A(?:bstract|BSTRACT)(?:\b|(?=[{UNSPACED}]))|(?:{ABSTRACTS})(?=\W|$))\s*"
    rf"(?:[.:：—–-]+\s*|[】\]]\s*|$|(?=[A-Z\d\W{UNSPACED}]))"
)
"""Matches the heading of the abstract, alone or followed by the first words of the abstract."""
KEYWORDS = re.compile(
    r"(?:key\s?words(?: and phrases)?|index terms|ccs concepts|categories and subject|general terms"
    r"|acm reference|contents)\b|关\s*键\s*词|關\s*鍵\s*詞|キーワード|키워드|핵심어|주제어|คำสำคัญ",
    re.I,
)
LONGEST_ABSTRACT = 600
"""An abstract has at most this many words; any further words count as body."""
FEWEST_PROSE_WORDS = 50
"""An abstract without a heading, or a long paragraph of prose, has at least this many words."""
NOTICE = re.compile(r"appearing in|(?:in )?proceedings of|(?:©|c⃝|copyright)|permission to (?:make|copy)", re.I)


def find_title_rows(rows: Sequence[TextLine], height: float) -> list[TextLine]:
    """Keeps and returns the lines of the title: those in the largest font in the upper half of the first page."""
    upper = [row for row in rows if row.page == 0 and row.y0 < 0.55 * height and len(row.text) > 3]
    largest = max((row.size for row in upper), default=0.0)
    title = [row for row in upper if row.size > 0.94 * largest]
    title = [row for row in title if row.y0 - title[0].y0 < 0.2 * height][:5]
    title = title if len(title) < len(rows) else []
    set_fate(title, "kept")
    return title


def extract_abstract(
    rows: Sequence[TextLine], text_type: FontMetrics, words: Counter[str], heights: Sequence[float], notes: list[str]
) -> str | None:
    """Keeps the abstract of a paper, and drops everything else before its body, such as authors and keywords.

    Returns the text of the abstract; None if it was not found. The body begins at the first section. Later steps decide
    whether its lines are kept. Long paragraphs of prose before the first section belong to the body as well. Adds one
    line to *notes* for each doubt. *words*: how often each word occurs in the paper; used to rejoin hyphenated words.
    """
    every, rows = rows, _remove_notices(rows, text_type)
    early = [index for index, row in enumerate(rows) if row.page < 2]
    opening = next((index for index in early if ABSTRACT.match(rows[index].text)), None)
    heads = [index for index in early if is_heading(rows[index], rows[index - 1] if index else None, text_type)]
    if opening is None:
        first = next((index for index in heads if INTRODUCTION.fullmatch(strip_heading_number(rows[index].text))), 0)
        abstract, inside = _find_abstract_without_heading(rows[:first], words, heights, notes)
        _drop_front_matter(inside, first, every, rows, text_type, heights)
        return abstract
    closing = _find_abstract_end(rows, opening, heads, notes)
    inside = [row for row in rows[opening:closing] if row.page > 0 or row.y0 > rows[opening].y0 - 1]
    parts = [
        part
        for part in split_into_paragraphs(inside, measure_font_metrics(inside), heights)
        if part.kind in ("text", "heading")
    ]
    parts = _limit_abstract_length(parts, notes)
    inside = [row for part in parts for row in part.rows]
    abstract = ABSTRACT.sub("", " ".join(join_rows_into_one_line(part.rows, words) for part in parts), count=1)
    first = closing
    if closing < len(rows) and KEYWORDS.match(rows[closing].text):
        # After keywords, the body begins at the next heading that is numbered or opens an introduction.
        first = next((index for index in heads if index >= closing and _starts_paper_body(rows[index])), closing)
    running = find_running_text(rows, text_type)
    byline = {
        row for row, full in zip(rows, running, strict=True) if row.page == 0 and row.y1 < rows[opening].y0 and not full
    }
    _drop_front_matter(inside, first, every, rows, text_type, heights, byline)
    return abstract or None


def _find_abstract_end(rows: Sequence[TextLine], opening: int, heads: Container[int], notes: list[str]) -> int:
    """Returns the index where the abstract ends: at a heading (*heads*) or at the keywords.

    If there is neither, the abstract ends after 40 lines, and a line is added to *notes*.
    """
    for index in range(opening + 1, len(rows)):
        if index in heads or KEYWORDS.match(rows[index].text):
            return index
    notes.append("the end of the abstract is not marked")
    return min(opening + 40, len(rows))


def _starts_paper_body(heading: TextLine) -> bool:
    return bool(NUMBER.match(heading.text) or INTRODUCTION.fullmatch(strip_heading_number(heading.text)))


def _limit_abstract_length(parts: list[Paragraph], notes: list[str]) -> list[Paragraph]:
    """Returns as many of *parts*, from the first on, as have at most `LONGEST_ABSTRACT` words in total.

    The first is always returned. If others are left out, adds a line to *notes*.
    """
    length = 0
    for index, part in enumerate(parts):
        length += sum(count_words(row.text) for row in part.rows)
        if length > LONGEST_ABSTRACT and index:
            notes.append("the end of the abstract is not marked")
            return parts[:index]
    return parts


def _drop_front_matter(
    inside: Sequence[TextLine], first: int, every: Sequence[TextLine], rows: Sequence[TextLine], text_type: FontMetrics,
    heights: Sequence[float], byline: Container[TextLine] = (),
) -> None:  # fmt: skip
    """Keeps the lines of the abstract (*inside*), and drops the lines in *every* that do not belong to the body.

    *rows*: the lines in *every* that are not notices of the publisher. The body begins at index *first* of *rows*.
    Earlier captions and long paragraphs of prose belong to the body as well. *byline*: lines that never begin the body,
    such as the authors.
    """
    held = set(inside)
    body = {row for row in rows[first:] if row not in byline} - held
    loose = [row for row in rows if row not in body and row not in held]
    start = rows.index(inside[0]) if inside else len(rows)
    for part in split_into_paragraphs(loose, text_type, heights):
        # Text around the abstract is set in the type of the body; a continuation is set in the abstract's type.
        own = measure_font_metrics(part.rows) if rows.index(part.rows[0]) > start else text_type
        opening = part.rows[0].text
        running = part.kind == "text" and not KEYWORDS.match(opening) and not NOTICE.match(opening)
        long = sum(count_words(row.text) for row in part.rows) >= FEWEST_PROSE_WORDS
        if part.kind == "caption" or (running and long and reads_as_prose(part.rows, own)):
            body |= set(part.rows)
    set_fate((row for row in every if row not in body), "front matter")
    set_fate(inside, "kept")


def _find_abstract_without_heading(
    rows: Sequence[TextLine], words: Counter[str], heights: Sequence[float], notes: list[str]
) -> tuple[str | None, list[TextLine]]:
    """Returns (text, lines) of an abstract without a heading: the longest paragraph of prose; adds a line to *notes*.

    Returns (None, no lines) if no paragraph is suitable.
    """
    parts = (
        [part for part in split_into_paragraphs(rows, measure_font_metrics(rows), heights) if part.kind == "text"]
        if rows
        else []
    )
    texts = [join_rows_into_one_line(part.rows, words) for part in parts]
    longest = max(texts, key=len, default="")
    sentences = len(re.findall(r"[a-z][.!?]|[。！？]", longest))
    if count_words(longest) >= FEWEST_PROSE_WORDS and longest[-1] in STOPS and sentences >= 3:
        notes.append("the abstract has no heading: it is the longest paragraph before the introduction")
        return longest, parts[texts.index(longest)].rows
    notes.append("no abstract was found")
    return None, []


def _remove_notices(rows: Sequence[TextLine], text_type: FontMetrics) -> list[TextLine]:
    """Returns the lines *rows* without copyright and proceedings notices at the end of a column of the first page."""
    out: dict[int, float] = {}
    for above, row in pairwise(rows):
        if row.page == 0 and NOTICE.match(row.text) and not is_directly_under(row, above, text_type):
            out[row.column] = min(row.y0, out.get(row.column, row.y0))
    lowest = max((row.y1 for row in rows if row.page == 0), default=0.0)
    return [row for row in rows if row.page or row.y0 < out.get(row.column, lowest) or row.y0 < 0.6 * lowest]


HEADING = re.compile(r"(?:table of )?contents|list of (?:figures|tables|algorithms|abbreviations|symbols)", re.I)
LEADER = re.compile(r"(?:\.\s?){4,}\s*(?:\d{1,4}|[ivxlc]{1,6})?$|(?:…|_){2,}", re.I)
NUMBERED = re.compile(r"\s(?:\d{1,4}|[ivxlc]{1,6})$", re.I)
ENTRY_OF_CONTENTS = re.compile(r"[\d\W]*[A-Z].*[^.;,:]")
"""Matches an entry of a table of contents without its page number."""
LONGEST_ENTRY = 14
FEWEST = 3
"""A table of contents has at least this many entries."""
RUN = 4
"""At least this many consecutive lines with leader dots form a table of contents even without a heading."""


def drop_tables_of_contents(rows: Sequence[TextLine], text_type: FontMetrics) -> None:
    """Drops tables of contents and lists of figures and tables, whose entries repeat the headings of the paper."""
    running = find_running_text(rows, text_type)
    start = 0
    while start < len(rows):
        end, fewest = start, RUN
        if HEADING.fullmatch(strip_heading_number(rows[start].text)):
            end, fewest = _find_contents_end(start + 1, rows, running), FEWEST + 1
        else:
            while end < len(rows) and LEADER.search(rows[end].text):
                end += 1
        end = end if end - start >= fewest else start
        set_fate(rows[start:end], "table of contents")
        start = max(end, start + 1)


def _find_contents_end(first: int, rows: Sequence[TextLine], running: Sequence[bool]) -> int:
    """Returns the index after the last entry of a table of contents. *first*: the index of its first entry.

    The entries end before running text, and before a line that is too long for an entry. They also end before a heading
    that repeats the words of an entry, and before the heading of another table of contents or list.
    """
    names: set[str] = set()
    last = first
    for index in range(first, len(rows)):
        row = rows[index]
        listed = _ends_like_contents_entry(row.text)
        name = " ".join(
            re.findall(r"[^\W\d_]+", NUMBERED.sub("", LEADER.sub("", strip_heading_number(row.text))).lower())
        )
        if (name in names and not listed) or HEADING.fullmatch(strip_heading_number(row.text)):
            return index
        if running[index] and not listed:
            # In an entry of two rows, the first row is full.
            if index + 1 < len(rows) and _ends_like_contents_entry(rows[index + 1].text):
                continue
            return last
        if not listed and (count_words(row.text) > LONGEST_ENTRY or not ENTRY_OF_CONTENTS.fullmatch(row.text)):
            return last
        names.add(name)
        last = index + 1
    return last


def _ends_like_contents_entry(text: str) -> bool:
    """Whether *text* ends like an entry of a table of contents: with leader dots or a page number."""
    return LEADER.search(text) is not None or NUMBERED.search(text) is not None


def drop_figures_and_tables(rows: Sequence[TextLine], text_type: FontMetrics) -> None:
    """Drops the cells of tables and the labels in figures: the lines between a caption and the nearest running text.

    Captions are kept, and so are sentences in the font size of the running text.
    """
    tails: list[list[int]] = []
    for index, row in enumerate(rows):
        if starts_caption(row, rows[index - 1] if index else None, text_type):
            tails.append([index])
            while tails[-1][-1] + 1 < len(rows) and continues_caption(
                rows[tails[-1][-1] + 1], rows[tails[-1][-1]], text_type
            ):
                tails[-1].append(tails[-1][-1] + 1)
    inside = set().union(*tails)
    kept = find_running_text(rows, text_type, inside)
    for index in range(len(rows)):
        kept[index] = kept[index] or index in inside or _ends_figure_or_table(index, rows, kept, text_type)
    by_page: defaultdict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_page[row.page].append(index)
    out: set[int] = set()
    for tail in tails:
        row = rows[tail[0]]
        beside = [
            index for index in by_page[row.page] if rows[index].x1 > row.left - 5 and rows[index].x0 < row.right + 5
        ]
        upper = sorted((index for index in beside if rows[index].y1 < row.y0 + 3), key=lambda index: -rows[index].y1)
        lower = sorted(
            (index for index in beside if rows[index].y0 > row.y0 + 3 and index not in tail),
            key=lambda index: rows[index].y0,
        )
        above, below = (set(takewhile(lambda index: not kept[index], side)) for side in (upper, lower))
        if re.match(FIGURE, row.text, re.I):
            out |= above
        elif re.match("tab|表|표|ตาราง", row.text, re.I):
            out |= max(above, below, key=len)
    out -= _find_prose_indices(out, rows, text_type)
    set_fate((rows[index] for index in out), "figures and tables")


def _find_prose_indices(out: Collection[int], rows: Sequence[TextLine], text_type: FontMetrics) -> set[int]:
    """Returns those of the indices *out* whose lines form paragraphs of prose. *out*: indices of lines to drop."""
    indices: set[int] = set()
    block: list[int] = []
    for index in [*sorted(out), -1]:
        if block and (index != block[-1] + 1 or not is_directly_under(rows[index], rows[block[-1]], text_type)):
            if reads_as_prose([rows[inside] for inside in block], text_type):
                indices |= set(block)
            block = []
        block.append(index)
    return indices


def _ends_figure_or_table(index: int, rows: Sequence[TextLine], kept: Sequence[bool], text_type: FontMetrics) -> bool:
    """Whether the line at *index* is a heading or a list item, and thus ends a figure or table.

    *kept*: for each of *rows*, whether it is running text.
    """
    row, above = rows[index], rows[index - 1] if index else None
    if BULLET.match(row.text):
        return count_words(row.text) >= 5 and row.gap < 2
    if not is_heading(row, above, text_type):
        return False
    below = index + 1 < len(rows) and rows[index + 1].page_and_column == row.page_and_column and kept[index + 1]
    return below or bool(NUMBER.match(row.text)) or KNOWN.fullmatch(strip_heading_number(row.text)) is not None


REFERENCE = re.compile(
    r"(?<![a-z\d_])(?:19|20)\d\d[a-z]?(?![a-z\d_])|^\s*\[\w{1,12}\](?:\s|(?=[^\x00-\u02ff]))"
    r"|\b(?:doi|arxiv|isbn|https?):|\bet al\b|\bpp\.\s?\d|\bvol\.\s?\d|\bproc(?:\.|eedings of)"
    r"|\bpreprint\b|\bunpublished\b",
    re.I,
)
"""Matches a line in a list of references by a year, a number in brackets, or a place of publication."""
LOOKED_AT = (8, 24)
"""How many lines after a heading are searched for references: first the smaller number, then the larger."""
FEW, MANY = 0.12, 0.4
"""At least this share of the lines after a heading must look like references: FEW if the lines have few function words,
else MANY."""
LISTED = 0.27
"""The largest share of function words in a list of references; running text with citations has more."""
LETTERED = re.compile(r"A(?:[.:]\s*|\s+)[A-Z]")
RESUMED = re.compile(
    r"(?:online |star )?methods?|materials and methods|experimental procedures|methods and materials"
    r"|results|discussion|results and discussion|conclusions?",
    re.I,
)
"""Matches headings of sections that some journals print after the references."""


def drop_back_matter(rows: Sequence[TextLine], text_type: FontMetrics) -> None:
    """Drops lists of references and appendices.

    A list begins at a heading such as References if references follow, and ends at the next heading. Lines after the
    last list are appendices, and so are lines after the heading of an appendix. Sections such as Methods that follow
    the last list, as in some journals, are kept.
    """
    heads = [index for index, row in enumerate(rows) if is_heading(row, rows[index - 1] if index else None, text_type)]
    lists = [
        index
        for index in heads
        if REFERENCES.fullmatch(strip_heading_number(rows[index].text)) and is_followed_by_references(rows, index)
    ]
    end = _find_first_appendix(rows, heads, text_type)
    for number, index in enumerate(lists):
        if index > end:
            break
        after = next((head for head in heads if head > index and _ends_reference_list(rows, head)), len(rows))
        set_fate(rows[index:after], "references")
        over = number + 1 == len(lists) and (
            after == len(rows) or not RESUMED.fullmatch(strip_heading_number(rows[after].text))
        )
        if over or (after < len(rows) and _opens_appendix(rows[after])):
            end = min(end, after)
    listed = next((index for index in lists if index >= end), len(rows))
    set_fate(list_undecided_rows(rows[end:listed]), "appendices")
    set_fate(list_undecided_rows(rows[listed:]), "references")


def is_followed_by_references(rows: Sequence[TextLine], heading: int) -> bool:
    return begins_with_references([row.text for row in rows[heading + 1 : heading + 1 + LOOKED_AT[-1]]])


def begins_with_references(texts: Sequence[str]) -> bool:
    """Whether *texts* begin with references: lines with years or places of publication, and few function words."""
    for first in (texts[:count] for count in LOOKED_AT):
        entries = sum(REFERENCE.search(text) is not None for text in first)
        bare_list = compute_function_word_share(" ".join(first)) < LISTED
        if entries >= max((FEW if bare_list else MANY) * len(first), 1):
            return True
    return False


def _opens_appendix(row: TextLine) -> bool:
    return bool(
        LETTERED.match(row.text) or APPENDIX.match(row.text) or APPENDIX.fullmatch(strip_heading_number(row.text))
    )


def _ends_reference_list(rows: Sequence[TextLine], head: int) -> bool:
    """Whether the heading at index *head* ends a list of references.

    It does if it is not part of the list, and does not open another list.
    """
    row = rows[head]
    if REFERENCES.fullmatch(strip_heading_number(row.text)) or REFERENCE.search(row.text):
        return False
    return _opens_appendix(row) or not is_followed_by_references(rows, head)


def _find_first_appendix(rows: Sequence[TextLine], heads: Sequence[int], text_type: FontMetrics) -> int:
    """Returns the index of the heading of the first appendix; the number of *rows* if there is no appendix.

    A heading whose words a later heading repeats is an entry of a table of contents, and is skipped.
    """
    running = find_running_text(rows, text_type)
    later: set[str] = set()
    first = len(rows)
    for index in reversed(heads):
        text, name = rows[index].text, strip_heading_number(rows[index].text)
        named = APPENDIX.fullmatch(name) or APPENDIX.match(text)
        if named and name.lower() not in later and any(running[index + 1 : index + 12]) and index >= 0.05 * len(rows):
            first = index
        later.add(name.lower())
    return first


_INDENT = r"(?:[#*]|[^\S\n])*+"
_MARKS = rf"{_INDENT}(?:\d+\.?\s*|[IVX]+\.\s*)?"
_ABSTRACT = re.compile(rf"(?im)^{_MARKS}(?:abstract|{ABSTRACTS})[*:.：\s]*$")
_FIRST = re.compile(rf"(?im)^{_MARKS}(?:introduction|{INTRODUCTIONS})[*:.：\s]*$")
_LIST = re.compile(rf"(?im)^{_MARKS}(?:references|bibliography|{LISTS})[*:.：\s]*$")
_APPENDIX = re.compile(
    rf"(?im)^(?:{_MARKS}(?:appendix(?:[ \t]+[A-Z\d])?|appendices)[*:.\s]*|#+[ \t]*appendix\b[^\n.]*)$"
)
_CONTENTS = re.compile(rf"(?im)^{_INDENT}(?:table of )?contents[*:.\s]*$")
LONG_LINE = 40
"""A line of text has at least this many characters; entries of a table of contents are rarely as long."""
NEAR = 3
"""The text under a heading must begin within this many lines."""


@dataclass(frozen=True, slots=True)
class AbstractAndBody:
    """The abstract (None if not found) and the body (*text*) of a paper.

    *words*: how many words were kept, and how many were dropped for each reason. *doubts*: why parts may be missing.
    """

    abstract: str | None
    text: str
    words: PageWordCounts
    doubts: tuple[str, ...] = ()


def parse_abstract_and_body(text: str) -> AbstractAndBody:
    """Returns the abstract and the body of *text*, a paper in Markdown or plain text, with headings on their own lines.

    If *text* has no such headings, all of it is the body. The references begin at the last references heading that is
    followed by references; if appendices have lists of their own, at the last one before the appendices. Abstract,
    introduction and appendix begin at their first heading that is followed by text, not at an entry of a table of
    contents.
    """
    introduction, abstract = _find_heading_before_text(_FIRST, text), _find_heading_before_text(_ABSTRACT, text)
    summary = None
    if abstract and introduction and abstract.end() < introduction.start():
        summary = _CONTENTS.split(text[abstract.end() : introduction.start()])[0].strip() or None
    start = introduction.start() if introduction else abstract.end() if abstract else 0
    lists = [
        match
        for match in _LIST.finditer(text, start + 1)
        if begins_with_references(_read_non_blank_lines(text, match.end()))
    ]
    appendix = _find_heading_before_text(_APPENDIX, text, start + 1)
    end = min(lists[-1].start() if lists else len(text), appendix.start() if appendix else len(text))
    # Appendices may have their own references, after the references of the paper.
    if appendix and lists and end == appendix.start() and (before := [match for match in lists if match.start() < end]):
        end = before[-1].start()
    body = text[start:end].strip()
    cut = "references" if any(match.start() == end for match in lists) else "appendices"
    counts = {"kept": count_words(body) + count_words(summary or ""), cut: count_words(text[end:])}
    counts["front matter"] = count_words(text) - sum(counts.values())
    words = PageWordCounts(0, {fate: count for fate, count in counts.items() if count})
    return AbstractAndBody(summary, body, words, tuple(list_completeness_doubts([words])))


def _find_heading_before_text(heading: re.Pattern[str], text: str, start: int = 0) -> re.Match[str] | None:
    """Returns the first match of *heading* from index *start* on that is followed by text; else the first match.

    Returns None if nothing matches.
    """
    matches = list(heading.finditer(text, start))
    followed = [
        match
        for match in matches
        if any(len(line) >= LONG_LINE for line in _read_non_blank_lines(text, match.end())[:NEAR])
    ]
    return next(iter(followed or matches), None)


def _read_non_blank_lines(text: str, start: int) -> list[str]:
    """Returns the non-blank lines among the 20,000 characters of *text* that begin at index *start*."""
    return [line for line in text[start : start + 20_000].splitlines() if line.strip()]

"""Decides which rows of a paper are running text, by their type and words."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from gre_bench.ingest.pdf.parts import Type, follows
from gre_bench.ingest.pdf.rows import Row

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
    paragraph. *captions* holds the indices of rows in captions; no later row continues a caption.
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
    """Whether *row* ends a paragraph that *last*, the last row of running text so far, left open.

    A figure, a table or a break of column or page lies between *last* and *row*.
    """
    if last is None or last.filled < 0.8 or last.text[-1] in ".!?:;" or row.text[-1] not in ".!?" or row.gap > 1.2:
        return False
    return (
        abs(row.x0 - row.left) < 2
        and abs(row.size - text_type.size) < 0.03 * text_type.size
        and row.page_and_column != last.page_and_column
    )

"""Reads rated reviews that LMs wrote elsewhere, and human ratings of the same papers, from one folder.

``human_ratings.tsv``   tab-separated; a column ``paper_id``, optionally ``decision``; every other column holds one
                        human rating, empty where there is none
``llm_reviews.parquet`` (or .jsonl) one review a row: ``paper_id``, ``model``, ``Overall`` (the rating), optionally
                        ``run`` (the name of the model's run), and text columns, any of `TEXTS`

A cell of a text column holds a text, a list, or the text of a list in Python's syntax.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gre_bench.core.errors import SourceError
from gre_bench.ingest.records.cells import RefusedError, Row, read_name, read_text
from gre_bench.ingest.records.row_files import read_all_rows

HUMAN_FILE = "human_ratings.tsv"
REVIEW_FILES = ("llm_reviews.parquet", "llm_reviews.jsonl")
TEXTS = ("Summary", "Strengths", "Weaknesses", "Questions", "Limitations", "review")
"""Columns that together form the text of a review, in this order."""

_LONGEST_LIST = 200_000


@dataclass(frozen=True, slots=True)
class GivenReview:
    """A review of a paper that an LM wrote elsewhere.

    - *model*: the name of the LM.
    - *run*: the name of the model's run; empty if the file names no runs.
    - *rating*: the rating as the file has it, not parsed; None if there is none.
    - *text*: the text of the review; None if there is none.
    """

    paper_id: str
    model: str
    run: str
    rating: str | None
    text: str | None


def read_human_ratings(path: Path) -> dict[str, tuple[float, ...]]:
    """Returns {paper id: its human ratings} of the file *path*, in the order of its lines.

    Raises `SourceError` if the file or a row cannot be used. The message names the first such row.
    """
    rows, columns = read_all_rows(path)
    if "paper_id" not in columns:
        raise SourceError(f"{path.name} has no column paper_id; it is tab-separated, with a header line")
    ratings: dict[str, tuple[float, ...]] = {}
    for number, row in rows:
        try:
            paper_id = read_name(row, "paper_id")
            if paper_id in ratings:
                raise RefusedError(f"paper {paper_id} occurs twice")
            ratings[paper_id] = tuple(_ratings(row))
        except RefusedError as reason:
            raise SourceError(f"{path.name}, row {number}: {reason}") from None
    return ratings


def read_rated_reviews(folder: Path) -> list[GivenReview]:
    """Returns the rated reviews in *folder*, in the order of the file.

    Raises `SourceError` if there is no file of reviews or a row cannot be used. The message names the first such row. A
    model may rate a paper only once in a run.
    """
    path = next((folder / name for name in REVIEW_FILES if (folder / name).is_file()), None)
    if path is None:
        raise SourceError(
            f"{folder} has neither {' nor '.join(REVIEW_FILES)}; see gre-bench study guidelines compare --help"
        )
    reviews: dict[tuple[str, str, str], GivenReview] = {}
    for number, row in read_all_rows(path)[0]:
        try:
            review = _review(row)
            key = (review.model, review.run, review.paper_id)
            if key in reviews:
                raise RefusedError(f"{review.model} rates paper {review.paper_id} twice in run {review.run or 'none'}")
            reviews[key] = review
        except RefusedError as reason:
            raise SourceError(f"{path.name}, row {number}: {reason}") from None
    return list(reviews.values())


def _ratings(row: Row) -> Iterator[float]:
    for name, cell in row.items():
        if name in ("paper_id", "decision") or not (cell or "").strip():
            continue
        try:
            rating = float(cell)
        except ValueError:
            raise RefusedError(f"{cell!r:.40} in column {name} is no rating") from None
        if not math.isfinite(rating):
            raise RefusedError(f"{cell!r:.40} in column {name} is no rating")
        yield rating


def _review(row: Row) -> GivenReview:
    if "Overall" not in row:
        raise RefusedError("there is no column Overall, the rating")
    rating = row["Overall"]
    parts = [(name, _plain(row, name)) for name in TEXTS]
    text = "\n\n".join(part if name == "review" else f"{name}:\n{part}" for name, part in parts if part)
    shown = None if rating is None or rating != rating else str(rating).strip() or None
    return GivenReview(
        read_name(row, "paper_id"), read_name(row, "model"), read_text(row, "run") or "", shown, text or None
    )


def _plain(row: Row, name: str) -> str | None:
    """Returns the text in the column *name* of *row*; None if the cell is blank.

    A list becomes a text with one line for each element.
    """
    value = row.get(name)
    value = value.tolist() if value is not None and hasattr(value, "tolist") else value
    if isinstance(value, str) and value[:1] == "[" and value[-1:] == "]" and len(value) <= _LONGEST_LIST:
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = row[name]
    if isinstance(value, list):
        value = "\n".join(map(str, value))
    return read_text({name: value}, name)

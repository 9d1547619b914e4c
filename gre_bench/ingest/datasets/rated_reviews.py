"""Reads rated reviews that LMs wrote elsewhere, and human ratings of the same papers, from one folder.

``human_ratings.tsv``   tab-separated; a column ``paper_id``, optionally ``decision``; every other column holds one
                        human rating, empty where there is none
``llm_reviews.parquet`` (or .jsonl) one review a row: ``paper_id``, ``model``, ``Overall`` (the rating), optionally
                        ``run`` (the name of the model's run), and text columns, any of `TEXTS`

A cell of a text column holds a text, a list, or the text of a list in Python's syntax.
"""

from __future__ import annotations

import ast
import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError, no_file
from gre_bench.ingest.records.cells import RefusedError, Row, read_name, read_text
from gre_bench.ingest.records.json_lines import lines, read_object

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

    Raises `SourceError` if the file or a line cannot be used. The message names the first such line.
    """
    ratings: dict[str, tuple[float, ...]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if "paper_id" not in (rows.fieldnames or ()):
                raise SourceError(f"{path.name} has no column paper_id; it is tab-separated, with a header line")
            for number, row in enumerate(rows, start=2):
                try:
                    paper_id = read_name(row, "paper_id")
                    if paper_id in ratings:
                        raise RefusedError(f"paper {paper_id} occurs twice")
                    ratings[paper_id] = tuple(_ratings(row))
                except RefusedError as reason:
                    raise SourceError(f"{path.name}, line {number}: {reason}") from None
    except FileNotFoundError:
        raise no_file(path) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{path.name} cannot be read: {error}") from None
    if not ratings:
        raise SourceError(f"{path.name} has no papers")
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
    for number, row in _parquet(path) if path.suffix == ".parquet" else _objects(path):
        try:
            review = _review(row)
            key = (review.model, review.run, review.paper_id)
            if key in reviews:
                raise RefusedError(f"{review.model} rates paper {review.paper_id} twice in run {review.run or 'none'}")
            reviews[key] = review
        except RefusedError as reason:
            raise SourceError(f"{path.name}, row {number}: {reason}") from None
    if not reviews:
        raise SourceError(f"{path.name} has no reviews")
    return list(reviews.values())


def _ratings(row: dict[str, Any]) -> Iterator[float]:
    for name, cell in row.items():
        if name is None:
            raise RefusedError("it has more cells than the header")
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


def _objects(path: Path) -> Iterator[tuple[int, Row]]:
    for number, _, line in lines(path):
        yield number, read_object(line)


def _parquet(path: Path) -> Iterator[tuple[int, Row]]:
    import pandas

    try:
        table = pandas.read_parquet(path, dtype_backend="pyarrow")
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's own errors derive from these
        raise SourceError(f"{path.name} cannot be read as parquet: {str(error).splitlines()[0]}") from None
    return enumerate(table.astype(object).where(table.notna(), None).to_dict("records"), start=1)

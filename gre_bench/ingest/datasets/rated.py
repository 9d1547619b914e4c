"""Reads rated texts of other studies: summaries with human scores, and reviews that LMs wrote elsewhere.

Summaries serve to test examiners. Their files have the format of the Eval4NLP 2023 shared task. The columns are the
source text (``SRC``), its summary (``HYP``) and the human ``Score`` of the summary, which may be blank. Optional
columns are the ``id`` of the source, and the author of the summary (``model_id``).

Rated reviews and the human ratings of the same papers are in one folder:

``human_ratings.tsv``   tab-separated; a column ``paper_id``, optionally ``decision``; every other column holds one
                        human rating, or is empty
``llm_reviews.parquet`` (or .jsonl) one review per row: ``paper_id``, ``model``, ``Overall`` (the rating), optionally
                        ``run`` (the name of the model's run), and text columns, any of `TEXTS`

A cell of a text column holds a text, a list, or a list written in Python's syntax.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gre_bench.core.errors import SourceError
from gre_bench.core.replies import parse_number
from gre_bench.ingest.records.cells import ImportResult, RefusedError, Row, read_name, read_prose, read_text
from gre_bench.ingest.records.row_files import read_rows_without_refusals  # fmt: skip

COLUMNS = ("SRC", "HYP", "Score")


@dataclass(frozen=True, slots=True)
class GradedSummary:
    """A summary (*text*) of the text *source*. *human*: its human score; None if there is none.

    *player*: the author of the summary. *group*: the id of the source, which all its summaries share.
    """

    item_id: str
    group: str
    player: str
    source: str
    text: str
    human: float | None


def read_graded_summaries(path: Path) -> list[GradedSummary]:
    """Returns the summaries in the .tsv or .csv file *path*; raises a `SourceError` that names the first invalid row.

    In a .tsv file of the shared task, quotation marks do not quote cells but are part of the text.
    """
    kind = path.name.rpartition(".")[2].lower()
    if kind not in ("tsv", "csv"):
        raise SourceError(f"{path.name}: expected a .tsv or .csv file with the columns {', '.join(COLUMNS)}")
    rows, columns = read_rows_without_refusals(path, quoted=False)
    if missing := [name for name in COLUMNS if name not in columns]:
        also = "; texts without a human score cannot be compared with any" if missing == ["Score"] else ""
        raise SourceError(f"{path.name} has no column {missing[0]}; needed: {', '.join(COLUMNS)}{also}")
    groups: dict[str, str] = {}
    seen: Counter[str] = Counter()
    texts = []
    for number, row in rows:
        source, player, cell = row["SRC"] or "", row.get("model_id") or "", row["Score"] or ""
        # Equal sources share one id, whatever ids the file gives them, because their texts are not independent.
        group = groups.setdefault(source, str(row.get("id") or f"source {len(groups) + 1}"))
        item_id = f"{group}:{player}" if player else group
        seen[item_id] += 1
        item_id += f":{seen[item_id]}" if seen[item_id] > 1 else ""
        score = parse_number(cell) if cell.strip() else None
        if cell.strip() and score is None:
            raise SourceError(f"{path.name}, row {number}: Score {cell[:40]!r} is not a number")
        texts.append(GradedSummary(item_id, group, player, source, row["HYP"] or "", score))
    return texts


HUMAN_FILE = "human_ratings.tsv"
REVIEW_FILES = ("llm_reviews.parquet", "llm_reviews.jsonl")
TEXTS = ("Summary", "Strengths", "Weaknesses", "Questions", "Limitations", "review")
"""The text columns, in the order in which they form the text of a review."""

_LONGEST_LIST = 200_000


@dataclass(frozen=True, slots=True)
class RatedReview:
    """A review that the LM *model* wrote elsewhere. *run*: the name of the model's run; empty if the file states none.

    *rating*: the rating as a text; None if it is blank.
    """

    paper_id: str
    model: str
    run: str
    rating: str | None
    text: str | None


def read_human_ratings(path: Path) -> dict[str, tuple[float, ...]]:
    """Returns {paper id: its human ratings} from the file *path*; raises a `SourceError` that names an invalid row."""
    rows, columns = read_rows_without_refusals(path)
    if "paper_id" not in columns:
        raise SourceError(f"{path.name} has no column paper_id; it is tab-separated, with a header line")
    ratings: dict[str, tuple[float, ...]] = {}
    for number, row in rows:
        try:
            paper_id = read_name(row, "paper_id")
            if paper_id in ratings:
                raise RefusedError(f"paper {paper_id} occurs twice")
            given = []
            for name, cell in row.items():
                if name in ("paper_id", "decision") or not (cell or "").strip():
                    continue
                if (rating := parse_number(cell)) is None:
                    raise RefusedError(f"{cell!r:.40} in column {name} is not a rating")
                given.append(rating)
            ratings[paper_id] = tuple(given)
        except RefusedError as reason:
            raise SourceError(f"{path.name}, row {number}: {reason}") from None
    return ratings


def read_rated_reviews(folder: Path) -> list[RatedReview]:
    """Returns the rated reviews in *folder*. A model may rate a paper only once per run.

    Raises `SourceError` if there is no file of reviews, or if a row cannot be used.
    """
    path = next((folder / name for name in REVIEW_FILES if (folder / name).is_file()), None)
    if path is None:
        raise SourceError(
            f"{folder} has neither {' nor '.join(REVIEW_FILES)}; see gre-bench study guidelines compare --help"
        )
    reviews: dict[tuple[str, str, str], RatedReview] = {}
    for number, row in read_rows_without_refusals(path)[0]:
        try:
            if "Overall" not in row:
                raise RefusedError("there is no column Overall, the rating")
            rating = row["Overall"]
            parts = [(name, _read_cell_text(row, name)) for name in TEXTS]
            text = "\n\n".join(part if name == "review" else f"{name}:\n{part}" for name, part in parts if part)
            shown = None if rating is None or rating != rating else str(rating).strip() or None
            names = read_name(row, "paper_id"), read_name(row, "model"), read_text(row, "run") or ""
            review = RatedReview(*names, shown, text or None)
            key = (review.model, review.run, review.paper_id)
            if key in reviews:
                raise RefusedError(f"{review.model} rates paper {review.paper_id} twice in run {review.run or 'none'}")
            reviews[key] = review
        except RefusedError as reason:
            raise SourceError(f"{path.name}, row {number}: {reason}") from None
    return list(reviews.values())


def _read_cell_text(row: Row, name: str) -> str | None:
    """Returns the text in the column *name* of *row*, one line per element of a list; None if the cell is blank."""
    value = row.get(name)
    if isinstance(value, str) and value[:1] == "[" and value[-1:] == "]" and len(value) <= _LONGEST_LIST:
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = row[name]
    if isinstance(value, list):
        value = "\n".join(map(str, value))
    return read_prose({name: value}, name, ImportResult())

"""Reads files of labelled points: single remarks of reviews, each judged by people, for example as right or wrong.

The columns paper_id, review_id, candidate and point say what a point is. Every other column may be a label.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import listed
from gre_bench.core.records import HUMAN, Review
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.columns import AS_NAMED, ColumnNames
from gre_bench.ingest.records.row_files import (
    CONFLICT,
    UNKNOWN,
    Imported,
    RefusedError,
    Row,
    number_in,
    read_name,
    read_text,
    shown,
)
from gre_bench.ingest.records.tables import has, rows_of

COLUMNS = ("paper_id", "review_id", "candidate", "point")
WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""Cells that are numbers as they stand."""
YES_OR_NO = {**WORDS, "1": 1.0, "0": 0.0}
"""The values of a label that has such words."""


@dataclass(frozen=True, slots=True)
class Point:
    """A remark of a review, with its labels.

    - *review_id*: the review, if the edition has it; else the point belongs to all points of *candidate* on the paper.
    - *place*: its position among the points of its review, from 1, in the order of the file.
    - *labels*: name of a label → its value; higher is better.
    """

    point_id: str
    paper_id: str
    review_id: str | None
    candidate: str
    text: str
    place: int
    labels: Mapping[str, float]

    @property
    def group(self) -> tuple[str, str]:
        """What the points of one review share."""
        return self.paper_id, self.review_id or self.candidate


def ordered_labels(stated: Sequence[str]) -> dict[str, dict[str, float]]:
    """Returns label → its values from worst to best, as value → rank, from texts ``LABEL=WORST,...,BEST``.

    Raises `SettingsError` for a text of another form.
    """
    orders: dict[str, dict[str, float]] = {}
    for text in stated:
        name, equals, values = text.partition("=")
        ranks = [value.strip().lower() for value in values.split(",")]
        if not equals or not name.strip() or len(ranks) < 2 or len(set(ranks)) < len(ranks) or "" in ranks:
            raise SettingsError(f"--order {text}: write LABEL=WORST,...,BEST with each value once, worst first")
        orders[name.strip()] = {value: float(rank) for rank, value in enumerate(ranks)}
    return orders


def points_from(
    path: Path, known: Mapping[str, Point], reviews: Mapping[str, Review], papers: Collection[str],
    orders: Mapping[str, Mapping[str, float]], reading: ColumnNames = AS_NAMED,
) -> tuple[list[Point], Imported]:  # fmt: skip
    """Returns the points of *path* that are new or have new labels, and what became of its rows.

    *known*: the stored points by id. *reviews*: the stored reviews by id. *orders*: as by `ordered_labels`.

    A column is a label if half of its values or more are numbers, true, false, yes or no. Every column of *orders* is
    one, too. If a label has one of these words, its numbers must be 0 or 1.

    Raises `SettingsError` for an order of a column that the file does not have, and `SourceError` for a file without
    the columns ``paper_id`` and ``point``.
    """
    imported = Imported()
    rows = list(rows_of(path, COLUMNS, None, imported, reading=reading))
    columns = list(imported.ignored_columns)
    if absent := [name for name in orders if name not in columns]:
        raise SettingsError(
            f"--order {absent[0]}: {path.name} has no such column; its other columns: {listed(columns)}"
        )
    cells = {name: [row[name] for _, row in rows if has(row, name)] for name in columns}
    labels = [name for name in columns if name in orders or _is_label(cells[name])]
    ranks = {name: orders.get(name, YES_OR_NO if any(map(_is_word, cells[name])) else None) for name in labels}
    imported.ignored_columns = tuple(name for name in columns if name not in labels)
    by_candidate = {(item.paper_id, item.candidate): item for item in reviews.values() if item.candidate != HUMAN}
    points, changed = dict(known), set[str]()
    places: dict[tuple[str, str], int] = defaultdict(int)
    for point in known.values():
        places[point.group] = max(places[point.group], point.place)
    blank: dict[str, int] = defaultdict(int)
    without_review: dict[tuple[str, str], int] = defaultdict(int)
    for number, row in rows:
        try:
            point = _point(row, reviews, by_candidate, papers, ranks)
            old = points.get(point.point_id)
            if old is None:
                places[point.group] += 1
                point = replace(point, place=places[point.group])
            elif differing := [
                name for name in point.labels if old.labels.get(name, point.labels[name]) != point.labels[name]
            ]:
                raise RefusedError(f"this point is already there with another {differing[0]}", CONFLICT)
            else:
                point = replace(old, labels={**old.labels, **point.labels})
            for name in labels:
                blank[name] += name not in point.labels
            if point.review_id is None:
                without_review[point.group] += 1
            imported.count(point != old)
            if point != old:
                points[point.point_id] = point
                changed.add(point.point_id)
        except RefusedError as reason:
            paper_id = row.get("paper_id")
            imported.refuse(number, f"point of paper {shown(paper_id)}", reason, reason.code, paper_id)
    imported.notes += _notes(labels, len(rows) - len(imported.refusals), blank, without_review)
    return [points[name] for name in points if name in changed], imported


def _notes(
    labels: Sequence[str], accepted: int, blank: Mapping[str, int], without_review: Mapping[tuple[str, str], int]
) -> list[str]:
    """Returns lines on the *accepted* rows: what is labelled, and which points' review the edition does not have."""
    notes = [
        f"label {name}: {counted(accepted - blank[name], 'point')}" + (f", {blank[name]} blank" if blank[name] else "")
        for name in labels
    ]
    if not labels:
        notes.append(
            "no column is a label: a label holds numbers, true and false, or yes and no, or its values are stated in "
            "order: --order LABEL=WORST,...,BEST"
        )
    if without_review:
        notes.append(
            f"{counted(sum(without_review.values()), 'point')} of {counted(len(without_review), 'review')} that the "
            "edition does not have: such a review is taken to be its points"
        )
    return notes


def _point(
    row: Row, reviews: Mapping[str, Review], by_candidate: Mapping[tuple[str, str], Review], papers: Collection[str],
    labels: Mapping[str, Mapping[str, float] | None],
) -> Point:  # fmt: skip
    """Returns the point of *row*, with place 0. *labels*: label → the ranks of its values, if they were stated."""
    paper_id, text = read_name(row, "paper_id"), read_text(row, "point")
    if paper_id not in papers:
        raise RefusedError(f"paper {paper_id} is not known; import it first", UNKNOWN)
    if text is None:
        raise RefusedError("point is missing")
    candidate = read_name(row, "candidate") if has(row, "candidate") else None
    review_id = read_name(row, "review_id") if has(row, "review_id") else None
    if review_id is not None and (review_id not in reviews or reviews[review_id].paper_id != paper_id):
        raise RefusedError(f"paper {paper_id} has no review {review_id}; import it first, or leave review_id blank")
    if review_id is None and candidate in (None, HUMAN):
        raise RefusedError("whose point it is is missing: fill in review_id, or candidate for a review by a model")
    review = reviews[review_id] if review_id else by_candidate.get((paper_id, str(candidate)))
    if review and candidate not in (None, review.candidate):
        raise RefusedError(f"review {review.review_id} is by {review.candidate}, not by {candidate}")
    values = {name: _value(row[name], name, ranks) for name, ranks in labels.items() if has(row, name)}
    named = review.review_id if review else None
    key = "\0".join((paper_id, named or str(candidate), " ".join(text.split())))
    point_id = hashlib.sha256(key.encode()).hexdigest()[:16]
    return Point(point_id, paper_id, named, review.candidate if review else str(candidate), text, 0, values)


def _is_word(cell: Any) -> bool:
    return isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().lower() in WORDS)


def _is_label(cells: Sequence[Any]) -> bool:
    numbers = sum(_number(cell) is not None for cell in cells)
    return numbers > 0 and 2 * numbers >= len(cells)


def _value(cell: Any, name: str, ranks: Mapping[str, float] | None) -> float:
    if ranks is not None:
        spelt = str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
        if spelt.strip().lower() not in ranks:
            raise RefusedError(f"{name} is {shown(cell)}, which is none of {', '.join(ranks)}")
        return ranks[spelt.strip().lower()]
    value = _number(cell)
    if value is None:
        raise RefusedError(f"{name} is {shown(cell)}: no number, no true or false, no yes or no")
    return value


def _number(cell: Any) -> float | None:
    """Returns the number that *cell* states; None if it states none."""
    word = cell.strip().lower() if isinstance(cell, str) else ""
    return float(cell) if isinstance(cell, bool) else WORDS.get(word, number_in(cell))

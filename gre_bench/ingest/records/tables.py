"""Imports papers, reviews and labelled points from users' files, validated row by row.

A point is a single remark of a review that people have judged, for example as right or wrong.

A row is imported, already known (the same id with the same content), or refused with a reason. A whole file is refused
only if nothing in it is readable, or if a required column is missing.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.known_names import format_name_list
from gre_bench.core.records import FIXED_WRITER, HUMAN, Judgments, Paper, Review
from gre_bench.core.replies import parse_number, parse_rating
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.cells import (
    CONFLICT,
    EMPTY,
    NO_PATH,
    NOT_IN_A_NAME,
    SECOND,
    SHOWN_ROWS,
    UNKNOWN,
    ImportResult,
    RefusedError,
    Row,
    Rows,
    is_name,
    is_utf8_text,
    read_integer,
    read_name,
    read_number,
    read_prose,
    read_text,
    shorten_cell,
)
from gre_bench.ingest.records.columns import (
    AS_NAMED,
    USUAL,
    ColumnOptions,
    PaperIdMatcher,
    header_letters,
    make_valid_id,
    rename_to_fields,
    suggest_fields,
)
from gre_bench.ingest.records.opening import open_rows

Record = TypeVar("Record", Paper, Review)


class PaperMerger:
    """Merges the papers of a file with *known*, the papers that are already stored.

    - `known`: all papers by id: the stored papers and those of the file.
    - `new`: the papers that the file adds or completes.
    - `accepted`: the ids of the papers that were accepted from the file.
    """

    def __init__(self, known: Mapping[str, Paper]):
        self.known = dict(known)
        self.new: dict[str, Paper] = {}
        self.accepted: set[str] = set()

    def put(self, paper: Paper) -> bool:
        """Adds *paper*, or completes the known paper with its id; returns whether anything changed.

        Raises `RefusedError` if the known paper has other content.
        """
        old = self.known.get(paper.paper_id)
        whole = paper if old is None else complete_record(old, paper)
        if whole is None:
            raise RefusedError("this paper id is already there with other content")
        self.accepted.add(paper.paper_id)
        if whole != old:
            self.known[whole.paper_id] = self.new[whole.paper_id] = whole
        return whole != old


class ReviewMerger:
    """The records with which each row of a file is compared: the stored records and those of earlier rows.

    Such records are called known. A method raises `RefusedError` if its row contradicts a known record.

    - *reviews*: review id → review. *papers*: the ids of the papers.
    - *judgments*: (review id, writer) → the text of the judgments.
    - `slots`: paper id → the slot from which `next_slot` searches. A slot is the number of a human review of a paper.
    """

    def __init__(self, reviews: Mapping[str, Review], judgments: Mapping[tuple[str, str], str], papers: Iterable[str]):
        self.reviews, self.judgments, self.papers = dict(reviews), dict(judgments), set(papers)
        self.new_papers: dict[str, Paper] = {}
        self.new_reviews: dict[str, Review] = {}
        self.slots: defaultdict[object, int] = defaultdict(lambda: 1)
        self.positions = {
            _build_exclusive_key(review): review.review_id
            for review in reviews.values()
            if _build_exclusive_key(review)
        }
        self.human_texts = {
            (review.paper_id, review.text): review
            for review in reviews.values()
            if review.candidate == HUMAN and review.text
        }

    def complete_review(self, review: Review, named: bool) -> Review:
        """Returns *review*, completed with the fields of the known review of the same id.

        *named*: whether the row names a candidate; if not, it may match a review by any candidate.
        """
        old = self.reviews.get(review.review_id, review)
        if old.paper_id != review.paper_id:
            raise RefusedError(
                f"review id {review.review_id} belongs to a review of paper {old.paper_id}; give each review an id of "
                "its own"
            )
        merged = complete_record(old, review if named else replace(review, candidate=old.candidate))
        if merged is None:
            code = SECOND if review.review_id in self.new_reviews else CONFLICT
            raise RefusedError(f"review id {review.review_id} is already there with other content", code)
        return merged

    def check(self, review: Review, make_papers: bool) -> None:
        """Raises `RefusedError` if the paper already has another review by the candidate of *review*.

        A paper may have several human reviews, but only one in each slot. Also raises the error if the paper is
        unknown, unless *make_papers* allows unknown papers.
        """
        if review.paper_id not in self.papers and not make_papers:
            raise RefusedError(f"paper {review.paper_id} is not known; import it first", UNKNOWN)
        holder = self.positions.get(_build_exclusive_key(review), review.review_id)
        if _build_exclusive_key(review) and holder != review.review_id:
            position = " ".join(str(part) for part in _build_exclusive_key(review)[1:])
            code = SECOND if holder in self.new_reviews else CONFLICT
            raise RefusedError(f"{position} already has review {holder} of paper {review.paper_id}", code)

    def has_human_text(self, review: Review) -> bool:
        """Whether another human review of the same paper has the same text as *review*."""
        equal = self.human_texts.get((review.paper_id, review.text or ""))
        return equal is not None and equal.review_id != review.review_id

    def next_slot(self, paper_id: object) -> int:
        """Returns the next free slot, from 1, of the human reviews of the paper."""
        while (paper_id, "slot", self.slots[paper_id]) in self.positions:
            self.slots[paper_id] += 1
        return self.slots[paper_id]

    def put(self, imported: ImportResult, review: Review, judgments: Judgments | None, source_row: int | None) -> bool:
        """Adds the new records of a row to this index and to *imported*; returns whether anything was new.

        An unknown paper is added with only its id and *source_row*.
        """
        changed = differs = self.reviews.get(review.review_id) != review
        if judgments is not None:
            old = self.judgments.get((judgments.review_id, judgments.writer))
            if old is not None and old != judgments.text:
                reason = f"judgments of {judgments.writer} for this review are already there, and differ"
                raise RefusedError(reason, CONFLICT)
            if old is None:
                self.judgments[judgments.review_id, judgments.writer] = judgments.text
                imported.judgments.append(judgments)
                changed = True
        if review.paper_id not in self.papers:
            self.papers.add(review.paper_id)
            self.new_papers[review.paper_id] = Paper(review.paper_id, source_row=source_row)
        if differs:
            self.reviews[review.review_id] = self.new_reviews[review.review_id] = review
            self.positions[_build_exclusive_key(review)] = review.review_id
            if review.candidate == HUMAN and review.text:
                self.human_texts.setdefault((review.paper_id, review.text), review)
        imported.review_ids.add(review.review_id)
        return changed


def complete_record(old: Record, new: Record) -> Record | None:
    """Returns *old*, completed with the fields that only *new* has; None if both have a field and differ in it."""
    merged = {}
    for field_ in fields(old):
        before, after = getattr(old, field_.name), getattr(new, field_.name)
        if before not in (None, "") and after not in (None, "") and before != after:
            return None
        merged[field_.name] = after if before in (None, "") else before
    return replace(old, **merged)


def _build_exclusive_key(review: Review) -> tuple[str, str, str | int] | tuple[()]:
    """Returns a key that no two reviews may share.

    It holds the paper and the candidate or, for a human review, the paper and the slot. It is () for a human review
    without a slot.
    """
    if review.candidate != HUMAN:
        return (review.paper_id, "candidate", review.candidate)
    return () if review.slot is None else (review.paper_id, "slot", review.slot)


PAPER_COLUMNS = ("paper_id", "title", "abstract", "text", "row")
REVIEW_COLUMNS = (
    "paper_id", "review_id", "candidate", "review", "judgments", "writer", "slot", "rating", "grade", "row",
)  # fmt: skip
NUMBERS = ("slot", "rating", "grade", "row")
"""Columns of numbers, which a file may hold as text."""
MOST_KINDS = 100
"""A column with more distinct values than this is not taken to say who wrote each review."""
CANDIDATE_HEADERS = ("model", "model_name", "llm", "system")
"""Columns that name the candidates of rows if there is no column ``candidate``."""


def read_table_rows(
    path: Path, columns: Collection[str], keep: range | None, imported: ImportResult, epoch: int | None = None,
    reading: ColumnOptions = AS_NAMED, papers: PaperIdMatcher | None = None,
) -> Iterator[tuple[int, Row]]:  # fmt: skip
    """Yields (row number from 1, cells of the row) for the rows of *path*.

    - *columns*: the names of the columns that are read.
    - *keep*: the values of the column ``row`` whose rows are read; None means all rows.
    - *imported*: collects the columns of the file and the refused rows.
    - *epoch*: for an inspect_ai log, the epoch whose reviews are read.
    - *reading*: how the columns are found.
    - *papers*: the ids of the stored papers; an id that loosely matches one of them is replaced by it.

    Raises `SourceError` if a required column is missing. The message names the column that was probably meant.
    """
    ids = papers or PaperIdMatcher(())
    opened = open_rows(
        path,
        imported,
        next((name for name in ("review", "point") if name in columns), "paper"),
        lambda name: ids.match_known_id(name, in_part=True),
        lambda rows, file: reading.select_rows(rows, file, imported),
        epoch,
        adapt="review" not in reading.columns,
    )
    _check_first_row_is_header(path, opened.rows, opened.columns, ids)
    table, present, line = rename_to_fields(path.name, opened.rows, opened.columns, columns, reading, papers)
    imported.notes += [line] if line else []
    spelt: dict[str, str] = {}
    for _, row in table:
        written = row.get("paper_id")
        meant = ids.match_known_id(written, in_part=opened.by_path)
        if meant is not None and meant != written:
            spelt[str(written)], row["paper_id"] = meant, meant
    if spelt:
        written, meant = next(iter(spelt.items()))
        imported.notes.append(f"{len(spelt)} ids mean known papers, such as {shorten_cell(written)}: {meant}")
    imported.columns = tuple(sorted(set(present)))
    imported.ignored_columns = tuple(name for name in imported.columns if name not in columns)
    required = {"paper_id": {"paper_id"}, "review": {"review", "judgments"}, "point": {"point"}}
    lacking = [name for name, any_of in required.items() if name in columns and any_of.isdisjoint(present)]
    if lacking and table:
        hints = _suggest_column_options(path, table, imported, lacking, columns, papers)
        known = "" if hints.count("--columns") >= len(lacking) else f"; columns read: {', '.join(columns)}"
        raise SourceError(
            f"{path.name} has no column {' and no column '.join(lacking)}{hints}; columns there: "
            f"{', '.join(imported.columns) or 'none'}{known}"
        )
    if keep is not None and "row" not in present:
        raise SourceError(f"{path.name}: rows {keep.start}:{keep.stop} were requested, but there is no column row")
    for number, row in table:
        cells = {name: _parse_number_cell(name, cell) for name, cell in row.items()}
        if keep is not None and (not isinstance(cells.get("row"), int) or isinstance(cells["row"], bool)):
            reason = "row is not a whole number, so it is unclear whether the row was requested"
            imported.refuse(number, f"row {number}", reason)
        elif keep is None or cells["row"] in keep:
            yield number, cells
        else:
            imported.not_chosen += 1


def _check_first_row_is_header(path: Path, rows: Rows, headers: Sequence[str], ids: PaperIdMatcher) -> None:
    """Raises `SourceError` if the first row of the file seems to hold values instead of column names.

    That is so if no header names paper ids, and one header is a known paper's id with known ids below it.
    """
    known = ids.ids.intersection(headers)
    if any(header_letters(header) in USUAL["paper_id"] for header in headers if header not in known):
        return
    for header in known:
        if any(row.get(header) in ids.ids for _, row in rows):
            raise SourceError(
                f"{path.name}: its first row holds the paper id {header}; add a row of column names above it, such as "
                "paper_id and review"
            )


def has_value(row: Row, name: str) -> bool:
    """Whether *row* has a value in the column *name*."""
    return row.get(name) not in (None, "")


def _select_rows_of_candidate(path: Path, table: Rows, by: str) -> Rows:
    """Returns the rows with reviews by the candidate *by*, and sets their ``candidate`` to *by*.

    The column ``candidate``, or another such as ``model``, names a row's candidate. The rows that name *by* or no
    candidate are returned. If the rows name only one candidate, and it is not *by*, all rows are returned.

    Raises `SourceError` if the rows name several candidates, but not *by*. Also raises it if they name only the human
    baseline and *by* is a model.
    """
    named = dict.fromkeys(name for _, row in table for name in row if has_value(row, name))
    spelt = ((meant, name) for meant in ("candidate", *CANDIDATE_HEADERS) for name in named)
    column = next((name for meant, name in spelt if name.strip().lower() == meant), None)
    names = list(dict.fromkeys(str(row[column]) for _, row in table if has_value(row, column))) if column else []
    if by != HUMAN and {name.strip().lower() for name in names} == {HUMAN}:
        raise SourceError(
            f"{path.name}: its column {column} says that the reviews are human; give them as human reviews, or "
            "leave the column out"
        )
    if len(names) > 1 and by not in names:
        raise SourceError(
            f"{path.name} holds reviews of {len(names)} candidates, and none is called {by}; "
            f"name one of them (--as NAME, or --candidate NAME=FILE): {format_name_list(names)}"
        )
    kept = [(number, row) for number, row in table if by not in names or str(row.get(column or "") or by) == by]
    return [(number, row | {"candidate": by}) for number, row in kept]


def _parse_number_cell(name: str, cell: Any) -> Any:
    """Converts the text *cell* of one of the columns `NUMBERS` into a number, or into None if it is blank.

    Returns *cell* unchanged if it is not a text, holds no number, or belongs to another column.
    """
    if not isinstance(cell, str) or name not in NUMBERS:
        return cell
    number = (parse_rating if name == "rating" else parse_number)(cell)
    if number is None:
        return cell if cell.strip() else None
    return int(number) if number.is_integer() else number


def _suggest_column_options(
    path: Path, table: Rows, imported: ImportResult, lacking: Iterable[str], columns: Collection[str],
    papers: PaperIdMatcher | None,
) -> str:  # fmt: skip
    """Returns the end of a message: options that probably name the *lacking* columns; empty if no column is likely."""
    likely = suggest_fields(path.name, table, imported.columns, columns, papers)
    options = [f'--columns {name}="{header}"' for name in lacking for header in likely.get(name, ())]
    return f"; perhaps {' '.join(options)}" if options else ""


NOBODY = "it names no candidate; name one, or give --as NAME or --human for all that name none"
UNNAMED = "unnamed"


def read_new_papers(
    path: Path, known: Mapping[str, Paper], rows: range | None = None, reading: ColumnOptions = AS_NAMED
) -> ImportResult:
    """Returns the papers of the file *path* that are new or complete a known paper, and the outcome of all rows.

    *known*: id → stored paper. A row is refused if the stored paper with its id has other content. *rows*: as *keep* in
    `read_table_rows`. If ``reading.guess`` is true, `make_valid_id` converts ids that are file names or contain invalid
    characters.
    """
    imported, papers = ImportResult(), PaperMerger(known)
    spelt: dict[str, str] = {}
    for number, row in read_table_rows(path, PAPER_COLUMNS, rows, imported, reading=reading):
        try:
            if reading.guess and isinstance(row.get("paper_id"), str):
                written = row["paper_id"]
                row["paper_id"] = make_valid_id(written)
                other = spelt.setdefault(row["paper_id"], written)
                if other != written and any(map(NOT_IN_A_NAME.search, (other, written))):
                    raise RefusedError(f"{written} and {other} both become {row['paper_id']}; rename one of them")
            paper_id, title, abstract = (
                read_name(row, "paper_id"),
                read_prose(row, "title"),
                read_prose(row, "abstract"),
            )
            paper = Paper(paper_id, title or "", abstract, read_prose(row, "text"), read_integer(row, "row"))
            imported.count(papers.put(paper))
        except RefusedError as reason:
            imported.refuse(number, f"paper {shorten_cell(row.get('paper_id'))}", reason)
    imported.papers, imported.paper_ids = list(papers.new.values()), papers.accepted
    return imported


def read_new_reviews(
    path: Path, known: Mapping[str, Review], known_judgments: Mapping[tuple[str, str], str], papers: Iterable[str], *,
    by: str | None = None, only: bool = False, writer: str | None = None, rows: range | None = None,
    make_papers: bool = False, epoch: int | None = None, reading: ColumnOptions = AS_NAMED,
) -> ImportResult:  # fmt: skip
    """Returns the new reviews and judgments in *path*: a file, a folder of texts, or inspect_ai logs.

    - *known*, *known_judgments*, *papers*: as in `ReviewMerger`.
    - *make_papers*: whether to add unknown papers; otherwise their reviews are refused.
    - *by*: the candidate of rows that name none. Without *by*, such a row may only complete a known review, so it
      cannot add a human review by accident. *only*: whether to import only the reviews by *by*.
    - *writer*: the writer of judgments in rows that name none.
    - *rows*, *epoch*, *reading*: as *keep*, *epoch*, *reading* in `read_table_rows`. If ``reading.guess`` is true, ids
      that repeat between papers get the paper's id in front. A human review without an id or a slot gets the next slot,
      unless its text is word for word that of another human review of the paper.

    The result's notes count the rows that repeat another row, and the reviews whose text is that of a human review of
    the same paper. An unknown id may refer to a known paper (`PaperIdMatcher`); a note says how many do. Raises
    `SourceError` if the file has no usable form, or if nothing names a candidate.
    """
    imported = ImportResult()
    merge_index = ReviewMerger(known, known_judgments, papers)
    if by is not None and not is_name(by):
        raise SourceError(
            f"a candidate cannot be called {shorten_cell(by)}: letters, digits and . _ : / @ + -, at most 200{NO_PATH}"
        )
    ids = PaperIdMatcher(merge_index.papers)
    table = list(read_table_rows(path, REVIEW_COLUMNS, rows, imported, epoch, reading, ids))
    if by == HUMAN:
        _check_all_reviews_are_human(path, table, imported.ignored_columns)
    for _, row in table:
        if str(row.get("candidate")).strip().lower() == HUMAN:
            row["candidate"] = HUMAN
    imported.named = tuple(sorted({str(row["candidate"]) for _, row in table if has_value(row, "candidate")}))
    imported.unnamed = sum(not has_value(row, "candidate") for _, row in table)
    kept = _select_rows_of_candidate(path, table, by) if only and by is not None else table
    imported.left_out |= {"by other candidates": len(table) - len(kept)} if len(kept) < len(table) else {}
    repeated, id_prefixed = 0, reading.guess and _do_ids_repeat_between_papers(kept)
    if id_prefixed:
        imported.notes.append("review ids repeat between papers, so each gets its paper's id in front, such as p1:R1")
    for number, row in kept:
        try:
            if reading.guess:
                _fill_in_review_id(row, by, id_prefixed, merge_index)
            review, judgments = _read_review(row, by, writer, merge_index.reviews, imported)
            review = merge_index.complete_review(review, named=by is not None or has_value(row, "candidate"))
            merge_index.check(review, make_papers)
            has_row = review.review_id in imported.review_ids
            changed = merge_index.put(imported, review, judgments, read_integer(row, "row"))
            imported.count(changed)
            repeated += has_row and not changed
        except RefusedError as reason:
            item, paper = row.get("review_id") or row.get("paper_id"), str(row.get("paper_id"))
            imported.refuse(number, f"review {shorten_cell(item)}", reason, reason.code, paper)
    if "candidate" not in imported.columns and any(refusal.code == UNNAMED for refusal in imported.refusals):
        do = (
            _suggest_column_options(path, table, imported, ["candidate"], REVIEW_COLUMNS, ids).removeprefix("; ")
            or "add it"
        )
        raise SourceError(
            f"{path.name}: nothing says whose reviews these are: there is no column candidate; {do}, or name one "
            f"candidate for all of them: --as NAME (with new: --candidate NAME={path.name}), or --human for human "
            "reviews"
        )
    imported.papers, imported.reviews = list(merge_index.new_papers.values()), list(merge_index.new_reviews.values())
    imported.add_removed_thinking_note()
    imported.notes += [f"{counted(repeated, 'row')} repeat another row; each review counts once"] if repeated else []
    imported.notes += _describe_copies_of_human_texts(merge_index)
    return imported


def _fill_in_review_id(row: Row, by: str | None, id_prefixed: bool, merge_index: ReviewMerger) -> None:
    """Puts the paper's id in front of the review id of *row* if *id_prefixed* is true.

    If *row* is a human review without id and slot, gives it the next slot of its paper. If its text is that of a known
    human review of the paper, gives it that review's id and slot instead.
    """
    if has_value(row, "review_id"):
        if id_prefixed:
            row["review_id"] = f"{read_name(row, 'paper_id')}:{read_name(row, 'review_id')}"
    elif (row.get("candidate") or by) == HUMAN and not has_value(row, "slot"):
        paper_id = read_name(row, "paper_id")
        equal = merge_index.human_texts.get((paper_id, read_prose(row, "review") or ""))
        if equal:
            row |= {"review_id": equal.review_id, "slot": equal.slot}
        else:
            row["slot"] = merge_index.next_slot(paper_id)


def _describe_copies_of_human_texts(merge_index: ReviewMerger) -> list[str]:
    """Returns a note on the new reviews that copy the text of a human review of the same paper; [] if none do."""
    papers = [review.paper_id for review in merge_index.new_reviews.values() if merge_index.has_human_text(review)]
    if not papers:
        return []
    examples = ", ".join(dict.fromkeys(papers[:SHOWN_ROWS])) + (", ..." if len(papers) > SHOWN_ROWS else "")
    return [
        "word for word a human review of the same paper, so scored against its own text: "
        f"{counted(len(papers), 'review')} ({examples})"
    ]


def _do_ids_repeat_between_papers(table: Rows) -> bool:
    papers: dict[str, str] = {}
    ids = ((str(row["review_id"]), str(row.get("paper_id"))) for _, row in table if has_value(row, "review_id"))
    return any(papers.setdefault(review_id, paper) != paper for review_id, paper in ids)


def _check_all_reviews_are_human(path: Path, table: Rows, columns: Iterable[str]) -> None:
    """Raises `SourceError` if one of *columns*, which are not imported, says that only some reviews are human."""
    for name in columns:
        kinds = Counter(str(row[name]) for _, row in table if isinstance(row.get(name), str))
        human = next((kind for kind in kinds if kind.strip().lower() == HUMAN), None)
        if human is not None and 1 < len(kinds) <= MOST_KINDS:
            counts = ", ".join(f"{shorten_cell(kind)} {count}" for kind, count in kinds.most_common())
            raise SourceError(
                f"{path.name}: not all reviews are human by its column {name} ({counts}); choose these with "
                f'--where {name}={human}, or take all with --columns candidate="{name}"'
            )


def _read_review(
    row: Row, by: str | None, writer: str | None, known: Mapping[str, Review], imported: ImportResult
) -> tuple[Review, Judgments | None]:
    paper_id = read_name(row, "paper_id")
    candidate = read_name(row, "candidate") if has_value(row, "candidate") else by
    if candidate in CONTROLS:
        raise RefusedError(f"candidate name {candidate} belongs to a built-in control")
    slot, text = read_integer(row, "slot"), read_prose(row, "review", imported)
    judgments = read_prose(row, "judgments", imported)
    if text is None and judgments is None:
        raise RefusedError("empty review: neither review nor judgments has any text", EMPTY)
    if has_value(row, "review_id"):
        review_id = read_name(row, "review_id")
    elif slot is None and candidate in (None, HUMAN):
        nobody = RefusedError(NOBODY, UNNAMED)
        raise RefusedError("a human review needs a review_id or a slot") if candidate else nobody
    else:
        review_id = f"{paper_id}:{slot if candidate in (None, HUMAN) else candidate}"
    if candidate is None and review_id not in known:
        raise RefusedError(NOBODY, UNNAMED)
    candidate = candidate or known[review_id].candidate
    review = Review(review_id, paper_id, candidate, text, slot, read_number(row, "rating"), read_number(row, "grade"))
    if judgments is None:
        return review, None
    named = read_text(row, "writer") or writer
    if named is not None and (named == FIXED_WRITER or not named.isprintable() or len(named) > 200):
        raise RefusedError(f"a writer cannot be called {shorten_cell(named)}")
    if named is None:
        raise RefusedError("its judgments have no writer: add a writer column, or name one with --writer")
    return review, Judgments(review_id, named, judgments)


POINT_COLUMNS = ("paper_id", "review_id", "candidate", "point")
_NUMBERING = re.compile(r"(?:^|[_ ])(?:id|no|nr|number|index|idx|row|place|page|line)$|^#|#$", re.IGNORECASE)
"""Headers of columns that number points, and are not labels."""
BOOLEAN_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""Word in the cell of a label → the number that it stands for."""
YES_OR_NO = {**BOOLEAN_WORDS, "1": 1.0, "0": 0.0}
"""Text in the cell of a label that has any of `BOOLEAN_WORDS` → the number that it stands for.

No other text is allowed.
"""


@dataclass(frozen=True, slots=True)
class LabelledPoint:
    """A remark of a review, with its labels.

    - *review_id*: the review's id; None if the edition does not have the review. The points by *candidate* on the
      paper then count as one review.
    - *place*: the point's position among the points of its review, from 1. *labels*: name → value; higher is better.
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
        """The key that all points of one review share."""
        return self.paper_id, self.review_id or self.candidate


def parse_ordered_labels(stated: Sequence[str]) -> dict[str, dict[str, float]]:
    """Returns label → {value: rank} from the texts *stated*, each ``LABEL=WORST,...,BEST``."""
    orders: dict[str, dict[str, float]] = {}
    for text in stated:
        name, equals, values = text.partition("=")
        ranks = [value.strip().lower() for value in values.split(",")]
        if not equals or not name.strip() or len(ranks) < 2 or len(set(ranks)) < len(ranks) or "" in ranks:
            raise SettingsError(f"--order {text}: write LABEL=WORST,...,BEST with each value once, worst first")
        orders[name.strip()] = {value: float(rank) for rank, value in enumerate(ranks)}
    return orders


def read_new_points(
    path: Path, known: Mapping[str, LabelledPoint], reviews: Mapping[str, Review], papers: Collection[str],
    orders: Mapping[str, Mapping[str, float]], reading: ColumnOptions = AS_NAMED,
) -> tuple[list[LabelledPoint], ImportResult]:  # fmt: skip
    """Returns the points in *path* that are new or have new labels, and the outcome of all rows.

    *known*, *reviews*: the stored points and reviews by id. *orders*: as returned by `parse_ordered_labels`.

    `POINT_COLUMNS` identify a point. Any other column is a label if *orders* contains it. It is also a label if at
    least half of its values are numbers or one of the words true, false, yes and no. A label with any of these words
    may hold no numbers but 0 and 1. A column that numbers points, such as ``index``, is a label only by *orders*.
    """
    imported = ImportResult()
    rows = list(read_table_rows(path, POINT_COLUMNS, None, imported, reading=reading, papers=PaperIdMatcher(papers)))
    columns = list(imported.ignored_columns)
    _check_label_columns(path, columns, orders)
    columns = [name for name in columns if name in orders or not _NUMBERING.search(name)]
    cells = {name: [row[name] for _, row in rows if has_value(row, name)] for name in columns}
    numbers = {name: sum(_parse_label_number(cell) is not None for cell in cells[name]) for name in columns}
    labels = [name for name in columns if name in orders or 2 * numbers[name] >= max(1, len(cells[name]))]
    ranks = {name: orders.get(name, YES_OR_NO if any(map(_is_boolean_word, cells[name])) else None) for name in labels}
    imported.ignored_columns = tuple(name for name in imported.ignored_columns if name not in labels)
    by_candidate = {(item.paper_id, item.candidate): item for item in reviews.values() if item.candidate != HUMAN}
    points, changed = dict(known), set[str]()
    places, blank, without_review = Counter[tuple[str, str]](), Counter[str](), Counter[tuple[str, str]]()
    for point in known.values():
        places[point.group] = max(places[point.group], point.place)
    for number, row in rows:
        try:
            point = _read_point(row, reviews, by_candidate, papers, ranks, imported)
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
            blank.update({*labels} - point.labels.keys())
            if point.review_id is None:
                without_review[point.group] += 1
            imported.count(point != old)
            if point != old:
                points[point.point_id] = point
                changed.add(point.point_id)
        except RefusedError as reason:
            paper_id = row.get("paper_id")
            imported.refuse(number, f"point of paper {shorten_cell(paper_id)}", reason, reason.code, paper_id)
    imported.add_removed_thinking_note()
    imported.notes += _describe_imported_points(labels, len(rows) - len(imported.refusals), blank, without_review)
    return [points[name] for name in points if name in changed], imported


def _check_label_columns(path: Path, columns: Sequence[str], orders: Iterable[str]) -> None:
    """Checks the names of the label columns.

    Raises `SourceError` if one of *columns* is not valid Unicode, and `SettingsError` if one of *orders* is not among
    *columns*.
    """
    if strange := next((name for name in columns if not is_utf8_text(name)), None):
        raise SourceError(f"{path.name}: the name of the column {strange!a:.60} is not valid Unicode; rename it")
    if absent := [name for name in orders if name not in columns]:
        raise SettingsError(
            f"--order {absent[0]}: {path.name} has no such column; its other columns: {format_name_list(columns)}"
        )


def _describe_imported_points(
    labels: list[str], accepted: int, blank: Counter[str], without_review: Counter[Any]
) -> list[str]:
    """Returns lines for the user about the imported rows, whose number is *accepted*.

    They say how many points have each label, and how many points belong to reviews that the edition lacks.
    """
    notes = [
        f"label {name}: {counted(accepted - blank[name], 'point')}" + (f", {blank[name]} blank" if blank[name] else "")
        for name in labels
    ] or [
        "no column is a label: a label holds numbers, true and false, or yes and no, or its values are stated in "
        "order: --order LABEL=WORST,...,BEST"
    ]
    if without_review:
        notes.append(
            f"{counted(without_review.total(), 'point')} of {counted(len(without_review), 'review')} that the "
            "edition does not have: such a review is taken to be its points"
        )
    return notes


def _read_point(
    row: Row,
    reviews: Mapping[str, Review],
    by_candidate: Mapping[tuple[str, str], Review],
    papers: Collection[str],
    labels: Mapping[str, Mapping[str, float] | None],
    imported: ImportResult,
) -> LabelledPoint:
    """Returns the point in *row*; its place is 0 until the caller sets it.

    *labels*: label → {allowed value: its number}, or None if any number is allowed.
    """
    paper_id, text = read_name(row, "paper_id"), read_prose(row, "point", imported)
    if paper_id not in papers:
        raise RefusedError(f"paper {paper_id} is not known; import it first", UNKNOWN)
    if text is None:
        raise RefusedError("point is missing")
    candidate = read_name(row, "candidate") if has_value(row, "candidate") else None
    review_id = read_name(row, "review_id") if has_value(row, "review_id") else None
    if review_id is not None and (review_id not in reviews or reviews[review_id].paper_id != paper_id):
        raise RefusedError(f"paper {paper_id} has no review {review_id}; import it first, or leave review_id blank")
    if review_id is None and candidate in (None, HUMAN):
        raise RefusedError("whose point it is is missing: fill in review_id, or candidate for a review by a model")
    review = reviews[review_id] if review_id else by_candidate.get((paper_id, str(candidate)))
    if review and candidate not in (None, review.candidate):
        raise RefusedError(f"review {review.review_id} is by {review.candidate}, not by {candidate}")
    values = {
        name: _parse_label_value(row[name], name, ranks) for name, ranks in labels.items() if has_value(row, name)
    }
    named = review.review_id if review else None
    key = "\0".join((paper_id, named or str(candidate), " ".join(text.split())))
    point_id = hashlib.sha256(key.encode()).hexdigest()[:16]
    return LabelledPoint(point_id, paper_id, named, review.candidate if review else str(candidate), text, 0, values)


def _is_boolean_word(cell: Any) -> bool:
    return isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().lower() in BOOLEAN_WORDS)


def _parse_label_value(cell: Any, name: str, ranks: Mapping[str, float] | None) -> float:
    if ranks is not None:
        spelt = str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
        if spelt.strip().lower() not in ranks:
            raise RefusedError(f"{name} is {shorten_cell(cell)}, which is none of {', '.join(ranks)}")
        return ranks[spelt.strip().lower()]
    value = _parse_label_number(cell)
    if value is None:
        raise RefusedError(f"{name} is {shorten_cell(cell)}: no number, no true or false, no yes or no")
    return value


def _parse_label_number(cell: Any) -> float | None:
    word = cell.strip().lower() if isinstance(cell, str) else ""
    return float(cell) if isinstance(cell, bool) else BOOLEAN_WORDS.get(word, parse_number(cell))

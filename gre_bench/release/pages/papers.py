"""Writes one page per paper: scores, reviews with their judgments, and how much each token of a reference gained.

A token's gain is how much its log-probability increases when the evaluation LM has read the candidate's review.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.release.database import rows, streamed
from gre_bench.release.pages.board import Board, page_of
from gre_bench.release.pages.rendering import paper_page
from gre_bench.store import Row


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """A candidate's mean score on a paper under one metric.

    *why*: the reason if *mean* is None, that is, if there is no score.
    """

    mean: float | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class CandidateScores:
    """A candidate's scores on one paper.

    *cells*: one score per board. *href*: address of the candidate's page.
    """

    candidate: str
    kind: str
    href: str
    cells: tuple[ScoreCell, ...]


@dataclass(frozen=True, slots=True)
class ShownReview:
    """A review of a paper and its judgments; texts that may not be shown are None or empty.

    *role*: candidate or reference for a human review; None for other reviews. *review*: its text.
    *writer*: who turned the review into judgments. *lines*: the judgments.
    """

    review_id: str
    candidate: str
    role: str | None
    review: str | None
    writer: str | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PaperPage:
    """The contents of a paper's page.

    - *lines*: the scores of each candidate. *reviews*: the reviews of the paper.
    - *heat*: the boards with heat maps, which show how much each token adds to a score.
    - *candidates*, *references*: ids of the candidates and of the reference reviews in the heat maps.
    - *withheld*: whether a heat map shows tokens without their words.
    """

    paper_id: str
    title: str | None
    abstract: str | None
    boards: tuple[Board, ...]
    lines: tuple[CandidateScores, ...]
    heat: tuple[Board, ...] = ()
    candidates: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    withheld: bool = False
    reviews: tuple[ShownReview, ...] = ()

    def words_of(self, review_id: str) -> str | None:
        """Returns the text of the review *review_id*, or None if the text may not be shown."""
        return next((item.review for item in self.reviews if item.review_id == review_id), None)

    @property
    def by_candidates(self) -> tuple[ShownReview, ...]:
        """Returns all reviews except those shown as references in the heat maps."""
        return tuple(item for item in self.reviews if item.role != "reference" or item.review_id not in self.references)


def write_papers(
    connection: duckdb.DuckDBPyConnection, folder: Path, name: str, edition: str, boards: Sequence[Board]
) -> int:
    """Writes the page of every paper of *boards* to the new *folder*; returns the number of pages.

    *connection*: to the release's database. *name*: the name of the release.
    """
    folder.mkdir()
    papers = {row["paper_id"]: row for row in rows(connection, "papers")}
    reviews = {key: list(group) for key, group in groupby(rows(connection, "paper_reviews"), lambda r: r["paper_id"])}
    count = 0
    for paper_id, pairs in _by_paper(connection):
        page, gains = _paper(papers[paper_id], pairs, reviews.get(paper_id, []), boards)
        text = paper_page(name, edition, page, gains)
        (folder / page_of(paper_id)).write_text(text, encoding="utf-8")
        count += 1
    return count


def _by_paper(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, list[Row]]]:
    for paper_id, group in groupby(streamed(connection, "paper_pairs"), key=lambda row: row["paper_id"]):
        yield paper_id, list(group)


def _paper(paper: Row, pairs: Sequence[Row], reviews: Sequence[Row], boards: Sequence[Board]) -> tuple[PaperPage, str]:
    kinds = {row["candidate_id"]: row["kind"] for row in pairs}
    order = sorted(kinds, key=lambda name: (kinds[name] != "human", kinds[name] == "control", name))
    by_cell: dict[tuple[str, str], list[Row]] = {}
    for row in pairs:
        by_cell.setdefault((row["candidate_id"], row["signature_id"]), []).append(row)
    lines = tuple(
        CandidateScores(
            name,
            kinds[name],
            f"../candidates/{page_of(name)}",
            tuple(_cell(by_cell.get((name, board.signature_id), ())) for board in boards),
        )
        for name in order
    )
    with_gains = [row for row in pairs if row["gains"]]
    heat = tuple(board for board in boards if any(row["signature_id"] == board.signature_id for row in with_gains))
    references = tuple(sorted({row["reference_id"] for row in with_gains}))
    page = PaperPage(
        paper["paper_id"], paper["title"], paper["abstract"], tuple(boards), lines, heat,
        tuple(name for name in order if any(row["candidate_id"] == name for row in with_gains)), references,
        any(row["pieces"] is None for row in with_gains), tuple(_shown(reviews)),
    )  # fmt: skip
    return page, json.dumps([_heat(board, with_gains, references) for board in heat], separators=(",", ":"))


def _cell(pairs: Sequence[Row]) -> ScoreCell:
    values = [row["value"] for row in pairs if row["state"] == "scored"]
    if values:
        return ScoreCell(sum(values) / len(values))
    return ScoreCell(None, next((row["reason"] or row["state"] for row in pairs), "not planned").replace("_", " "))


def _heat(board: Board, with_gains: Sequence[Row], references: Sequence[str]) -> Mapping[str, Any]:
    """Returns the data of the heat map of *board* on one paper: the words of each reference and the gains of each pair.

    *with_gains*: the paper's pairs that have gains. *references*: ids of the reference reviews.

    In the result, each reference has ``pieces``: its text as one piece per token; None if the text may not be shown.
    Each pair has ``gains``: one number per token of the reference, in tenths of a nat, joined by commas.
    """
    rows_of_board = [row for row in with_gains if row["signature_id"] == board.signature_id]
    pieces = {row["reference_id"]: row["pieces"] for row in rows_of_board}
    return {
        "metric": board.metric,
        "unit": board.unit,
        "references": [{"pieces": pieces.get(name)} for name in references],
        "rows": [
            {
                "candidate": row["candidate_id"],
                "reference": references.index(row["reference_id"]),
                "value": round(row["value"], 3),
                "gains": row["gains"],
            }
            for row in rows_of_board
        ],
    }


def _shown(reviews: Sequence[Row]) -> Iterator[ShownReview]:
    for row in reviews:
        lines = tuple(line.strip() for line in (row["judgments"] or "").splitlines() if line.strip())
        yield ShownReview(row["review_id"], row["candidate"], row["role"], row["review"], row["writer"], lines)

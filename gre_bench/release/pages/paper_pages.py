"""Writes one page per paper: scores, reviews with their judgments, and the gain of each token of a reference.

A token's gain is how much its log-probability increases once the evaluation LM has read the candidate's review.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.release.pages.board_page import Board, build_page_file_name
from gre_bench.release.pages.rendering import render_page
from gre_bench.release.public_tables import run_page_query
from gre_bench.store import Row

AT_ONCE = 250
"""The number of papers whose tokens and texts are in memory at one time."""
Pieces = Mapping[tuple[str, str], Sequence[str]]
"""(Signature id, reference id) → the reference's text, one piece per token, if it may be shown."""


def write_paper_pages(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    name: str,
    edition: str,
    boards: Sequence[Board],
    everything: bool,
) -> None:
    """Writes a page for every paper of *boards* to the new *folder*.

    *connection*: a connection to the release's database. *name*: the release's name. *everything*: whether the release
    has all texts, whatever their licence.
    """
    folder.mkdir()
    papers = run_page_query(connection, "papers")
    for first in range(0, len(papers), AT_ONCE):
        some = papers[first : first + AT_ONCE]
        ids = [paper["paper_id"] for paper in some]
        pairs = _group_by_paper(run_page_query(connection, "paper_pairs", papers=ids))
        reviews = _group_by_paper(run_page_query(connection, "paper_reviews", papers=ids))
        pieces = {(row["signature_id"], row["reference_id"]): row["pieces"]
                  for row in run_page_query(connection, "paper_pieces", papers=ids)}  # fmt: skip
        for paper in some:
            own = pairs[paper["paper_id"]], reviews.get(paper["paper_id"], []), pieces
            contents, gains = _build_paper_page(paper, *own, boards)
            contents["everything"] = everything
            text = render_page("paper.html", ("page.js", "paper.js"), gains, name=name, edition=edition, paper=contents)
            (folder / build_page_file_name(paper["paper_id"])).write_text(text, encoding="utf-8")


def _group_by_paper(ordered: Sequence[Row]) -> dict[str, list[Row]]:
    return {name: list(group) for name, group in groupby(ordered, key=itemgetter("paper_id"))}


def _build_paper_page(
    paper: Row, pairs: Sequence[Row], reviews: Sequence[Row], pieces: Pieces, boards: Sequence[Board]
) -> tuple[dict[str, Any], str]:
    """Returns the contents of a paper's page, and the JSON of its heat maps.

    The contents include *heat*, the boards with heat maps; *candidates* and *references*, the ids in the heat maps;
    *withheld*, whether a heat map shows tokens without their words; and *originals*, review id → text, or None if the
    text may not be shown.
    """
    kinds = {row["candidate_id"]: row["kind"] for row in pairs}
    order = sorted(kinds, key=lambda name: (kinds[name] != "human", kinds[name] == "control", name))
    by_cell: dict[tuple[str, str], list[Row]] = {}
    for row in pairs:
        by_cell.setdefault((row["candidate_id"], row["signature_id"]), []).append(row)
    lines = [
        {"candidate": name, "kind": kinds[name], "href": f"../candidates/{build_page_file_name(name)}",
         "cells": [_build_score_cell(by_cell.get((name, board.signature_id), ())) for board in boards]}
        for name in order
    ]  # fmt: skip
    with_gains = [row for row in pairs if row["gains"]]
    heat = [board for board in boards if any(row["signature_id"] == board.signature_id for row in with_gains)]
    references = sorted({row["reference_id"] for row in with_gains})
    shown = [
        {**row, "lines": [line.strip() for line in (row["judgments"] or "").splitlines() if line.strip()]}
        for row in reviews
    ]
    contents = {
        **{name: paper[name] for name in ("paper_id", "title", "abstract")},
        "boards": boards,
        "lines": lines,
        "heat": heat,
        "candidates": [name for name in order if any(row["candidate_id"] == name for row in with_gains)],
        "references": references,
        "withheld": any((row["signature_id"], row["reference_id"]) not in pieces for row in with_gains),
        "originals": {row["review_id"]: row["review"] for row in reversed(shown)},
        # A human review is shown as a candidate's if it has pairs. A paper's only human review is just a reference.
        "by_candidates": [
            row
            for row in shown
            if (row["role"] != "reference" and row["candidate"] in kinds) or row["review_id"] not in references
        ],
    }
    return contents, json.dumps(
        [_build_heat_map(board, with_gains, references, pieces) for board in heat], separators=(",", ":")
    )


def _build_score_cell(pairs: Sequence[Row]) -> dict[str, Any]:
    values = [row["value"] for row in pairs if row["state"] == "scored"]
    why = next((row["reason"] or row["state"] for row in pairs), "not planned").replace("_", " ")
    return {"mean": sum(values) / len(values) if values else None, "why": why}


def _build_heat_map(
    board: Board, with_gains: Sequence[Row], references: Sequence[str], pieces: Pieces
) -> dict[str, Any]:
    """Returns the data of the heat map of *board* on one paper.

    Each of the *references* has ``pieces``: its text, split into one piece per token, or None if the text may not be
    shown. Each pair of a candidate and a reference has ``gains``: one number per token of the reference, in tenths of a
    nat, joined by commas.
    """
    own = [row for row in with_gains if row["signature_id"] == board.signature_id]
    return {
        "metric": board.metric,
        "unit": board.unit,
        "references": [{"pieces": pieces.get((board.signature_id, name))} for name in references],
        "rows": [
            {
                "candidate": row["candidate_id"],
                "reference": references.index(row["reference_id"]),
                "value": round(row["value"], 3),
                "gains": row["gains"],
            }
            for row in own
        ],
    }

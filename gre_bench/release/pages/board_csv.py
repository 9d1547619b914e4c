"""Writes a board as comma-separated values into its page, so that a saved page includes all values."""

from __future__ import annotations

import base64
from dataclasses import fields

from gre_bench.core.terminal import csv_table
from gre_bench.release.pages.board import Board, Entry

_LEFT_OUT = {"flags", "href"}
_NAMES = {
    "mean": "score", "difference": "vs_human", "difference_low": "vs_human_low", "difference_high": "vs_human_high",
}  # fmt: skip
"""Fields of an entry → the names that their columns have everywhere."""
_COLUMNS = tuple(field.name for field in fields(Entry) if field.name not in _LEFT_OUT)


def as_csv(board: Board) -> str:
    """Returns *board* as CSV: one row per candidate, one column per field, in full precision; unknown values are empty.

    Its cells are those of `gre_bench.core.terminal.csv_cell`.
    """
    about = (board.metric, board.unit, board.signature_id)
    rows = ([*about, *(getattr(entry, name) for name in _COLUMNS)] for entry in board.entries)
    heads = (_NAMES.get(name, name) for name in _COLUMNS)
    return csv_table(["metric", "unit", "signature_id", *heads], rows)


def as_link(board: Board) -> str:
    """Returns the CSV of *board* as a data URL, so that the page can offer it for download without a request."""
    return "data:text/csv;base64," + base64.b64encode(as_csv(board).encode()).decode()

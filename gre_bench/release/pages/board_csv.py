"""Writes a board as comma-separated values into its page, so that a saved page includes all values."""

from __future__ import annotations

import base64
import csv
import io
from dataclasses import fields

from gre_bench.release.pages.board import Board, Entry

_LEFT_OUT = {"flags", "href"}
_COLUMNS = tuple(field.name for field in fields(Entry) if field.name not in _LEFT_OUT)
_OPENS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(board: Board) -> str:
    """Returns *board* as CSV: one row per candidate, one column per field, in full precision; unknown values are empty.

    A text that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["metric", "unit", "signature_id", *_COLUMNS])
    for entry in board.entries:
        cells = [_cell(getattr(entry, name)) for name in _COLUMNS]
        writer.writerow([*map(_cell, (board.metric, board.unit, board.signature_id)), *cells])
    return written.getvalue()


def as_link(board: Board) -> str:
    """Returns the CSV of *board* as a data URL, so that the page can offer it for download without a request."""
    return "data:text/csv;base64," + base64.b64encode(as_csv(board).encode()).decode()


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_OPENS_A_FORMULA):
        return f"'{value}"
    return value

"""Stores the text of each reference as pieces, one per token, for the heat maps.

References whose text may not be shown are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gre_bench.core.judgments import prepared
from gre_bench.store import connect, statement

Pieces = Callable[[str, Sequence[int]], Sequence[str] | None]
"""A function from a text and its token ids to the piece of text of each token; None if the ids do not match."""


def add_pieces(database: Path, pieces_of: Pieces | None) -> int:
    """Adds the table ``pieces`` to a release's *database*: one row per signature and reference.

    Returns the number of rows. *pieces_of*: a function that splits a text into one piece per token id. If None, the
    table stays empty.
    """
    connection = connect(database)
    try:
        connection.execute(statement("release", "make_pieces"))
        added = []
        if pieces_of is not None:
            for row in connection.execute(statement("release", "shown_references")).fetchall():
                signature_id, reference_id, form, ascii_fold, text, ids = row
                pieces = pieces_of(prepared(text, form, ascii_fold), ids)
                if pieces is not None and len(pieces) == len(ids) and "".join(pieces).strip():
                    added.append((signature_id, reference_id, list(pieces)))
        for row in added:
            connection.table("pieces").insert(list(row))
        connection.execute("checkpoint")
    finally:
        connection.close()
    return len(added)

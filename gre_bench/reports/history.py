"""Compares candidates across years by their differences from anchors, because each edition has its own papers.

An anchor is a candidate that every edition scores. Raw scores of two years also differ because the papers differ. So
only differences from the anchors' mean score are compared across years. The result has the change in this difference,
with its interval, under one signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gre_bench.board.words import FEW
from gre_bench.board.years import compute_changes_between_editions, tabulate_candidates_by_edition
from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import find_matching_name
from gre_bench.core.records import parse_edition_key
from gre_bench.store import Store, find_editions
from gre_bench.store.queries import ANCHORED, CURRENT_SIGNATURES, KNOWN_CANDIDATES


def compare_years(
    state: Path, editions: Sequence[str] | None, metrics: Sequence[str] | None, anchors: Sequence[str]
) -> dict[str, Any]:
    """Returns each candidate's difference from the mean of the *anchors* in each edition, and how it changed.

    *editions*: keys of editions, or names of venues; a venue stands for all its editions. For *editions* and *metrics*,
    None means all. *anchors*: candidates' names or ends of names; the result has the full names.

    In the result, *rows* has one row per metric, signature, candidate and edition; *tables* and *changes* are computed
    from these rows. *few*: edition → the largest number of papers in its rows, for editions where it is below `FEW`.
    *left_out*: edition without rows → the reason. Raises `SettingsError` if no edition has rows.
    """
    anchored: list[str] = []
    known = find_editions(state)
    keys = [key for name in editions for key in _expand_venue(name, known)] if editions else known
    keys = sorted(dict.fromkeys(keys), key=lambda key: (parse_edition_key(key).venue, parse_edition_key(key).year, key))
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for key in keys:
        store, edition = Store(state, key), parse_edition_key(key)
        if not store.is_readable:
            left_out[key] = "nothing to read yet"
            continue
        candidates = [row["candidate"] for row in store.read(KNOWN_CANDIDATES)]
        named = [find_matching_name(name, candidates) or name for name in anchors]
        signatures = [row for row in store.read(CURRENT_SIGNATURES) if not metrics or row["metric"] in metrics]
        ids = [row["signature_id"] for row in signatures]
        if not ids:
            left_out[key] = "no scores" + (f" of {', '.join(metrics)}" if metrics else "")
        elif not (own := store.read(ANCHORED, signature_ids=ids, anchors=named)):
            left_out[key] = f"no candidate on the same pairs as {', '.join(named)}; --anchor names another"
        else:
            anchored += named
            rows += [row | {"edition": key, "venue": edition.venue, "year": edition.year} for row in own]
    if not rows:
        reasons = "; ".join(f"{key}: {why}" for key, why in left_out.items()) or f"no editions in {state}"
        raise SettingsError(f"there is no history to show ({reasons})")
    papers: dict[str, int] = {}
    for row in rows:
        papers[row["edition"]] = max(row["papers"], papers.get(row["edition"], 0))
    return {
        "anchors": list(dict.fromkeys(anchored)),
        "rows": rows,
        "tables": tabulate_candidates_by_edition(rows),
        "changes": compute_changes_between_editions(rows),
        "few": {key: number for key, number in papers.items() if number < FEW},
        "left_out": left_out,
    }


def _expand_venue(name: str, known: Sequence[str]) -> Sequence[str]:
    """Returns the *known* editions of the venue *name*; if there are none, *name* itself."""
    return [key for key in known if parse_edition_key(key).venue == name] or [name]

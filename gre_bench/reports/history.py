"""Compares candidates through the years by their differences from anchors, because each edition has its own papers.

An anchor is a candidate that every edition scores again. Raw scores of two years also differ because the papers differ.
Only differences from the anchors' mean score are therefore compared between years. The result gives the change of this
difference and its interval, under one signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from gre_bench.board.words import FEW
from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import whole
from gre_bench.core.settings import edition_of
from gre_bench.stats.effects import holm
from gre_bench.stats.intervals import Moment, change
from gre_bench.store import Row, Store, find_editions
from gre_bench.store.queries import ANCHORED, CURRENT_SIGNATURES, KNOWN_CANDIDATES


def history(
    state: Path, editions: Sequence[str] | None, metrics: Sequence[str] | None, anchors: Sequence[str]
) -> dict[str, Any]:
    """Returns how far each candidate is from the mean of the *anchors* in each edition, and how this changed.

    *editions*, *metrics*: None means all. *anchors*: names of candidates, or their ends; the result has them in full.
    *rows*: one per metric, signature, candidate and edition; *tables* and *changes* are made of them. *few*: papers of
    editions with fewer than `FEW`. *left_out*: edition without rows → the reason. Raises `SettingsError` if none has
    rows.
    """
    anchored: list[str] = []
    keys = sorted(editions or find_editions(state), key=lambda key: (edition_of(key).venue, edition_of(key).year, key))
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for key in keys:
        store, edition = Store(state, key), edition_of(key)
        if not store.read_file.is_file():
            left_out[key] = "nothing to read yet"
            continue
        known = [row["candidate"] for row in store.read(KNOWN_CANDIDATES)]
        named = [whole(name, known) or name for name in anchors]
        signatures = [row for row in store.read(CURRENT_SIGNATURES) if not metrics or row["metric"] in metrics]
        ids = [row["signature_id"] for row in signatures]
        if not ids:
            left_out[key] = "no scores" + (f" of {', '.join(metrics)}" if metrics else "")
        elif not (own := store.read(ANCHORED, signature_ids=ids, anchors=named)):
            left_out[key] = f"no candidate on the same pairs as {', '.join(named)}"
        else:
            anchored += named
            rows += [row | {"edition": key, "venue": edition.venue, "year": edition.year} for row in own]
    if not rows:
        reasons = "; ".join(f"{key}: {why}" for key, why in left_out.items()) or f"no editions in {state}"
        raise SettingsError(f"there is no history to show ({reasons})")
    few: dict[str, int] = {}
    for row in rows:
        if row["papers"] < FEW:
            few[row["edition"]] = min(row["papers"], few.get(row["edition"], FEW))
    return {"anchors": list(dict.fromkeys(anchored)), "rows": rows, "tables": compared(rows), "changes": changes(rows),
            "few": few, "left_out": left_out}  # fmt: skip


def compared(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns a table of *rows* for each venue, sample, metric and signature: only such rows are comparable.

    A line of a table holds the candidate's row in each of its *editions*, or None.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        sample = edition_of(row["edition"]).sample
        groups.setdefault((row["venue"], sample, row["metric"], row["signature_id"]), []).append(row)
    compared_lines: list[dict[str, Any]] = []
    for (venue, sample, metric, signature_id), group in sorted(groups.items(), key=lambda item: item[0]):
        editions = list(dict.fromkeys(row["edition"] for row in group))
        cells = {(row["candidate"], row["edition"]): row for row in group}
        last = {name: next(cells[name, key]["difference"] for key in reversed(editions) if (name, key) in cells)
                for name, _ in cells}  # fmt: skip
        lines = [{"candidate": name, "years": [cells.get((name, key)) for key in editions]}
                 for name in sorted(last, key=lambda name: (-last[name], name))]  # fmt: skip
        compared_lines.append({"venue": venue, "sample": sample, "metric": metric, "signature_id": signature_id,
                      "editions": editions, "lines": lines})  # fmt: skip
    return compared_lines


def changes(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns how each candidate's difference from the anchors changed from one edition to the next; no controls.

    Only editions of the same venue, sample and signature are compared. *p_holm*: corrected over all changes.
    """
    series: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        sample = edition_of(row["edition"]).sample
        series.setdefault((row["venue"], sample, row["signature_id"], row["candidate"]), []).append(row)
    found_changes: list[dict[str, Any]] = []
    for line in series.values():
        for earlier, later in pairwise(line):
            errors = earlier["se"], later["se"]
            if earlier["kind"] == "control" or None in errors or not sum(errors) > 0:
                continue
            before, after = (Moment(row["difference"], row["se"], row["papers"]) for row in (earlier, later))
            found_changes.append(
                {**{name: earlier[name] for name in ("metric", "signature_id", "candidate")},
                 "from": earlier["edition"], "to": later["edition"], **asdict(change(before, after))}
            )  # fmt: skip
    adjusted = holm([row["p"] for row in found_changes])
    return [row | {"p_holm": p} for row, p in zip(found_changes, adjusted, strict=True)]

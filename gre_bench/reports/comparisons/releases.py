"""Compares two releases metric by metric, as far as their scores may be compared.

- With the same edition and signature: scores, ranks and pairs.
- With the same signature, but another year or sample: differences from the human baseline, and how these changed. Raw
  scores are not shown, because they also depend on the papers.
- With different signatures: ranks alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import HUMAN, Signature
from gre_bench.release import manifest
from gre_bench.release.database import opened, rows
from gre_bench.release.differences import changed_pairs, provenance_differences, table_differences
from gre_bench.reports.release_rows import release_folder
from gre_bench.stats.effects import holm
from gre_bench.stats.intervals import Moment, change
from gre_bench.stats.ranks import consistency
from gre_bench.store import Row, fetch
from gre_bench.store.queries import ANCHORED, LEADERBOARD

_STATES = ("only_first", "only_second", "other_state", "other_score")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two compared releases, which lies in *folder*.

    - *about*: the release's manifest.
    - *signatures*: metric → signature.
    - *board*: signature's id → candidate → row of the board.
    - *anchored*: signature's id → candidate → row with the difference from the human baseline.
    """

    name: str
    folder: Path
    about: Mapping[str, Any]
    signatures: Mapping[str, Row]
    board: Mapping[str, Mapping[str, Row]]
    anchored: Mapping[str, Mapping[str, Row]]


def compare_releases(names: tuple[str, str], state: Path) -> dict[str, Any]:
    """Verifies both releases and returns what differs between them: metrics, provenance and tables.

    *names*: names of releases in the folder *state*, or folders. Raises `SettingsError` for an unknown release,
    `SourceError` for an altered one.
    """
    first, second = (_side(name, state) for name in names)
    pairs = changed_pairs(first.folder, second.folder)
    keys = ("release", "edition", "created_at", "texts", "papers")
    return {
        "compared": [first.name, second.name],
        "releases": [{key: side.about.get(key) for key in keys} | {"digest": manifest.digest_of(side.folder)}
                     for side in (first, second)],
        "metrics": [_metric(name, first, second, pairs) for name in first.signatures if name in second.signatures],
        "only_first": [name for name in first.signatures if name not in second.signatures],
        "only_second": [name for name in second.signatures if name not in first.signatures],
        "provenance": provenance_differences(first.about, second.about),
        "tables": table_differences(first.about, second.about),
    }  # fmt: skip


def _side(name: str, state: Path) -> Side:
    folder = release_folder(name, state)
    if folder is None:
        raise SettingsError(f"{name!r} is not a release, such as ICLR-2025-r1")
    about = manifest.verify(folder)
    with opened(folder) as connection:
        signatures = {row["metric"]: row for row in rows(connection, "signatures")}
        ids = [row["signature_id"] for row in signatures.values()]
        board = fetch(connection, LEADERBOARD, signature_ids=ids)
        anchored = fetch(connection, ANCHORED, signature_ids=ids, anchors=[HUMAN])
    return Side(about["release"], folder, about, signatures, _by_signature(board), _by_signature(anchored))


def _by_signature(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    kept: dict[str, dict[str, Row]] = {}
    for row in rows:
        kept.setdefault(row["signature_id"], {})[row["candidate"]] = row
    return kept


def _metric(metric: str, first: Side, second: Side, pairs: Mapping[tuple[str, str], Row]) -> dict[str, Any]:
    signed = first.signatures[metric], second.signatures[metric]
    ids = tuple(row["signature_id"] for row in signed)
    same = ids[0] == ids[1]
    level = "ranks" if not same else "scores" if first.about["edition"] == second.about["edition"] else "differences"
    boards = first.board.get(ids[0], {}), second.board.get(ids[1], {})
    candidates = [
        {"candidate": name, **_both(boards, name, ("rank", "scored", "expected", "above_chance"))}
        | (_both(boards, name, ("score",)) if level == "scores" else {})
        | ({key: pairs[ids[0], name][key] for key in _STATES} if level == "scores" and (ids[0], name) in pairs else {})
        for name in dict.fromkeys((*boards[0], *boards[1]))
    ]
    if level == "differences":
        _add_changes(candidates, first.anchored.get(ids[0], {}), second.anchored.get(ids[1], {}))
    ranks = [{name: -float(row["rank"]) for name, row in board.items() if row["rank"] is not None} for board in boards]
    try:
        agreement = asdict(consistency(*ranks))
    except ValueError as problem:
        agreement = {"problem": str(problem)}
    return {
        "metric": metric, "compares": level, "signature_ids": list(ids),
        "differ_in": _differing(*signed), "agreement": agreement,
        "papers": [max((row["papers"] for row in board.values()), default=0) for board in boards],
        "candidates": candidates,
    }  # fmt: skip


def _differing(first: Row, second: Row) -> dict[str, list[Any]]:
    fields = [field.name for field in dataclasses.fields(Signature)]
    return {name: [first[name], second[name]] for name in fields if first[name] != second[name]}


def _both(boards: tuple[Mapping[str, Row], ...], name: str, fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: [board[name][field] if name in board else None for board in boards] for field in fields}


def _add_changes(candidates: list[dict[str, Any]], first: Mapping[str, Row], second: Mapping[str, Row]) -> None:
    """Adds to each row of *candidates* the candidate's change from one release to the other.

    A row gets the difference from the human baseline in each release, the change of this difference, and the p-value of
    the change. *first*, *second*: candidate → row with the difference, in the first and the second release.
    """
    kept = ("difference", "low", "high", "papers")
    tested: list[dict[str, Any]] = []
    for row in candidates:
        sides = [side.get(row["candidate"]) for side in (first, second)]
        row["differences"] = [{key: side[key] for key in kept} if side else None for side in sides]
        row["change"] = None
        if all(side and side["se"] for side in sides):
            before, after = (Moment(side["difference"], side["se"], side["papers"]) for side in sides if side)
            row["change"] = asdict(change(before, after))
            tested.append(row)
    for row, p in zip(tested, holm([row["change"]["p"] for row in tested]), strict=True):
        row["change"]["p_holm"] = p

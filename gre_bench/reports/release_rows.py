"""Reads the board and the pairs of a release, in the same form as those of an edition."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import did_you_mean, resolved
from gre_bench.release import manifest
from gre_bench.release.database import opened, rows
from gre_bench.reports.publishing import release_store_of
from gre_bench.store import fetch, find_editions
from gre_bench.store.queries import CANDIDATE_PAIRS, LEADERBOARD, CandidatePairRow, LeaderboardRow


def release_folder(name: str, state: Path) -> Path | None:
    """Returns the folder of the release *name*; None if there is no such release.

    *name*: the name of a release under *state*, or a folder. The result is also None if *name* is an edition under
    *state*.
    """
    if name in find_editions(state):
        return None
    if manifest.is_release(Path(name)):
        return Path(name)
    try:
        release_store, number = release_store_of(name, state / "releases")
    except SettingsError:
        return None
    return release_store.folder / number if manifest.is_release(release_store.folder / number) else None


def release_boards(folder: Path, metric: str | None = None) -> list[LeaderboardRow]:
    """Returns the rows of all boards of the release in *folder*, or of the board of *metric*.

    Validated metrics come first. Within a board, the best candidate comes first. Raises `SourceError` if the release
    was altered, and `SettingsError` if the release does not have *metric*.
    """
    with _signed(folder, metric) as (connection, signatures):
        return fetch(connection, LEADERBOARD, signature_ids=list(signatures.values()))


def release_pairs(folder: Path, metric: str, candidate: str | None = None) -> list[CandidatePairRow]:
    """Returns the planned pairs of *metric* in the release in *folder*, of all candidates or of *candidate* alone.

    The end of a candidate's name is enough. Raises `SettingsError` for an unknown candidate, and the errors of
    `release_boards`.
    """
    with _signed(folder, metric) as (connection, signatures):
        signature_id = signatures[metric]
        board = fetch(connection, LEADERBOARD, signature_ids=[signature_id])
        names = [row["candidate"] for row in board]
        if candidate is not None:
            names = [resolved(candidate, names, f"{folder.name} has no candidate")]
        return fetch(connection, CANDIDATE_PAIRS, signature_id=signature_id, candidates=names)


@contextmanager
def _signed(folder: Path, metric: str | None) -> Iterator[tuple[Any, dict[str, str]]]:
    """Verifies the release in *folder*; yields a connection to its database, and the mapping metric → signature's id.

    If *metric* is given, the mapping has only that metric.
    """
    manifest.verify(folder)
    with opened(folder) as connection:
        signatures = {row["metric"]: row["signature_id"] for row in rows(connection, "signatures")}
        if metric is not None and metric not in signatures:
            raise SettingsError(f"{folder.name} has no scores of {metric}; {did_you_mean(metric, signatures)}")
        yield connection, signatures if metric is None else {metric: signatures[metric]}

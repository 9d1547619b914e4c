"""Reads the boards and (candidate, paper, reference) pairs of a release, in the same form as those of an edition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import require_known_name, suggest_known_names
from gre_bench.core.records import HUMAN
from gre_bench.release import manifest
from gre_bench.release.public_tables import open_release_tables, run_page_query
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.signatures import format_headline_sentence
from gre_bench.store import Store, fetch, find_editions
from gre_bench.store.queries import (
    CANDIDATE_PAIRS,
    CURRENT_SIGNATURES,
    LEADERBOARD,
    SAMPLE,
    CandidatePairRow,
    LeaderboardRow,
)


def locate_release_store(release: str, out: Path) -> tuple[ReleaseStore, str]:
    """Returns the release store and the name of *release*, which is a folder, or a name in the folder *out*.

    Does not check whether the release exists. Raises `SettingsError` if *release* is not the name of a release.
    """
    path = Path(release)
    folder = path.parent if path.parent != Path(".") or path.is_dir() else out
    edition, separator, number = path.name.rpartition("-r")
    if not separator or not number.isdigit():
        raise SettingsError(f"{release!r} is not a release, such as ICLR-2025-r1")
    return ReleaseStore(folder, edition), path.name


def release_folder(name: str, state: Path) -> Path | None:
    """Returns the folder of the release *name* under *state*, or *name* itself if it is the folder of a release.

    Returns None if neither exists, or if *name* is an edition.
    """
    if name in find_editions(state):
        return None
    if manifest.is_release(Path(name)):
        return Path(name)
    try:
        release_store, number = locate_release_store(name, state / "releases")
    except SettingsError:
        return None
    return release_store.folder / number if manifest.is_release(release_store.folder / number) else None


def read_release_boards(folder: Path, metric: str | None = None) -> list[LeaderboardRow]:
    """Returns the rows of all boards of a release, or of *metric*'s board.

    Boards of validated metrics come first. On each board, the best rows come first.

    Raises `SourceError` if the release was altered, and `SettingsError` if it has no board of *metric*.
    """
    with _open_verified_release(folder, metric) as (connection, signatures):
        return fetch(connection, LEADERBOARD, signature_ids=list(signatures.values()))


def format_release_leader_sentence(folder: Path) -> str:
    """Returns a sentence on who leads the first board of a release, and with what certainty.

    Raises `SourceError` if the release was altered.
    """
    with _open_verified_release(folder, None) as (connection, signatures):
        read = partial(fetch, connection)
        return format_headline_sentence(read, read(LEADERBOARD, signature_ids=list(signatures.values())))


def read_release_pairs(folder: Path, metric: str, candidate: str | None = None) -> list[CandidatePairRow]:
    """Returns the (candidate, paper, reference) pairs of *metric* in a release, also those without a score.

    *candidate*: the only candidate to include, by its name or the end of it; None: all candidates. Raises
    `SettingsError` for an unknown candidate, and the errors of `read_release_boards`.
    """
    with _open_verified_release(folder, metric) as (connection, signatures):
        signature_id = signatures[metric]
        board = fetch(connection, LEADERBOARD, signature_ids=[signature_id])
        names = [row["candidate"] for row in board]
        if candidate is not None:
            names = [require_known_name(candidate, names, f"{folder.name} has no candidate")]
        return fetch(connection, CANDIDATE_PAIRS, signature_id=signature_id, candidates=names)


def read_release_paper_ids(folder: Path) -> tuple[str, list[str], list[str]]:
    """Returns the name of the release in *folder*, the ids of all its papers, and those of its sampled papers.

    Raises `SourceError` if the release was altered.
    """
    about = manifest.verify_release(folder)
    with open_release_tables(folder) as connection:
        known = [row["paper_id"] for row in run_page_query(connection, "papers")]
        sampled = list(dict.fromkeys(row["paper_id"] for row in fetch(connection, SAMPLE)))
    return about["release"], known, sampled


@contextmanager
def _open_verified_release(folder: Path, metric: str | None) -> Iterator[tuple[Any, dict[str, str]]]:
    """Verifies a release; yields a connection to its tables, and metric → signature id.

    *metric*: the only metric to include; None: all metrics.
    """
    manifest.verify_release(folder)
    with open_release_tables(folder) as connection:
        signatures = {row["metric"]: row["signature_id"] for row in run_page_query(connection, "signatures")}
        if metric is not None and metric not in signatures:
            raise SettingsError(f"{folder.name} has no scores of {metric}; {suggest_known_names(metric, signatures)}")
        yield connection, signatures if metric is None else {metric: signatures[metric]}


def load_candidate(store: Store, name: str) -> dict[str, Any]:
    """Returns a candidate's rows on the current boards, and its papers.

    Args:
        store: an edition with scores.
        name: the candidate's full name.

    Returns:
        *human*, *papers* and *lacking* are about the first board on which the candidate has scores.

        - *rows*: the candidate's rows, one per board, validated metrics first. In a row, *of* is the number of ranked
          candidates in the candidate's group.
        - *human*: the row of the human baseline.
        - *papers*: the candidate's results by paper (see `read_paper_leads`).
        - *lacking*: ``no_review`` and ``no_judgments`` → the papers without a score for this reason. If the candidate
          has no scores at all, these are the papers of its first board.
    """
    signatures = store.read(CURRENT_SIGNATURES)
    rows = store.read(LEADERBOARD, signature_ids=[row["signature_id"] for row in signatures])
    ranked = Counter((row["signature_id"], row["group_name"]) for row in rows if row["rank"] is not None)
    own = [row | {"of": ranked[row["signature_id"], row["group_name"]]} for row in rows if row["candidate"] == name]
    first = next((row for row in own if row["scored"]), None)
    lacking: dict[str, list[str]] = {"no_review": [], "no_judgments": []}
    for board in [first] if first else own[:1]:
        for row in store.read(CANDIDATE_PAIRS, signature_id=board["signature_id"], candidates=[name]):
            if row["reason"] in lacking and row["paper_id"] not in lacking[row["reason"]]:
                lacking[row["reason"]].append(row["paper_id"])
    human = next((row for row in rows if first and row["signature_id"] == first["signature_id"]
                  and row["candidate"] == HUMAN), None)  # fmt: skip
    return {
        "edition": store.key,
        "candidate": name,
        "rows": own,
        "human": human,
        "papers": read_paper_leads(store, str(first["signature_id"]), name) if first else [],
        "lacking": lacking,
        "signatures": signatures,
    }


def read_paper_leads(store: Store, signature_id: str, name: str) -> list[dict[str, Any]]:
    """Returns one row per paper of a candidate, sorted by the lead over the human baseline, largest first.

    - *mean*: the candidate's mean score over the paper's references, in the metric's unit.
    - *human*: the mean score of the human baseline over the references that both were scored against.
    - *lead*: the mean difference over the same references.

    *human* and *lead* are None if both were scored against no common reference, or if the candidate is the baseline.
    Papers without a lead come last, sorted by *mean*.
    """
    values: dict[tuple[str, str], dict[str, float]] = {}
    for row in store.read(CANDIDATE_PAIRS, signature_id=signature_id, candidates=list({name, HUMAN})):
        if row["value"] is not None:
            values.setdefault((row["candidate_id"], row["paper_id"]), {})[row["reference_id"]] = row["value"]
    papers = []
    for (candidate, paper), own in values.items():
        if candidate != name:
            continue
        human = {} if name == HUMAN else values.get((HUMAN, paper), {})
        shared = [(own[reference], human[reference]) for reference in own if reference in human]
        theirs = sum(other for _, other in shared) / len(shared) if shared else None
        lead = sum(mine - other for mine, other in shared) / len(shared) if shared else None
        papers.append({"paper_id": paper, "mean": sum(own.values()) / len(own), "human": theirs, "lead": lead})
    return sorted(papers, key=lambda row: (row["lead"] is None, -(row["lead"] or 0), -row["mean"], row["paper_id"]))

"""What must hold whatever happens to a run, checked on what it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD, PROGRESS
from tests.flows.refreshing import EDITION, assert_same, query, tables

ENDED = {"scored", "excluded", "failed"}


def assert_undisturbed(state: Path, expected: dict[str, list[tuple[Any, ...]]]) -> None:
    """The tables under *state* are those of a run that nobody disturbed, and every pair has ended."""
    assert_same(tables(state), expected)
    assert_accounted(state, done=True)


def assert_accounted(state: Path, done: bool, edition: str = EDITION) -> None:
    """Every planned pair stands once, as scored, excluded or failed with a reason; missing only where *done* is false."""
    pairs = query(
        state, "select signature_id, paper_id, candidate_id, reference_id, state, value, reason from pairs", edition
    )
    assert pairs, "nothing was planned"
    assert len({pair[:4] for pair in pairs}) == len(pairs), "a pair stands twice"
    for *names, now, value, reason in pairs:
        assert now in (ENDED if done else ENDED | {"missing"}), (names, now)
        assert (value is not None) == (now == "scored"), (names, now, value)
        assert now in ("scored", "missing") or reason, (names, now)


def assert_readable(state: Path, edition: str = EDITION) -> None:
    """A reader gets a whole board, or is told in one line that there is none yet; never half of one."""
    store = Store(state, edition)
    try:
        signatures = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
        board = store.read(LEADERBOARD, signature_ids=signatures)
        progress = store.read(PROGRESS, signature_ids=signatures)
    except (StoreError, SettingsError) as error:
        assert "\n" not in str(error)
        assert not store.read_file.exists(), error
        return
    assert sum(row["scored"] for row in board) <= sum(row["scored"] for row in progress)


def assert_paid_once(requests: list[dict[str, Any]], undisturbed: int, in_flight: int) -> None:
    """*requests*, those that a paid endpoint answered, are at most the undisturbed ones and those in flight at a kill."""
    assert len(requests) <= undisturbed + in_flight, (len(requests), undisturbed, in_flight)

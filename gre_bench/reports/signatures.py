"""Chooses the edition to show, and the signatures. A signature is all that a score depends on except its texts.

A refresh, or another run that scores, first plans: it lists the pairs to score and their signatures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from gre_bench.board.family import Read, read_candidate_orders_by_lm
from gre_bench.board.words import choose_headline_signature, summarise_board
from gre_bench.core.errors import SettingsError, UnfinishedError
from gre_bench.core.known_names import require_known_name, suggest_known_names
from gre_bench.core.metrics import find_recipe, find_specific_form_signature_id
from gre_bench.core.terminal import counted
from gre_bench.store import Store, find_editions
from gre_bench.store.queries import (
    BOARD_SETTINGS,
    CURRENT_SIGNATURES,
    KNOWN_CANDIDATES,
    LEADERBOARD,
    PLANNED_SIGNATURES,
    LeaderboardRow,
    SignatureRow,
)


def shown_signatures(store: Store, metrics: list[str] | None) -> list[SignatureRow]:
    """Returns the signatures that the latest refresh planned or, if *metrics* are given, the latest of each metric.

    Without a refresh, the latest run of another kind counts.

    Raises `SettingsError` for a metric without scores, and `UnfinishedError` for an edition without scores.
    """
    if not metrics:
        current = store.read(CURRENT_SIGNATURES)
    else:
        planned = store.read(PLANNED_SIGNATURES)
        unknown = sorted(set(metrics) - {row["metric"] for row in planned})
        if unknown:
            meant = suggest_known_names(unknown[0], (row["metric"] for row in planned))
            raise SettingsError(f"edition {store.key} has no scores of {unknown[0]}; {meant}")
        current = [next(row for row in planned if row["metric"] == metric) for metric in dict.fromkeys(metrics)]
    if not current:
        raise UnfinishedError(f"edition {store.key} has no scores yet; {store.next_step_hint}")
    return current


def headline_metric(store: Store) -> str | None:
    """Returns the headline metric in the settings of the board's run; None if they do not name one."""
    planned_with = store.read(BOARD_SETTINGS)
    return json.loads(planned_with[0]["settings"])["board"].get("headline") if planned_with else None


def headline_signature(store: Store) -> SignatureRow:
    """Returns the signature of the first board; raises `UnfinishedError` for an edition without scores."""
    signatures = {row["signature_id"]: row for row in shown_signatures(store, None)}
    rows = store.read(LEADERBOARD, signature_ids=list(signatures))
    return (
        signatures[choose_headline_signature(rows, headline_metric(store))] if rows else next(iter(signatures.values()))
    )


def format_leader_sentence(store: Store) -> str:
    """Returns a sentence on who leads the edition's first board, and with what certainty.

    Raises `UnfinishedError` for an edition without scores.
    """
    signatures = shown_signatures(store, None)
    rows = store.read(LEADERBOARD, signature_ids=[row["signature_id"] for row in signatures])
    return format_headline_sentence(store.read, rows, headline_metric(store)) if rows else ""


def format_headline_sentence(read: Read, rows: Sequence[LeaderboardRow], wanted: str | None = None) -> str:
    """Returns one line on the first board: its metric, its number of papers, and a sentence on who leads.

    *read*: a function that runs queries on the store or release from which the boards' *rows* come. *wanted*: the
    headline metric of the settings.
    """
    first = choose_headline_signature(rows, wanted)
    own = [row for row in rows if row["signature_id"] == first and row["group_name"] is None]
    first_sentence = summarise_board(own, read_candidate_orders_by_lm(read, first, own)).partition(". ")[0].rstrip(".")
    return f"{find_recipe(own[0]['metric']).title}, {counted(own[0]['sampled'], 'paper')}: {first_sentence}."


def add_specific_signatures(store: Store, signatures: Sequence[SignatureRow]) -> list[SignatureRow]:
    """Returns *signatures*, followed by those of their specific forms that are planned.

    A specific form's score is the score above chance: the score less that of the candidate's review of another paper.
    """
    planned = store.read(PLANNED_SIGNATURES)
    by_id = {row["signature_id"]: row for row in planned}
    specific = [by_id[name] for row in signatures if (name := find_specific_form_signature_id(row, planned))]
    return [*signatures, *(row for row in specific if row not in signatures)]


def resolve_candidate(store: Store, name: str) -> str:
    """Returns the full name of the candidate whose name ends in *name*; raises `SettingsError` unless it is unique."""
    known = [row["candidate"] for row in store.read(KNOWN_CANDIDATES)]
    return require_known_name(name, known, f"edition {store.key} has no candidate")


def resolve_edition(edition: str | None, state: Path) -> str:
    """Returns *edition* unless it is None; then chooses an edition under *state* and returns its key.

    This is the only edition that a run has written or, if runs have written none, the only one that was loaded from a
    release. Raises `SettingsError` if there is none, or more than one.
    """
    if edition is not None:
        return edition
    stores = [Store(state, key) for key in find_editions(state)]
    known = [store.key for store in stores if store.status_file.is_file()]
    known = known or [store.key for store in stores if store.is_from_release]
    if len(known) != 1:
        none = f"no editions in {state.absolute()}; try: gre-bench refresh"
        raise SettingsError(f"name an edition: {', '.join(known)}" if known else none)
    return known[0]

"""What of a board, a validation or a history stands where on a page, and on which axis it is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from gre_bench.release.pages.axis import span_of
from gre_bench.release.pages.board import Board, Entry
from gre_bench.release.pages.contents import Effect, History, PairOutcome, Validation, Year, YearChange
from gre_bench.release.pages.terms import PASSAGE

STATES = ("scored", "excluded", "failed", "missing")


def present(entries: Sequence[Entry]) -> dict[str, bool]:
    """Which values any of *entries* has."""
    names = Entry.__dataclass_fields__
    return {name: any(getattr(entry, name) not in (None, (), False) for entry in entries) for name in names}


def passage(boards: Sequence[Board]) -> list[str]:
    """The terms that a reader of *boards* meets."""
    some = present([entry for board in boards for entry in board.entries])
    met = {entry.kind for board in boards for entry in board.entries}
    there = {
        "interval": some["low"], "human": "human" in met, "difference": some["difference"], "p": some["p"],
        "above_chance": some["above_chance"],
        "rank": some["rank_low"], "at_length": some["at_length"], "pairs": some["expected"],
        "control": "control" in met, "contamination": some["contamination"], "conflict": some["conflict"],
        "validation": any(board.validation for board in boards),
    }  # fmt: skip
    return [key for key in PASSAGE if there.get(key, True)]


def kinds(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """The kinds of candidates on a board and what they are called; none if there is one kind alone."""
    called = {"model": "models", "human": "human", "control": "controls"}
    found = [(kind, name) for kind, name in called.items() if any(entry.kind == kind for entry in entries)]
    return found if len(found) > 1 else []


def verdict(validation: str) -> str:
    """A board's validation, in words, as one of pass, fail, undecided, unvalidated."""
    if validation.startswith("validated"):
        return "pass"
    return next((name for name in ("fail", "undecided") if f" {name} " in f"{validation} "), "unvalidated")


def changes(validations: Sequence[Validation]) -> dict[str, list[Effect]]:
    """Every change that was tried with some metric, by its family, degradations first."""
    found = {effect.change: effect for row in validations for effect in row.effects}
    families = sorted({effect.family for effect in found.values()})
    return {family: [one for one in found.values() if one.family == family] for family in families}


def effect(row: Validation, change: str) -> Effect | None:
    """What *change* did to the metric of *row*; None if it was not tried."""
    return next((one for one in row.effects if one.change == change), None)


def effects_span(validations: Sequence[Validation]) -> tuple[float, float]:
    """The axis that all effects are drawn on."""
    ends = [end for row in validations for one in row.effects for end in (one.low, one.high) if end is not None]
    return span_of(ends)


def years_span(history: History) -> tuple[float, float]:
    """The axis that all differences of a history are drawn on."""
    years = [year for _, line in history.lines for year in line]
    return span_of([end for year in years for end in (year.difference, year.low, year.high) if end is not None])


def latest_first(history: History) -> list[tuple[str, tuple[Year, ...]]]:
    """Its lines, the largest difference of the latest edition first."""
    latest = {name: years[-1].difference for name, years in history.lines}
    return sorted(history.lines, key=lambda line: (latest[line[0]] is None, -(latest[line[0]] or 0.0)))


def moves(history: History) -> dict[str, dict[str, YearChange]]:
    """Its changes by the editions between which they are, then by candidate."""
    found: dict[str, dict[str, YearChange]] = {}
    for one in history.changes:
        found.setdefault(f"{one.earlier} → {one.later}", {})[one.candidate] = one
    return found


def states(outcomes: Sequence[PairOutcome]) -> dict[str, dict[str, int]]:
    """Pairs by board and state."""
    found: dict[str, dict[str, int]] = {}
    for one in outcomes:
        counts = found.setdefault(one.title, dict.fromkeys(STATES, 0))
        counts[one.state] += one.pairs
    return found

"""What of a board, a validation or a history stands where on a page, and on which axis it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.release.pages.axis import span_of
from gre_bench.release.pages.board import Board, Entry
from gre_bench.release.pages.contents import (
    ClaimTest,
    Contents,
    Effect,
    History,
    PairOutcome,
    Stratum,
    Validation,
    Year,
    YearChange,
)
from gre_bench.release.pages.terms import PASSAGE
from gre_bench.stats.intervals import FEW, FEW_MEANS

STATES = ("scored", "excluded", "failed", "missing")


@dataclass(frozen=True, slots=True)
class Badge:
    """What a reader should know of a board, in a few words; *lines* and *facts* say more where they are asked for.

    *href*: of the part of the page with the evidence. *terms*: what is explained beside it.
    """

    name: str
    verdict: str = ""
    lines: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    href: str = ""
    terms: tuple[str, ...] = ()


def badges(board: Board, contents: Contents) -> list[Badge]:
    """The badges of *board*: warnings first, then what its numbers rest on."""
    found = []
    if board.validation:
        detail = next((row.detail for row in contents.validations if row.title == board.title), "")
        found.append(Badge(board.validation, verdict(board.validation), (detail,) if detail else (),
                           href="#validation" if contents.validations else "", terms=("validation",)))  # fmt: skip
    for state, name in (("missing", "unfinished"), ("failed", "failed pairs")):
        rows = sum(any(flag.name == state for flag in entry.flags) for entry in board.entries)
        if rows:
            told = f"{rows} of {len(board.entries)} rows have {state} pairs; the flag of each says how many."
            found.append(Badge(name, "fail", (told,)))
    found += [Badge(f"erratum to {release}", "fail", (f"{at}: {text}",)) for at, release, text in contents.errata]
    if contents.remarks:
        small = dict(board.about).get("evaluation LM") == "cache-ngram"
        found.append(Badge("small evaluation LM" if small else "read first", "undecided", contents.remarks,
                           terms=("evaluation_lm",) if small else ()))  # fmt: skip
    if board.papers is not None and board.papers < FEW:
        told = f"Intervals rest on {board.papers} papers. {FEW_MEANS}."
        found.append(Badge("few papers", "undecided", (told,), terms=("interval",)))
    found += [Badge("seen before?", "undecided", board.exposed, terms=("contamination",))] if board.exposed else []
    ties = [line for line in board.order if line.startswith("Not told apart")]
    if board.order:
        name = f"{len(ties)} of {len(board.ranked) - 1} tied" if ties else "order tested"
        found.append(
            Badge(name if len(ties) == len(board.order) else "order not tested", "", board.order, terms=("rank",))
        )
    found += (
        [Badge(f"AUC {board.auc.partition(' ')[0]}", "", (f"AUC {board.auc}",), terms=("auc",))] if board.auc else []
    )
    about = dict(board.about)
    if about:
        found.append(Badge(f"signature {about.get('signature', '')[:8]}", "", (), board.about, terms=("signature",)))
    return found


def groups(boards: Sequence[Board]) -> list[str]:
    """The groups of candidates that *boards* name, sorted."""
    return sorted({entry.group for board in boards for entry in board.entries if entry.group})


def present(entries: Sequence[Entry]) -> dict[str, bool]:
    """Which values any of *entries* has."""
    names = Entry.__dataclass_fields__
    return {name: any(getattr(entry, name) not in (None, (), False, "") for entry in entries) for name in names}


def passage(boards: Sequence[Board]) -> list[str]:
    """The terms that a reader of *boards* meets."""
    some = present([entry for board in boards for entry in board.entries])
    met = {entry.kind for board in boards for entry in board.entries}
    there = {
        "nats": any(board.unit == "nats" for board in boards), "signature": any(board.signature_id for board in boards),
        "assw": any("ASSW" in board.title for board in boards), "auc": any(board.auc for board in boards),
        "writer": any(name == "judgments by" for board in boards for name, _ in board.about),
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


def alike(tests: Sequence[ClaimTest]) -> dict[tuple[str, str], list[ClaimTest]]:
    """The tests of a claim by verdict and reason: metrics of which the same is said are said together."""
    found: dict[tuple[str, str], list[ClaimTest]] = {}
    for test in tests:
        found.setdefault((test.verdict, test.why), []).append(test)
    return found


def few_papers(stratum: Stratum) -> str:
    """A warning where the intervals of a *stratum* rest on few papers; none where none does."""
    small = [f"{value} {papers}" for value, papers in stratum.values if papers < FEW]
    return f"Few papers: {', '.join(small)}. {FEW_MEANS}." if stratum.tables and small else ""

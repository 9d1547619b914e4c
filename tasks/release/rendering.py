"""Pages as text: templates, what numbers look like, and a policy under which a page can ask nobody for anything."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tasks.release.axis import across, breadth, span_of, ticks
from tasks.release.board import Board, Entry
from tasks.release.board_csv import as_link
from tasks.release.contents import Contents, Effect, History, Outcome, Validation
from tasks.release.drawing import Drawings
from tasks.release.notation import bare, billions, chance, count, named, number, percent, plain, spoken
from tasks.release.terms import PASSAGE, TERMS

FOLDER = Path(__file__).parent / "page"
STATES = ("scored", "excluded", "failed", "missing")


def board_page(contents: Contents, drawings: Drawings) -> str:
    """The page of all boards with their figures."""
    figures = [
        [(caption, label, Markup(svg)) for caption, label, svg in drawings.of(board)] for board in contents.boards
    ]
    ranks = Markup(drawings.ranks or "")
    return _page("board.html", contents=contents, figures=figures, ranks=ranks, drawings=drawings)


def paper_page(name: str, edition: str, paper: Any, gains: str) -> str:
    """The page of one paper; *gains* is JSON, and is made safe to stand in a page."""
    safe = gains.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return _page("paper.html", name=name, edition=edition, paper=paper, gains=Markup(safe))


def _page(template: str, **values: Any) -> str:
    css, js = _part("page.css"), _part("page.js")
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(css)}'; script-src 'sha256-{_hash(js)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    fixed = {"css": Markup(css), "js": Markup(js), "policy": policy}
    return _environment().get_template(template).render(**fixed, **values)


@cache
def _part(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "named": named, "number": number, "plain": plain, "bare": bare, "chance": chance, "billions": billions,
        "count": count, "percent": percent, "across": across, "breadth": breadth, "ticks": ticks, "spoken": spoken,
        "present": present, "kinds": kinds, "verdict": verdict, "changes": changes, "effect": effect,
        "as_link": as_link, "states": states, "passage": passage,
        "effects_span": effects_span, "years_span": years_span,
    }  # fmt: skip
    made.globals |= {"terms": TERMS, "all_states": STATES}
    return made


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


def states(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """Pairs by board and state."""
    found: dict[str, dict[str, int]] = {}
    for one in outcomes:
        counts = found.setdefault(one.title, dict.fromkeys(STATES, 0))
        counts[one.state] += one.pairs
    return found

"""Pages as text: templates, what numbers look like, and a policy under which a page can ask nobody for anything."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tasks.release.board import Board, Entry
from tasks.release.contents import Contents, Effect, Validation
from tasks.release.notation import bare, billions, chance, named, number, plain, spoken

FOLDER = Path(__file__).parent / "page"
WIDE = 240
"""Units of the drawing of an interval."""

Figures = Sequence[Sequence[tuple[str, str, str]]]
"""For each board its figures: caption, label for who cannot see it, SVG."""


def board_page(
    contents: Contents, figures: Figures = (), ranks: str = "", colours: Mapping[str, str] | None = None
) -> str:
    """The page of all boards; *figures* by board, *ranks* as SVG, *colours* of families."""
    drawn = [[(caption, label, Markup(svg)) for caption, label, svg in board] for board in figures]
    drawn += [[] for _ in contents.boards[len(drawn) :]]
    values = {"contents": contents, "figures": drawn, "ranks": Markup(ranks), "colours": colours or {}}
    return _page("board.html", **values)


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
        "named": named,
        "number": number, "plain": plain, "bare": bare, "chance": chance, "billions": billions, "across": across,
        "breadth": breadth, "spoken": spoken, "present": present, "kinds": kinds, "verdict": verdict,
        "changes": changes, "effect": effect,
    }  # fmt: skip
    return made


def across(value: float, board: Board, shift: float = 0.0) -> str:
    """Where *value* lies on the board's axis, in units of the drawing."""
    low, high = board.span
    return f"{(value - low) / (high - low) * WIDE + shift:.1f}"


def breadth(entry: Entry, board: Board) -> str:
    """How broad the entry's interval is, in units of the drawing."""
    low, high = board.span
    return f"{((entry.high or 0) - (entry.low or 0)) / (high - low) * WIDE:.1f}"


def present(entries: Sequence[Entry]) -> dict[str, bool]:
    """Which values any of *entries* has."""
    names = Entry.__dataclass_fields__
    return {name: any(getattr(entry, name) not in (None, (), False) for entry in entries) for name in names}


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


def changes(validations: Sequence[Validation]) -> list[Effect]:
    """Every change that was tried with some metric, degradations first."""
    found = {effect.change: effect for row in validations for effect in row.effects}
    return sorted(found.values(), key=lambda effect: effect.family)


def effect(row: Validation, change: str) -> Effect | None:
    """What *change* did to the metric of *row*; None if it was not tried."""
    return next((one for one in row.effects if one.change == change), None)

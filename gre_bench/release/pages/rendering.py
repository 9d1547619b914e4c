"""Pages as text: templates, what numbers look like, and a policy under which a page can ask nobody for anything."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gre_bench.core.terminal import without_controls
from gre_bench.release.figures.drawing import Drawings
from gre_bench.release.pages.arrangement import (
    STATES,
    changes,
    effect,
    effects_span,
    kinds,
    latest_first,
    moves,
    passage,
    present,
    states,
    verdict,
    years_span,
)
from gre_bench.release.pages.axis import across, breadth, ticks
from gre_bench.release.pages.board_csv import as_link
from gre_bench.release.pages.contents import Contents
from gre_bench.release.pages.notation import bare, billions, chance, count, named, number, percent, plain, spoken
from gre_bench.release.pages.terms import TERMS

FOLDER = Path(__file__).parent / "templates"


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


def _without_controls(value: object) -> object:
    """What is put into a page, were it a title with the controls of a terminal in it."""
    if not isinstance(value, str):
        return value
    clean = without_controls(value)
    return Markup(clean) if isinstance(value, Markup) else clean


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_controls,
    )
    made.filters |= {
        "named": named, "number": number, "plain": plain, "bare": bare, "chance": chance, "billions": billions,
        "count": count, "percent": percent, "across": across, "breadth": breadth, "ticks": ticks, "spoken": spoken,
        "present": present, "kinds": kinds, "verdict": verdict, "changes": changes, "effect": effect,
        "as_link": as_link, "states": states, "passage": passage,
        "effects_span": effects_span, "years_span": years_span, "latest_first": latest_first, "moves": moves,
    }  # fmt: skip
    made.globals |= {"terms": TERMS, "all_states": STATES}
    return made

"""Renders pages from templates. The content security policy of each page forbids it to send requests."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gre_bench.board.words import p_value
from gre_bench.core.terminal import counted, without_controls
from gre_bench.release.figures.drawing import Drawings
from gre_bench.release.figures.families import families
from gre_bench.release.pages.arrangement import (
    STATES,
    alike,
    badges,
    changes,
    effect,
    effects_span,
    few_in_years,
    few_on,
    few_papers,
    groups,
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
from gre_bench.release.pages.notation import (
    bare,
    billions,
    count,
    named,
    number,
    percent,
    plain,
    spoken,
)
from gre_bench.release.pages.terms import TERMS

FOLDER = Path(__file__).parent / "templates"


def board_page(contents: Contents, drawings: Drawings, data: str = "") -> str:
    """Returns the HTML of the page with all boards of a release.

    *drawings*: the figures on the page. *data*: the JSON of `board_data`, for the page's script.
    """
    values = {"contents": contents, "marks": families(contents.boards), "drawings": drawings}
    return _page("board.html", ("page.js", "board.js", "cloud.js", "pair.js"), data, **values,
                 ranks=Markup(drawings.ranks or ""))  # fmt: skip


def candidate_page(name: str, edition: str, candidate: Any) -> str:
    """Returns the HTML of a candidate's page.

    *name*: the name of the release. *candidate*: the contents, a `CandidatePage`.
    """
    return _page("candidate.html", ("page.js",), "", name=name, edition=edition, candidate=candidate)


def paper_page(name: str, edition: str, paper: Any, gains: str) -> str:
    """Returns the HTML of a paper's page.

    *name*: the name of the release. *paper*: the contents, a `PaperPage`. *gains*: the JSON of the heat maps.
    """
    return _page("paper.html", ("page.js", "paper.js"), gains, name=name, edition=edition, paper=paper)


def overview_page(state: str, editions: Sequence[Mapping[str, Any]]) -> str:
    """Returns the HTML of the start page of ``gre-bench view``, which lists *editions*, those of the folder *state*.

    Unlike other pages, this page may send requests, but only to its own server.
    """
    data = json.dumps(list(editions))
    return _page(
        "overview.html", ("page.js", "overview.js"), data, "connect-src 'self'; ", state=state, editions=editions
    )


def _page(template: str, scripts: Sequence[str], data: str, allowed: str = "", **values: Any) -> str:
    css, js = _part("page.css"), "\n".join(['"use strict";\n{', *map(_part, scripts), "}"])
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(css)}'; script-src 'sha256-{_hash(js)}'; "
        f"{allowed}base-uri 'none'; form-action 'none'"
    )
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    fixed = {"css": Markup(css), "js": Markup(js), "policy": policy, "data": Markup(safe)}
    return _environment().get_template(template).render(**fixed, **values)


@cache
def _part(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _without_controls(value: object) -> object:
    """Returns *value* without control characters if it is a string, else unchanged.

    Titles of papers may contain control characters.
    """
    if not isinstance(value, str):
        return value
    clean = without_controls(value)
    return Markup(clean) if isinstance(value, Markup) else clean


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_controls,
    )
    environment.filters |= {
        "named": named, "number": number, "plain": plain, "bare": bare, "p_value": p_value, "billions": billions,
        "count": count, "percent": percent, "across": across, "breadth": breadth, "ticks": ticks, "spoken": spoken,
        "present": present, "kinds": kinds, "verdict": verdict, "changes": changes, "effect": effect,
        "as_link": as_link, "states": states, "passage": passage, "badges": badges, "groups": groups,
        "effects_span": effects_span, "years_span": years_span, "latest_first": latest_first, "moves": moves,
        "alike": alike, "counted": counted, "few_papers": few_papers,
        "few_in_years": few_in_years, "few_on": few_on,
    }  # fmt: skip
    environment.globals |= {"terms": TERMS, "all_states": STATES}
    return environment

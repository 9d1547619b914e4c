"""Renders pages from templates. The content security policy of each page forbids it to send requests."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gre_bench.board.words import p_value
from gre_bench.core.terminal import counted, without_controls
from gre_bench.release.figures import Drawings, families
from gre_bench.release.pages.board import (
    Board,
    ClaimTest,
    Contents,
    Effect,
    Entry,
    History,
    PairOutcome,
    Stratum,
    Validation,
    Year,
    YearChange,
    across,
    as_link,
    bare,
    billions,
    breadth,
    count,
    named,
    number,
    percent,
    plain,
    span_of,
    spoken,
    ticks,
)
from gre_bench.release.pages.terms import PASSAGE, TERMS
from gre_bench.stats.intervals import FEW, FEW_MEANS

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


STATES = ("scored", "excluded", "failed", "missing")


@dataclass(frozen=True, slots=True)
class Badge:
    """A short note on a board, which opens to show its details.

    - *name*: the note, a few words. *verdict*: pass, fail or undecided; sets its colour.
    - *lines*: the details as sentences. *facts*: the details as names and values.
    - *href*: the part of the page with the evidence. *terms*: keys of `TERMS` to explain beside the note.
    """

    name: str
    verdict: str = ""
    lines: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    href: str = ""
    terms: tuple[str, ...] = ()


def badges(board: Board, contents: Contents) -> list[Badge]:
    """Returns the badges of *board*: first validation and warnings, then ties, the AUC and the signature.

    *contents*: the contents of the page that shows the board.
    """
    shown = []
    if board.validation:
        detail = next((row.detail for row in contents.validations if row.title == board.title), "")
        shown.append(Badge(board.validation, verdict(board.validation), (detail,) if detail else (),
                           href="#validation" if contents.validations else "", terms=("validation",)))  # fmt: skip
    for state, name in (("missing", "unfinished"), ("failed", "failed pairs")):
        rows = sum(any(flag.name == state for flag in entry.flags) for entry in board.entries)
        if rows:
            line = f"{rows} of {len(board.entries)} rows have {state} pairs; the flag of each says how many."
            shown.append(Badge(name, "fail", (line,)))
    shown += [Badge(f"erratum to {release}", "fail", (f"{at}: {text}",)) for at, release, text in contents.errata]
    if contents.remarks:
        small = dict(board.about).get("evaluation LM", "").startswith("cache-ngram")
        shown.append(Badge("small evaluation LM" if small else "read first", "undecided", contents.remarks,
                           terms=("evaluation_lm",) if small else ()))  # fmt: skip
    if board.papers is not None and board.papers < FEW:
        line = f"Intervals rest on {board.papers} papers. {FEW_MEANS}."
        shown.append(Badge("few papers", "undecided", (line,), terms=("interval",)))
    shown += [Badge("seen before?", "undecided", board.exposed, terms=("contamination",))] if board.exposed else []
    ties = [line for line in board.order if line.startswith("Not told apart")]
    if board.order:
        name = f"{len(ties)} of {len(board.ranked) - 1} tied" if ties else "order tested"
        shown.append(
            Badge(name if len(ties) == len(board.order) else "order not tested", "", board.order, terms=("rank",))
        )
    shown += (
        [Badge(f"AUC {board.auc.partition(' ')[0]}", "", (f"AUC {board.auc}",), terms=("auc",))] if board.auc else []
    )
    about = dict(board.about)
    if about:
        shown.append(Badge(f"signature {about.get('signature', '')[:8]}", "", (), board.about, terms=("signature",)))
    return shown


def groups(boards: Sequence[Board]) -> list[str]:
    """Returns the names of the groups of candidates on *boards*, sorted; the main group has no name and is left out."""
    return sorted({entry.group for board in boards for entry in board.entries if entry.group})


def present(entries: Sequence[Entry]) -> dict[str, bool]:
    """Returns, for each field of `Entry`, whether any of *entries* has a value there."""
    names = Entry.__dataclass_fields__
    return {name: any(getattr(entry, name) not in (None, (), False, "") for entry in entries) for name in names}


def passage(boards: Sequence[Board]) -> list[str]:
    """Returns the keys of `TERMS` that the section on how to read *boards* must explain, in order of appearance."""
    has = present([entry for board in boards for entry in board.entries])
    kinds_shown = {entry.kind for board in boards for entry in board.entries}
    is_needed = {
        "nats": any(board.unit == "nats" for board in boards), "signature": any(board.signature_id for board in boards),
        "assw": any("ASSW" in board.title for board in boards), "auc": any(board.auc for board in boards),
        "writer": any(name == "judgments by" for board in boards for name, _ in board.about),
        "interval": has["low"], "human": "human" in kinds_shown, "difference": has["difference"], "p": has["p"],
        "above_chance": has["above_chance"],
        "rank": has["rank_low"], "at_length": has["at_length"], "pairs": has["expected"],
        "control": "control" in kinds_shown, "contamination": has["contamination"], "conflict": has["conflict"],
        "validation": any(board.validation for board in boards),
    }  # fmt: skip
    return [key for key in PASSAGE if is_needed.get(key, True)]


def kinds(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Returns (kind, its plural) for each kind of candidate among *entries*; empty if there is only one kind."""
    called = {"model": "models", "human": "human", "control": "controls"}
    present_kinds = [(kind, name) for kind, name in called.items() if any(entry.kind == kind for entry in entries)]
    return present_kinds if len(present_kinds) > 1 else []


def verdict(validation: str) -> str:
    """Reduces *validation*, a board's validation in words, to pass, fail, undecided or unvalidated."""
    if validation.startswith("validated"):
        return "pass"
    return next((name for name in ("fail", "undecided") if f" {name} " in f"{validation} "), "unvalidated")


def changes(validations: Sequence[Validation]) -> dict[str, list[Effect]]:
    """Returns one `Effect` for each change that was tried with any metric, as a mapping: family → effects.

    The family degradation comes before manipulation. Use the effects only for the changes' titles: the statistics in
    an effect are those of one arbitrary metric.
    """
    by_change = {effect.change: effect for row in validations for effect in row.effects}
    families = sorted({effect.family for effect in by_change.values()})
    return {family: [item for item in by_change.values() if item.family == family] for family in families}


def effect(row: Validation, change: str) -> Effect | None:
    """Returns the effect of *change* on the metric validated in *row*; None if *change* was not tried."""
    return next((item for item in row.effects if item.change == change), None)


def effects_span(validations: Sequence[Validation]) -> tuple[float, float]:
    """Returns the two ends of the axis on which the effects of all *validations* are drawn."""
    ends = [end for row in validations for item in row.effects for end in (item.low, item.high) if end is not None]
    return span_of(ends)


def years_span(history: History) -> tuple[float, float]:
    """Returns the two ends of the axis on which all differences of *history* are drawn."""
    years = [year for _, line in history.lines for year in line]
    return span_of([end for year in years for end in (year.difference, year.low, year.high) if end is not None])


def latest_first(history: History) -> list[tuple[str, tuple[Year, ...]]]:
    """Returns (candidate, its years) for each line of *history*, sorted by the difference in the latest edition.

    The difference is from the human baseline. The largest comes first; candidates without a difference come last.
    """
    latest = {name: years[-1].difference for name, years in history.lines}
    return sorted(history.lines, key=lambda line: (latest[line[0]] is None, -(latest[line[0]] or 0.0)))


def moves(history: History) -> dict[str, dict[str, YearChange]]:
    """Returns the changes in *history* as a mapping: pair of editions → candidate → change.

    A pair of editions is a text such as ``ICLR-2024 → ICLR-2025``.
    """
    by_editions: dict[str, dict[str, YearChange]] = {}
    for item in history.changes:
        by_editions.setdefault(f"{item.earlier} → {item.later}", {})[item.candidate] = item
    return by_editions


def states(outcomes: Sequence[PairOutcome]) -> dict[str, dict[str, int]]:
    """Returns the number of pairs as a mapping: title of the board → state of the pairs → number."""
    by_board: dict[str, dict[str, int]] = {}
    for outcome in outcomes:
        counts = by_board.setdefault(outcome.title, dict.fromkeys(STATES, 0))
        counts[outcome.state] += outcome.pairs
    return by_board


def alike(tests: Sequence[ClaimTest]) -> dict[tuple[str, str], list[ClaimTest]]:
    """Groups the *tests* of one claim by (verdict, reason), so that metrics with the same outcome share one line."""
    groups: dict[tuple[str, str], list[ClaimTest]] = {}
    for test in tests:
        groups.setdefault((test.verdict, test.why), []).append(test)
    return groups


def few_papers(stratum: Stratum) -> str:
    """Returns a warning if some value of *stratum* has so few papers that intervals are unreliable, else ""."""
    return _few(dict(stratum.values)) if stratum.tables else ""


def few_in_years(history: History) -> str:
    """Returns a warning if an edition of *history* has so few papers that intervals are unreliable, else ""."""
    by_edition: dict[str, int] = {}
    for year in (year for _, line in history.lines for year in line if year.papers):
        by_edition[year.edition] = max(year.papers or 0, by_edition.get(year.edition, 0))
    return _few(by_edition)


def few_on(boards: Sequence[Board]) -> str:
    """Returns a warning if one of *boards* has so few papers that intervals are unreliable, else ""."""
    return _few({board.title: board.papers for board in boards if board.papers})


def _few(papers: Mapping[str, int]) -> str:
    small = [f"{name} {count}" for name, count in papers.items() if count < FEW]
    return f"Few papers: {', '.join(small)}. {FEW_MEANS}." if small else ""

"""Renders pages from templates. Each page's content security policy forbids the page to send requests."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError
from markupsafe import Markup

from gre_bench.board.committee_curve import describe_scores_by_committee_size
from gre_bench.board.words import (
    FEW,
    RANKED_APART,
    describe_interval_coverage,
    format_p_value,
    is_ngram_lm,
    warn_of_flaw_signature_mismatch,
    warn_of_small_samples,
)
from gre_bench.core.terminal import counted, replace_control_characters
from gre_bench.plots.drawing import CSS, compute_axis_span, compute_ticks, format_position, format_width
from gre_bench.release.figures import assign_family_marks, board_picture, committee_picture
from gre_bench.release.pages.board_page import (
    Board,
    BoardEntry,
    build_csv_link,
    format_billions,
    format_candidate_html,
    format_number_without_plus,
    format_percent,
    format_signed_number,
    format_sort_key,
    format_spoken_score,
    format_whole_number,
)
from gre_bench.release.pages.terms import PASSAGE, TERMS
from gre_bench.store import Row

FOLDER = Path(__file__).parent / "templates"
STATES = ("scored", "excluded", "failed", "missing")
SECTIONS = (
    "facts", "lead", "remarks", "validations", "histories", "contrasts", "correctness", "strata", "papers",
    "errata", "provenance", "outcomes", "downloads", "rights", "citation",
)  # fmt: skip
"""Optional sections of the boards' page."""


def render_board_page(contents: Mapping[str, Any], data: str = "") -> str:
    """Returns the HTML of the page with all boards of a release.

    *contents*: the release's ``name``, ``edition``, ``published`` and ``boards``, and any of the `SECTIONS`. *data*:
    the JSON of `build_board_data`, for the page's script.
    """
    values = {"contents": {**dict.fromkeys(SECTIONS, ()), **contents}, "marks": assign_family_marks(contents["boards"])}
    return render_page("board.html", ("page.js", "board.js", "cloud.js", "pair.js"), data, **values)


def render_overview_page(state: str, editions: Sequence[Mapping[str, Any]]) -> str:
    """Returns the HTML of the start page of ``gre-bench view``, which lists the *editions* in the folder *state*.

    Unlike other pages, this page may send requests, but only to its own server.
    """
    data = json.dumps(list(editions))
    return render_page(
        "overview.html", ("page.js", "overview.js"), data, "connect-src 'self'; ", state=state, editions=editions
    )


def render_page(template: str, scripts: Sequence[str], data: str, allowed: str = "", **values: Any) -> str:
    """Returns the HTML of *template*, filled with *values*, with its *scripts* and the JSON *data* that they read.

    *allowed*: additional rules of the content security policy. Raises `KeyError` if a value or a field that the
    template uses is missing.
    """
    css, js = f"{_read_asset('page.css')}{CSS}", "\n".join(['"use strict";\n{', *map(_read_asset, scripts), "}"])
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash_for_csp(css)}'; script-src 'sha256-{_hash_for_csp(js)}'; "
        f"{allowed}base-uri 'none'; form-action 'none'"
    )
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    fixed = {"css": Markup(css), "js": Markup(js), "policy": policy, "data": Markup(safe)}
    try:
        return _build_environment().get_template(template).render(**fixed, **values)
    except UndefinedError as error:
        raise KeyError(str(error)) from None


@cache
def _read_asset(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash_for_csp(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _remove_control_characters(value: object) -> object:
    """Returns *value* without control characters if it is a text. Titles, for example, may contain such characters."""
    if not isinstance(value, str):
        return value
    clean = replace_control_characters(value)
    return Markup(clean) if isinstance(value, Markup) else clean


@cache
def _build_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_remove_control_characters,
    )
    environment.filters |= {
        "named": format_candidate_html,
        "number": format_signed_number,
        "plain": format_number_without_plus,
        "bare": format_sort_key,
        "p_value": format_p_value,
        "billions": format_billions,
        "count": format_whole_number,
        "percent": format_percent,
        "across": format_position,
        "breadth": format_width,
        "ticks": compute_ticks,
        "spoken": format_spoken_score,
        "present": mark_fields_with_values,
        "kinds": list_candidate_kinds,
        "verdict": reduce_validation_to_verdict,
        "changes": group_perturbations,
        "as_link": build_csv_link,
        "states": count_pair_states,
        "passage": choose_terms_to_explain,
        "badges": build_badges,
        "groups": list_group_names,
        "effects_span": compute_effect_axis_limits,
        "years_span": compute_history_axis_limits,
        "latest_first": sort_by_latest_difference,
        "moves": group_changes_by_editions,
        "counted": counted,
        "few_in_years": warn_of_small_editions,
        "few_of": warn_of_small_samples,
        "other_signature": warn_of_flaw_signature_mismatch,
        "board_picture": board_picture,
        "committee_line": describe_scores_by_committee_size,
        "committee_picture": committee_picture,
    }
    environment.globals |= {"terms": TERMS, "all_states": STATES, "ranked_apart": RANKED_APART}  # pyrefly: ignore[bad-assignment]
    return environment


class Badge(NamedTuple):
    """A short note on a board. A click on it shows the details.

    - *name*: the note, a few words. *verdict*: pass, fail, undecided, unvalidated or ""; determines the colour.
    - *lines*: the details as sentences. *facts*: the details as names and values.
    - *href*: the part of the page with the evidence. *terms*: keys of `TERMS` to explain in the details.
    """

    name: str
    verdict: str = ""
    lines: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    href: str = ""
    terms: tuple[str, ...] = ()


def build_badges(board: Board, contents: Mapping[str, Any]) -> list[Badge]:
    """Returns the badges of *board*: first validation and warnings, then ties, the AUC and the signature."""
    shown = []
    if board.validation:
        detail = next((row["detail"] for row in contents["validations"] if row["title"] == board.title), "")
        verdict = reduce_validation_to_verdict(board.validation)
        shown.append(Badge(board.validation, verdict, (detail,) if detail else (),
                           href="#validation" if contents["validations"] else "", terms=("validation",)))  # fmt: skip
    for state, name in (("missing", "missing pairs"), ("failed", "failed pairs")):
        rows = sum(any(flag.name == state for flag in entry.flags) for entry in board.entries)
        if rows:
            line = f"{rows} of {len(board.entries)} rows have {state} pairs; the flag of each says how many."
            shown.append(Badge(name, "fail", (line,)))
    shown += [
        Badge(f"erratum to {row['release']}", "fail", (f"{row['day']}: {row['text']}",)) for row in contents["errata"]
    ]
    if contents["remarks"]:
        small = is_ngram_lm(dict(board.about).get("evaluation LM", ""))
        shown.append(Badge("small evaluation LM" if small else "read first", "undecided", contents["remarks"],
                           terms=("evaluation_lm",) if small else ()))  # fmt: skip
    if board.papers is not None and board.papers < FEW:
        line = f"Intervals rest on {board.papers} papers. {describe_interval_coverage(board.papers)}."
        shown.append(Badge("few papers", "undecided", (line,), terms=("interval",)))
    shown += [Badge("seen before?", "undecided", board.exposed, terms=("contamination",))] if board.exposed else []
    if lines := tuple(filter(None, (board.untested, *board.ties))):
        shown.append(Badge("order not tested" if board.untested else "ties", "", lines, terms=("rank",)))
    shown += (
        [Badge(f"AUC {board.auc.partition(' ')[0]}", "", (f"AUC {board.auc}",), terms=("auc",))] if board.auc else []
    )
    about = dict(board.about)
    if about:
        shown.append(Badge(f"signature {about.get('signature', '')[:8]}", "", (), board.about, terms=("signature",)))
    return shown


def list_group_names(boards: Sequence[Board]) -> list[str]:
    """Returns the names of the groups of candidates on *boards*, except the main group, which has no name."""
    return sorted({entry.group for board in boards for entry in board.entries if entry.group})


def mark_fields_with_values(entries: Sequence[BoardEntry]) -> dict[str, bool]:
    """Returns field of `BoardEntry` → whether any of *entries* has a value for it."""
    names = BoardEntry.__dataclass_fields__
    return {name: any(getattr(entry, name) not in (None, (), False, "") for entry in entries) for name in names}


def choose_terms_to_explain(boards: Sequence[Board]) -> list[str]:
    """Returns the keys of `TERMS` that the section on how to read *boards* must explain."""
    has = mark_fields_with_values([entry for board in boards for entry in board.entries])
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


def list_candidate_kinds(entries: Sequence[BoardEntry]) -> list[tuple[str, str]]:
    """Returns (kind, its plural) for each kind of candidate among *entries*; [] if there is only one kind."""
    called = {"model": "models", "human": "human", "control": "controls"}
    present_kinds = [(kind, name) for kind, name in called.items() if any(entry.kind == kind for entry in entries)]
    return present_kinds if len(present_kinds) > 1 else []


def reduce_validation_to_verdict(validation: str) -> str:
    """Reduces *validation*, a board's validation in words, to pass, fail, undecided or unvalidated."""
    if validation.startswith("validated"):
        return "pass"
    return next((name for name in ("fail", "undecided") if f" {name} " in f"{validation} "), "unvalidated")


def group_perturbations(validations: Sequence[Row]) -> dict[str, list[Row]]:
    """Returns family of perturbations → one row for each perturbation of the family that any metric was tried with.

    A row is the perturbation's effect on the last metric in *validations* that was tried with it.
    """
    by_perturbation = {effect["change"]: effect for row in validations for effect in row["effects"]}
    families_shown = sorted({effect["family"] for effect in by_perturbation.values()})
    return {
        family: [item for item in by_perturbation.values() if item["family"] == family] for family in families_shown
    }


def compute_effect_axis_limits(validations: Sequence[Row]) -> tuple[float, float]:
    effects = [item for row in validations for item in row["effects"]]
    return compute_axis_span([end for item in effects for end in (item["low"], item["high"]) if end is not None])


def compute_history_axis_limits(history: Row) -> tuple[float, float]:
    years = [year for _, line in history["lines"] for year in line]
    ends = [year[name] for year in years for name in ("difference", "low", "high")]
    return compute_axis_span([end for end in ends if end is not None])


def sort_by_latest_difference(history: Row) -> list[tuple[str, list[Row]]]:
    """Returns the lines of *history*, each a pair (candidate, its rows, one per edition).

    The candidate with the largest difference from the human baseline in the latest edition comes first.
    """
    latest = {name: years[-1]["difference"] for name, years in history["lines"]}
    return sorted(history["lines"], key=lambda line: (latest[line[0]] is None, -(latest[line[0]] or 0.0)))


def group_changes_by_editions(history: Row) -> dict[str, dict[str, Row]]:
    """Returns how each candidate's difference from the human baseline changed, from the rows of *history*.

    The keys are two editions in one text, such as ``ICLR-2024 → ICLR-2025``, then the candidate.
    """
    by_editions: dict[str, dict[str, Row]] = {}
    for item in history["changes"]:
        by_editions.setdefault(f"{item['earlier']} → {item['later']}", {})[item["candidate"]] = item
    return by_editions


def count_pair_states(outcomes: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Returns title of a board → outcome of a pair (one of `STATES`) → number of pairs with this outcome."""
    by_board: dict[str, dict[str, int]] = {}
    for outcome in outcomes:
        by_board.setdefault(outcome["title"], dict.fromkeys(STATES, 0))[outcome["state"]] += outcome["pairs"]
    return by_board


def warn_of_small_editions(history: Row) -> str:
    """Returns the warning of `warn_of_small_samples` for the editions of *history*."""
    by_edition: dict[str, int] = {}
    for year in (year for _, line in history["lines"] for year in line if year["papers"]):
        by_edition[year["edition"]] = max(year["papers"], by_edition.get(year["edition"], 0))
    return warn_of_small_samples(by_edition.items())

"""The planned pairs of an edition: every (paper, candidate, reference), due or with the reason why it cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gre_bench.changes.catalog import UNCHANGEABLE
from gre_bench.changes.naming import candidate_of
from gre_bench.core import controls
from gre_bench.core.errors import SettingsError
from gre_bench.core.judgments import Form, yields
from gre_bench.core.metrics import Recipe
from gre_bench.core.records import (
    FIXED_WRITER,
    HUMAN,
    NO_REFERENCE,
    Candidate,
    Case,
    Paper,
    Planned,
    Source,
    SynopsisKind,
)


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a text is missing; *waiting*: the next run tries again."""

    reason: str
    waiting: bool = False
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A review as it is scored: its original text, its judgments by writer, and why what is missing is missing."""

    review_id: str
    text: str | None
    judgments: Mapping[str, str]
    lacks: Mapping[Source, Lack] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A sampled paper: the human response, the references, the other candidates' responses, the synopses."""

    paper: Paper
    human: Response
    references: tuple[Response, ...]
    responses: Mapping[str, Response]
    synopses: Mapping[SynopsisKind, str | Lack] = field(default_factory=dict)


UNREFERENCED = Response(NO_REFERENCE, "", {})
"""In the place of a reference, for a metric that needs none."""


def plan(
    entries: Sequence[Entry],
    candidates: Iterable[Candidate],
    recipe: Recipe,
    writer: str,
    form: Form = "as_written",
    limit: int | None = None,
    generic: str = controls.GENERIC_JUDGMENTS,
    moved: Mapping[tuple[str, str], Response] | None = None,
) -> list[Planned]:
    """All pairs of the first *limit* papers, paper by paper; one a response where the metric needs no reference.

    *Excluded* pairs are outside the metric by rule and the same for all (no synopsis, a control without an original
    review, a change that cannot be made of the text, a response without another to compare it with); *failed* ones lack
    a text that should be there, and count against the candidate. *moved*: by candidate and paper, its response to
    another paper, for specific metrics.
    """
    candidates = list(candidates)
    return [
        _pair(entry, reference, candidate, response, elsewhere, recipe, writer, form)
        for place, entry in enumerate(entries[:limit])
        for candidate in candidates
        for response in (response_of(entries, place, candidate, generic),)
        for elsewhere in (_elsewhere(entry, candidate, response, moved or {}),)
        for reference in (entry.references if recipe.needs_reference else (UNREFERENCED,))
    ]


def _elsewhere(
    entry: Entry, candidate: Candidate, response: Response | None, moved: Mapping[tuple[str, str], Response]
) -> Response | None:
    """What *candidate* said of another paper."""
    if candidate.candidate_id == controls.GENERIC:
        return response
    return moved.get((candidate.candidate_id, entry.paper.paper_id))


def the_writer(entries: Iterable[Entry], asked: str | None, at_work: str | None = None) -> str:
    """`the_writer_of` the human responses of *entries*."""
    return the_writer_of(
        [response for entry in entries for response in (entry.human, *entry.references)], asked, at_work
    )


def the_writer_of(responses: Iterable[Response], asked: str | None, at_work: str | None = None) -> str:
    """The writer whose judgments are scored: *asked*, the one *at_work* in this run, or the only one there is.

    `SettingsError` if that is unclear, or if there are no judgments by the one asked for.
    """
    if at_work is not None and asked in (None, at_work):
        return at_work
    writers = sorted({writer for response in responses for writer in response.judgments})
    if asked is not None and asked not in writers:
        raise SettingsError(f"no judgments by writer {asked}; the writers are: {', '.join(writers) or 'none'}")
    if asked is None and len(writers) > 1:
        names = ", ".join(writers)
        raise SettingsError(f"judgments by several writers ({names}); choose one: --set scoring.writer=NAME")
    return asked or (writers[0] if writers else "none")


def response_of(
    entries: Sequence[Entry], place: int, candidate: Candidate, generic: str = controls.GENERIC_JUDGMENTS
) -> Response | None:
    """What *candidate* said of the paper at *place*, if anything."""
    if candidate.candidate_id == HUMAN:
        return entries[place].human
    if candidate.candidate_id == controls.OTHER_PAPER:
        return controls.other(entries, place).human
    if candidate.candidate_id == controls.GENERIC:
        return Response(controls.GENERIC, None, {FIXED_WRITER: generic})
    return entries[place].responses.get(candidate.candidate_id)


def _pair(
    entry: Entry,
    reference: Response,
    candidate: Candidate,
    response: Response | None,
    elsewhere: Response | None,
    recipe: Recipe,
    writer: str,
    form: Form,
) -> Planned:
    ids = entry.paper.paper_id, candidate.candidate_id, reference.review_id
    synopsis = _synopsis(entry, recipe.synopsis)
    if isinstance(synopsis, Lack):
        return Planned(*ids, "waiting" if synopsis.waiting else "excluded", synopsis.reason, detail=synopsis.detail)
    if recipe.source == "review" and _only_judges(candidate):
        return Planned(*ids, "excluded", "no_original_review")
    if response is None:
        return Planned(*ids, "failed", "no_review")
    x = _scored(response, recipe.source, writer, form)
    y = _scored(reference, recipe.source, writer, form) if recipe.needs_reference else ""
    texts = [(x, ""), (y, "reference: ")]
    if recipe.formula == "specific":
        chance = _scored(elsewhere, recipe.source, writer, form) if elsewhere else Lack("no_other_paper")
        texts.append((chance, "on another paper: " if elsewhere else ""))
    for text, prefix in texts:
        if isinstance(text, Lack):
            by_rule = text.reason == "no_other_paper" or (
                text is not y and candidate.kind == "change" and text.reason in UNCHANGEABLE
            )
            state = "waiting" if text.waiting else "excluded" if by_rule else "failed"
            return Planned(*ids, state, prefix + text.reason, detail=text.detail)
    moved = texts[2][0] if recipe.formula == "specific" else None
    assert not isinstance(x, Lack) and not isinstance(y, Lack) and not isinstance(moved, Lack)
    return Planned(*ids, "due", None, Case(*ids, recipe.source, x, y, synopsis, moved))


def _synopsis(entry: Entry, kind: SynopsisKind) -> str | Lack | None:
    if kind == "none":
        return None
    if kind == "abstract" and kind not in entry.synopses:
        return entry.paper.abstract or Lack("no_abstract")
    if kind == "paper":
        return entry.paper.whole if entry.paper.text else Lack("no_text")
    return entry.synopses.get(kind, Lack(f"no_{kind}"))


def _only_judges(candidate: Candidate) -> bool:
    """Whether *candidate* has judgments without a review: the generic control, a change of judgments."""
    return candidate.candidate_id == controls.GENERIC or (
        candidate.kind == "change" and candidate.candidate_id == candidate_of(candidate.change or "", "judgments")
    )


def _scored(response: Response, source: Source, writer: str, form: Form) -> str | Lack:
    """The text of *response* that the metric reads, or why it is missing or judges nothing."""
    if source == "review":
        return response.text or response.lacks.get(source, Lack("no_original_review"))
    text = response.judgments.get(FIXED_WRITER if response.review_id == controls.GENERIC else writer)
    if text is None:
        return response.lacks.get("review") or response.lacks.get(source, Lack("no_judgments"))
    return text if yields(text, form) else Lack("no_judgments")

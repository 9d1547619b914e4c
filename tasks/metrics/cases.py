"""The planned pairs of an edition: every (paper, candidate, reference), due or with the reason why it cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks import controls
from tasks.errors import SettingsError
from tasks.judgments import Form, yields
from tasks.metrics.catalog import Recipe
from tasks.records import FIXED_WRITER, HUMAN, Candidate, Case, Paper, Planned


@dataclass(frozen=True, slots=True)
class Response:
    """A review as it is scored: its original text, if there is one, and its judgments by writer."""

    review_id: str
    text: str | None
    judgments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A sampled paper: the human candidate's response, the references, and the other candidates' responses."""

    paper: Paper
    human: Response
    references: tuple[Response, ...]
    responses: Mapping[str, Response]


GENERIC = Response(controls.GENERIC, None, {FIXED_WRITER: controls.GENERIC_JUDGMENTS})


def plan(
    entries: Sequence[Entry],
    candidates: Iterable[Candidate],
    recipe: Recipe,
    writer: str,
    form: Form = "as_written",
    limit: int | None = None,
) -> list[Planned]:
    """All pairs of the first *limit* papers, paper by paper.

    *Excluded* pairs are outside the metric by rule and the same for all (no synopsis, a control without an original
    review); *failed* ones lack a text that should be there, and count against the candidate.
    """
    candidates = list(candidates)
    return [
        _pair(entry, reference, candidate, _response(entries, place, candidate), recipe, writer, form)
        for place, entry in enumerate(entries[:limit])
        for candidate in candidates
        for reference in entry.references
    ]


def the_writer(entries: Iterable[Entry], asked: str | None) -> str:
    """The writer whose judgments are scored: *asked*, or the only one there is; `SettingsError` if that is unclear."""
    writers = sorted(
        {writer for entry in entries for response in (entry.human, *entry.references) for writer in response.judgments}
    )
    if asked is not None and asked not in writers:
        raise SettingsError(f"no judgments by writer {asked}; the writers are: {', '.join(writers) or 'none'}")
    if asked is None and len(writers) > 1:
        raise SettingsError(
            f"judgments by several writers ({', '.join(writers)}); choose one: --set scoring.writer=NAME"
        )
    return asked or (writers[0] if writers else "none")


def _response(entries: Sequence[Entry], place: int, candidate: Candidate) -> Response | None:
    if candidate.candidate_id == HUMAN:
        return entries[place].human
    if candidate.candidate_id == controls.OTHER_PAPER:
        return controls.other(entries, place).human
    if candidate.candidate_id == controls.GENERIC:
        return GENERIC
    return entries[place].responses.get(candidate.candidate_id)


def _pair(
    entry: Entry,
    reference: Response,
    candidate: Candidate,
    response: Response | None,
    recipe: Recipe,
    writer: str,
    form: Form,
) -> Planned:
    ids = entry.paper.paper_id, candidate.candidate_id, reference.review_id
    synopsis = entry.paper.abstract if recipe.synopsis == "abstract" else None
    if recipe.synopsis != "none" and synopsis is None:
        return Planned(*ids, "excluded", "no_abstract")
    if recipe.source == "review" and candidate.candidate_id == controls.GENERIC:
        return Planned(*ids, "excluded", "no_original_review")
    if response is None:
        return Planned(*ids, "failed", "no_review")
    x, y = _scored(response, recipe, writer, form), _scored(reference, recipe, writer, form)
    if x is None or y is None:
        lacking = "judgments" if recipe.source == "judgments" else "original_review"
        return Planned(*ids, "failed", f"no_{lacking}" if x is None else f"no_reference_{lacking}")
    return Planned(*ids, "due", None, Case(*ids, recipe.source, x, y, synopsis))


def _scored(response: Response, recipe: Recipe, writer: str, form: Form) -> str | None:
    """The text of *response* that the metric reads; None where it is missing or judges nothing."""
    if recipe.source == "review":
        return response.text
    text = response.judgments.get(writer) or response.judgments.get(FIXED_WRITER)
    return text if text and yields(text, form) else None

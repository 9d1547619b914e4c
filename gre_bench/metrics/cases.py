"""Plans the pairs of an edition: each (paper, candidate, reference) is either due for scoring, or has a reason why not.

The specific form of a metric subtracts a chance score: the score that the candidate's review of another paper gets on
this paper. That review has the same style, but says nothing about this paper. The difference is thus due to what the
candidate says about the paper itself.

In a swap, a candidate's reviews of two papers p and q exchange papers. The score of p's review on q is the candidate's
chance score on q. The score of q's review on p is its chance score on p. Each review is moved once, so an effect of one
review alone, or of one paper alone, cancels within the swap. No two swaps share a paper, so their means are
independent, and a t test over them keeps its significance level (`gre_bench.stats.intervals`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gre_bench.core import controls
from gre_bench.core.errors import SettingsError
from gre_bench.core.judgments import Form, has_judgments, prepare_judgments
from gre_bench.core.known_names import suggest_known_names
from gre_bench.core.metrics import Recipe
from gre_bench.core.records import (
    FIXED_WRITER,
    HUMAN,
    NO_REFERENCE,
    Candidate,
    Case,
    Paper,
    PlannedPair,
    Source,
    SynopsisKind,
)
from gre_bench.metrics.scoring import signature_writer_name
from gre_bench.perturbations.by_name import UNCHANGEABLE, perturbed_candidate_name


@dataclass(frozen=True, slots=True)
class MissingText:
    """Why a text is missing: a code, whether the next run tries to get it (*waiting*), and a message for the reader."""

    reason: str
    waiting: bool = False
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewWithJudgments:
    """A review to be scored.

    *text*: the original review; None if it is missing. *judgments*: name of a writer → the judgments that the writer
    made of the review. *lacks*: ``review`` or ``judgments`` → why the original review or the judgments are missing.
    """

    review_id: str
    text: str | None
    judgments: Mapping[str, str]
    lacks: Mapping[Source, MissingText] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampledPaper:
    """A sampled paper with its reviews and synopses.

    *human*: the review of the human baseline. *references*: the reviews that candidates are scored against. If
    *human_is_reference* is true, models and controls are scored against *human*, too. If *references* is empty, *human*
    is the only human review, so it serves as a reference and not as a candidate. *responses*: candidate id → review,
    without the human baseline. *synopses*: kind of synopsis → its text, or the reason why it is missing.
    """

    paper: Paper
    human: ReviewWithJudgments
    references: tuple[ReviewWithJudgments, ...]
    responses: Mapping[str, ReviewWithJudgments]
    synopses: Mapping[SynopsisKind, str | MissingText] = field(default_factory=dict)
    human_is_reference: bool = False


NO_REVIEW = "no_review"
"""Why a pair waits if nobody has supplied its review: no run can write the review, but an import may add it."""

FEWEST_COMPARED = 4
"""The number of papers with another human review that suffices to compare the human baseline.

Tests need two swaps, of two papers each."""

UNREFERENCED = ReviewWithJudgments(NO_REFERENCE, "", {})
"""Takes the place of the reference if a metric needs none."""


def plan_edition_pairs(
    entries: Sequence[SampledPaper],
    candidates: Iterable[Candidate],
    recipe: Recipe,
    writer: str,
    form: Form = "as_written",
    limit: int | None = None,
    generic: str = controls.GENERIC_JUDGMENTS,
    moved: Mapping[tuple[str, str], ReviewWithJudgments] | None = None,
) -> list[PlannedPair]:
    """Returns the planned pairs of the papers *entries*, paper by paper.

    A pair that cannot be scored now is *waiting*, *excluded* or *failed*. A pair is waiting if the next run tries to
    get its text, or if nobody has supplied its review. A pair is excluded if a rule leaves it out for all candidates
    alike. A pair has failed if its text should exist but is missing, which counts against the candidate.

    Args:
        entries: the papers of the sample, in its order, each with its responses and references.
        candidates: the candidates to plan, each on every paper.
        recipe: the metric.
        writer: the identity of the writer whose judgments the metric reads.
        form: whether lines that are no judgments are removed from the judgments.
        limit: the number of papers to plan, counted from the first; None: all.
        generic: the judgments of the generic control.
        moved: (candidate id, paper id) → the candidate's response to another paper, for specific metrics.

    Returns:
        One pair for each paper, candidate and reference, or for each paper and candidate if the metric needs no
        reference.
    """
    candidates = list(candidates)
    planned: list[PlannedPair] = []
    compared = is_human_baseline_compared(entries)
    for index, entry in enumerate(entries[:limit]):
        for candidate in candidates:
            response = find_candidate_review(entries, index, candidate, generic)
            elsewhere = (moved or {}).get((candidate.candidate_id, entry.paper.paper_id))
            if candidate.candidate_id == controls.GENERIC:
                elsewhere = response  # the same for all papers
            references = entry.references if recipe.needs_reference else (UNREFERENCED,)
            if recipe.needs_reference and candidate.kind in ("model", "control"):
                references = (entry.human, *references) if entry.human_is_reference else references
            elif recipe.needs_reference and not compared:
                references = ()
            planned += [
                _plan_pair(entry, reference, candidate, response, elsewhere, recipe, writer, form)
                for reference in references
            ]
    return planned


def add_judgments_as_beyond_synopses(
    entries: Sequence[SampledPaper], names: Sequence[str], writer: str, form: Form
) -> list[SampledPaper]:
    """Returns *entries* with a synopsis ``beyond``: the judgments that *writer* made of reviews by candidates *names*.

    If *names* is the human baseline alone, `plan_edition_pairs` instead uses another reference of the paper for each
    pair. Otherwise, the judgments are joined in the order of *names*. *form*: whether lines that are no judgments are
    removed. For a paper that lacks any of these judgments, the reason is stored, and the paper is left out for all
    candidates alike.
    Raises `SettingsError` for a name that no paper has.
    """
    if tuple(names) == (HUMAN,):
        return list(entries)
    known = dict.fromkeys(name for entry in entries for name in entry.responses)
    for name in names:
        if name not in known:
            raise SettingsError(f"scoring.beyond: no reviews by {name}; {suggest_known_names(name, known)}")
    return [replace(entry, synopses={**entry.synopses, "beyond": _join_beyond_judgments(entry, names, writer, form)})
            for entry in entries]  # fmt: skip


def _join_beyond_judgments(entry: SampledPaper, names: Sequence[str], writer: str, form: Form) -> str | MissingText:
    texts = []
    for name in names:
        response = entry.responses.get(name)
        text = (
            _select_scored_text(response, "judgments", writer, form)
            if response
            else MissingText("no_beyond", detail=f"none by {name}")
        )
        if isinstance(text, MissingText):
            return replace(text, reason="no_beyond")
        texts.append(prepare_judgments(text, form, False).strip("\n"))
    return "\n".join(texts)


def is_human_baseline_compared(entries: Sequence[SampledPaper]) -> bool:
    """Whether the human baseline is a candidate under metrics with references.

    It is if all of *entries*, or at least `FEWEST_COMPARED` of them, have another human review as a reference.
    """
    return sum(bool(entry.references) for entry in entries) >= min(FEWEST_COMPARED, len(entries))


def choose_writer_for_sampled_papers(
    entries: Iterable[SampledPaper], requested: str | None, in_use: str | None = None
) -> str:
    return choose_scored_writer(
        [response for entry in entries for response in (entry.human, *entry.references)], requested, in_use
    )


def choose_scored_writer(
    responses: Iterable[ReviewWithJudgments], requested: str | None, in_use: str | None = None
) -> str:
    """Returns the name of the writer whose judgments are scored.

    This is the first of the following that exists: *requested*, the writer that the settings name; *in_use*, the writer
    that this run uses; the only writer of the judgments in *responses*. If there are no judgments, it is ``none``.
    Raises `SettingsError` if no writer is requested and the judgments are by several writers. Also raises it if the
    requested writer is not in use and has no judgments.
    """
    if in_use is not None and requested in (None, in_use):
        return in_use
    writers = sorted({writer for response in responses for writer in response.judgments})
    if requested is not None and requested not in writers:
        raise SettingsError(f"no judgments by writer {requested}; available writers: {', '.join(writers) or 'none'}")
    if requested is None and len(writers) > 1:
        names = ", ".join(writers)
        raise SettingsError(f"judgments by several writers ({names}); choose one: --set scoring.writer=NAME")
    return requested or (writers[0] if writers else "none")


def find_candidate_review(
    entries: Sequence[SampledPaper], index: int, candidate: Candidate, generic: str = controls.GENERIC_JUDGMENTS
) -> ReviewWithJudgments | None:
    if candidate.candidate_id == HUMAN:
        return entries[index].human
    if candidate.candidate_id == controls.OTHER_PAPER:
        return controls.pick_item_half_a_list_away(entries, index).human
    if candidate.candidate_id == controls.GENERIC:
        return ReviewWithJudgments(controls.GENERIC, None, {FIXED_WRITER: generic})
    return entries[index].responses.get(candidate.candidate_id)


def _plan_pair(
    entry: SampledPaper,
    reference: ReviewWithJudgments,
    candidate: Candidate,
    response: ReviewWithJudgments | None,
    elsewhere: ReviewWithJudgments | None,
    recipe: Recipe,
    writer: str,
    form: Form,
) -> PlannedPair:
    ids = entry.paper.paper_id, candidate.candidate_id, reference.review_id
    synopsis = _find_synopsis(entry, recipe.synopsis)
    if synopsis is None and recipe.synopsis == "beyond":
        synopsis = _find_next_reference_judgments(entry, reference, writer, form)
    if isinstance(synopsis, MissingText):
        return PlannedPair(*ids, "waiting" if synopsis.waiting else "excluded", synopsis.reason, detail=synopsis.detail)
    if recipe.source == "review" and (  # the candidate has judgments only
        candidate.candidate_id == controls.GENERIC
        or (
            candidate.kind == "change"
            and not (response and response.text)
            and candidate.candidate_id == perturbed_candidate_name(candidate.change or "", "judgments")
        )
    ):
        return PlannedPair(*ids, "excluded", "no_original_review")
    if response is None:
        return PlannedPair(*ids, "waiting", NO_REVIEW)
    x = _select_scored_text(response, recipe.source, writer, form)
    y = _select_scored_text(reference, recipe.source, writer, form) if recipe.needs_reference else ""
    texts = [(x, ""), (y, "reference: ")]
    if recipe.formula == "specific":
        chance = (
            _select_scored_text(elsewhere, recipe.source, writer, form) if elsewhere else MissingText("no_other_paper")
        )
        texts.append((chance, "on another paper: " if elsewhere else ""))
    for text, prefix in texts:
        if isinstance(text, MissingText):
            # Without the reference's text, no candidate can be scored, so this must not count against any of them.
            by_rule = (
                text is y
                or text.reason == "no_other_paper"
                or (candidate.kind == "change" and text.reason in UNCHANGEABLE)
            )
            state = "waiting" if text.waiting else "excluded" if by_rule else "failed"
            return PlannedPair(*ids, state, prefix + text.reason, detail=text.detail)
    moved = texts[2][0] if recipe.formula == "specific" else None
    assert not isinstance(x, MissingText) and not isinstance(y, MissingText) and not isinstance(moved, MissingText)
    return PlannedPair(*ids, "due", None, Case(*ids, recipe.source, x, y, synopsis, moved))


def _find_synopsis(entry: SampledPaper, kind: SynopsisKind) -> str | MissingText | None:
    if kind == "none":
        return None
    if kind == "paper":
        return entry.paper.whole if entry.paper.text else MissingText("no_text")
    return entry.synopses.get(kind, None if kind == "beyond" else MissingText(f"no_{kind}"))


def _find_next_reference_judgments(
    entry: SampledPaper, reference: ReviewWithJudgments, writer: str, form: Form
) -> str | MissingText:
    """Returns the judgments of another reference of *entry*: the next one in the list after *reference*.

    After the last reference comes the first. If *reference* is not in the list, such as the human baseline's review,
    the first is taken. The other reference is never *reference* itself; if there is none, returns a `MissingText`.
    """
    others = entry.references
    place = next((k for k, each in enumerate(others) if each.review_id == reference.review_id), -1)
    other = others[(place + 1) % len(others)] if others else reference
    if other.review_id == reference.review_id:
        return MissingText("no_beyond", detail="no further human review")
    text = _select_scored_text(other, "judgments", writer, form)
    return (
        replace(text, reason="no_beyond")
        if isinstance(text, MissingText)
        else prepare_judgments(text, form, False).strip("\n")
    )


def _select_scored_text(response: ReviewWithJudgments, source: Source, writer: str, form: Form) -> str | MissingText:
    """Returns the text of *response* that a metric reads, given *source*, *writer* and *form*, or why there is none."""
    if source == "review":
        return response.text or response.lacks.get(source, MissingText("no_original_review"))
    text = response.judgments.get(FIXED_WRITER if response.review_id == controls.GENERIC else writer)
    if text is None:
        return response.lacks.get("review") or response.lacks.get(source, MissingText("no_judgments"))
    return text if has_judgments(text, form) else MissingText("no_judgments")


BLOCK = 8
"""Reviews are sorted by length, and shuffled within blocks of this many before they are grouped into swaps."""


@dataclass(frozen=True, slots=True)
class MovableReview:
    """A review that can be moved.

    *key*: the review's id. *item*: the id of the paper on which it is scored. *about*: the ids of all papers that the
    review may be about; it must not be moved to any of these. *words*: its length.
    """

    key: str
    item: str
    about: frozenset[str]
    words: int


@dataclass(frozen=True, slots=True)
class Move:
    """A move of the review *source* to the paper of the review *key*, where it is scored in place of *key*.

    *swap*: the id of the swap to which both reviews belong.
    """

    key: str
    source: str
    swap: str


@dataclass(frozen=True, slots=True)
class MovedReview:
    """A candidate's review of another paper, moved to *paper_id*; its score is the candidate's chance score there.

    *writer*: the writer whose judgments are read, named as in a signature. *swap*: as in `Move`.
    """

    writer: str
    candidate_id: str
    paper_id: str
    response: ReviewWithJudgments
    swap: str


def plan_moves(reviews: Sequence[MovableReview], seed: int) -> list[Move]:
    """Returns one move for each of *reviews* that can be moved, in their order; the moves do not depend on that order.

    Reviews of similar length are grouped into swaps at random (*seed*). The two reviews of a swap exchange papers. A
    review that is left over joins a swap, and the three exchange papers in a ring. No review moves to a paper that the
    review itself may be about.
    """
    ordered = sorted(reviews, key=lambda review: (review.words, review.key))
    draw = random.Random(seed)
    shuffled: list[MovableReview] = []
    for start in range(0, len(ordered), BLOCK):
        block = ordered[start : start + BLOCK]
        draw.shuffle(block)
        shuffled += block
    swaps = _group_into_swaps(shuffled)
    source = {
        moving.key: (other.key, swap[0].key)
        for swap in swaps
        for moving, other in zip(swap, (*swap[1:], swap[0]), strict=True)
    }
    return [Move(review.key, *source[review.key]) for review in reviews if review.key in source]


def plan_response_moves(
    entries: Sequence[SampledPaper], candidates: Iterable[Candidate], recipe: Recipe, writer: str, seed: int
) -> list[MovedReview]:
    """Returns the responses of *candidates* to the papers of *entries*, each moved to another paper.

    A response is the review that a metric reads as the candidate's. Responses without the text that the metric *recipe*
    reads are left out. So is the control ``generic``, which is the same for every paper. Perturbed reviews move in the
    same way as the human baseline's reviews. A difference between their scores is thus due to the perturbation alone.
    """
    moved: list[MovedReview] = []
    as_human: list[Move] = []
    for candidate in candidates:
        if candidate.candidate_id == controls.GENERIC:
            continue
        by_paper: dict[str, ReviewWithJudgments] = {}
        placed = []
        for index, entry in enumerate(entries):
            if candidate.kind in ("human", "change") and not entry.references:
                continue
            response, name = find_candidate_review(entries, index, candidate), entry.paper.paper_id
            if response is not None and (words := count_scored_words(response, recipe, writer)):
                borrowed = candidate.candidate_id == controls.OTHER_PAPER
                source = controls.pick_item_half_a_list_away(entries, index).paper.paper_id if borrowed else name
                by_paper[name] = response
                placed.append(MovableReview(name, name, frozenset((name, source)), words))
        chosen = as_human if candidate.kind == "change" else plan_moves(placed, seed)
        as_human = chosen if candidate.candidate_id == HUMAN else as_human
        moved += [
            MovedReview(
                signature_writer_name(recipe, writer),
                candidate.candidate_id,
                move.key,
                by_paper[move.source],
                move.swap,
            )
            for move in chosen
            if move.key in by_paper and move.source in by_paper
        ]
    return moved


def count_scored_words(response: ReviewWithJudgments, recipe: Recipe, writer: str) -> int:
    """Returns the number of words in the text of *response* that the metric *recipe* reads; 0 if it is missing."""
    text = response.text if recipe.source == "review" else response.judgments.get(writer)
    return len((text or "").split())


def _group_into_swaps(reviews: Sequence[MovableReview]) -> list[tuple[MovableReview, ...]]:
    """Groups *reviews* into swaps of two or three. No review may be about the paper of another in its swap.

    Each review swaps with the first earlier review that is still free and with which it may exchange papers. A review
    that remains free joins one of the swaps of two if that is allowed, and is left out otherwise.
    """
    waiting: list[MovableReview] = []
    swaps: list[tuple[MovableReview, ...]] = []
    for review in reviews:
        partner = next((candidate for candidate in waiting if _may_exchange_papers(candidate, review)), None)
        if partner is None:
            waiting.append(review)
        else:
            waiting.remove(partner)
            swaps.append((partner, review))
    for review in waiting:
        # The search starts at the last pair: the list is sorted by length, and the review left over is usually the
        # longest.
        for index in reversed(range(len(swaps))):
            if len(swaps[index]) == 2 and all(_may_exchange_papers(candidate, review) for candidate in swaps[index]):
                swaps[index] = (*swaps[index], review)
                break
    return swaps


def _may_exchange_papers(review: MovableReview, other: MovableReview) -> bool:
    return review.item not in other.about and other.item not in review.about

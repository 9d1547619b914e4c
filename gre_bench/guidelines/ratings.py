"""Ratings of papers under guidelines, from an LM's reviews or from imported reviews.

Listings 5, 6 and 13 of "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review" define
the form: ``Overall Rating: (Your Rating)``, an integer from 1 to 10. With a rubric, the review also states a temporary
score from −10 to 10, from which a rule computes the rating. Replies are hostile input: they may contain anything.

A condition is a variant of the prompt for reviews: with one guideline, or without any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Problem, Sampling, Writer
from gre_bench.core.replies import parse_number, text_continues_number, without_thinking
from gre_bench.guidelines.yaml_replies import request_and_parse_replies
from gre_bench.prompts.conditions import GuidelineCondition

LOWEST, HIGHEST = 1, 10
QUESTIONS = 10
"""A checklist has this many good questions and this many bad questions; each is worth one point."""
NO_TEXT = Problem("no_text", "the paper has no text")
NO_REVIEW = Problem("no_review", "the run has no review of the paper")

_MARKS = r"[*_`\"'\s]{0,8}"
_NUMBER = r"[+\-\u2212]?\d{1,6}(?:\.\d{1,6})?"
_RATING = re.compile(rf"overall[ \t]rating{_MARKS}:{_MARKS}\(?{_MARKS}({_NUMBER})([^\n]{{0,12}})", re.IGNORECASE)
_RATING_IN_SENTENCE = re.compile(
    rf"overall[ \t]rating[ \t]is{_MARKS}:?{_MARKS}({_NUMBER})"
    r"(?=[ \t]*(?:[.,;!(*](?!\d)|\n|\Z|/|out of))(?=([^\n]{0,12}))",
    re.IGNORECASE,
)
"""Matches "overall rating is n" at the end of a clause; used only if no ``Overall Rating: n`` counts."""
_TEMPORARY = re.compile(
    rf"temporary[ _\t]score{_MARKS}(?:\([^()\n]{{0,40}}\){_MARKS})?[:=]{_MARKS}\(?{_MARKS}({_NUMBER})([^\n]{{0,12}})",
    re.IGNORECASE,
)
_RANGE = re.compile(r"[ \t]*(?:-|–|—|→|->|to\b|or\b|and\b|[,;]?[ \t]*(?:no|not|rather|actually)\b)[ ,\ta-z]{0,9}\d")
_BEGINS = re.compile(
    r"(?:^|[.!?;)][ \t]+)[ \t>*_`#\"'(•\d.-]{0,8}(?:(?:the|my|so|thus|therefore),?[ \t]+){0,2}\Z", re.I
)
_ASCRIBED_TO_OTHERS = re.compile(r"\b(?:reviewers?|reviews?|authors?|guidelines?)\b[^\n]{0,40}\Z", re.IGNORECASE)
"""Words before a rating field that ascribe the rating to somebody other than the LM."""
_OUT_OF = re.compile(r"\s*(?:/|(?:out )?of)\s*(\d+)(?![.,]?\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of a paper by *model* under *condition*.

    *value*: the rating, from 1 to 10; None if there is a *problem*, which says why there is no rating. *recomputed*:
    the rating that the rubric's rule computes from the review's temporary score, if the review has such a score.
    *text*: the review.
    """

    paper_id: str
    model: str
    condition: str
    value: int | None
    problem: Problem | None = None
    recomputed: int | None = None
    text: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.problem is None):
            raise ValueError(f"a rating has a value or a problem, not both or neither: {self}")


def overall_rating(text: str) -> int:
    """Returns the rating n in the last ``Overall Rating: n`` that begins a sentence; the LM's thinking is ignored.

    If no sentence begins with it, the last ``Overall Rating: n`` within a sentence counts. Those that the text ascribes
    to others, such as reviewers, are ignored. If there is none either, returns the n of all sentences of the form "The
    overall rating is n.", which must agree.

    Raises `ReplyError`: ``no_rating``, ``rating_not_integer``, ``rating_off_scale``, or ``rating_ambiguous`` for a
    range, a decimal comma or two ratings.
    """
    visible = without_thinking(text)[0]
    if matches := _find_field_matches(_RATING, visible):
        return check_on_scale(_parse_integer_score(matches[-1], "rating", HIGHEST))
    ratings = {
        _parse_integer_score(match, "rating", HIGHEST)
        for match in _find_field_matches(_RATING_IN_SENTENCE, visible, anywhere=True)
    }
    if len(ratings) > 1:
        raise ReplyError(f"rating_ambiguous: {' and '.join(map(str, sorted(ratings)))}")
    if not ratings:
        raise ReplyError("no_rating")
    return check_on_scale(ratings.pop())


def check_on_scale(rating: int) -> int:
    if not LOWEST <= rating <= HIGHEST:
        raise ReplyError(f"rating_off_scale: {rating}")
    return rating


def parse_temporary_score(text: str) -> int:
    """Returns the score t (−10 to 10) in the last ``temporary score: t`` of *text*; the LM's thinking is ignored.

    Raises `ReplyError`: ``no_temporary_score``, or the same problems as in `overall_rating` with ``temporary_score``
    in place of ``rating``.
    """
    matches = _find_field_matches(_TEMPORARY, without_thinking(text)[0])
    if not matches:
        raise ReplyError("no_temporary_score")
    score = _parse_integer_score(matches[-1], "temporary_score", QUESTIONS)
    if abs(score) > QUESTIONS:
        raise ReplyError(f"temporary_score_off_scale: {score}")
    return score


def _find_field_matches(field: re.Pattern[str], text: str, *, anywhere: bool = False) -> list[re.Match[str]]:
    """Returns the matches of *field* in *text* that begin a sentence.

    If no match begins a sentence, or if *anywhere* is set, returns all matches that *text* does not ascribe to others.
    """
    leads = {
        match: text[max(0, match.start() - 80) : match.start()].rpartition("\n")[2] for match in field.finditer(text)
    }
    begin = [match for match, lead in leads.items() if _BEGINS.search(lead)]
    return (
        begin
        if begin and not anywhere
        else [match for match, lead in leads.items() if not _ASCRIBED_TO_OTHERS.search(lead)]
    )


def convert_temporary_score_to_rating(temporary: int) -> int:
    """Returns the rating (1 to 10) that the rule in listing 13 gives for a *temporary* score t from −10 to 10.

    The rating is round(((t + 10)/20)·9 + 1). Halves are rounded down, because the listing maps t = 0 to 5. In integers,
    the formula is ⌈(9·(t + 10) + 10)/20⌉. Raises ValueError if t is not from −10 to 10.
    """
    if abs(temporary) > QUESTIONS:
        raise ValueError(f"temporary score {temporary} is not between -10 and 10")
    return -(-(9 * (temporary + 10) + 10) // 20)


def _parse_integer_score(match: re.Match[str], field: str, highest: int) -> int:
    number, after = match[1].replace("\u2212", "-"), match[2]
    if out_of := _OUT_OF.match(after):
        if int(out_of[1]) != highest:
            raise ReplyError(f"{field}_ambiguous: {number} of {out_of[1]}")
    elif text_continues_number(after) or _RANGE.match(after):
        raise ReplyError(f"{field}_ambiguous: {number}{after}".strip())
    if float(number) != int(float(number)):
        raise ReplyError(f"{field}_not_integer: {number}")
    return int(float(number))


def rate_papers_under_condition(
    writer: Writer, sampling: Sampling, model: str, condition: GuidelineCondition, papers: Sequence[tuple[str, str]]
) -> list[Rating]:
    """Returns the rating of each of *papers* (id, text) by the LM *writer*.

    A paper without text is not sent to the LM; its `Rating` holds a problem.
    """
    able = {paper_id: text for paper_id, text in papers if text.strip()}
    outcomes = request_and_parse_replies(
        writer, sampling, [condition.chat(text) for text in able.values()], overall_rating
    )
    answers = dict(zip(able, outcomes, strict=True))
    ratings = []
    for paper_id, _ in papers:
        ids = paper_id, model, condition.name
        if (answer := answers.get(paper_id)) is None:
            ratings.append(Rating(*ids, None, NO_TEXT))
            continue
        recomputed = None
        if condition.rubric:
            with suppress(ReplyError):
                recomputed = convert_temporary_score_to_rating(parse_temporary_score(answer.text))
        value, problem = (None, answer.read) if isinstance(answer.read, Problem) else (answer.read, None)
        ratings.append(Rating(*ids, value, problem, recomputed, answer.text or None))
    return ratings


@dataclass(frozen=True, slots=True)
class ImportedReview:
    """An imported review of one paper by *model*.

    *condition*: the variant of the prompt that *model* got. *rating*: the text in the file; None if there is none.
    """

    paper_id: str
    model: str
    condition: str
    rating: str | None
    text: str | None = None


def derive_condition_name(model: str, run: str) -> str:
    """Returns the name of the condition: *run* without the *model* name at its start; ``given`` if nothing is left.

    *run*: the name of the model's run, as in the file.
    """
    return run.removeprefix(model).strip("_-. ") or "given"


def strip_shared_name_parts(names: Iterable[str]) -> dict[str, str]:
    """Returns name → short form: the name without the leading and trailing parts that all *names* share.

    Underscores separate the parts. If all parts of a name are shared, its short form is ``plain``. A single name stays
    as it is.
    """
    parts = {name: name.split("_") for name in names}
    if len(parts) < 2:
        return {name: name for name in parts}
    head = _compute_common_prefix_length(parts.values())
    tail = _compute_common_prefix_length(words[head:][::-1] for words in parts.values())
    return {name: "_".join(words[head : len(words) - tail]) or "plain" for name, words in parts.items()}


def _compute_common_prefix_length(lists: Iterable[Sequence[str]]) -> int:
    return sum(1 for _ in takewhile(lambda words: len(set(words)) == 1, zip(*lists, strict=False)))


def convert_imported_reviews_to_ratings(reviews: Iterable[ImportedReview], papers: Sequence[str]) -> list[Rating]:
    """Returns one `Rating` per model, condition and paper.

    The papers are *papers* and any other papers that the model reviewed under the condition. If the rating is not an
    integer from 1 to 10, or if there is no review of the paper, the `Rating` holds the problem.
    """
    runs: dict[tuple[str, str], dict[str, ImportedReview]] = {}
    for review in reviews:
        runs.setdefault((review.model, review.condition), {})[review.paper_id] = review
    ratings = []
    for (model, condition), run in runs.items():
        for paper in dict.fromkeys((*papers, *run)):
            if (review := run.get(paper)) is None:
                ratings.append(Rating(paper, model, condition, None, NO_REVIEW))
                continue
            value, problem = None, None
            try:
                value = _parse_imported_rating(review.rating)
            except ReplyError as error:
                problem = Problem("unparsable", str(error))
            ratings.append(Rating(paper, model, condition, value, problem, text=review.text))
    return ratings


def _parse_imported_rating(rating: str | None) -> int:
    if rating is None:
        raise ReplyError("no_rating")
    number = parse_number(rating)
    if number is None:
        raise ReplyError(f"no_rating: {rating!r:.40}")
    if not number.is_integer():
        raise ReplyError(f"rating_not_integer: {rating:.40}")
    return check_on_scale(int(number))

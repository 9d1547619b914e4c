"""Grades items by the probabilities of the declared scores instead of by replies.

The probabilities come from an evaluation LM, or from the likeliest tokens that an endpoint lists at each position of
one reply. In the second case, the probability of the score in the reply is the product over its tokens. For any other
score, the endpoint can list only the first token. That is enough if the token is the whole score and no other declared
score begins with it. Otherwise the probability of that score is *unseen*.

The endpoint does not say whether the reply would have ended after a score. If a longer declared score begins with the
same token (1 and 10), the tokens listed at the next position decide.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from gre_bench.core.asking import ChatOutcome
from gre_bench.core.errors import ReplyError, SettingsError, SpanError
from gre_bench.core.records import Chat, Problem, Sampling, SpanLogprob, Writer
from gre_bench.examiners.examiner import Examiner, Item, Mass, chats, filter_chat
from gre_bench.examiners.grading import Grade, ask, filtered, logprob, samplings, screened
from gre_bench.examiners.templates import Scale
from gre_bench.lm.protocol import ChatLM, checked

YES_NO = ("Yes", "No")
TOGETHER = 2048
"""Number of replies that are scored in one call, which bounds the memory; replies to one chat share its prompt."""

Question = tuple[Chat, Sequence[str]]
"""A chat, and its possible replies."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the reply.

    *shown* lists the likeliest tokens at the same position, each with its probability. The token of the reply is always
    among them.
    """

    text: str
    shown: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """The mean score by the listed tokens, with bounds for it, because some probability is not listed.

    - *score*: the mean of the declared scores, weighted by their probabilities.
    - *mass*: the total probability of the declared scores, as far as the tokens show it.
    - *low*, *high*: the score if all probability that is not shown belonged to the lowest or highest possible score.
    - *unseen*: the declared scores whose probability the tokens do not show.
    """

    score: float
    mass: float
    low: float
    high: float
    unseen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Showing:
    """The details behind a grade by an endpoint's probabilities: the score with its bounds, by aspect."""

    item_id: str
    seen: dict[str, Seen]


def grade_by_lm(examiner: Examiner, items: Sequence[Item], lm: ChatLM) -> list[Grade]:
    """Grades *items* by the evaluation LM *lm*; returns one grade per item, in order.

    The probability of a declared score is P(score and end of turn | chat). The aggregation direct takes the likeliest
    score. The filter calls a text redundant if Yes is likelier than No. Raises `SettingsError` for the aggregation
    approximation, or if the template declares no scores.
    """
    scale = _scale(examiner)
    if examiner.aggregation == "approximation":
        raise SettingsError(f"examiner {examiner.name}: an evaluation LM cannot write, so nothing can be sampled")
    questions: list[Question] = [(chat, scale.spellings) for item in items for chat in chats(examiner, item)]
    filters = [(filter_chat(examiner, item), YES_NO) for item in items] if examiner.filtering else []
    spans = _spans([*questions, *filters], lm)
    each = len(examiner.aspects)
    grades = []
    for index, item in enumerate(items):
        if filters:
            odds = spans[len(questions) + index]
            verdict = ChatOutcome(odds if isinstance(odds, Problem) else odds[0] > odds[1])
            if verdict.read is not False:
                grades.append(filtered(examiner, item, verdict))
                continue
        grades.append(_weighed(examiner, item, spans[index * each : (index + 1) * each]))
    return grades


def grade_by_endpoint(
    examiner: Examiner, items: Sequence[Item], asker: Writer, base: Sampling | None = None, writer: Writer | None = None
) -> tuple[list[Grade], list[Showing]]:
    """Grades *items* by the likeliest tokens of an endpoint; returns one grade per item, and the details of each score.

    - *asker*: returns replies with the tokens listed (`gre_bench.writing.http_writer.LogprobWriter`).
    - *base*: the LM's own sampling options.
    - *writer*: returns plain replies; only the filter of redundant texts asks it.

    Raises `SettingsError` if the template declares no scores, or if the filter has no writer.
    """
    scale = _scale(examiner)
    if examiner.filtering and writer is None:
        raise SettingsError(f"examiner {examiner.name}: the filter needs a writer of plain replies")
    grades, due = screened(examiner, items, writer or asker, base)
    all_chats = [chat for index in due for chat in chats(examiner, items[index])]
    [sampling] = samplings(examiner, base)
    mass = examiner.mass or "normalised"
    outcomes = iter(ask(asker, all_chats, sampling, lambda document: weighted(tokens_of(document), scale, mass)))
    showings = []
    for index, filter_cost in due.items():
        item_id = items[index].item_id
        mine = {name: next(outcomes) for name in _names(examiner)}
        cost = sum((answer.cost for answer in mine.values()), filter_cost)
        problem = next((answer.read for answer in mine.values() if isinstance(answer.read, Problem)), None)
        if problem is not None:
            grades[index] = Grade(item_id, None, problem, cost=cost)
            continue
        seen = {name: answer.read for name, answer in mine.items() if not isinstance(answer.read, Problem)}
        parts = {name: answer.score for name, answer in seen.items()}
        masses = {name: answer.mass for name, answer in seen.items()}
        grades[index] = Grade(item_id, fmean(parts.values()), None, parts, mass=masses, cost=cost)
        showings.append(Showing(item_id, seen))
    return [grades[index] for index in range(len(items))], showings


def _scale(examiner: Examiner) -> Scale:
    form = examiner.form
    if not form.bare or not form.scale.declared:
        raise SettingsError(
            f"examiner {examiner.name}: template {form.name} does not ask for a declared score alone, "
            "so scores have no probabilities"
        )
    return form.scale


def _spans(questions: Sequence[Question], lm: ChatLM) -> list[list[float] | Problem]:
    """Returns, for each question, the log-probabilities of its replies in nats, or the first problem among them."""
    results: list[list[float] | Problem] = []
    due: list[Question] = []
    for index, question in enumerate(questions, 1):
        due.append(question)
        if index < len(questions) and sum(len(replies) for _, replies in due) < TOGETHER:
            continue
        spans = map(checked, lm.logprob([replace(chat, reply=reply) for chat, replies in due for reply in replies]))
        for chat, replies in due:
            mine = [next(spans) for _ in replies]
            error = next((span for span in mine if isinstance(span, SpanError)), None)
            if error is not None:
                results.append(Problem(error.code, f"{chat.user[:40]!r}: {error}", error.final, error.broken))
            else:
                results.append([span.total for span in mine if isinstance(span, SpanLogprob)])
        due = []
    return results


def _weighed(examiner: Examiner, item: Item, answers: list[list[float] | Problem]) -> Grade:
    """Returns the grade of *item* from the log-probabilities of the declared scores, or the problem, of each aspect."""
    scale, parts, mass = examiner.form.scale, {}, {}
    for name, logprobs in zip(_names(examiner), answers, strict=True):
        if isinstance(logprobs, Problem):
            return Grade(item.item_id, None, replace(logprobs, message=f"{name}: {logprobs.message}"))
        weighted_score = logprob(logprobs, scale.values, examiner.mass or "normalised")
        likeliest = scale.values[logprobs.index(max(logprobs))]
        parts[name] = weighted_score.score if examiner.aggregation == "logprob" else likeliest
        mass[name] = weighted_score.mass
    return Grade(item.item_id, fmean(parts.values()), None, parts, mass=mass)


def _names(examiner: Examiner) -> list[str]:
    return [aspect or "overall" for aspect in examiner.aspects]


def tokens_of(document: str) -> list[Token]:
    """Returns the tokens of a reply of `LogprobWriter`; raises `ReplyError` if they do not spell its text."""
    tree = json.loads(document)
    tokens = []
    for each in tree["tokens"]:
        shown = {token: math.exp(logprob) for token, logprob in each["top"]}
        shown.setdefault(each["token"], math.exp(each["logprob"]))
        tokens.append(Token(each["token"], tuple(shown.items())))
    spelt = "".join(token.text for token in tokens)
    if not spelt.strip().startswith(tree["text"].strip()[:20]):
        raise ReplyError("tokens_do_not_spell_the_reply")
    return tokens


def probabilities(tokens: Sequence[Token], spellings: Sequence[str]) -> dict[str, float | None]:
    """Returns, for each score in *spellings*, the probability that the reply is that score.

    *tokens*: the tokens of the reply, each with its likeliest alternatives. The probability is None if none of these
    alternatives begins the score.
    """
    results = {}
    for spelling in spellings:
        seen, unseen = _along(tokens, 0, spelling, spelling, spellings)
        results[spelling] = seen if seen > 0 or not unseen else None
    return results


def weighted(tokens: Sequence[Token], scale: Scale, mass: Mass = "normalised") -> Seen:
    """Returns the mean of the declared scores of *scale*, weighted by the probabilities that *tokens* show.

    With *mass* ``normalised``, this is Σ p(s)·s / Σ p(s); with ``raw``, it is Σ p(s)·s. Raises `ReplyError` if the
    tokens show the probability of no declared score.
    """
    shares = probabilities(tokens, scale.spellings)
    known = [(shares[spelling] or 0.0, value) for spelling, value in scale.declared]
    total = math.fsum(share for share, _ in known)
    if total <= 0:
        raise ReplyError("no_declared_score_among_the_likeliest_tokens")
    product = math.fsum(share * value for share, value in known)
    missing = max(0.0, 1.0 - total)
    ends = [missing * scale.low, missing * scale.high]
    if mass == "normalised":
        # Unseen probability may belong to no score and then changes nothing: *low* and *high* are the extremes.
        low, high = ((product + end) / (total + missing) for end in ends)
    else:
        low, high = product + min(0.0, ends[0]), product + max(0.0, ends[1])
    unseen = tuple(spelling for spelling, share in shares.items() if not share)
    return Seen(product / total if mass == "normalised" else product, total, low, high, unseen)


def _along(tokens: Sequence[Token], start: int, rest: str, whole: str, spellings: Sequence[str]) -> tuple[float, bool]:
    """Returns the probability that the reply spells *rest* from token *start* on, and then ends.

    *whole* is a declared score, and *rest* the part of it that the tokens before *start* do not spell. The second value
    returned says whether some of the probability is unseen.
    """
    if start >= len(tokens):
        return 0.0, True
    seen, unseen = 0.0, False
    for text, share in tokens[start].shown:
        if not text:
            continue  # an end of turn without text
        piece = text.lstrip() if rest == whole else text
        own = text == tokens[start].text
        if not piece or (piece != rest and rest.startswith(piece)):
            if not own:
                unseen = True
                continue
            further, hidden = _along(tokens, start + 1, rest[len(piece) :], whole, spellings)
            seen, unseen = seen + share * further, unseen or hidden
        elif piece == rest:
            ends = _ends(tokens, start + 1 if own else None, whole, spellings)
            seen, unseen = seen + share * (ends or 0.0), unseen or ends is None
    return seen, unseen or seen == 0


def _ends(tokens: Sequence[Token], following: int | None, whole: str, spellings: Sequence[str]) -> float | None:
    """Returns the probability that the score is *whole*, and no start of a longer one; None if not shown.

    *following*: the index of the token after the score; None if the reply does not hold the score *whole*.
    """
    longer = [spelling[len(whole) :] for spelling in spellings if spelling != whole and spelling.startswith(whole)]
    if following is None and longer:
        return None
    if following is None or following >= len(tokens):
        return 1.0
    goes_on = [
        share
        for text, share in tokens[following].shown
        if text[:1].isdigit() or (text and any(end.startswith(text) for end in longer))
    ]
    return max(0.0, 1.0 - math.fsum(goes_on))

"""Estimates the probabilities of declared scores from the likeliest tokens that an endpoint lists.

The endpoint returns one reply, and lists the likeliest tokens at each position of that reply. The probability of the
score in the reply is the product over its tokens. For any other score, the endpoint can list only the first token. That
is enough if the token is the whole score and no other declared score begins with it. Otherwise the probability of that
score is *unseen*.

The endpoint does not say whether the reply would have ended after a score. If a longer declared score begins with the
same token (1 and 10), the tokens listed at the next position decide.

Grades items by the probabilities of the declared scores instead of by replies.

The probabilities come from an evaluation LM, or from the likeliest tokens that an endpoint lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gre_bench.core.errors import ReplyError, SettingsError, SpanError
from gre_bench.core.records import Chat, Problem, Sampling, SpanLogprob, Writer
from gre_bench.examiners.examiner import Examiner, Item, chats, filter_chat
from gre_bench.examiners.grading import (
    FREE,
    ChatOutcome,
    Grade,
    Mass,
    ask,
    aspect_mean,
    filtered,
    logprob,
    redundant,
    samplings,
)
from gre_bench.examiners.templates import Scale
from gre_bench.lm.chats import ChatLM
from gre_bench.lm.protocol import checked


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
    - *low*: the score if all probability that is not shown belonged to the lowest score of the scale.
    - *high*: the score if all probability that is not shown belonged to the highest score of the scale.
    - *unseen*: the declared scores whose probability the tokens do not show.
    """

    score: float
    mass: float
    low: float
    high: float
    unseen: tuple[str, ...]


def tokens_of(document: str) -> list[Token]:
    """Returns the tokens in *document*, a reply in JSON as `gre_bench.writing.logprob_writer` stores it.

    Raises `ReplyError` if the tokens do not spell the text of the reply. That happens if the LM thought before it
    replied.
    """
    tree = json.loads(document)
    tokens = [Token(each["token"], _shown(each)) for each in tree["tokens"]]
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
    """Returns the probability that the reply's score is exactly *whole*, and not the start of a longer number or label.

    - *following*: the index of the token after the score; None if the reply does not hold the score *whole*.
    - *spellings*: the ways to write each score of the scale.

    The result is None if the tokens do not show the probability.
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


def _shown(each: dict) -> tuple[tuple[str, float], ...]:
    """Returns the tokens listed at one position of the reply, each with its probability.

    *each* is that position in the stored document. The token of the reply itself is always included.
    """
    shown = {token: math.exp(logprob) for token, logprob in each["top"]}
    shown.setdefault(each["token"], math.exp(each["logprob"]))
    return tuple(shown.items())


YES_NO = ("Yes", "No")
TOGETHER = 2048
"""Number of replies that are scored in one call, which bounds the memory; replies to one chat share its prompt."""


@dataclass(frozen=True, slots=True)
class Showing:
    """The details behind a grade that was computed from the probabilities that an endpoint lists.

    *seen* holds the score of each aspect with its bounds, by the name of the aspect.
    """

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
    spellings = scale.spellings
    asking = [(chat, spellings) for item in items for chat in chats(examiner, item)]
    filters = [(filter_chat(examiner, item), YES_NO) for item in items] if examiner.filtering else []
    spans = _spans([*asking, *filters], lm)
    each = len(examiner.aspects)
    grades = []
    for index, item in enumerate(items):
        answers = spans[len(asking) + index] if filters else None
        verdict = (
            ChatOutcome(answers if isinstance(answers, Problem) else answers[0] > answers[1], FREE) if answers else None
        )
        if verdict is not None and verdict.read is not False:
            grades.append(filtered(examiner, item, verdict))
        else:
            grades.append(_weighed(examiner, item, spans[index * each : (index + 1) * each]))
    return grades


def grade_by_endpoint(
    examiner: Examiner, items: Sequence[Item], asker: Writer, base: Sampling | None = None, writer: Writer | None = None
) -> tuple[list[Grade], list[Showing]]:
    """Grades *items* by the likeliest tokens of an endpoint; returns one grade per item, and the details of each score.

    - *asker*: returns replies with the tokens listed (`gre_bench.writing.logprob_writer`).
    - *base*: the LM's own sampling options.
    - *writer*: returns plain replies; only the filter of redundant texts asks it.

    Raises `SettingsError` if the template declares no scores, or if the filter has no writer.
    """
    scale = _scale(examiner)
    if examiner.filtering and writer is None:
        raise SettingsError(f"examiner {examiner.name}: the filter needs a writer of plain replies")
    verdicts = redundant(examiner, items, writer or asker, base)
    due = [index for index, verdict in enumerate(verdicts) if verdict is None or verdict.read is False]
    asking = [chat for index in due for chat in chats(examiner, items[index])]
    [sampling] = samplings(examiner, base)

    def read(document: str) -> Seen:
        return weighted(tokens_of(document), scale, examiner.mass or "normalised")

    each = len(examiner.aspects)
    outcomes = ask(asker, asking, sampling, read)
    grades = {
        index: filtered(examiner, items[index], verdict)
        for index, verdict in enumerate(verdicts)
        if verdict is not None and verdict.read is not False
    }
    showings = []
    for turn, index in enumerate(due):
        mine = dict(zip(_names(examiner), outcomes[turn * each : (turn + 1) * each], strict=True))
        cost = sum((answer.cost for answer in mine.values()), verdict.cost if (verdict := verdicts[index]) else FREE)
        problem = next((answer.read for answer in mine.values() if isinstance(answer.read, Problem)), None)
        if problem is not None:
            grades[index] = Grade(items[index].item_id, None, problem, cost=cost)
            continue
        seen = {name: answer.read for name, answer in mine.items() if not isinstance(answer.read, Problem)}
        parts = {name: answer.score for name, answer in seen.items()}
        grades[index] = Grade(
            items[index].item_id,
            aspect_mean(list(parts.values())),
            None,
            parts,
            mass={name: answer.mass for name, answer in seen.items()},
            cost=cost,
        )
        showings.append(Showing(items[index].item_id, seen))
    return [grades[index] for index in range(len(items))], showings


def _scale(examiner: Examiner) -> Scale:
    form = examiner.form
    if not form.bare or not form.scale.declared:
        raise SettingsError(
            f"examiner {examiner.name}: template {form.name} does not ask for a declared score alone, "
            "so scores have no probabilities"
        )
    return form.scale


def _spans(asking: Sequence[tuple[Chat, Sequence[str]]], lm: ChatLM) -> list[list[float] | Problem]:
    """Returns, for each chat, the log-probabilities of its possible replies in nats, or the first problem among them.

    *asking* holds pairs (chat, its possible replies).
    """
    results: list[list[float] | Problem] = []
    due: list[tuple[Chat, Sequence[str]]] = []
    for index, question in enumerate(asking, 1):
        due.append(question)
        if index == len(asking) or sum(len(replies) for _, replies in due) >= TOGETHER:
            results += _logprobs(due, lm)
            due = []
    return results


def _logprobs(asking: Sequence[tuple[Chat, Sequence[str]]], lm: ChatLM) -> list[list[float] | Problem]:
    scored = [replace(chat, reply=reply) for chat, replies in asking for reply in replies]
    spans = map(checked, lm.logprob(scored))
    results: list[list[float] | Problem] = []
    for chat, replies in asking:
        mine = [next(spans) for _ in replies]
        errors = [span for span in mine if isinstance(span, SpanError)]
        if errors:
            error = errors[0]
            results.append(Problem(error.code, f"{chat.user[:40]!r}: {error}", error.final, error.broken))
        else:
            results.append([span.total for span in mine if isinstance(span, SpanLogprob)])
    return results


def _weighed(examiner: Examiner, item: Item, answers: list[list[float] | Problem]) -> Grade:
    scale, parts, mass = examiner.form.scale, {}, {}
    for name, logprobs in zip(_names(examiner), answers, strict=True):
        if isinstance(logprobs, Problem):
            return Grade(item.item_id, None, replace(logprobs, message=f"{name}: {logprobs.message}"))
        weighted_score = logprob(logprobs, scale.values, examiner.mass or "normalised")
        likeliest = scale.values[logprobs.index(max(logprobs))]
        parts[name] = weighted_score.score if examiner.aggregation == "logprob" else likeliest
        mass[name] = weighted_score.mass
    return Grade(item.item_id, aspect_mean(list(parts.values())), None, parts, mass=mass)


def _names(examiner: Examiner) -> list[str]:
    return [aspect or "overall" for aspect in examiner.aspects]

"""Estimates the probabilities of declared scores from the likeliest tokens that an endpoint lists.

The endpoint returns one reply, and lists the likeliest tokens at each position of that reply. The probability of the
score in the reply is the product over its tokens. For any other score, the endpoint can list only the first token. That
is enough if the token is the whole score and no other declared score begins with it. Otherwise the probability of that
score is *unseen*.

The endpoint does not say whether the reply would have ended after a score. If a longer declared score begins with the
same token (1 and 10), the tokens listed at the next position decide.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.core.errors import ReplyError
from gre_bench.examiners.aggregation import Mass
from gre_bench.examiners.scales import Scale


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
    """Returns the tokens in *document*, a reply in JSON as `gre_bench.writing.http_writer.LogprobWriter` stores it.

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

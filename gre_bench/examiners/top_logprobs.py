"""Estimates the probabilities of declared scores from the likeliest tokens that an endpoint lists.

An endpoint lists the likeliest tokens at each position of its one reply. The probability of the score in that reply is
the product over its tokens. For any other score, only the first token can be listed. That is enough if the token is the
whole score and begins no other declared score; otherwise the probability is *unseen*. The endpoint does not say whether
the reply would have ended after a score. If a longer declared score begins with the same token (1 and 10), the tokens
listed at the next position decide.
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
    """A token of the reply; *shown* holds the likeliest tokens at its position, itself included, with probabilities."""

    text: str
    shown: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """The mean score by the listed tokens, and the bounds within which unseen probability could move it.

    *mass* is the total probability of the declared scores, as far as it is seen. *low* and *high* are the score if all
    unseen probability belonged to the lowest, or the highest, score. *unseen* lists the declared scores without a
    probability.
    """

    score: float
    mass: float
    low: float
    high: float
    unseen: tuple[str, ...]


def tokens_of(document: str) -> list[Token]:
    """Returns the tokens in *document*, a reply as `gre_bench.writing.logprob_writer` stores it.

    Raises `ReplyError` if they do not spell the text of the reply, as when the LM has thought first.
    """
    tree = json.loads(document)
    tokens = [Token(each["token"], _shown(each)) for each in tree["tokens"]]
    spelt = "".join(token.text for token in tokens)
    if not spelt.strip().startswith(tree["text"].strip()[:20]):
        raise ReplyError("tokens_do_not_spell_the_reply")
    return tokens


def probabilities(tokens: Sequence[Token], spellings: Sequence[str]) -> dict[str, float | None]:
    """Returns for each of *spellings* the probability that the reply is that score; None if it is unseen."""
    results = {}
    for spelling in spellings:
        seen, unseen = _along(tokens, 0, spelling, spelling, spellings)
        results[spelling] = seen if seen > 0 or not unseen else None
    return results


def weighted(tokens: Sequence[Token], scale: Scale, mass: Mass = "normalised") -> Seen:
    """Returns Σ p(s)·s over the declared scores of *scale*, divided by their total probability unless *mass* is raw.

    Raises `ReplyError` if none of the declared scores is seen.
    """
    found = probabilities(tokens, scale.spellings)
    known = [(found[spelling] or 0.0, value) for spelling, value in scale.declared]
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
    unseen = tuple(spelling for spelling, share in found.items() if not share)
    return Seen(product / total if mass == "normalised" else product, total, low, high, unseen)


def _along(tokens: Sequence[Token], start: int, rest: str, whole: str, spellings: Sequence[str]) -> tuple[float, bool]:
    """Returns the probability that the reply goes on with *rest* at token *start* and then ends.

    *rest* is the part of the score *whole* that earlier tokens do not spell. The second value says whether some of the
    probability is unseen.
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
    """Returns the probability that the score *whole* ends, instead of going on as a longer number or label.

    *following* is the index of the next token; None if the reply goes on differently. Returns None if it is unseen.
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
    """Returns the tokens listed at one position with their probabilities, always including the one of the reply."""
    shown = {token: math.exp(logprob) for token, logprob in each["top"]}
    shown.setdefault(each["token"], math.exp(each["logprob"]))
    return tuple(shown.items())

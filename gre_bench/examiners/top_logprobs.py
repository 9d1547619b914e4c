"""Probabilities of declared scores from an endpoint's likeliest tokens, with what it does not show.

At each place of its one reply an endpoint names the likeliest tokens. The probability of a score that the reply
itself leads to is the product along it. Of any other score only a first token is seen: that is enough where the token
is the whole score and begins no other declared one; else its share is *unseen*. Whether the reply would have ended
after a score is not shown either, but where longer declared scores begin alike (1 and 10) the next place shows them.
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
    """A token of the reply, and the likeliest tokens at its place with their probabilities, itself among them."""

    text: str
    shown: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """The score from what is shown, and what is missing.

    *mass*: probability of all declared scores together, as far as it is seen. *low*, *high*: where the score would
    lie if all that is unseen were the lowest, or the highest score. *unseen*: declared scores without a probability.
    """

    score: float
    mass: float
    low: float
    high: float
    unseen: tuple[str, ...]


def tokens_of(document: str) -> list[Token]:
    """The tokens in a reply's *document*; `ReplyError` if they do not spell the reply, as when it thinks first."""
    tree = json.loads(document)
    tokens = [Token(each["token"], _shown(each)) for each in tree["tokens"]]
    spelt = "".join(token.text for token in tokens)
    if not spelt.strip().startswith(tree["text"].strip()[:20]):
        raise ReplyError("tokens_do_not_spell_the_reply")
    return tokens


def probabilities(tokens: Sequence[Token], spellings: Sequence[str]) -> dict[str, float | None]:
    """The probability of each of *spellings* as the reply, None where nothing is seen of it."""
    found = {}
    for spelling in spellings:
        seen, unseen = _along(tokens, 0, spelling, spelling, spellings)
        found[spelling] = seen if seen > 0 or not unseen else None
    return found


def weighted(tokens: Sequence[Token], scale: Scale, mass: Mass = "normalised") -> Seen:
    """Σ p(s)·s over the declared scores of *scale*, ``raw`` or over their mass; `ReplyError` if none is seen."""
    found = probabilities(tokens, scale.spellings)
    known = [(found[spelling] or 0.0, value) for spelling, value in scale.declared]
    total = math.fsum(share for share, _ in known)
    if total <= 0:
        raise ReplyError("no_declared_score_among_the_likeliest_tokens")
    product = math.fsum(share * value for share, value in known)
    missing = max(0.0, 1.0 - total)
    ends = [missing * scale.low, missing * scale.high]
    if mass == "normalised":
        # What is unseen may also be no score at all, and then moves nothing: the ends are the farthest it can move.
        low, high = ((product + end) / (total + missing) for end in ends)
    else:
        low, high = product + min(0.0, ends[0]), product + max(0.0, ends[1])
    unseen = tuple(spelling for spelling, share in found.items() if not share)
    return Seen(product / total if mass == "normalised" else product, total, low, high, unseen)


def _along(tokens: Sequence[Token], place: int, rest: str, whole: str, spellings: Sequence[str]) -> tuple[float, bool]:
    """Probability that the reply goes on with *rest* from *place* and ends there, and whether some of it is unseen."""
    if place >= len(tokens):
        return 0.0, True
    seen, unseen = 0.0, False
    for text, share in tokens[place].shown:
        if not text:
            continue  # an end of turn that has no text
        piece = text.lstrip() if rest == whole else text
        own = text == tokens[place].text
        if not piece or (piece != rest and rest.startswith(piece)):
            if not own:
                unseen = True
                continue
            further, hidden = _along(tokens, place + 1, rest[len(piece) :], whole, spellings)
            seen, unseen = seen + share * further, unseen or hidden
        elif piece == rest:
            ends = _ends(tokens, place + 1 if own else None, whole, spellings)
            seen, unseen = seen + share * (ends or 0.0), unseen or ends is None
    return seen, unseen or seen == 0


def _ends(tokens: Sequence[Token], following: int | None, whole: str, spellings: Sequence[str]) -> float | None:
    """Probability that what reads *whole* so far becomes no other number or label; None where that is not shown."""
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
    """Tokens at a place with their probabilities; the one written is among them even if it was not likely."""
    shown = {token: math.exp(logprob) for token, logprob in each["top"]}
    shown.setdefault(each["token"], math.exp(each["logprob"]))
    return tuple(shown.items())

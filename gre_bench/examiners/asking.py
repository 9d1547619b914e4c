"""Asks an LM: sends chats, reads each reply strictly, repeats unreadable ones, and counts the cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Problem, Reply, Sampling, Writer
from gre_bench.core.replies import without_thinking
from gre_bench.examiners.answers import hallucinated_answers

RETRIES = 2
"""How often an unreadable reply is requested again, with another seed."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """Counts of the *replies* received and of tokens, as the endpoint states them.

    *unparsable* counts replies that cannot be read, *hallucinated* replies with an "Answer:" that nobody requested.
    """

    replies: int = 0
    unparsable: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    hallucinated: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.replies + other.replies,
            self.unparsable + other.unparsable,
            self.prompt_tokens + other.prompt_tokens,
            self.reply_tokens + other.reply_tokens,
            self.hallucinated + other.hallucinated,
        )


FREE = Cost()


@dataclass(frozen=True, slots=True)
class ChatOutcome(Generic[T]):
    """The outcome of one chat: what was *read* or why nothing could be read, and its cost."""

    read: T | Problem
    cost: Cost
    text: str = ""


def ask(asker: Writer, asking: Sequence[Chat], sampling: Sampling, read: Callable[[str], T]) -> list[ChatOutcome[T]]:
    """Returns the outcome of each of the chats *asking*.

    *read* raises `ReplyError` for an unreadable reply, which is requested again.
    """
    found: list[ChatOutcome[T]] = [ChatOutcome(Problem("not_asked", "not asked"), Cost())] * len(asking)
    due = list(range(len(asking)))
    for attempt in range(RETRIES + 1):
        if not due:
            break
        seed = (sampling.seed or 0) + 1000 * attempt
        said = asker.write([asking[place] for place in due], replace(sampling, seed=seed) if attempt else sampling)
        again = []
        for place, reply in zip(due, said, strict=True):
            one = _asked(reply, read)
            found[place] = replace(one, cost=found[place].cost + one.cost)
            if one.cost.unparsable:
                again.append(place)
        due = again
    return found


def _asked(reply: Reply, read: Callable[[str], T]) -> ChatOutcome[T]:
    cost = Cost(reply.text is not None, 0, reply.prompt_tokens or 0, reply.reply_tokens or 0)
    if reply.outcome not in ("ok", "cut") or not reply.text:
        return ChatOutcome(Problem(reply.outcome, reply.detail or reply.outcome, reply.final), cost)
    text, _ = without_thinking(reply.text)
    cost = replace(cost, hallucinated=int(hallucinated_answers(text) > 0))
    if reply.outcome == "cut":
        # The last word may be cut: "10" of 100.
        text = text[: len(text) - len(text.split()[-1])] if text.split() and not text[-1].isspace() else text
    try:
        return ChatOutcome(read(text), cost, text)
    except ReplyError as error:
        what = f"the reply cannot be read ({error}): {' '.join(text.split())[:80]!r}"
        return ChatOutcome(Problem("unparsable", what), replace(cost, unparsable=1), text)

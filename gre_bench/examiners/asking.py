"""Sends chats to an LM, reads a value from each reply, and counts the cost.

A chat is sent again if its reply cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Problem, Reply, Sampling, Writer
from gre_bench.core.replies import without_thinking
from gre_bench.examiners.answers import hallucinated_answers

RETRIES = 2
"""Number of times that a chat is sent again, with another seed, if its reply cannot be read."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """The number of replies and tokens that grading took.

    - *replies*: the number of replies received.
    - *unparsable*: the number of replies that could not be read.
    - *prompt_tokens*, *reply_tokens*: the numbers of tokens, as the endpoint states them.
    - *hallucinated*: the number of replies with an "Answer:" that nobody requested.
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
    """The outcome of one chat, after all attempts.

    - *read*: the value read from the last reply, or the problem if no value could be read.
    - *cost*: the cost of all attempts.
    - *text*: the last reply without the LM's thinking; empty if there was no usable reply.
    """

    read: T | Problem
    cost: Cost
    text: str = ""


def ask(asker: Writer, chats: Sequence[Chat], sampling: Sampling, read: Callable[[str], T]) -> list[ChatOutcome[T]]:
    """Sends each of *chats* to the LM *asker*, and returns one outcome per chat, in the same order.

    *read* turns the text of a reply into a value. If *read* raises `ReplyError`, the chat is sent again with another
    seed, at most `RETRIES` times.
    """
    outcomes: list[ChatOutcome[T]] = [ChatOutcome(Problem("not_asked", "not asked"), Cost())] * len(chats)
    due = list(range(len(chats)))
    for attempt in range(RETRIES + 1):
        if not due:
            break
        seed = (sampling.seed or 0) + 1000 * attempt
        replies = asker.write([chats[index] for index in due], replace(sampling, seed=seed) if attempt else sampling)
        again = []
        for index, reply in zip(due, replies, strict=True):
            outcome = _outcome(reply, read)
            outcomes[index] = replace(outcome, cost=outcomes[index].cost + outcome.cost)
            if outcome.cost.unparsable:
                again.append(index)
        due = again
    return outcomes


def _outcome(reply: Reply, read: Callable[[str], T]) -> ChatOutcome[T]:
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
        problem = f"the reply cannot be read ({error}): {' '.join(text.split())[:80]!r}"
        return ChatOutcome(Problem("unparsable", problem), replace(cost, unparsable=1), text)

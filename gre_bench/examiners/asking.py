"""Asks an LM: sends chats, reads each reply, repeats the chat if the reply cannot be read, and counts the cost."""

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
    """The cost of grading: the number of *replies* received, and of tokens as the endpoint states them.

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
    """The outcome of one chat.

    *read* is the parsed reply, or the problem that replaces it. *cost* covers all attempts. *text* is the last reply.
    """

    read: T | Problem
    cost: Cost
    text: str = ""


def ask(asker: Writer, chats: Sequence[Chat], sampling: Sampling, read: Callable[[str], T]) -> list[ChatOutcome[T]]:
    """Sends *chats* with the writer *asker* and returns the outcome of each, in their order.

    *read* parses a reply. If it raises `ReplyError`, the chat is sent again with another seed, up to `RETRIES` times.
    """
    found: list[ChatOutcome[T]] = [ChatOutcome(Problem("not_asked", "not asked"), Cost())] * len(chats)
    due = list(range(len(chats)))
    for attempt in range(RETRIES + 1):
        if not due:
            break
        seed = (sampling.seed or 0) + 1000 * attempt
        said = asker.write([chats[index] for index in due], replace(sampling, seed=seed) if attempt else sampling)
        again = []
        for index, reply in zip(due, said, strict=True):
            one = _asked(reply, read)
            found[index] = replace(one, cost=found[index].cost + one.cost)
            if one.cost.unparsable:
                again.append(index)
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

"""Sends chats to an LM, reads a value from each reply, and counts the cost.

A chat is sent again, with another seed, if its reply cannot be read. No default value replaces an unreadable reply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Generic, TypeVar

from gre_bench.core.records import Chat, Completion, Problem, Sampling, Writer

RETRIES = 2
"""The most retries of a chat whose reply cannot be read."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChatCost:
    """What chats cost: numbers of replies, and of tokens as the endpoint counted them.

    - *unparsable*: the number of replies that could not be read.
    - *hallucinated*: the number of replies with an "Answer:" that nobody requested.
    """

    replies: int = 0
    unparsable: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    hallucinated: int = 0

    def __add__(self, other: ChatCost) -> ChatCost:
        return ChatCost(*(own + more for own, more in zip(astuple(self), astuple(other), strict=True)))


FREE = ChatCost()


@dataclass(frozen=True, slots=True)
class ChatOutcome(Generic[T]):
    """The outcome of one chat.

    - *read*: the value that was read from the last reply; a `Problem` if that reply could not be used.
    - *cost*: the cost of all attempts.
    - *text*: the last reply, also if it could not be read; empty if there is none or the reader does not keep it.
    """

    read: T | Problem
    cost: ChatCost = FREE
    text: str = ""


def request_chat_outcomes(
    writer: Writer,
    chats: Sequence[Chat],
    sampling: Sampling,
    outcome: Callable[[Completion], ChatOutcome[T]],
    step: int,
) -> list[ChatOutcome[T]]:
    """Sends each of *chats* to the LM *writer*, and returns one outcome per chat, in the same order.

    - *outcome*: a function that reads one reply. If it returns the problem ``unparsable``, the chat is sent again, at
      most `RETRIES` times.
    - *step*: the number that each attempt adds to the seed. The archive of replies is keyed by seed, so a different
      step means paying for the same replies again.
    """
    outcomes = [outcome(reply) for reply in writer.write(chats, sampling)] if chats else []
    for attempt in range(1, RETRIES + 1):
        again = [
            index
            for index, answer in enumerate(outcomes)
            if isinstance(answer.read, Problem) and answer.read.code == "unparsable"
        ]
        if not again:
            break
        other = replace(sampling, seed=(sampling.seed or 0) + step * attempt)
        for index, reply in zip(again, writer.write([chats[index] for index in again], other), strict=True):
            answer = outcome(reply)
            outcomes[index] = replace(answer, cost=outcomes[index].cost + answer.cost)
    return outcomes

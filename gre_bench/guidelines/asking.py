"""Sends chats to an LM, and reads a value from each reply.

If a reply cannot be read, it is requested again with another seed, at most `RETRIES` times. If no reply can be read,
the outcome of the chat is a problem; no default value replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Problem, Reply, Sampling, Writer

T = TypeVar("T")

RETRIES = 2
"""How often an unreadable reply is requested again."""


@dataclass(frozen=True, slots=True)
class ParsedReply(Generic[T]):
    """The outcome of one chat: either a *value* or the *problem* that replaces it.

    - *text*: the last reply; None if there was none.
    - *prompt_tokens*, *reply_tokens*: the numbers of tokens in all attempts.
    """

    value: T | None
    problem: Problem | None = None
    text: str | None = None
    prompt_tokens: int = 0
    reply_tokens: int = 0


def ask(writer: Writer, sampling: Sampling, chats: Sequence[Chat], read: Callable[[str], T]) -> list[ParsedReply[T]]:
    """Sends each of *chats* to the LM *writer*, and returns one outcome per chat, in the same order.

    *read* turns the text of a reply into a value, and raises `ReplyError` if it cannot.
    """
    results = [_answer(reply, read) for reply in writer.write(chats, sampling)]
    for attempt in range(1, RETRIES + 1):
        again = [
            index for index, answer in enumerate(results) if answer.problem and answer.problem.code == "unparsable"
        ]
        if not again:
            break
        other = replace(sampling, seed=(sampling.seed or 0) + attempt)
        for index, reply in zip(again, writer.write([chats[index] for index in again], other), strict=True):
            results[index] = _summed(results[index], _answer(reply, read))
    return results


def _answer(reply: Reply, read: Callable[[str], T]) -> ParsedReply[T]:
    tokens = {"prompt_tokens": reply.prompt_tokens or 0, "reply_tokens": reply.reply_tokens or 0}
    if reply.outcome not in ("ok", "cut") or not reply.text:
        return ParsedReply(None, Problem(reply.outcome, reply.detail, reply.final), None, **tokens)
    try:
        return ParsedReply(read(reply.text), None, reply.text, **tokens)
    except ReplyError as error:
        cut = " (cut at the token limit)" if reply.outcome == "cut" else ""
        return ParsedReply(None, Problem("unparsable", f"{error}{cut}"), reply.text, **tokens)


def _summed(first: ParsedReply[T], second: ParsedReply[T]) -> ParsedReply[T]:
    """Returns the outcome of the *second* attempt, with the tokens of the *first* added."""
    return replace(
        second,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        reply_tokens=first.reply_tokens + second.reply_tokens,
    )

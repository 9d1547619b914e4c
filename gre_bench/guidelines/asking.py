"""An LM is asked for many things of one kind; each comes back as what it was asked for, or as the problem it met.

A reply that cannot be read is asked for anew with another seed, a bounded number of times, then it is missing for
good. Nothing is ever put in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Problem, Reply, Sampling, Writer

T = TypeVar("T")

RETRIES = 2
"""How often a reply that cannot be read is asked for anew."""


@dataclass(frozen=True, slots=True)
class ParsedReply(Generic[T]):
    """What a reply holds, or the problem in its place: exactly one; *text* is the reply itself, if there was one."""

    value: T | None
    problem: Problem | None = None
    text: str | None = None
    prompt_tokens: int = 0
    reply_tokens: int = 0


def ask(writer: Writer, sampling: Sampling, chats: Sequence[Chat], read: Callable[[str], T]) -> list[ParsedReply[T]]:
    """One answer for each of *chats*, in the same order; *read* raises `ReplyError` for what it cannot use."""
    found = [_answer(reply, read) for reply in writer.write(chats, sampling)]
    for attempt in range(1, RETRIES + 1):
        again = [place for place, answer in enumerate(found) if answer.problem and answer.problem.code == "unparsable"]
        if not again:
            break
        other = replace(sampling, seed=(sampling.seed or 0) + attempt)
        for place, reply in zip(again, writer.write([chats[place] for place in again], other), strict=True):
            found[place] = _summed(found[place], _answer(reply, read))
    return found


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
    """*second* with the tokens of both."""
    return replace(
        second,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        reply_tokens=first.reply_tokens + second.reply_tokens,
    )

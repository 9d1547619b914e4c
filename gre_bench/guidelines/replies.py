"""Reads YAML from an LM's reply, and returns it as a mapping of plain values.

Tags, anchors, duplicate keys and very long texts are refused.

Sends chats to an LM, and reads a value from each reply.

If a reply cannot be read, it is requested again with another seed, at most `RETRIES` times. If no reply can be read,
the outcome of the chat is a problem; no default value replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import yaml

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Problem, Reply, Sampling, Writer

LARGEST = 40_000
"""Largest number of characters of a text; a checklist of twenty questions has about 5,000."""

_FENCE = re.compile(r"\s*```\s*(?:ya?ml)?\s*", re.IGNORECASE)


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which also refuses anchors, aliases and duplicate keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent) or getattr(self.peek_event(), "anchor", None):
            raise yaml.YAMLError("anchors and aliases are refused")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(keys)) < len(node.value) or "<<" in keys:
            raise yaml.YAMLError("a key occurs twice, or is not plain text")
        return super().construct_mapping(node, deep)


def block(text: str) -> str:
    """Returns the content of the last fenced block (```) of *text*, even if the block is not closed.

    Returns the whole text if it has no fenced block.
    """
    blocks: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if _FENCE.fullmatch(line):
            inside = not inside
            blocks += [[]] if inside else []
        elif inside:
            blocks[-1].append(line)
    return "\n".join(blocks[-1]) if blocks else text


def mapping(text: str) -> Mapping[str, Any]:
    """Returns the mapping that *text* holds as YAML.

    Listings 2 and 4 of the guideline paper print a comma after each line, which YAML allows only within braces. Braces
    are therefore added if the text alone is no mapping, or if its values end with commas. Raises `ReplyError`
    ``no_yaml`` if the text is too long, or still no mapping.
    """
    if len(text) > LARGEST:
        raise ReplyError(f"no_yaml: {len(text)} characters")
    faults = []
    for form in (text, f"{{{text}\n}}"):
        try:
            tree = yaml.load(form, Loader=_Loader)
        except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
            faults.append(_line(error))
            continue
        if isinstance(tree, dict) and not any(
            isinstance(value, str) and value.endswith(",") for value in tree.values()
        ):
            return tree
        faults.append("no mapping")
    raise ReplyError(f"no_yaml: {faults[0]}")


def _line(error: BaseException) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f" (line {mark.line + 1})" if mark else ""
    return f"{getattr(error, 'problem', None) or type(error).__name__}{where}"


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

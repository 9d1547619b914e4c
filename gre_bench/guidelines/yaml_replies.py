"""Sends chats to an LM, and parses YAML in replies. Tags, anchors, duplicate keys and very long texts are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import yaml

from gre_bench.core import asking
from gre_bench.core.asking import ChatOutcome
from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Completion, Problem, Sampling, Writer

T = TypeVar("T")

LARGEST = 40_000
"""The maximum number of characters in a text to parse; a checklist of twenty questions has about 5,000."""

_FENCE = re.compile(r"\s*```\s*(?:ya?ml)?\s*", re.IGNORECASE)


def request_and_parse_replies(
    writer: Writer, sampling: Sampling, chats: Sequence[Chat], read: Callable[[str], T]
) -> list[ChatOutcome[T]]:
    """Sends each of *chats* to the LM *writer*, and returns one outcome per chat, in order, without its cost.

    *read*: a function that parses a reply, including the LM's thinking, or raises `ReplyError`.
    """

    def outcome(reply: Completion) -> ChatOutcome[T]:
        if reply.outcome not in ("ok", "cut") or not reply.text:
            return ChatOutcome(Problem(reply.outcome, reply.detail, reply.final))
        try:
            return ChatOutcome(read(reply.text), text=reply.text)
        except ReplyError as error:
            cut = " (cut at the token limit)" if reply.outcome == "cut" else ""
            return ChatOutcome(Problem("unparsable", f"{error}{cut}"), text=reply.text)

    return asking.request_chat_outcomes(writer, chats, sampling, outcome, step=1)


class _StrictYamlLoader(yaml.SafeLoader):
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


def find_last_fenced_block(text: str) -> str:
    """Returns the content of the last fenced block (```) in *text*, even if it is unclosed; *text* if there is none."""
    blocks: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if _FENCE.fullmatch(line):
            inside = not inside
            blocks += [[]] if inside else []
        elif inside:
            blocks[-1].append(line)
    return "\n".join(blocks[-1]) if blocks else text


def parse_yaml_mapping(text: str) -> Mapping[str, Any]:
    """Returns the YAML mapping in *text*; raises `ReplyError` ``no_yaml`` if *text* is too long or not a mapping.

    Prompts in the paper on reviewer guidelines put a comma after each line, which YAML allows only within braces.
    Therefore, if *text* is not a mapping, or if its values end with commas, it is parsed again within braces.
    """
    if len(text) > LARGEST:
        raise ReplyError(f"no_yaml: {len(text)} characters")
    faults = []
    for form in (text, f"{{{text}\n}}"):
        try:
            tree = yaml.load(form, Loader=_StrictYamlLoader)
        except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
            mark = getattr(error, "problem_mark", None)
            where = f" (line {mark.line + 1})" if mark else ""
            faults.append(f"{getattr(error, 'problem', None) or type(error).__name__}{where}")
            continue
        if isinstance(tree, dict) and not any(
            isinstance(value, str) and value.endswith(",") for value in tree.values()
        ):
            return tree
        faults.append("no mapping")
    raise ReplyError(f"no_yaml: {faults[0]}")

"""Reads YAML from an LM's reply, and returns it as a mapping of plain values.

Tags, anchors, duplicate keys and very long texts are refused.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Any

import yaml

from gre_bench.core.errors import ReplyError

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

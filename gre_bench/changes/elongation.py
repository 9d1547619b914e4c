"""A review made longer by sentences that say nothing (Xu et al. 2025, D.4.2, after Goldberg et al. 2023).

Each section opens with a fixed statement of its kind. That of the strengths and weaknesses holds a line of each, made
by a writer from the review itself, so that nothing new is said. Where a form has several sections of a kind, such as
ICLR 2024's strengths and weaknesses, the statement stands before the first; kinds that have none in the paper
(questions, limitations) are left alone.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from gre_bench.changes.material import ChangeInput
from gre_bench.changes.pieces import parts
from gre_bench.core.review_text import split

_FILE = Path(__file__).with_name("elongation.toml")
_FIELD = re.compile(r"\{(\w+)\}")
_MIXED = ("mixed", "strengths", "weaknesses")


def elongated(material: ChangeInput, strengths: str, weaknesses: str) -> str:
    """The review with its fixed openings; *strengths* and *weaknesses* are phrases that end without a full stop."""
    said: set[str] = set()
    changed = []
    for heading, body in parts(material.text, material.headings):
        kind = _kind(heading)
        if kind in openings() and kind not in said:
            said.add(kind)
            values = {"strengths": strengths, "weaknesses": weaknesses, "body": body}
            body = _FIELD.sub(lambda field, values=values: values[field[1]], openings()[kind])
        changed.append(heading + body)
    return "".join(changed)


def has_sections(material: ChangeInput) -> bool:
    """Whether the review has a section that an opening can stand in."""
    return any(_kind(heading) in openings() for heading, _ in parts(material.text, material.headings))


@cache
def openings() -> dict[str, str]:
    """The four texts by the kind of section that they open."""
    table = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {kind: table[kind] for kind in ("summary", "mixed", "aspects", "verdict")}


def _kind(heading: str) -> str:
    kind = split(heading)[0].kind if heading.strip() else "other"
    return "mixed" if kind in _MIXED else kind

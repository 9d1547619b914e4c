"""Makes a review longer with sentences that say nothing (Xu et al. 2025, D.4.2, after Goldberg et al. 2023).

Each section opens with a fixed statement of its kind. The statement for strengths and weaknesses includes a line of
each, which a writer makes from the review itself, so nothing new is said. If a form has several sections of a kind,
such as ICLR 2024's strengths and weaknesses, the first one gets the statement. Kinds without a statement in the paper
(questions, limitations) stay unchanged.
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
    """Returns the review with a fixed statement at the start of each section that takes one.

    *strengths* and *weaknesses* are phrases without a final full stop, which the statement for both quotes.
    """
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
    """Whether the review has a section that takes a fixed statement."""
    return any(_kind(heading) in openings() for heading, _ in parts(material.text, material.headings))


@cache
def openings() -> dict[str, str]:
    """Returns the four fixed statements by the kind of section, with ``{body}`` where the section's text goes.

    That of the kind ``mixed`` also has the fields ``{strengths}`` and ``{weaknesses}``.
    """
    table = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {kind: table[kind] for kind in ("summary", "mixed", "aspects", "verdict")}


def _kind(heading: str) -> str:
    kind = split(heading)[0].kind if heading.strip() else "other"
    return "mixed" if kind in _MIXED else kind

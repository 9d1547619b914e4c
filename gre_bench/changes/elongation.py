"""Makes a review longer with sentences that say nothing new (Xu et al. 2025, D.4.2, after Goldberg et al. 2023).

A section opens with a fixed statement for its kind, such as a summary. The statement for strengths and weaknesses
quotes one strength and one weakness. A writer takes both from the review itself, so nothing new is said. If several
sections are of one kind, as in ICLR 2024's form, the first one gets the statement. Kinds for which the paper has no
statement (questions, limitations) stay unchanged.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from gre_bench.changes.material import ChangeInput, parts
from gre_bench.core.review_text import split

_FILE = Path(__file__).with_name("elongation.toml")
_FIELD = re.compile(r"\{(\w+)\}")
_MIXED = ("mixed", "strengths", "weaknesses")


def elongated(material: ChangeInput, strengths: str, weaknesses: str) -> str:
    """Returns the review with a fixed statement at the start of each section whose kind has one.

    *strengths* and *weaknesses* are phrases without a final full stop. The statement for strengths and weaknesses
    quotes them.
    """
    done: set[str] = set()
    changed = []
    for heading, body in parts(material.text, material.headings):
        kind = _kind(heading)
        if kind in openings() and kind not in done:
            done.add(kind)
            values = {"strengths": strengths, "weaknesses": weaknesses, "body": body}
            body = _FIELD.sub(lambda field, values=values: values[field[1]], openings()[kind])
        changed.append(heading + body)
    return "".join(changed)


def has_sections(material: ChangeInput) -> bool:
    """Returns whether the review has a section that this change can lengthen.

    Such a section is of a kind, such as strengths, for which `openings` has a fixed statement to add.
    """
    return any(_kind(heading) in openings() for heading, _ in parts(material.text, material.headings))


@cache
def openings() -> dict[str, str]:
    """Returns the four fixed statements, by the kind of section, with ``{body}`` where the section's text goes.

    The statement for strengths and weaknesses has the key ``mixed``, and also the fields ``{strengths}`` and
    ``{weaknesses}``.
    """
    table = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {kind: table[kind] for kind in ("summary", "mixed", "aspects", "verdict")}


def _kind(heading: str) -> str:
    kind = split(heading)[0].kind if heading.strip() else "other"
    return "mixed" if kind in _MIXED else kind

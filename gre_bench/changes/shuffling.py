"""The sentences of a review in another order within each section: the same information, worse told."""

from __future__ import annotations

from dataclasses import replace

from gre_bench.changes.lines import disordered
from gre_bench.changes.material import ChangeInput
from gre_bench.core.review_text import join, split


def shuffled(material: ChangeInput) -> str:
    """The review with each section's sentences in another order; headings, list marks and breaks stay in place.

    Always cut linguistically: the authors' pieces would tear "0.85" apart, which takes information away.
    """
    chance = material.chance("shuffled_lines")
    changed = []
    for section in split(material.text):
        order = iter(disordered([one.text for one in section.sentences if one.text], chance))
        sentences = tuple(replace(one, text=next(order)) if one.text else one for one in section.sentences)
        changed.append(replace(section, sentences=sentences))
    return join(changed)

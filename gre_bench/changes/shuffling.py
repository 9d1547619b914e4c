"""Shuffles the sentences of a review within each section: the same information in a worse order."""

from __future__ import annotations

from dataclasses import replace

from gre_bench.changes.lines import disordered
from gre_bench.changes.material import ChangeInput
from gre_bench.core.review_text import join, split


def shuffled(material: ChangeInput) -> str:
    """Returns the review with the sentences of each section in another order; headings, list marks and breaks stay.

    The review is always split by the splitter ``linguistic``. The splitter ``authors`` would cut "0.85" in two, which
    would remove information.
    """
    chance = material.chance("shuffled_lines")
    changed = []
    for section in split(material.text):
        order = iter(disordered([sentence.text for sentence in section.sentences if sentence.text], chance))
        sentences = tuple(
            replace(sentence, text=next(order)) if sentence.text else sentence for sentence in section.sentences
        )
        changed.append(replace(section, sentences=sentences))
    return join(changed)

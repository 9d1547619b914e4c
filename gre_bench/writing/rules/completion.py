"""Replaces the deleted sentences of a review, by rule, with vague sentences that fit any review.

This is the built-in replacement for an LM with the prompt of Xu et al. 2025, D.3.2. The vague sentences do not praise
or criticise, and they name nothing. They restore the length of the review but not its content.
"""

from __future__ import annotations

from itertools import count

from gre_bench.changes.deletion import MISSING, blanked
from gre_bench.changes.material import ChangeInput

WRITER = "rule-completion-1"

VAGUE = (
    "This is one of the aspects of the submission that belong into this part of the review.",
    "I come to this after reading the text from beginning to end.",
    "The remarks around this one are to be read together with it.",
    "This is how I understand that part of the manuscript.",
    "It relates to what is said before and to what is said next.",
    "I have gone through the corresponding pages in order.",
    "This remark is meant in the same sense as the others.",
    "The rest of this part continues along the same line.",
    "What follows is said with the whole manuscript in mind.",
    "I state this here since it belongs to the same topic.",
    "The surrounding paragraphs of the manuscript are about the same matter.",
    "This is how the passage reads from beginning to end.",
    "I return to this once more in what follows.",
    "The same holds for the passages that belong to it.",
    "The remark is about the manuscript in the form in which it was submitted.",
    "I mention this in the order in which it comes up in the text.",
    "Readers will meet this at the corresponding place of the manuscript.",
    "This is said of the passage that stands there.",
    "I looked at this part in the same way as at the others.",
    "The next remark takes up from here.",
    "Other passages of the manuscript come back to this.",
    "This is to be seen next to the other remarks of this section.",
    "I put this down in the order of my notes.",
    "The manuscript turns to this at more than one place.",
)
"""Vague sentences, each of which fits a review of any paper."""


def completed(material: ChangeInput) -> str:
    """Returns the review in *material* with a vague sentence in place of each deleted sentence.

    No vague sentence is repeated before all of them have been used.
    """
    chance = material.chance("completion")
    pieces = blanked(material).split(MISSING)
    fillers: list[str] = []
    for _ in range(-(-(len(pieces) - 1) // len(VAGUE))):
        fillers += chance.sample(VAGUE, len(VAGUE))
    return "".join(piece + (fillers[index] if index < len(pieces) - 1 else "") for index, piece in zip(count(), pieces))

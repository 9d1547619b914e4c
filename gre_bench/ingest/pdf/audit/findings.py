"""The findings of a PDF's audit: text that no reader sees, and visible passages that instruct reviewers or models."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Box = tuple[float, float, float, float]
Kind = Literal[
    "pale", "tiny", "transparent", "unpainted", "covered", "clipped", "off_page", "hidden_layer", "annotation",
    "zero_width", "packed", "illegible", "actual_text", "instruction",
]  # fmt: skip
MEANING: dict[Kind, str] = {
    "pale": "text in the colour of its ground",
    "tiny": "text too small to be seen",
    "transparent": "text without opacity",
    "unpainted": "text that is set but not painted (render mode 3 or 7)",
    "covered": "text under something drawn later",
    "clipped": "text of which nothing is painted (clipped, masked or blended away)",
    "off_page": "text outside the page",
    "hidden_layer": "text in a layer that is switched off",
    "annotation": "text of an annotation or form field",
    "zero_width": "characters without width (zero-width, direction or tag characters)",
    "packed": "many characters in the place of one",
    "illegible": "letters squeezed, skewed, set on one another, or in noise",
    "actual_text": "text said to stand for what is shown",
    "instruction": "a passage in plain sight that instructs reviewers or models",
}
TAGS = range(0xE0020, 0xE007F)
INVISIBLE = frozenset(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), 0xFEFF, 0x180E]
) | frozenset([*range(0xE0000, 0xE0080), *range(0xE0100, 0xE01F0)])
"""Code points that are drawn as nothing and change nothing on paper; the soft hyphen is not one of them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One hidden text, or one visible passage that instructs reviewers or models.

    - *kind*: the reason for the finding, a key of `MEANING`.
    - *page*: the number of the page in the file, from 1.
    - *box*: x0, y0, x1, y1 in points from the top left of the page as shown. For ``actual_text``, it is the whole page.
    - *text*: the hidden text or the passage.
    - *instructs*: the name of the rule that calls *text* an instruction (see `pages`); None if no rule does.
    """

    kind: Kind
    page: int
    box: Box
    text: str
    instructs: str | None = None

    @property
    def hidden(self) -> bool:
        """Whether the finding is hidden text, which the extracted text of the paper leaves out."""
        return self.kind != "instruction"

    def line(self, letters: int = 160) -> str:
        """Returns the finding as one line; a text longer than *letters* characters is cut."""
        shown = " ".join(self.text.split())
        shown = shown if len(shown) <= letters else f"{shown[:letters]}… ({len(shown)} characters)"
        order = f" [instruction: {self.instructs}]" if self.instructs and self.hidden else ""
        rule = f" ({self.instructs})" if not self.hidden else ""
        return f"page {self.page}: {MEANING[self.kind]}{rule}{order}: {shown!r}"


def rounded(sides: Iterable[float]) -> Box:
    """Returns the box *sides* (x0, y0, x1, y1 in points), rounded to tenths of a point."""
    x0, y0, x1, y1 = (round(float(side), 1) for side in sides)
    return x0, y0, x1, y1


def readable(text: str) -> str:
    r"""Returns *text* with invisible characters shown: tags as ASCII, white space as spaces, others as ``\u{200b}``."""
    letters = []
    for letter in text:
        code = ord(letter)
        if code in TAGS:
            letters.append(chr(code - 0xE0000))
        elif code in INVISIBLE or unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Cn"):
            letters.append(" " if letter.isspace() else f"\\u{{{code:x}}}")
        else:
            letters.append(letter)
    return "".join(letters)

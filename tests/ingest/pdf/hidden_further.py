"""Further ways to hide a passage from human eyes: by contrast, size, clipping, overprinting, spacing, layers and fonts.

`FURTHER` maps the name of a way to what does it, as `tests.ingest.pdf.hidden_text.WAYS` does.
"""

from __future__ import annotations

import pymupdf

from tests.ingest.pdf.hidden_text import AREA, BLANK, WHITE, Way, _draw, _font, _shown, text
from tests.ingest.pdf.hidden_unseen import drawn, in_pattern, layered, pictured, placed, plain


def a_colour_of_no_ink(page: pymupdf.Page, phrase: str) -> None:
    """In a colour space whose only ink is none."""
    _font(page)
    document = page.parent
    function = document.get_new_xref()
    document.update_object(function, "<</FunctionType 2/Domain[0 1]/C0[0 0 0]/C1[0 0 0]/N 1>>")
    space = f"[/Separation/None/DeviceRGB {function} 0 R]"
    document.xref_set_key(page.xref, "Resources/ColorSpace/nothing", space)
    _draw(page, _shown(phrase, before="/nothing cs 1 scn"))


def small_in_short_lines(page: pymupdf.Page, phrase: str) -> None:
    words = phrase.split()
    for place in range(0, len(words), 3):
        page.insert_text((80, 50 + place), " ".join(words[place : place + 3]), fontsize=2)


def overprinted(page: pymupdf.Page, phrase: str) -> None:
    """The letters of three other lines stand over it."""
    page.insert_text(BLANK, phrase, fontsize=9)
    for shift in (0.8, 1.6, 2.4):
        page.insert_text((80 + shift, 57), "mwqxzkwmhmgwqmxwmhgkzwmqhxmwkgmwhqzxmwkhgqmwxzmkqhwgmxwqmzkhw", fontsize=9)


def scribbled_over(page: pymupdf.Page, phrase: str) -> None:
    """Under black strokes as wide as the line is high."""
    page.insert_text(BLANK, phrase, fontsize=9)
    for step in range(24):
        page.draw_line((70, 48 + 0.5 * step), (540, 48 + 0.5 * step), color=(0, 0, 0), width=0.6)


def _dots() -> list[list[int]]:
    state, dots = 1, [[0] * 16 for _ in range(470)]
    for column in dots:
        for y in range(16):
            state = (state * 1103515245 + 12345) % 2**31
            column[y] = 0 if state >> 16 & 1 else 255
    return dots


def backwards_and_forwards(page: pymupdf.Page, phrase: str) -> None:
    """Each word set over the one before, at the same place."""
    for word in phrase.split():
        page.insert_text(BLANK, word, fontsize=9)


def white_between_letters(page: pymupdf.Page, phrase: str) -> None:
    """White pieces of five letters between black full stops, without a space: no piece is long."""
    _font(page)
    flat = phrase.replace(" ", "")
    pieces = "".join(f"1 g ({flat[k : k + 5]}) Tj 0 g (.) Tj " for k in range(0, len(flat), 5))
    _draw(page, f"q BT /helv 9 Tf 80 735 Td {pieces} ET Q")


def white_words_between_words(page: pymupdf.Page, phrase: str) -> None:
    """Each word in white, between two that are black."""
    _font(page)
    cover = ("and", "so", "on", "to", "the", "end", "of", "this", "line", "that", "all", "can", "see", "as", "it")
    pieces = "".join(f"1 g ({word} ) Tj 0 g ({cover[k % 15]} ) Tj " for k, word in enumerate(phrase.split()))
    _draw(page, f"q BT /helv 6 Tf 60 735 Td {pieces} ET Q")


def on_a_picture(page: pymupdf.Page, phrase: str) -> None:
    """White on a white picture."""
    white = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 47, 2), False)
    white.clear_with(250)
    page.insert_image(AREA, pixmap=white, keep_proportion=False)
    page.insert_text(BLANK, phrase, fontsize=9, color=WHITE)


DOTS = _dots()
FURTHER: dict[str, Way] = {
    "pale yellow": text(color=(1, 1, 0.72)),  # on white: the blue differs by much, the brightness hardly
    "pale cyan": text(color=(0.82, 1, 1)),
    "pale grey": text(color=(0.9, 0.9, 0.9)),
    "black on nearly black": text(ground=(0.1, 0.1, 0.1), color=(0, 0, 0)),
    "red on red": text(ground=(0.8, 0.1, 0.1), color=(0.7, 0.12, 0.12)),
    "faint": text(fill_opacity=0.11, stroke_opacity=0.11),
    "stroked white": plain("1 1 1 RG 1 Tr"),
    "hairline": plain("1 g 0.93 G 0.05 w 2 Tr"),
    "a colour of no ink": a_colour_of_no_ink,
    "a white pattern": in_pattern("1 g 0 0 9 9 re f", 9),
    "small print": text(fontsize=2),  # three pixels at 100 dots an inch
    "small in short lines": small_in_short_lines,
    "through a slit": plain("60 737 500 0.35 re W n"),
    "through slits": plain(" ".join(f"{60 + 2 * k} 730 0.2 20 re" for k in range(240)) + " W n"),
    "over the edge": text((80, 797.6)),  # little more than the feet of the letters below the sheet are cut off
    "overprinted": overprinted,
    "scribbled over": scribbled_over,
    "in noise": pictured(lambda x, y: DOTS[x][y], 470, 16),
    "all at one place": plain("-4.5 Tc"),
    "backwards and forwards": backwards_and_forwards,
    "squeezed together": plain("12 Tz"),
    "skewed": placed("1 0 14 1 80 735"),  # leaning so far that the letters are lines
    "white between letters": white_between_letters,
    "white words between words": white_words_between_words,
    "in a layer by expression": layered("<</Type/OCMD/VE[/Not GROUP]>>", "/ON[GROUP]"),
    "in a layer of all off": layered("<</Type/OCMD/OCGs[GROUP]/P/AllOff>>", "/ON[GROUP]"),
    "in a member of a layer": layered("<</Type/OCMD/OCGs GROUP>>", "/OFF[GROUP]"),
    "as blanks": drawn(lambda letter: ""),
    "as dots": drawn(lambda letter: "200 0 60 60 re f"),
    "as a rule": drawn(lambda letter: "0 200 500 40 re f"),
    "as boxes": drawn(lambda letter: "0 0 500 700 re f"),
    "on a picture": on_a_picture,
}

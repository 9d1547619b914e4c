"""Further ways to hide a passage from human eyes: by contrast, size, clipping, overprinting, spacing, layers and fonts.

`FURTHER` maps the name of a way to what does it, as `tests.ingest.pdf.hidden_text.WAYS` does.
"""

from __future__ import annotations

from collections.abc import Callable

import pymupdf

from tests.ingest.pdf.hidden_text import WHITE, _draw, _font, _shown

AREA = (70, 46, 540, 62)
"""The blank place at the head of a sample page, in points from the top left."""


def pale_yellow(page: pymupdf.Page, phrase: str) -> None:
    """On white: the blue differs by much, the brightness hardly."""
    page.insert_text((80, 57), phrase, fontsize=9, color=(1, 1, 0.72))


def pale_cyan(page: pymupdf.Page, phrase: str) -> None:
    page.insert_text((80, 57), phrase, fontsize=9, color=(0.82, 1, 1))


def pale_grey(page: pymupdf.Page, phrase: str) -> None:
    page.insert_text((80, 57), phrase, fontsize=9, color=(0.9, 0.9, 0.9))


def black_on_nearly_black(page: pymupdf.Page, phrase: str) -> None:
    page.draw_rect(AREA, color=None, fill=(0.1, 0.1, 0.1))
    page.insert_text((80, 57), phrase, fontsize=9, color=(0, 0, 0))


def red_on_red(page: pymupdf.Page, phrase: str) -> None:
    page.draw_rect(AREA, color=None, fill=(0.8, 0.1, 0.1))
    page.insert_text((80, 57), phrase, fontsize=9, color=(0.7, 0.12, 0.12))


def faint(page: pymupdf.Page, phrase: str) -> None:
    """Black at a tenth of the opacity."""
    page.insert_text((80, 57), phrase, fontsize=9, fill_opacity=0.11, stroke_opacity=0.11)


def stroked_white(page: pymupdf.Page, phrase: str) -> None:
    """Only the outline is painted, in white."""
    _font(page)
    _draw(page, _shown(phrase, before="1 1 1 RG 1 Tr"))


def hairline(page: pymupdf.Page, phrase: str) -> None:
    """Filled with white, with an outline of pale grey."""
    _font(page)
    _draw(page, _shown(phrase, before="1 g 0.93 G 0.05 w 2 Tr"))


def a_colour_of_no_ink(page: pymupdf.Page, phrase: str) -> None:
    """In a colour space whose only ink is none."""
    _font(page)
    document = page.parent
    function = document.get_new_xref()
    document.update_object(function, "<</FunctionType 2/Domain[0 1]/C0[0 0 0]/C1[0 0 0]/N 1>>")
    space = f"[/Separation/None/DeviceRGB {function} 0 R]"
    document.xref_set_key(page.xref, "Resources/ColorSpace/nothing", space)
    _draw(page, _shown(phrase, before="/nothing cs 1 scn"))


def a_white_pattern(page: pymupdf.Page, phrase: str) -> None:
    """Filled with a pattern that paints white."""
    _font(page)
    document = page.parent
    tile = document.get_new_xref()
    document.update_object(
        tile, "<</Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 9 9]/XStep 9/YStep 9/Resources<<>>>>"
    )
    document.update_stream(tile, b"1 g 0 0 9 9 re f")
    document.xref_set_key(page.xref, "Resources/Pattern/blank", f"{tile} 0 R")
    _draw(page, _shown(phrase, before="/Pattern cs /blank scn"))


def small_print(page: pymupdf.Page, phrase: str) -> None:
    """Letters of 2 points: three pixels at 100 dots an inch."""
    page.insert_text((80, 57), phrase, fontsize=2)


def small_in_short_lines(page: pymupdf.Page, phrase: str) -> None:
    """Letters of 2 points in lines of three words."""
    words = phrase.split()
    for place in range(0, len(words), 3):
        page.insert_text((80, 50 + place), " ".join(words[place : place + 3]), fontsize=2)


def through_a_slit(page: pymupdf.Page, phrase: str) -> None:
    """Clipped to a band of a third of a point."""
    _font(page)
    _draw(page, _shown(phrase, before="60 737 500 0.35 re W n"))


def through_slits(page: pymupdf.Page, phrase: str) -> None:
    """Clipped to upright bands of a fifth of a point, two points apart."""
    _font(page)
    bands = " ".join(f"{60 + 2 * k} 730 0.2 20 re" for k in range(240))
    _draw(page, _shown(phrase, before=f"{bands} W n"))


def over_the_edge(page: pymupdf.Page, phrase: str) -> None:
    """At the foot of the sheet, with little more than the feet of the letters below it cut off."""
    page.insert_text((80, page.rect.height + 5.6), phrase, fontsize=9)


def overprinted(page: pymupdf.Page, phrase: str) -> None:
    """The letters of three other lines stand over it."""
    page.insert_text((80, 57), phrase, fontsize=9)
    for shift in (0.8, 1.6, 2.4):
        page.insert_text((80 + shift, 57), "mwqxzkwmhmgwqmxwmhgkzwmqhxmwkgmwhqzxmwkhgqmwxzmkqhwgmxwqmzkhw", fontsize=9)


def scribbled_over(page: pymupdf.Page, phrase: str) -> None:
    """Under black strokes as wide as the line is high."""
    page.insert_text((80, 57), phrase, fontsize=9)
    for step in range(24):
        page.draw_line((70, 48 + 0.5 * step), (540, 48 + 0.5 * step), color=(0, 0, 0), width=0.6)


def in_noise(page: pymupdf.Page, phrase: str) -> None:
    """On a picture of random dots, black and white."""
    noise = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 470, 16), False)
    state = 1
    for x in range(470):
        for y in range(16):
            state = (state * 1103515245 + 12345) % 2**31
            noise.set_pixel(x, y, (0, 0, 0) if state >> 16 & 1 else (255, 255, 255))
    page.insert_image(AREA, pixmap=noise, keep_proportion=False)
    page.insert_text((80, 57), phrase, fontsize=9)


def all_at_one_place(page: pymupdf.Page, phrase: str) -> None:
    """Spaced so that each letter stands on the one before."""
    _font(page)
    _draw(page, _shown(phrase, before="-4.5 Tc"))


def backwards_and_forwards(page: pymupdf.Page, phrase: str) -> None:
    """Each word set over the one before, at the same place."""
    for word in phrase.split():
        page.insert_text((80, 57), word, fontsize=9)


def squeezed_together(page: pymupdf.Page, phrase: str) -> None:
    """Drawn to an eighth of its width."""
    _font(page)
    _draw(page, _shown(phrase, before="12 Tz"))


def skewed(page: pymupdf.Page, phrase: str) -> None:
    """Leaning so far that the letters are lines."""
    _font(page)
    _draw(page, f"q BT /helv 9 Tf 1 0 14 1 80 735 Tm ({phrase}) Tj ET Q")


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


def _layered(page: pymupdf.Page, phrase: str, properties: Callable[[int], str], off: str) -> None:
    """Sets *phrase* in a layer that *properties* describes, given the number of a group; *off* is the file's state."""
    _font(page)
    document = page.parent
    group, layer = document.get_new_xref(), document.get_new_xref()
    document.update_object(group, "<</Type/OCG/Name(notes)>>")
    document.update_object(layer, properties(group))
    document.xref_set_key(page.xref, "Resources/Properties/layer", f"{layer} 0 R")
    state = off.replace("GROUP", f"{group} 0 R")
    document.xref_set_key(document.pdf_catalog(), "OCProperties", f"<</OCGs[{group} 0 R]/D<<{state}>>>>")
    _draw(page, _shown(phrase, before="/OC /layer BDC", after="EMC"))


def in_a_layer_by_expression(page: pymupdf.Page, phrase: str) -> None:
    """Shown only where a layer that is on is not."""
    _layered(page, phrase, lambda group: f"<</Type/OCMD/VE[/Not {group} 0 R]>>", "/ON[GROUP]")


def in_a_layer_of_all_off(page: pymupdf.Page, phrase: str) -> None:
    """Shown only where every one of the layers is off, and one is on."""
    _layered(page, phrase, lambda group: f"<</Type/OCMD/OCGs[{group} 0 R]/P/AllOff>>", "/ON[GROUP]")


def in_a_member_of_a_layer(page: pymupdf.Page, phrase: str) -> None:
    """In a membership of a layer that is off."""
    _layered(page, phrase, lambda group: f"<</Type/OCMD/OCGs {group} 0 R>>", "/OFF[GROUP]")


def _drawn_letters(page: pymupdf.Page, phrase: str, drawn: str) -> None:
    """A font whose every letter draws the same: *drawn*, in a square of a thousand."""
    document = page.parent
    glyph, font, meaning = (document.get_new_xref() for _ in range(3))
    document.update_object(glyph, "<<>>")
    document.update_stream(glyph, f"500 0 0 0 500 800 d1 {drawn}".encode())
    letters = sorted(set(phrase))
    codes = {letter: code for code, letter in enumerate(letters, 33)}
    lines = "\n".join(f"<{code:02X}> <{ord(letter):04X}>" for letter, code in codes.items())
    document.update_object(meaning, "<<>>")
    document.update_stream(
        meaning,
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Drawn def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <FF> endcodespacerange\n{len(letters)} beginbfchar\n{lines}\nendbfchar\n"
        "endcmap end end".encode(),
    )
    names = " ".join(f"/l{code}" for code in codes.values())
    procs = "".join(f"/l{code} {glyph} 0 R" for code in codes.values())
    widths = " ".join("500" for _ in codes)
    document.update_object(
        font,
        "<</Type/Font/Subtype/Type3/FontBBox[0 0 500 800]/FontMatrix[0.001 0 0 0.001 0 0]/Resources<<>>"
        f"/CharProcs<<{procs}>>/Encoding<</Type/Encoding/Differences[33 {names}]>>/FirstChar 33"
        f"/LastChar {32 + len(letters)}/Widths[{widths}]/ToUnicode {meaning} 0 R>>",
    )
    page.wrap_contents()
    page.insert_font(fontname="helv")
    document.xref_set_key(page.xref, "Resources/Font/drawn", f"{font} 0 R")
    text = "".join(f"{codes[letter]:02X}" for letter in phrase)
    _draw(page, f"q BT /drawn 9 Tf 80 735 Td <{text}> Tj ET Q")


def as_blanks(page: pymupdf.Page, phrase: str) -> None:
    """Every letter of the font is empty."""
    _drawn_letters(page, phrase, "")


def as_dots(page: pymupdf.Page, phrase: str) -> None:
    """Every letter of the font is a dot, as in a leader."""
    _drawn_letters(page, phrase, "200 0 60 60 re f")


def as_a_rule(page: pymupdf.Page, phrase: str) -> None:
    """Every letter of the font is a piece of a line."""
    _drawn_letters(page, phrase, "0 200 500 40 re f")


def as_boxes(page: pymupdf.Page, phrase: str) -> None:
    """Every letter of the font is a black box."""
    _drawn_letters(page, phrase, "0 0 500 700 re f")


def on_a_picture(page: pymupdf.Page, phrase: str) -> None:
    """White on a white picture."""
    white = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 47, 2), False)
    white.clear_with(250)
    page.insert_image(AREA, pixmap=white, keep_proportion=False)
    page.insert_text((80, 57), phrase, fontsize=9, color=WHITE)


FURTHER: dict[str, Callable[[pymupdf.Page, str], None]] = {
    way.__name__.replace("_", " "): way
    for way in (
        pale_yellow, pale_cyan, pale_grey, black_on_nearly_black, red_on_red, faint, stroked_white, hairline,
        a_colour_of_no_ink, a_white_pattern, small_print, small_in_short_lines, through_a_slit, through_slits,
        over_the_edge, overprinted, scribbled_over, in_noise, all_at_one_place, backwards_and_forwards,
        squeezed_together, skewed, white_between_letters, white_words_between_words, in_a_layer_by_expression,
        in_a_layer_of_all_off, in_a_member_of_a_layer, as_blanks, as_dots, as_a_rule, as_boxes, on_a_picture,
    )
}  # fmt: skip

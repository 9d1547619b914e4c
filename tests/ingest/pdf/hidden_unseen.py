"""Further ways to hide a passage, as `tests.ingest.pdf.hidden_text.WAYS` has them.

`UNSEEN` follows from the rendering model alone: what paints, clips, blends, places and encodes. `FURTHER` are ways by
contrast, size, clipping, overprinting, spacing, layers and fonts.
"""

from __future__ import annotations

import codecs
import random
from collections.abc import Callable, Iterator

import pymupdf

from tests.ingest.pdf.hidden_text import (
    BAND,
    WHITE,
    Way,
    X,
    Y,
    _shown,
    drawing,
    encoded,
    in_font,
    new_object,
    pictured,
    plain,
    resource,
    text,
    tiling,
    with_state,
)


def placed(matrix: str) -> Way:
    return drawing(lambda page, phrase: f"q BT /helv 9 Tf {matrix} Tm ({phrase}) Tj ET Q")


def with_mask(paint: str) -> Way:
    """Under a soft mask whose luminosity is what *paint* draws."""

    def operators(page: pymupdf.Page, phrase: str) -> str:
        group = "<</Type/XObject/Subtype/Form/BBox[0 0 612 792]/Group<</S/Transparency/CS/DeviceGray>>/Resources<<>>>>"
        form = new_object(page, group, paint)
        resource(page, "ExtGState", "masked", f"<</SMask<</S/Luminosity/G {form} 0 R>>>>")
        return _shown(phrase, before="/masked gs")

    return drawing(operators)


def in_space(space: str, color: str, operator: str = "scn") -> Way:
    def operators(page: pymupdf.Page, phrase: str) -> str:
        inks = space.count("INK") or 1
        domain = " ".join(["0 1"] * inks)
        function = new_object(page, f"<</FunctionType 4/Domain[{domain}]/Range[0 1]>>", "{" + "pop " * inks + "0}")
        resource(page, "ColorSpace", "unseen", space.replace("INK", "None").replace("FUNCTION", f"{function} 0 R"))
        return _shown(phrase, before=f"/unseen cs {color} {operator}")

    return drawing(operators)


def patterned(pattern: Callable[[pymupdf.Page], str]) -> Way:
    def operators(page: pymupdf.Page, phrase: str) -> str:
        resource(page, "Pattern", "unseen", pattern(page))
        return _shown(phrase, before="/Pattern cs /unseen scn")

    return drawing(operators)


def in_pattern(tile: str, step: int = 4) -> Way:
    return patterned(lambda page: tiling(page, tile, step))


def in_shade(low: str, high: str) -> Way:
    ramp = f"<</FunctionType 2/Domain[0 1]/C0[{low}]/C1[{high}]/N 1>>"
    shade = f"<</ShadingType 2/ColorSpace/DeviceRGB/Coords[0 0 612 0]/Extend[true true]/Function{ramp}>>"
    return patterned(lambda page: f"{new_object(page, f'<</PatternType 2/Shading{shade}>>')} 0 R")


def over_and_over(lines: list[tuple[float, float, str]]) -> Way:
    """Other words set over it, each at a distance."""

    def operators(page: pymupdf.Page, phrase: str) -> str:
        return " ".join([_shown(phrase), *(_shown(text or phrase, X + right, Y + up) for right, up, text in lines)])

    return drawing(operators)


def by_word(operators: Callable[[int, str], str]) -> Way:
    return drawing(lambda page, phrase: " ".join(operators(*each) for each in enumerate(phrase.split())))


def drawn(picture: Callable[[str], str], matrix: str = "0.001 0 0 0.001 0 0") -> Way:
    """In a font whose letters are drawn by *picture*, in a square of a thousand."""

    def font_of(page: pymupdf.Page, kinds: list[str], codes: list[int]) -> str:
        drawings = (new_object(page, "<<>>", f"500 0 0 -200 600 800 d1 {picture(kind)}") for kind in kinds)
        procs = " ".join(f"/l{code} {xref} 0 R" for code, xref in zip(codes, drawings, strict=True))
        return (
            f"/Subtype/Type3/FontBBox[0 -200 600 800]/FontMatrix[{matrix}]/Resources<<>>/CharProcs<<{procs}>>"
            f"/Encoding<</Type/Encoding/Differences[33 {' '.join(f'/l{code}' for code in codes)}]>>/FirstChar 33"
            f"/LastChar {codes[-1]}/Widths[{' '.join(['500'] * len(codes))}]"
        )

    return in_font(font_of)


def layered(layer: str, state: str) -> Way:
    """In a layer: *layer* describes the membership of GROUP (on) and OTHER, *state* the file's settings."""

    def operators(page: pymupdf.Page, phrase: str) -> str:
        group, other = (new_object(page, f"<</Type/OCG/Name({name})>>") for name in ("one", "other"))

        def filled(text: str) -> str:
            return text.replace("GROUP", f"{group} 0 R").replace("OTHER", f"{other} 0 R")

        resource(page, "Properties", "unseen", f"{new_object(page, filled(layer))} 0 R" if layer else f"{group} 0 R")
        document = page.parent
        document.xref_set_key(document.pdf_catalog(), "OCProperties", filled(f"<</OCGs[GROUP OTHER]/D<<{state}>>>>"))
        return _shown(phrase, before="/OC /unseen BDC", after="EMC")

    return drawing(operators)


def _noise(seed: int) -> Callable[[int, int], int]:
    dice = random.Random(seed)
    return lambda x, y: 255 * dice.randrange(2)


def _sentence() -> Callable[[str], str]:
    told: Iterator[str] = iter("theresultsofthefirstexperimentsareshownbelow" * 4)
    return lambda letter: "space" if letter == " " else next(told)


def _rects(cells: Iterator[tuple[float, float, float, float]]) -> str:
    return " ".join(f"{x:.2f} {y:.2f} {w:.2f} {h:.2f} re" for x, y, w, h in cells)


HASH = "#" * 70
UNSEEN: dict[str, Way] = {
    # colours
    "nearly white in CMYK": plain("0 0 0 0.03 k"),
    "yellow of a tenth": plain("0 0 0.12 0 k"),
    "white by CalGray": in_space("[/CalGray<</WhitePoint[0.95 1 1.09]>>]", "1", "sc"),
    "white by Lab": in_space("[/Lab<</WhitePoint[0.95 1 1.09]/Range[-100 100 -100 100]>>]", "100 0 0", "sc"),
    "white by an index": in_space("[/Indexed/DeviceRGB 1<FFFFFFFDFDFD>]", "1", "sc"),
    "no ink of two": in_space("[/DeviceN[/INK/INK]/DeviceGray FUNCTION]", "1 1"),
    "no ink over grey": in_space("[/Separation/INK/DeviceGray FUNCTION]", "1"),
    "in a shade of white": in_shade("1 1 1", "0.96 0.97 0.98"),
    "in a sparse pattern": in_pattern("0 0 0.2 0.2 re f", 5),
    "in a pattern of nothing": in_pattern("", 5),
    "in a pattern of pale lines": in_pattern("0.93 g 0 0 4 1 re f"),
    "grey on the same grey": plain("0.5 g", first=f"0.5 g {BAND} f"),
    "green on green": plain("0.2 0.6 0.2 rg", first=f"0.22 0.62 0.2 rg {BAND} f"),
    "black on dark blue": plain("0 g", first=f"0 0 0.12 rg {BAND} f"),
    "a dark ground drawn twice": plain("0.05 g", first=f"0 g {BAND} f {BAND} f"),
    # how letters are painted
    "outline of no width, white": plain("1 G 0 w 1 Tr"),
    "outline in long dashes": plain("0 G 0.3 w [0.1 60] 0 d 1 Tr"),
    "outline so wide that letters melt": plain("0 G 9 w 1 Tr"),
    "filled, with a wide white outline": plain("0 g 1 G 4 w 2 Tr"),
    "filled, with a wide black outline": plain("0 g 0 G 6 w 2 Tr"),
    "not painted, then painted white": plain("3 Tr", last="1 g"),
    "only as a clip of pale grey": plain("7 Tr", after="0.97 g 0 0 612 792 re f"),
    # opacity, masks, blending
    "opacity of one in thirty": with_state("/ca 0.033"),
    "opacity twice": with_state("/ca 0.25", text="0.7 g"),
    "screened": with_state("/BM/Screen"),
    "dodged": with_state("/BM/ColorDodge"),
    "overlaid on white": with_state("/BM/Overlay"),
    "darkened on black": with_state("/BM/Darken", "0 g", "1 g"),
    "multiplied on black": with_state("/BM/Multiply", "0 g", "1 g"),
    "masked to nothing": with_mask("0 g 0 0 612 792 re f"),
    "masked to a trace": with_mask("0.04 g 0 0 612 792 re f"),
    "masked to a slit": with_mask("1 g 0 737 612 0.4 re f"),
    "masked to dots": with_mask("1 g " + _rects((60 + 3 * k, 728 + 3 * j, 0.5, 0.5) for k in range(160) for j in range(7)) + " f"),
    # clips
    "clipped to nothing": plain("0 0 m W n"),
    "clipped to two areas apart": plain("70 700 9 9 re W n 300 600 9 9 re W n"),
    "clipped to the feet": plain("60 732 500 2.6 re W n"),
    "clipped to the heads": plain("60 740.6 500 3 re W n"),
    "clipped to a slit across": plain("60 738 500 0.25 re W n"),
    "clipped to fine bars": plain(_rects((60 + 1.5 * k, 728, 0.15, 20) for k in range(320)) + " W n"),
    "clipped to crumbs": plain(_rects((60 + 2.5 * k, 728 + 2.5 * j, 0.4, 0.4) for k in range(190) for j in range(8)) + " W n"),
    "clipped by other letters": plain("BT 7 Tr /helv 9 Tf 80 700 Td (elsewhere) Tj ET"),
    "clipped by even and odd": plain("70 725 420 20 re 70 725 420 20 re W* n"),
    # what lies over it
    "under a white stroke": plain(last="1 G 16 w 70 737 m 540 737 l S"),
    "under a black stroke": plain(last="0 G 16 w 70 737 m 540 737 l S"),
    "under many small white boxes": plain(last="1 g " + _rects((70 + 5 * k, 731, 5, 13) for k in range(94)) + " f"),
    "under white boxes, each by itself": plain(last="1 g " + " ".join(f"{70 + 5 * k} 731 5.2 13 re f" for k in range(94))),
    "under white letters": plain(last="1 g BT /helv 9 Tf 1 G 5 w 2 Tr 78 735 Td (" + "mm" * 30 + ") Tj ET"),
    "under a hatching": plain(last="0 G 0.9 w " + " ".join(f"{60 + 1.6 * k:.1f} 728 m {70 + 1.6 * k:.1f} 748 l S" for k in range(270))),
    "under two hatchings": plain(last="0 G 0.6 w " + " ".join(f"{60 + 2 * k} 728 m {72 + 2 * k} 748 l S {72 + 2 * k} 728 m {60 + 2 * k} 748 l S" for k in range(230))),
    "under a grid": plain(last="0 G 0.8 w " + " ".join(f"70 {729 + 1.5 * k} m 540 {729 + 1.5 * k} l S" for k in range(12)) + " " + " ".join(f"{70 + 1.5 * k} 728 m {70 + 1.5 * k} 747 l S" for k in range(300))),
    "under noise": pictured(_noise(3), 470, 16, over=True),
    "under a white picture": pictured(lambda x, y: 255, 2, 2, over=True),
    "under a black picture": pictured(lambda x, y: 0, 2, 2, over=True),
    "under a shading picture": pictured(lambda x, y: x // 2 % 256, 470, 2, over=True),
    # what lies beneath it
    "on noise": pictured(_noise(5), 470, 16),
    "on coarse noise": pictured(_noise(7), 240, 8),
    "on a chequered ground": pictured(lambda x, y: 255 * ((x + y) % 2), 313, 11),
    "on stripes": pictured(lambda x, y: 255 * (x % 2), 313, 2),
    "on black": pictured(lambda x, y: 8, 2, 2),
    # overprints
    "over itself, moved": over_and_over([(2.2 * k, 0, "") for k in range(1, 5)]),
    "over itself, up and down": over_and_over([(0, 1.3 * k, "") for k in (-3, -2, -1, 1, 2, 3)]),
    "under number signs": over_and_over([(0, 0, HASH), (2.5, 0, HASH), (1.2, 1.5, HASH)]),
    "under crosses": over_and_over([(0, 0, "X" * 60), (3, 0, "X" * 60), (1.5, 0, "HX" * 30)]),
    "under full letters": over_and_over([(0.5, 0, "WMBQ" * 14), (3.5, 0, "BMWE" * 14)]),
    "all words at one place": by_word(lambda place, word: f"q BT /helv 9 Tf {X} {Y} Td ({word}) Tj ET Q"),
    "all words at three places": by_word(lambda place, word: f"q BT /helv 9 Tf {X + 60 * (place % 3)} {Y} Td ({word}) Tj ET Q"),
    "letters a point apart": plain("-4 Tc"),
    "letters half a point apart": drawing(lambda page, phrase: "q BT " + " ".join(f"/helv 9 Tf 1 0 0 1 {X + 0.5 * place} {Y} Tm ({letter}) Tj" for place, letter in enumerate(phrase)) + " ET Q"),
    # form and place
    "a twentieth as wide": plain("5 Tz"),
    "a tenth as wide": placed(f"0.1 0 0 1 {X} {Y}"),
    "a tenth as high": placed(f"1 0 0 0.1 {X} {Y}"),
    "skewed by ten": placed(f"1 0 10 1 {X} {Y}"),
    "skewed upwards": placed(f"0.05 1 1 0.15 {X} 700"),
    "a line of no height": placed(f"1 0 0 0 {X} {Y}"),
    "raised off the sheet": plain("900 Ts"),
    "far to the right": placed("1 0 0 1 5000 300"),
    "a third of a point": plain(size=0.3),
    "a point and a half": plain(size=1.5),
    "two points and a half": plain(size=2.5),
    "three points": plain(size=3),
    "small by the coordinates": plain("0.1 0 0 0.1 70 700 cm"),
    "each word tiny, on lines of its own": by_word(lambda place, word: f"q BT /helv 1.8 Tf {X} {Y + 15 - 1.9 * place} Td ({word}) Tj ET Q"),
    # fonts
    "shown as other letters": encoded(lambda letter: "space" if letter == " " else codecs.encode(letter, "rot13")),
    "shown as another sentence": encoded(_sentence()),
    "shown as full stops": encoded(lambda letter: "period"),
    "shown as spaces": encoded(lambda letter: "space"),
    "shown as hyphens": encoded(lambda letter: "hyphen"),
    "shown as bullets": encoded(lambda letter: "bullet"),
    "shown as one letter": encoded(lambda letter: "space" if letter == " " else "a"),
    "shown as digits": encoded(lambda letter: ("zero", "one", "two", "three", "four", "five")[ord(letter) % 6]),
    "letters without width": encoded(lambda letter: letter if letter != " " else "space", widths="0"),
    "three letters in a stop": encoded(lambda piece: "period", together=3),
    "two letters in a letter": encoded(lambda piece: "n", together=2),
    "drawn as nothing": drawn(lambda letter: ""),
    "drawn as a rule": drawn(lambda letter: "0 250 500 30 re f"),
    "drawn as dots of different sizes": drawn(lambda letter: f"200 0 {40 + ord(letter) % 9 * 12} 60 re f"),
    "drawn as bars": drawn(lambda letter: f"{ord(letter) % 5 * 80} 0 80 700 re f"),
    "drawn as noise": drawn(lambda letter: _rects((random.Random(f"{letter}{k}").random() * 450, random.Random(f"{k}{letter}").random() * 650, 60, 60) for k in range(25)) + " f"),
    "drawn far away": drawn(lambda letter: "9000 9000 500 700 re f"),
    "drawn minute": drawn(lambda letter: "0 0 500 700 re f", "0.00005 0 0 0.00005 0 0"),
    "drawn all as one box": drawn(lambda letter: "20 -100 480 850 re f"),
    # layers
    "in a layer off from the start": layered("", "/BaseState/OFF"),
    "in a layer that is off": layered("", "/OFF[GROUP]"),
    "where any layer is off": layered("<</Type/OCMD/OCGs[GROUP OTHER]/P/AnyOff>>", "/ON[GROUP OTHER]"),
    "where all layers are on": layered("<</Type/OCMD/OCGs[GROUP OTHER]/P/AllOn>>", "/OFF[OTHER]"),
    "by an expression of both": layered("<</Type/OCMD/VE[/And GROUP OTHER]>>", "/OFF[OTHER]"),
    "by an expression in another": layered("<</Type/OCMD/VE[/Not[/Or GROUP[/Not OTHER]]]>>", "/ON[GROUP OTHER]"),
}  # fmt: skip
READABLE = frozenset(["under a hatching", "under two hatchings", "under a grid", "over itself, up and down"])
"""Ways that leave the passage readable at 100 dots an inch after all: it may be found or not."""


def white_between_letters(page: pymupdf.Page, phrase: str) -> str:
    """White pieces of five letters between black full stops, without a space: no piece is long."""
    flat = phrase.replace(" ", "")
    pieces = "".join(f"1 g ({flat[k : k + 5]}) Tj 0 g (.) Tj " for k in range(0, len(flat), 5))
    return f"q BT /helv 9 Tf 80 735 Td {pieces} ET Q"


def white_words_between_words(page: pymupdf.Page, phrase: str) -> str:
    """Each word in white, between two that are black."""
    cover = ("and", "so", "on", "to", "the", "end", "of", "this", "line", "that", "all", "can", "see", "as", "it")
    pieces = "".join(f"1 g ({word} ) Tj 0 g ({cover[k % 15]} ) Tj " for k, word in enumerate(phrase.split()))
    return f"q BT /helv 6 Tf 60 735 Td {pieces} ET Q"


NO_INK = "<</FunctionType 2/Domain[0 1]/C0[0 0 0]/C1[0 0 0]/N 1>>"
FURTHER: dict[str, Way] = {
    "pale yellow": text(color=(1, 1, 0.72)),  # on white: the blue differs by much, the brightness hardly
    "pale cyan": text(color=(0.82, 1, 1)),
    "pale grey": text(color=(0.9, 0.9, 0.9)),
    "black on nearly black": text(ground=(0.1, 0.1, 0.1), color=(0, 0, 0)),
    "red on red": text(ground=(0.8, 0.1, 0.1), color=(0.7, 0.12, 0.12)),
    "faint": text(fill_opacity=0.11, stroke_opacity=0.11),
    "stroked white": plain("1 1 1 RG 1 Tr"),
    "hairline": plain("1 g 0.93 G 0.05 w 2 Tr"),
    "a colour of no ink": in_space(f"[/Separation/None/DeviceRGB {NO_INK}]", "1"),
    "a white pattern": in_pattern("1 g 0 0 9 9 re f", 9),
    "small print": text(fontsize=2),  # three pixels at 100 dots an inch
    "small in short lines": drawing(lambda page, phrase: " ".join(_shown(" ".join(phrase.split()[k : k + 3]), X, 742 - k, 2) for k in range(0, len(phrase.split()), 3))),
    "through a slit": plain("60 737 500 0.35 re W n"),
    "through slits": plain(" ".join(f"{60 + 2 * k} 730 0.2 20 re" for k in range(240)) + " W n"),
    "over the edge": text((80, 797.6)),  # little more than the feet of the letters below the sheet are cut off
    "overprinted": over_and_over([(right, 0, "mwqxzkwmhmgwqmxwmhgkzwmqhxmwkgmwhqzxmwkhgqmwxzmkqhwgmxwqmzkhw") for right in (0.8, 1.6, 2.4)]),
    "scribbled over": plain(last="0 G 0.6 w " + " ".join(f"70 {744 - 0.5 * k} m 540 {744 - 0.5 * k} l S" for k in range(24))),
    "in noise": pictured(_noise(11), 470, 16),
    "all at one place": plain("-4.5 Tc"),
    "squeezed together": plain("12 Tz"),
    "skewed": placed("1 0 14 1 80 735"),  # leaning so far that the letters are lines
    "white between letters": drawing(white_between_letters),
    "white words between words": drawing(white_words_between_words),
    "in a layer by expression": layered("<</Type/OCMD/VE[/Not GROUP]>>", "/ON[GROUP]"),
    "in a layer of all off": layered("<</Type/OCMD/OCGs[GROUP]/P/AllOff>>", "/ON[GROUP]"),
    "in a member of a layer": layered("<</Type/OCMD/OCGs GROUP>>", "/OFF[GROUP]"),
    "as dots": drawn(lambda letter: "200 0 60 60 re f"),
    "as a rule": drawn(lambda letter: "0 200 500 40 re f"),
    "as boxes": drawn(lambda letter: "0 0 500 700 re f"),
    "on a picture": pictured(lambda x, y: 250, 47, 2, color=WHITE),  # white on white
}  # fmt: skip

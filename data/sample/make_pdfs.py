"""Typesets each sources/sNN.md beside this file as a paper, pdfs/sNN.pdf: odd numbers in one column, even in two.

    python data/sample/make_pdfs.py

The papers are synthetic: invented for this project, about no real paper. The code below writes the PDF operators itself
and records no date, so equal sources give equal bytes. PyMuPDF only measures the widths of letters.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pymupdf

HERE = Path(__file__).parent
WIDTH, HEIGHT = 612, 792
TOP, BOTTOM = 82, 738
HEADER = "Submitted to the Sample Conference on Learning 2026. Do not distribute."
NUMBERED = {"s03", "s07", "s10", "s11", "s14", "s15"}
"""Papers with line numbers in the margin."""
WIDE_FLOATS = {"s06", "s14"}
"""Papers in two columns whose figure spans both."""
WIDE_ABSTRACT = {"s08", "s12"}
FONTS = {
    "R": ("Times-Roman", "tiro"),
    "B": ("Times-Bold", "tibo"),
    "I": ("Times-Italic", "tiit"),
    "H": ("Helvetica", "helv"),
}
METRICS = {name: pymupdf.Font(short) for name, (_, short) in FONTS.items()}
SIGNS = {"\ufb01": 174, "\ufb02": 175, "\u2022": 149}

TABLES = {
    "s01": "Recipe|None|Default|Tuned|Gate;ImageNet, top-1|74.9|76.5|76.7|76.8;WMT14, BLEU|div.|27.3|27.5|27.6;LM 124M, loss|-|3.071|3.060|3.058;LM 350M, loss|-|2.879|-|2.874",
    "s02": "Method|Average|Gain;No dropout|71.8|-;DropEdge, constant|72.2|0.4;Cosine|72.8|1.0;Cosine, ring-aware|73.1|1.3",
    "s03": "Strategy|EM|Skipped;Never|29.7|100;Always|38.6|0;Popularity|38.4|31;Entropy|38.8|27;NoRA|39.7|43;Oracle|45.2|-",
    "s04": "Method|Locomotion|umaze|medium;CQL|75.8|-|-;TD3+BC|74.6|-|-;IQL|77.2|87.5|70.6;Ten members|80.9|-|-;CaliPen|82.4|91.0|58.3",
    "s05": "Method|CIFAR-10|Fashion|FEMNIST;FedAvg|58.3|47.2|81.5;Local|51.0|78.8|-;IFCA|69.1|84.0|81.9;Tessel|71.4|86.1|82.1;Oracle|71.9|86.3|-",
    "s06": "Method|AUC|Regions/s|Kappa;ViT-S|97.6|3.1|0.861;SGM|97.2|8.4|0.855;ToMe|96.5|8.9|0.849;Dropping|95.8|9.2|0.836;Random|94.1|9.3|-",
    "s07": "Method|ECE|AUROC;Verbalised|0.214|0.71;Sequence prob.|0.163|0.74;Self-consistency|0.112|0.79;Semantic entropy|0.104|0.80;PACE|0.041|0.81",
    "s08": "alpha|Predicted|Fitted;1.3|0.09|0.35;1.5|0.33|0.48;1.8|0.52|0.61;2.0|0.60|0.93",
    "s09": "Agent|Success, unseen|OGC;Seq|0.3|7.8;EpT|1.9|14.1;MapT|6.2|27.5;MapLM|11.4|36.9;Human|91.7|-",
    "s10": "Method|PhysioNet|MIMIC-III;BRITS|0.334|0.279;CSDI|0.305|0.251;GapScore|0.281|0.238",
    "s11": "Method|Obstacle|Kelvin-H.|Shock;U-Net|5.0|8.3|11.6;FNO|4.4|7.4|10.9;Static graph|3.9|8.8|9.7;MeshTide|3.1|5.8|6.4",
    "s12": "Method|SST-2|QNLI|MNLI|Help;Flat|91.9|86.2|81.7|77.2;Adaptive|92.0|86.4|81.9|78.1;Fixed|90.8|84.5|80.1|74.9;LayerClip|92.4|86.9|82.3|79.8;Non-private|94.6|92.5|87.4|90.3",
    "s13": "Buffer|Reservoir|Herding|GSS|MIR|IGR;200|21.4|22.0|20.1|22.3|26.2;500|30.6|32.1|29.3|31.7|35.4;2000|47.9|48.8|45.2|49.0|49.6",
    "s14": "Tokens|A|B|C|Mean;Characters|-|-|-|39.6;Byte-pair|31.2|38.5|45.5|38.4;PAT|28.6|34.3|39.4|34.1",
    "s15": "Method|MovieLens|Books|Market;Interleaving|6.4|4.8|3.7;Controller|3.1|1.9|1.4;Dual descent|2.0|1.2|0.9;SLOWDUAL|1.9|1.1|0.6",
    "s16": "Method|10|20|50|100;DCDI|3.4|11.9|50.3|-;GIES|-|-|71.0|-;DELTASCORE|3.1|7.8|24.6|68.9",
    "s17": "Model|Dimers|Ionic liquid|Peptides|Water|Mean;Short-range|18.4|31.0|14.2|11.6|18.8;8 angstrom|14.9|24.5|13.1|11.3|-;Supervised|13.6|22.1|13.3|11.7|-;Farad|11.9|19.8|12.7|11.5|14.0",
    "s18": "Acc. / AUC|Characters|Signs|Keywords;None|- / 0.68|- / 0.74|- / 0.70;Fine-tuning|84.8 / 0.61|91.0 / 0.66|89.1 / 0.63;"
    "Ascent|80.7 / 0.47|86.9 / 0.44|84.2 / 0.46;ProRev|84.1 / 0.53|90.3 / 0.56|88.0 / 0.54;Retraining|84.6 / 0.51|91.2 / 0.50|88.9 / 0.52",
    "s19": "Method|Locomotion|Mazes|Inventory|Average|Rank corr.;Random|-|-|-|31.5|-;Bellman error|-|-|-|24.6|-;Importance sampling|-|-|-|19.9|-;"
    "FQE|12.2|22.4|12.4|14.8|0.52;SplitRank|8.1|9.6|13.0|9.7|0.66",
    "s20": "Filter|Wol.|Far.|Que.|Mean|Hours;None|41.2|33.5|46.8|40.5|-;All|37.9|29.6|47.5|38.3|-;Confidence|36.0|28.9|43.7|36.2|310;Dropout|35.1|28.6|42.9|35.5|262;CVA|33.9|28.4|41.2|34.5|218",
    "s21": "Method|Feeders|Heating|Offices|Bikes|Average;Seasonal naive|-|-|-|-|1.004;Nearest neighbours|-|-|-|-|0.955;Frozen|0.812|0.744|0.903|0.958|0.854;"
    "Last layer, online|-|-|-|-|0.838;Weekly fine-tuning|0.771|0.722|0.869|0.939|0.825;Echo|0.768|0.701|0.861|0.951|0.820",
    "s22": "Method|SHD|Oriented|Missing;No prior|21.4|68|8.3;Edge constraints|24.8|-|-;Edges only|33.1|-|-;Precede|15.9|86|7.5",
    "s23": "Method|PSNR|Chamfer, mm|Completeness;Splatting|22.9|6.8|54;Depth priors|24.6|5.1|63;Neural surface|21.7|5.9|58;Stemline|24.3|3.4|81",
    "s24": "Method|CIFAR-100|StreetWeeks|Requests;Sequential|9.8|48.1|52.7;ER|31.4|57.3|66.0;GP|30.6|56.8|66.4;DS|34.5|58.4|67.1;ER-D|35.2|58.0|67.9;Drowse|38.7|60.3|70.5",
    "s25": "Method|Rank|Accuracy|Error;T-Lin|5.0|-|-;T-Per|4.2|-|-;MLP-PL|3.7|-|-;T-Q|3.4|85.2|0.431;GBT|2.6|86.1|0.409;Borrowed Splits|2.1|86.4|0.412",
    "s26": "Method|Intro|Contest|Sheets|All;Single|-|-|-|41.7;Voting|-|-|-|46.9;Self-written|63.1|27.4|54.4|48.6;Rival|65.5|30.3|62.6|52.9;Best of 50|-|-|-|66.8",
    "s27": "Method|H4|H5|H6|Patients|Sites;None|0.588|0.643|0.611|0.611|0.614;BN-Swap|0.604|0.655|0.560|-|-;EntMin|0.571|0.649|0.583|-|-;Histogram|0.627|0.658|0.632|-|-;"
    "Self-training|0.640|0.671|0.628|-|-;Settle|0.671|0.688|0.709|0.681|0.689;Upper reference|0.695|0.709|0.702|-|-",
    "s28": "Method|Bazaar|News|Market|New|Old;Base|-|-|-|0.9|41.3;Content|5.9|9.8|4.7|6.8|41.2;Meta|7.1|11.0|5.6|7.9|41.0;TS|7.0|12.4|5.8|8.4|40.6;Knock|10.2|16.1|9.4|11.9|41.0",
    "s29": "Rule|Saved|Loss|Violations|Saved, synth.|Loss, synth.|Viol., synth.;Fixed 50|75|0.52|12.9|-|-|-;Fixed 100|50|0.21|4.4|-|-|-;EI-Stop|71|0.61|13.8|55|-|21.7;"
    "Bound-Stop|8|0.02|0.0|-|-|-;Quit|62|0.24|4.1|42|0.35|8.3",
    "s30": "Method|Acc.|mCE|Rec.|Ren.|Glass;Light|80.1|51.8|68.5|33.0|54.3;Erasing|80.3|50.9|-|-|-;Dropping|80.0|49.7|-|-|-;Mixed chains|79.6|46.2|-|-|-;Adv. chains|79.1|45.4|-|-|-;"
    "Noise|78.8|46.9|-|-|-;Out of Focus|79.7|43.9|68.7|35.6|61.9",
    "s30.2": "Variant|mCE|Glass;Light|56.4|47.0;Full method|49.3|54.6;No bias|50.0|52.0;No bias, no head|50.4|51.7;Constant field|50.9|50.2",
}
FIGURES = {
    "s01": "curves|step|sharpness|ungated|gated", "s02": "curves|epoch|ROC-AUC|constant|cosine|reversed",
    "s03": "boxes|question|generator|gate|retriever|answer", "s04": "curves|gradient steps|beta|global|dense|thin",
    "s05": "boxes|clients|sketches|linkage|models", "s06": "grid|full|similarity|SGM",
    "s07": "boxes|question|paraphrases|answers|agreement", "s08": "curves|alpha|exponent|q = 1|q = 1.25|q = 1.5",
    "s09": "boxes|instruction|plates|amendment|goal", "s10": "curves|channel pair|half-life|learned|sampling",
    "s11": "grid|t = 0|t = 25|t = 50", "s12": "curves|layer|gradient norm|median|threshold",
    "s13": "boxes|candidates|influence|redundancy|buffer", "s14": "boxes|word|byte-pair|PAT|classes",
    "s15": "curves|day|exposure share|dual descent|SLOWDUAL", "s16": "grid|chain|scores|parents",
    "s17": "boxes|local features|latent charges|Ewald sum|energy", "s18": "boxes|contribution|shared part|particular part|subtraction",
    "s19": "curves|rank|share|unstable|stable", "s20": "boxes|segment|three voices|transcripts|agreement",
    "s21": "curves|hour|heat load|forecast|past windows|corrected", "s22": "boxes|votes|soft prior|data score|weight",
    "s23": "boxes|input|stem masks|curves|Gaussians|novel view", "s24": "curves|batch|quarrel signal|signal|threshold",
    "s25": "curves|income|default rate|empirical|quantile bins|borrowed", "s26": "boxes|three groups|round 1|round 2|second group",
    "s27": "grid|training|unseen, before|unseen, after", "s28": "grid|flat session|sharp session",
    "s29": "curves|evaluation|p_t|trees|SVM|network", "s30": "grid|photograph|quality map|attention",
}  # fmt: skip


@dataclass
class Sheet:
    """The content of one page, in PDF operators; heights are given from the top."""

    parts: list[str] = field(default_factory=list)

    def text(
        self, x: float, y: float, text: str, font: str, size: float, spread: float = 0.0, grey: float = 0.0
    ) -> None:
        shown = "".join(
            f"\\{SIGNS[sign]:03o}" if sign in SIGNS else sign for sign in re.sub(r"([\\()])", r"\\\1", text)
        )
        self.parts.append(
            f"BT {grey:g} g /{font} {size:g} Tf {spread:.3f} Tw {x:.2f} {HEIGHT - y:.2f} Td ({shown}) Tj ET"
        )

    def line(self, *points: tuple[float, float], width: float = 0.5, grey: float = 0.0) -> None:
        path = " ".join(f"{x:.1f} {HEIGHT - y:.1f} {'l' if place else 'm'}" for place, (x, y) in enumerate(points))
        self.parts.append(f"{grey:g} G {width:g} w {path} S")

    def box(self, x: float, y: float, width: float, height: float, fill: float | None = None) -> None:
        path = f"{x:.1f} {HEIGHT - y - height:.1f} {width:.1f} {height:.1f} re"
        self.parts.append(f"0 G 0.5 w {path} S" if fill is None else f"0 G 0.5 w {fill:g} g {path} B")


@cache
def advance(font: str, letter: str) -> float:
    return METRICS[font].glyph_advance(ord(letter))


def measure(text: str, font: str, size: float) -> float:
    return sum(advance(font, letter) for letter in text) * size


def breaks(word: str) -> Iterator[tuple[str, str]]:
    """Yields the ways to split a long *word* at a line's end, the longest start first.

    A word is split between two consonants or at its hyphen.
    """
    for place in range(len(word) - 3, 2, -1):
        if word[place - 1] == "-" and word[:place].count("-") == 1:
            yield word[:place], word[place:]
        elif (
            word.isalpha()
            and word.islower()
            and re.fullmatch(r"[^aeiouy][^aeiouyh]", word[place - 1 : place + 1])
            and re.search(r"[aeiouy]", word[: place - 1])
            and re.search(r"[aeiouy]", word[place:])
        ):
            yield word[:place] + "-", word[place:]


def wrapped(text: str, font: str, size: float, width: float, hyphens: bool, indent: float = 0.0) -> list[str]:
    """Returns *text* in lines no wider than *width*; the first line is shorter by *indent*."""
    lines, line, room = [], "", width - indent
    for word in text.split():
        longer = f"{line} {word}".strip()
        if measure(longer, font, size) <= room:
            line = longer
            continue
        for start, rest in breaks(word) if hyphens else ():
            if line and measure(f"{line} {start}", font, size) <= room:
                line, word = f"{line} {start}", rest
                break
        lines.append(line)
        line, room = word, width
    return [*lines, line]


class Paper:
    """A paper in the making: the finished pages, and the position of the next line."""

    def __init__(self, name: str):
        self.name, self.two = name, int(name[1:]) % 2 == 0
        self.columns = [(54.0, 243.0), (315.0, 243.0)] if self.two else [(108.0, 396.0)]
        self.leading = 11.6 if self.two else 11.0
        self.sheets: list[Sheet] = []
        self.waiting: list[tuple[str, str, bool]] = []
        self.tables = 0
        self.random = random.Random(name)
        self.new_sheet()

    @property
    def x(self) -> float:
        return self.columns[self.column][0]

    @property
    def width(self) -> float:
        return self.columns[self.column][1]

    def new_sheet(self) -> None:
        self.sheets.append(Sheet())
        sheet, (left, right) = self.sheets[-1], (self.columns[0][0], sum(self.columns[-1]))
        self.sheet, self.column, self.top, self.y = sheet, 0, TOP, TOP
        sheet.text(left, 38, HEADER, "R", 9)
        sheet.line((left, 43), (right, 43))
        number = str(len(self.sheets))
        sheet.text(WIDTH / 2 - measure(number, "R", 10) / 2, 762, number, "R", 10)
        if self.name in NUMBERED:
            self.number_lines(left, right)
        wide = [float_ for float_ in self.waiting if float_[2]]
        for float_ in wide if len(self.sheets) > 1 else ():
            self.waiting.remove(float_)
            self.set_float(*float_[:2], left, right - left)
            self.top = self.y = self.y + 4
        self.set_waiting()

    def number_lines(self, left: float, right: float) -> None:
        """Writes a number beside each line, counted through the paper; in two columns, at both margins."""
        count = int((BOTTOM - TOP) / self.leading)
        for number in range(count):
            y, total = TOP + number * self.leading, (len(self.sheets) - 1) * count * len(self.columns) + number
            self.sheet.text(left - 38, y, f"{total:03d}", "R", 8, grey=0.5)
            if self.two:
                self.sheet.text(right + 24, y, f"{total + count:03d}", "R", 8, grey=0.5)

    def next_column(self) -> None:
        if self.column + 1 < len(self.columns):
            self.column, self.y = self.column + 1, self.top
            self.set_waiting()
        else:
            self.new_sheet()

    def set_waiting(self) -> None:
        for float_ in [float_ for float_ in self.waiting if not float_[2]]:
            self.waiting.remove(float_)
            self.set_float(*float_[:2], self.x, self.width)

    def need(self, height: float) -> None:
        if self.y + height > BOTTOM:
            self.next_column()

    def lines(
        self,
        text: str,
        *,
        font: str = "R",
        size: float = 10,
        indent: float = 0,
        inset: float = 0,
        after: float = 0,
        hang: float = 0,
    ) -> None:
        """Sets a justified paragraph, over as many columns as it takes."""
        leading = self.leading * max(size, 9) / 10
        if self.two and size <= 10 and font == "R":
            text = text.replace("fi", "\ufb01").replace("fl", "\ufb02")
        width = self.width - 2 * inset - hang
        rows = wrapped(text, font, size, width, self.two or self.name in ("s05", "s09"), indent)
        for place, row in enumerate(rows):
            self.need(0)
            start = self.x + inset + (indent if not place else hang)
            room, gaps = width - (indent if not place else 0), row.count(" ")
            spread = (room - measure(row, font, size)) / gaps if gaps and place < len(rows) - 1 else 0.0
            self.sheet.text(start, self.y, row, font, size, spread)
            self.y += leading
        self.y += after

    def centred(self, text: str, font: str, size: float, left: float, width: float) -> None:
        for row in wrapped(text, font, size, width, False):
            self.sheet.text(left + (width - measure(row, font, size)) / 2, self.y, row, font, size)
            self.y += 1.15 * size

    def display(self, text: str) -> None:
        """Sets a formula on its own line."""
        self.need(3 * self.leading)
        self.y += 4
        self.centred(text, "R", min(10, 10 * (self.width - 8) / measure(text, "R", 10)), self.x, self.width)
        self.y += 6

    def capitals(self, x: float, text: str, size: float) -> None:
        """Writes *text* in small capitals."""
        for word in text.split():
            start = re.match(r"[A-Z0-9.]*", word)[0]
            for piece, height in ((start, size), (word[len(start) :].upper(), 0.8 * size)):
                if piece:
                    self.sheet.text(x, self.y, piece, "R", height)
                    x += measure(piece, "R", height)
            x += measure(" ", "R", size) if not re.fullmatch(r"[\d.]+", word) else 13

    def heading(self, text: str, level: int) -> None:
        size = 12 if level == 2 else 10.5 if self.two else 10
        self.need(3.5 * self.leading)
        self.y += 8 if self.y > self.top + 1 else 0
        if self.two:
            number, _, name = text.partition(" ") if re.match(r"[\dA-Z.]+ ", text) else ("", "", text)
            self.sheet.text(self.x, self.y, number, "B", size) if number else None
            rows = wrapped(name, "B", size, self.width - 24, False)
            for row in rows:
                self.sheet.text(self.x + (measure(number, "B", size) + size if number else 0), self.y, row, "B", size)
                self.y += 1.15 * size if row is not rows[-1] else 0
        else:
            self.capitals(self.x, text, size)
        self.y += self.leading + 5

    def title(self, title: str, abstract: str) -> None:
        left, right = self.columns[0][0], sum(self.columns[-1])
        self.y = 96
        if self.two:
            self.sheet.line((left, 78), (right, 78), width=1)
            self.centred(title, "B", 15, left + 30, right - left - 60)
            self.sheet.line((left, self.y - 2), (right, self.y - 2), width=1)
            self.y += 18
            self.centred("Anonymous authors", "B", 10, left, right - left)
            self.centred("Paper under double-blind review", "R", 10, left, right - left)
        else:
            for row in wrapped(title, "R", 17, right - left, False):
                self.sheet.text(left, self.y, row, "R", 17)
                self.y += 20
            self.y += 12
            self.sheet.text(left + 6, self.y, "Anonymous authors", "B", 10)
            self.sheet.text(left + 6, self.y + 11, "Paper under double-blind review", "R", 10)
            self.y += 18
        self.y += 22
        wide = self.name in WIDE_ABSTRACT
        self.top = self.y
        columns, self.columns = self.columns, [(left, right - left)] if wide else self.columns
        x, width = self.columns[0]
        if self.two:
            self.centred("Abstract", "B", 12, x, width)
            self.y += 6
            self.lines(abstract, inset=40 if wide else 17, after=10)
        else:
            self.capitals(x + width / 2 - 28, "Abstract", 12)
            self.y += 20
            self.lines(abstract, inset=36, after=12)
        self.columns = columns
        self.top = self.y if wide else self.top

    def place_float(self, kind: str, caption: str) -> None:
        """Sets a figure or table here if there is room, else at the top of a later column."""
        wide = self.name in WIDE_FLOATS and kind == "figure"
        if not wide and self.y + 190 < BOTTOM:
            self.y += 4
            self.set_float(kind, caption, self.x, self.width)
        else:
            self.waiting.append((kind, caption, wide))

    def set_float(self, kind: str, caption: str, left: float, width: float) -> None:
        below = kind == "figure" or self.two
        if not below:
            self.caption(caption, left, width)
        draw = self.figure if kind == "figure" else self.table
        draw(left, width)
        if below:
            self.caption(caption, left, width)
        self.y += 12

    def caption(self, text: str, left: float, width: float) -> None:
        size = 9 if self.two else 10
        self.y += 6
        rows = wrapped(text, "R", size, width, False)
        for place, row in enumerate(rows):
            gaps = row.count(" ")
            spread = (width - measure(row, "R", size)) / gaps if place < len(rows) - 1 else 0.0
            x = left if len(rows) > 1 else left + (width - measure(row, "R", size)) / 2
            self.sheet.text(x, self.y, row, "R", size, spread)
            self.y += 1.1 * size
        self.y += 2

    def table(self, left: float, width: float) -> None:
        """Draws a table's rules: at the top, under its head and at the bottom."""
        self.tables += 1
        own = TABLES.get(f"{self.name}.{self.tables}", TABLES[self.name])
        rows = [row.split("|") for row in own.split(";")]
        widths = [max(measure(row[place], "R", 9) for row in rows) + 16 for place in range(len(rows[0]))]
        x = left + max((width - sum(widths)) / 2, 0)
        self.sheet.line((x, self.y), (x + sum(widths), self.y), width=1)
        self.y += 11
        for number, row in enumerate(rows):
            for place, cell in enumerate(row):
                start = x + sum(widths[:place]) + (8 if not place else widths[place] - 8 - measure(cell, "R", 9))
                self.sheet.text(start, self.y, cell, "R", 9)
            if not number:
                self.sheet.line((x, self.y + 4), (x + sum(widths), self.y + 4))
                self.y += 3
            self.y += 10.5
        self.sheet.line((x, self.y - 6), (x + sum(widths), self.y - 6), width=1)
        self.y += 6

    def figure(self, left: float, width: float) -> None:
        kind, *labels = FIGURES[self.name].split("|")
        width, x, y = min(width, 330), left + max(width - 330, 0) / 2, self.y
        height = {"curves": 112, "boxes": 58, "grid": 88}[kind]
        getattr(self, f"draw_{kind}")(x, y, width, height, labels)
        self.y = y + height + 8

    def draw_curves(self, x: float, y: float, width: float, height: float, labels: list[str]) -> None:
        across, up, *names = labels
        x0, y0, wide, high = x + 30, y + height - 22, width - 44, height - 28
        self.sheet.box(x0, y0 - high, wide, high)
        for step in range(5):
            self.sheet.line((x0 + wide * step / 4, y0), (x0 + wide * step / 4, y0 + 3))
            self.sheet.text(x0 + wide * step / 4 - 4, y0 + 10, str(25 * step), "H", 6)
            self.sheet.line((x0 - 3, y0 - high * step / 5), (x0, y0 - high * step / 5))
            self.sheet.text(x0 - 14, y0 - high * step / 5 + 2, f"{0.2 * step:.1f}", "H", 6)
        for number, name in enumerate(names):
            start, end, bend = self.random.uniform(0.7, 0.95), self.random.uniform(0.1, 0.5), self.random.uniform(2, 7)
            points = []
            for step in range(41):
                at = step / 40
                value = (
                    end
                    + (start - end) * math.exp(-bend * at)
                    + 0.03 * math.sin(9 * at + number)
                    + self.random.gauss(0, 0.008)
                )
                points.append((x0 + wide * at, y0 - high * min(max(value, 0.02), 0.98)))
            self.sheet.line(*points, width=1.1, grey=0.3 * number)
            key = y0 - high + 9 + 8 * number
            self.sheet.line((x0 + wide - 62, key - 2), (x0 + wide - 50, key - 2), width=1.1, grey=0.3 * number)
            self.sheet.text(x0 + wide - 47, key, name, "H", 6)
        self.sheet.text(x0 + wide / 2 - measure(across, "H", 7) / 2, y0 + 19, across, "H", 7)
        self.sheet.text(x, y0 - high - 3, up, "H", 7)

    def draw_boxes(self, x: float, y: float, width: float, height: float, labels: list[str]) -> None:
        step = width / len(labels)
        for number, name in enumerate(labels):
            self.sheet.box(x + number * step + 3, y + 12, step - 18, 28, fill=0.9 if number % 2 else 1)
            size = min(7.0, 7.0 * (step - 22) / measure(name, "H", 7))
            self.sheet.text(
                x + number * step + 3 + (step - 18 - measure(name, "H", size)) / 2, y + 28, name, "H", round(size, 1)
            )
            if number + 1 < len(labels):
                end = x + (number + 1) * step + 3
                self.sheet.line((end - 18, y + 26), (end, y + 26))
                self.sheet.line((end - 4, y + 24), (end, y + 26), (end - 4, y + 28))

    def draw_grid(self, x: float, y: float, width: float, height: float, labels: list[str]) -> None:
        step, cell = width / len(labels), 9.0
        for number, name in enumerate(labels):
            start = x + number * step + (step - 7 * cell) / 2
            for place in range(49):
                row, column = divmod(place, 7)
                shade = round(
                    max(
                        0.15,
                        1 - 0.9 * math.exp(-((row - 3 - number + 1) ** 2 + (column - number - 2) ** 2) / (2 + number)),
                    ),
                    2,
                )
                self.sheet.box(start + column * cell, y + row * cell, cell, cell, fill=shade)
            self.sheet.text(x + number * step + (step - measure(name, "H", 7)) / 2, y + 75, name, "H", 7)

    def data(self, title: str) -> bytes:
        """Returns the finished file."""
        shown = re.sub(r"([\\()])", r"\\\1", title)
        fonts = {name: 4 + number for number, name in enumerate(FONTS)}
        first = 4 + len(fonts)
        kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(self.sheets)))
        names = " ".join(f"/{name} {number} 0 R" for name, number in fonts.items())
        bodies = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(self.sheets)} >>",
                  f"<< /Title ({shown}) /CreationDate (D:20260101000000Z) >>"]  # fmt: skip
        encoding = "<< /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [174 /fi /fl] >>"
        bodies += [
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{base} /Encoding {encoding} >>" for base, _ in FONTS.values()
        ]
        for number, sheet in enumerate(self.sheets):
            content = "\n".join(sheet.parts)
            bodies.append(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Resources << /Font << {names} >> >> /Contents {first + 2 * number + 1} 0 R >>"
            )
            bodies.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        out, places = "%PDF-1.4\n", []
        for number, body in enumerate(bodies, 1):
            places.append(len(out))
            out += f"{number} 0 obj\n{body}\nendobj\n"
        identity = hashlib.md5(self.name.encode()).hexdigest()
        table = "".join(f"{place:010d} 00000 n \n" for place in places)
        out += f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(bodies) + 1} /Root 1 0 R /Info 3 0 R /ID [<{identity}> <{identity}>] >>\nstartxref\n{len(out)}\n%%EOF\n"
        return out.encode("ascii")


def typeset(source: Path) -> bytes:
    """The PDF of one source."""
    paper = Paper(source.stem)
    title, abstract, body = re.fullmatch(
        r"# (.+?)\n+## Abstract\n+(.+?)\n+(## .+)", source.read_text(encoding="utf-8").strip(), re.S
    ).groups()
    paper.title(title, abstract)
    opening, references = True, False
    for block in re.split(r"\n\n+|\n(?=\[\d+\]|- )", body):
        heading = re.fullmatch(r"(#+) (.+)", block)
        if heading:
            opening, references = True, heading[2] == "References"
            paper.heading(heading[2], len(heading[1]))
            continue
        if re.match(r"(Figure|Table) \d", block):
            paper.place_float(block.split()[0].lower(), block)
            continue
        if references:
            paper.lines(block, size=9, hang=12, after=3)
        elif block.startswith("- "):
            paper.lines("\u2022 " + block[2:], inset=8, hang=6, after=2)
        elif block.endswith(",") and len(block) < 100:
            paper.display(block)
        else:
            paper.lines(
                block, indent=0 if opening or not paper.two or block[0].islower() else 12, after=0 if paper.two else 5.5
            )
        opening = False
    while paper.waiting:
        paper.next_column()
    return paper.data(title)


if __name__ == "__main__":
    (HERE / "pdfs").mkdir(exist_ok=True)
    for source in sorted((HERE / "sources").glob("s??.md")):
        data = typeset(source)
        (HERE / "pdfs" / f"{source.stem}.pdf").write_bytes(data)
        print(f"{source.stem}.pdf: {len(data)} bytes")

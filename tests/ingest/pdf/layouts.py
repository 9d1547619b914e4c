"""Papers typeset from known text in the layouts that papers have, by PyMuPDF: what a reader must give back is known.

`LAYOUTS` maps the name of a layout to what makes it: a function that returns a `Made`. The text is invented, of words
that no two paragraphs begin with alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import pymupdf

NOUNS = [
    "gradient", "kernel", "sampler", "corpus", "estimator", "threshold", "lattice", "schedule", "encoder", "margin",
    "cluster", "residual", "anchor", "detector", "token", "policy", "horizon", "channel", "cohort", "fixture",
    "signal", "ledger", "panel", "vertex", "module", "tensor", "branch", "filter", "spectrum", "witness",
]  # fmt: skip
VERBS = [
    "bounds", "shifts", "governs", "recovers", "predicts", "limits", "follows", "explains", "weakens", "repeats",
    "absorbs", "exceeds", "orders",
]  # fmt: skip
WORDS = [
    "careful", "sparse", "uniform", "latent", "stable", "shallow", "noisy", "observed", "joint", "marginal",
    "repeated", "coarse", "hidden", "linear", "local", "balanced", "nested", "delayed", "partial", "robust",
    "discrete", "seasonal", "mutual", "ordinary",
]  # fmt: skip
LINKS = ("because the", "while a", "so that the", "although every", "and when the", "which in the")
FONTS = {"R": "tiro", "B": "tibo", "I": "tiit", "H": "helv", "HB": "hebo"}
METRICS = {short: pymupdf.Font(name) for short, name in FONTS.items()}


def sentence(rng: random.Random) -> str:
    def phrase() -> str:
        return f"{rng.choice(WORDS)} {rng.choice(NOUNS)}"

    parts = (
        f"the {phrase()} {rng.choice(VERBS)} {rng.choice(('the', 'a', 'each'))} {phrase()} of our {rng.choice(NOUNS)}"
    )
    if rng.random() < 0.7:
        parts += f" {rng.choice(LINKS)} {phrase()} {rng.choice(VERBS)} what was in the {phrase()}"
    if rng.random() < 0.3:
        parts += f" (see {rng.choice(NOUNS)} {rng.randint(2, 9)})"
    return parts[0].upper() + parts[1:] + "."


@cache
def paragraph(seed: int, words: int = 90) -> str:
    """Prose of at least *words* words that begins with a number in words of its own."""
    rng = random.Random(seed)
    text = f"{rng.choice(WORDS).title()} case {'abcdefghij'[seed // 10 % 10]}{'klmnopqrst'[seed % 10]}{seed} opens it."
    while len(text.split()) < words:
        text += " " + sentence(rng)
    return text


@cache
def counted(seed: int) -> str:
    """A paragraph that reports statistics: half of what stands in it is numbers."""
    rng = random.Random(seed)
    text = f"{rng.choice(WORDS).title()} count {'klmnopqrst'[seed % 10]}{seed} was as follows."
    for _ in range(4):
        figures = f"F(1, {rng.randint(11, 98)}) = {rng.uniform(1, 90):.2f}, p < 0.0{rng.randint(1, 9)}, eta = 0.{rng.randint(10, 99)}"
        text += f" The {rng.choice(NOUNS)} of the {rng.choice(WORDS)} {rng.choice(NOUNS)} was above that of the {rng.choice(NOUNS)} ({figures})."
    return text


def reference(seed: int) -> str:
    rng = random.Random(f"reference {seed}")
    authors = ", ".join(
        f"{rng.choice('ABCDEFGHJKLM')}. {rng.choice(NOUNS).title()}son" for _ in range(rng.randint(1, 4))
    )
    title = " ".join([rng.choice(WORDS), rng.choice(NOUNS), "and", rng.choice(WORDS), rng.choice(NOUNS)])
    return f"{authors}. {title.capitalize()}. In Proceedings of Readers, pages {seed}-{seed + 9}, {2001 + seed % 20}."


@dataclass
class Made:
    """A PDF and what a reader must give back of it.

    *parts* are the paragraphs in their order, *loose* the words of headings and captions, which may stand elsewhere;
    *gone* are passages that belong to references, appendices and tables of contents.
    """

    data: bytes
    parts: list[str]
    loose: list[str]
    gone: list[str]
    columns: int = 1


@dataclass
class Press:
    """Sets text in columns, page after page; heights are counted from the top.

    *columns* are left ends, *width* theirs; *each_page* draws what every page has.
    """

    size: tuple[float, float] = (612, 792)
    columns: Sequence[float] = (108,)
    width: float = 396
    top: float = 80
    bottom: float = 720
    type: float = 10
    leading: float = 11.5
    font: str = "R"
    justified: bool = True
    indent: float = 0
    gap: float = 5.5
    each_page: Callable[[Press, int], None] | None = None
    document: pymupdf.Document = field(default_factory=pymupdf.open)
    parts: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    body: bool = True
    _ops: list[str] = field(default_factory=list)
    _next: int = 1
    _column: int = 0
    _y: float = 0

    def page(self, top: float | None = None) -> None:
        self._flush()
        page = self.document.new_page(width=self.size[0], height=self.size[1])
        for name in FONTS.values():
            page.insert_font(fontname=name)
        self._column, self._y = 0, top or self.top
        self._page_top = self._y
        if self.each_page:
            self.each_page(self, len(self.document))

    def _flush(self) -> None:
        if self._ops:
            page = self.document[-1]
            xref = self.document.get_new_xref()
            self.document.update_object(xref, "<<>>")
            self.document.update_stream(xref, "\n".join(self._ops).encode("latin-1"))
            self.document.xref_set_key(page.xref, "Contents", f"[{xref} 0 R]")
            self._ops = []

    def put(self, x: float, y: float, text: str, font: str = "R", size: float = 0, spread: float = 0) -> None:
        """Sets one line with its base line at *y*."""
        shown = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        self._ops.append(
            f"BT /{FONTS[font]} {size or self.type:g} Tf {spread:.3f} Tw {x:.2f} {self.size[1] - y:.2f} Td ({shown}) Tj ET"
        )

    def centre(self, y: float, text: str, font: str = "R", size: float = 0) -> None:
        self.put((self.size[0] - length(text, font, size or self.type)) / 2, y, text, font, size)

    def rule(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self._ops.append(f"0.5 w {x0:.1f} {self.size[1] - y0:.1f} m {x1:.1f} {self.size[1] - y1:.1f} l S")

    def room(self, height: float) -> None:
        """Goes on in the next column or page if *height* is not left."""
        if not len(self.document):
            self.page()
        if self._y + height > self.bottom:
            if self._column + 1 < len(self.columns):
                self._column, self._y = self._column + 1, self._page_top
            else:
                self.page()

    def lines(
        self, text: str, font: str = "", size: float = 0, indent: float = 0, first: float = 0, width: float = 0
    ) -> None:
        font, size = font or self.font, size or self.type
        leading = self.leading * size / self.type
        broken = list(breaks(text, font, size, (width or self.width) - 2 * indent, first))
        for place, line in enumerate(broken):
            self.room(leading)
            self._y += leading
            start = first if place == 0 else 0
            last = place + 1 == len(broken)
            spare = (width or self.width) - 2 * indent - start - length(line, font, size)
            spread = spare / max(line.count(" "), 1) if self.justified and not last else 0
            self.put(self.columns[self._column] + indent + start, self._y, line, font, size, spread)

    def text(self, text: str, kept: bool = True, **how: float | str) -> None:
        """Sets a paragraph, which a reader must give back unless it is not *kept*."""
        self.lines(text, first=float(how.pop("first", self.indent)), **how)
        self._y += self.gap
        (self.parts if kept and self.body else self.gone).append(text)

    def heading(self, text: str, font: str = "B", size: float = 12, kept: bool = True) -> None:
        self.room(5 * self.leading)
        self._y += 8
        self.lines(text, font, size)
        self._y += 3
        if kept and self.body:
            self.loose.append(text)

    def running(self, count: int, first: int = 0, words: int = 90) -> None:
        """Sets *count* paragraphs of at least *words* words, numbered on from the last one or from *first*."""
        self._next = first or self._next
        for _ in range(count):
            self.text(paragraph(self._next, words))
            self._next += 1

    def section(
        self, name: str, count: int, font: str = "B", size: float = 12, first: int = 0, words: int = 90
    ) -> None:
        self.heading(name, font, size)
        self.running(count, first, words)

    def figure(self, number: int, caption: str, height: float = 90, word: str = "Figure", wide: bool = False) -> None:
        """Draws curves with labels, and a caption below, across the column or the page."""
        self.room(height + 30)
        x = self.columns[0] if wide else self.columns[self._column]
        width = self.columns[-1] + self.width - x if wide else self.width
        top = self._y + 8
        self.rule(x + 20, top, x + 20, top + height - 20)
        self.rule(x + 20, top + height - 20, x + width - 20, top + height - 20)
        for step in range(5):
            self.put(x + 4, top + step * 14 + 6, f"0.{step}", "H", 6)
            self.put(x + 30 + step * (width - 80) / 5, top + height - 12, f"{step * 10}k", "H", 6)
            self.rule(x + 20, top + step * 14, x + width - 30, top + 40 - step * 5)
        self.put(x + width / 2, top + 10, "margin kernel", "H", 6)
        self._y = top + height
        label = f"{word} {number}{'.' if word == 'Fig.' else ':'} {caption}"
        self.lines(label, size=self.type - 1, width=width)
        self._y += 10
        self.loose.append(label)
        self._page_top = self._y if wide else self._page_top

    def table(
        self, number: str, caption: str, rows: int = 5, wide: bool = False, word: str = "Table", worded: bool = False
    ) -> None:
        """Sets a table under its caption, across the column or the page; of numbers, or of *worded* long cells."""
        self.room(rows * self.leading + 50)
        x = self.columns[0] if wide else self.columns[self._column]
        width = self.columns[-1] + self.width - x if wide else self.width
        label = f"{word} {number}: {caption}"
        self.lines(label, size=self.type - 1, width=width)
        self._y += 4
        rng = random.Random(f"table {number}")
        for row in range(rows):
            self._y += self.leading
            self.rule(x, self._y - self.leading + 2, x + width, self._y - self.leading + 2)
            if worded:
                cells = " ".join(f"{rng.choice(NOUNS).title()}, {rng.choice(NOUNS)};" for _ in range(20))
                self.put(x + 4, self._y, next(breaks(cells, "R", self.type - 1, width - 8)), size=self.type - 1)
                continue
            for cell in range(5):
                shown = rng.choice(NOUNS) if row == 0 or cell == 0 else f"{rng.uniform(1, 90):.1f}"
                self.put(x + 4 + cell * width / 5, self._y, shown, size=self.type - 1)
        self._y += 12
        self.loose.append(label)
        self._page_top = self._y if wide else self._page_top

    def foot(self, text: str, mark: str = "1") -> None:
        x = self.columns[self._column]
        self.rule(x, self.bottom + 4, x + 80, self.bottom + 4)
        self.put(x, self.bottom + 11, mark, size=5)
        self.put(x + 4, self.bottom + 14, text, size=8)
        self.loose.append(text)

    def references(self, count: int, heading: str = "References", first: int = 0, **how: object) -> None:
        self.heading(heading, kept=False, **how)
        for number in range(first, first + count):
            text = f"[{number + 1}] {reference(number)}"
            self.lines(text)
            self._y += 2
            self.gone.append(text)

    def made(self) -> Made:
        self._flush()
        return Made(self.document.tobytes(no_new_id=True), self.parts, self.loose, self.gone, len(self.columns))


def length(text: str, font: str, size: float) -> float:
    return size * sum(advance(letter, font) for letter in text)


@cache
def advance(letter: str, font: str) -> float:
    """How wide *letter* is at 1 pt; PyMuPDF's fonts have no kerning."""
    return float(METRICS[font].text_length(letter, fontsize=1))


def breaks(text: str, font: str, size: float, width: float, first: float = 0) -> Iterator[str]:
    """*text* in lines of at most *width*, long words broken with a hyphen."""
    line = ""
    room = width - first
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if length(longer, font, size) <= room:
            line = longer
            continue
        half = len(word) // 2
        start = f"{line} {word[:half]}-"
        if len(word) > 8 and word.isalpha() and length(start, font, size) <= room:
            yield start
            line = word[half:]
        else:
            yield line
            line = word
        room = width
    yield line


def numbered(press: Press, number: int) -> None:
    press.centre(press.size[1] - 40, str(number))


def front(press: Press, title: str, abstract: bool = True) -> None:
    press.page()
    press.centre(press.top + 20, title, "B", 17)
    press.centre(press.top + 44, "Anonymous authors", size=10)
    press.centre(press.top + 56, "Paper under double-blind review", size=10)
    press._y = press._page_top = press.top + 72
    if abstract:
        press.centre(press._y + 8, "Abstract", "B", 12)
        press._y += 14
        press.text(paragraph(900, 110), indent=36, first=0)


def iclr(numbered: bool = False) -> Made:
    """One column, a header on every page, the abstract indented; numbered lines where asked."""

    def furniture(press: Press, number: int) -> None:
        press.put(108, 40, "Under review as a conference paper at a meeting of readers 2026")
        press.rule(108, 44, 504, 44)
        press.centre(752, str(number))
        for line in range(56 if numbered else 0):
            press.put(84, 80 + line * 11.5, f"{(number - 1) * 56 + line:03}", "H", 6)

    press = Press(each_page=furniture)
    front(press, "Bounds on a Careful Sampler")
    press.section("1 Introduction", 4)
    press.figure(1, paragraph(801, 25))
    press.section("2 Method", 3)
    press.section("2.1 A sparse schedule", 3, size=10)
    press.table("1", paragraph(811, 20))
    press.running(3)
    press.foot("A remark at the foot of the page about the corpus.")
    press.section("3 Results", 6)
    press.section("4 Conclusion", 1)
    press.references(22)
    press.body = False
    press.section("A Proofs", 5, first=700)
    return press.made()


def two_columns(style: str) -> Made:
    """Two columns with floats in a column and across both: as ACL sets them, on A4, or as IEEE sets them.

    IEEE has letter paper, and headings in capitals with Roman numbers.
    """
    ieee = style == "ieee"

    def furniture(press: Press, number: int) -> None:
        if ieee:
            press.put(press.columns[0], 40, "TRANSACTIONS ON READING, VOL. 3, NO. 2, MAY 2026", size=7)
            press.put(press.columns[-1] + press.width - 10, 40, str(number), size=7)
        else:
            press.centre(800, str(number))

    size = (612, 792) if ieee else (595, 842)
    press = Press(
        size=size, columns=(50, 312) if ieee else (71, 306), width=250 if ieee else 219, top=64, type=10,
        bottom=740 if ieee else 770, leading=11.5, gap=0, indent=10, each_page=furniture,
    )  # fmt: skip
    press.page()
    press.centre(90, "On the Margins of a Nested Corpus", "R" if ieee else "B", 22 if ieee else 15)
    press.centre(114, "Ada Kernelson and Bo Marginson, Institute of Readers")
    press._y = press._page_top = 140
    if ieee:
        abstract = paragraph(900, 110)
        press.lines(f"Abstract-{abstract}", "B", 9)
        press.parts.append(abstract)
        press._y += 6
        press.lines("Index Terms-kernels, corpora, margins.", "B", 9)
        names = ["I. INTRODUCTION", "II. METHOD", "III. RESULTS", "IV. CONCLUSION", "REFERENCES"]
    else:
        press.lines("Abstract", "B", 12, indent=86)
        press.text(paragraph(900, 110), indent=17, first=0)
        names = ["1 Introduction", "2 Method", "3 Results", "4 Conclusion", "References"]
    how = {"font": "R", "size": 10.0} if ieee else {"font": "B", "size": 12.0}
    fig, tab = ("Fig.", "TABLE") if ieee else ("Figure", "Table")
    press.section(names[0], 5, **how)
    press.figure(1, paragraph(801, 20), word=fig)
    press.running(2)
    press.section(names[1], 4, **how)
    press.table("II" if ieee else "1", paragraph(811, 12), word=tab)
    press.running(6)
    press.foot("A remark at the foot of a column.")
    # A float across both columns stands at the top of a page.
    press.page()
    press.figure(2, paragraph(802, 40), wide=True, word=fig)
    press.running(5)
    press.section(names[2], 8, **how)
    press.page()
    press.table("III" if ieee else "2", paragraph(812, 25), wide=True, word=tab)
    press.running(4)
    press.section(names[3], 2, **how)
    press.references(24, names[4], **how)
    return press.made()


def plos() -> Made:
    """One column beside a wide margin that figures and tables reach into, a sidebar, text in two widths."""

    def furniture(press: Press, number: int) -> None:
        press.put(36, 40, "RESEARCH ARTICLE", "HB", 8)
        press.put(36, 765, "Open Reading | https://doi.org/10.0000/reading.0001", "H", 7)
        press.put(520, 765, f"May 3, 2026 {number} / 9", "H", 7)

    press = Press(columns=(200,), width=376, top=70, bottom=735, each_page=furniture, gap=0, indent=12)
    press.page()
    press.put(200, 90, "A Partial Ledger of Seasonal Channels", "HB", 18)
    press.put(200, 112, "Ada Kernelson, Bo Marginson", "HB", 9)
    for line, text in enumerate(
        [
            "OPEN ACCESS",
            "Citation: Kernelson A (2026) A Partial",
            "Ledger. Open Reading 3(2).",
            "Editor: Cy Witness",
            "Funding: none was received for it",
        ]
    ):
        press.put(36, 300 + 11 * line, text, "H", 8)
    press._y = 130
    press.heading("Abstract", "HB", 14)
    press.text(paragraph(900, 130), first=0)
    press.section("Introduction", 4, "HB", 14)
    press.section("Materials and methods", 3, "HB", 14)
    # Tables and figures begin in the margin, and so does the text that follows them.
    press.page()
    press.columns, press.width = (36,), 540
    press.figure(1, paragraph(801, 40), word="Fig.")
    press.running(3)
    press.table("1", paragraph(811, 15), rows=12, worded=True)
    press.columns, press.width = (200,), 376
    press.section("Results", 6, "HB", 14)
    press.columns, press.width = (36,), 540
    press.table("2", paragraph(812, 15), rows=22, worded=True)
    press.columns, press.width = (200,), 376
    for number in range(40, 44):
        press.text(counted(number), first=0)
    press.running(4)
    press.section("Discussion", 5, "HB", 14)
    press.section("Acknowledgments", 1, "HB", 14, words=30)
    press.references(25, "References", font="HB", size=14)
    return press.made()


def elsevier() -> Made:
    """Two columns under a box of article history and abstract."""

    def furniture(press: Press, number: int) -> None:
        press.centre(36, f"A. Kernelson et al. / Journal of Reading {40 + number} (2026) 1-9", size=8)
        press.centre(770, str(number), size=8)

    press = Press(
        columns=(40, 312), width=252, top=60, bottom=745, type=9, leading=10.8, gap=0, indent=10, each_page=furniture
    )
    press.page()
    press.put(40, 90, "Delayed witnesses of an ordinary panel", "R", 16)
    press.put(40, 112, "Ada Kernelson, Bo Marginson", size=11)
    press.put(40, 126, "Institute of Readers, Readington", "I", 8)
    press.rule(40, 140, 564, 140)
    press.put(40, 156, "a r t i c l e   i n f o", size=9)
    for line, text in enumerate(
        ["Article history:", "Received 3 May 2025", "Accepted 9 June 2025", "Keywords:", "Kernel", "Margin"]
    ):
        press.put(40, 172 + 10 * line, text, size=7.5)
    press.put(220, 156, "a b s t r a c t", size=9)
    press._y, columns, width = 160.0, press.columns, press.width
    press.columns, press.width = (220,), 344
    press.lines(paragraph(900, 110), size=8)
    press.parts.append(paragraph(900, 110))
    press.columns, press.width = columns, width
    press.rule(40, press._y + 8, 564, press._y + 8)
    press._y = press._page_top = max(press._y, 240) + 20
    press.section("1. Introduction", 6, size=9)
    press.section("2. Theory", 6, size=9)
    press.figure(1, paragraph(801, 20), word="Fig.")
    press.section("2.1. A nested lattice", 9, "I", 9)
    press.table("1", paragraph(811, 12))
    press.section("3. Results", 9, size=9)
    press.section("4. Conclusions", 2, size=9)
    press.references(20, size=9)
    return press.made()


CHAPTERS = ("Introduction", "Background of Kernels", "A Sparse Schedule", "Experiments on Panels", "Conclusions")


def contents(press: Press, style: str, names: Sequence[str], sections: int = 0) -> None:
    """Sets a table of contents: plain, bold or dotted; with page numbers, or without any; of *sections* a chapter."""
    press.heading("Contents", size=16, kept=False)
    entries = []
    for number, name in enumerate(names, 1):
        unnumbered = name in ("References", "Appendix A")
        entries.append((number, name if unnumbered else f"{number} {name}"))
        inner = () if unnumbered else range(1, sections + 1)
        entries += [(number, f"{number}.{part} The {WORDS[number]} {NOUNS[part]}") for part in inner]
    for number, label in entries:
        press.room(14)
        press._y += 14
        x, end = press.columns[0], press.columns[0] + press.width
        font = "B" if style.startswith("bold") else "R"
        press.put(x, press._y, label, font)
        if style == "dotted":
            dots = " ." * int((end - x - length(label, font, press.type) - 20) / length(" .", font, press.type))
            press.put(x + length(label, font, press.type), press._y, dots, font)
        if not style.endswith("unnumbered"):
            press.put(end - 10, press._y, str(4 * number), font)


def thesis(style: str = "plain") -> Made:
    """A thesis: a title page, a table of contents, chapters of pages of their own, references, an appendix."""

    press = Press(
        width=400, columns=(106,), type=11, leading=14, each_page=lambda press, number: press.centre(755, str(number))
    )
    press.page()
    press.centre(200, "A Study of Nested Kernels", "B", 22)
    press.centre(260, "Ada Kernelson", size=14)
    press.centre(300, "A thesis submitted to the Institute of Readers", size=11)
    press.page()
    press.section("Preface", 3, size=16, first=80)
    press.page()
    contents(press, style, [*CHAPTERS, "References", "Appendix A"], sections=12)
    for number, name in enumerate(CHAPTERS):
        press.page()
        press.section(f"{number + 1} {name}", 4, size=18, first=1 + 4 * number, words=110)
    press.page()
    press.references(40, size=18)
    press.body = False
    press.page()
    press.section("Appendix A", 6, size=18, first=700)
    return press.made()


def paper_with_contents(style: str, paragraphs: int = 6, sections: int = 0) -> Made:
    """A paper in one column with a table of contents after its abstract, on the first page."""

    press = Press(each_page=numbered)
    front(press, "Ledgers of Linear Signals")
    contents(press, style, ["Introduction", "Method", "Results", "References", "Appendix A"], sections)
    for name in ("1 Introduction", "2 Method", "3 Results"):
        press.section(name, paragraphs)
    press.references(20)
    press.body = False
    press.section("Appendix A", 4, first=700)
    return press.made()


def chapters_with_lists() -> Made:
    press = Press()
    front(press, "Collected Papers on Margins")
    for number in range(3):
        press.section(f"{number + 1} {CHAPTERS[number]}", 7)
        press.references(9, first=10 * number)
    return press.made()


def methods_after_references() -> Made:
    """The methods stand after the references, with further references of their own."""
    press = Press(columns=(50, 312), width=250, gap=0, indent=10)
    press.page()
    press.centre(100, "Witnesses of a Delayed Signal", "B", 18)
    press._y = press._page_top = 120
    press.text(paragraph(900, 120), font="B", first=0)
    press.running(12)
    press.references(20, size=10)
    press.section("Methods", 10, size=10)
    press.references(8, first=20, size=10)
    return press.made()


def appendix_before_references() -> Made:
    """An appendix that precedes the references, as in some theses and reports; and a sentence that names it."""
    press = Press()
    front(press, "Shallow Branches of a Spectrum")
    press.section("1 Introduction", 5)
    ending = " Appendix B gives the rest of it and so does the ledger of our cohort in the panel of a stable module."
    press.text(paragraph(6, 80) + ending * 3)
    press.section("2 Results", 8, first=7)
    press.body = False
    press.section("Appendix A. Proofs", 4, first=700)
    press.references(20)
    return press.made()


def slides() -> Made:
    """Slides: a large title above a few points, pages wider than high."""

    def furniture(press: Press, number: int) -> None:
        press.put(20, 262, "Ada Kernelson", "H", 6)
        press.put(340, 262, f"{number} / 13", "H", 6)

    press = Press(
        size=(363, 272), columns=(24,), width=310, top=40, bottom=250, type=11, leading=14, font="H", justified=False,
        each_page=furniture,
    )  # fmt: skip
    press.page()
    press.centre(120, "Marginal Panels", "HB", 20)
    press.centre(160, "Ada Kernelson", "H", 12)
    for number in range(1, 13):
        press.page()
        title = "Results" if number % 3 else f"Part {number // 3}"
        press.put(20, 24, title, "HB", 16)
        press.loose.append(title)
        for point in range(3):
            text = paragraph(number * 10 + point, 18)
            press.lines(f"- {text}")
            press.parts.append(text)
    return press.made()


def landscape(turn: str) -> Made:
    """A paper with a page on its side: *turned* letters on an upright sheet, a sheet *shown* turned, or a *wide* one."""

    press = Press(each_page=numbered)
    front(press, "Stable Cohorts in a Lattice")
    press.section("1 Introduction", 7)
    press.page()
    press._flush()
    press.size, press.width, press.bottom = (792, 612), 576, 540
    press.page()
    press.table("1", paragraph(811, 25), rows=8)
    press.running(3)
    press._flush()
    place = len(press.document) - 1
    press.size, press.width, press.bottom = (612, 792), 396, 720
    press.page()
    press.section("2 Results", 7)
    press.references(20)
    made = press.made()
    if turn == "wide":
        return made
    with pymupdf.open(stream=made.data) as source, pymupdf.open() as target:
        for number in range(len(source)):
            if number != place:
                target.insert_pdf(source, from_page=number, to_page=number)
                continue
            sheet = target.new_page(width=612, height=792)
            sheet.show_pdf_page(sheet.rect, source, number, rotate=90)
            if turn == "shown":
                sheet.set_rotation(90)
        made.data = target.tobytes(no_new_id=True)
    return made


LAYOUTS: dict[str, Callable[[], Made]] = {
    "ICLR": iclr,
    "NeurIPS, numbered lines": lambda: iclr(numbered=True),
    "ACL, two columns": lambda: two_columns("acl"),
    "IEEE, two columns": lambda: two_columns("ieee"),
    "PLOS, a wide margin": plos,
    "Elsevier, a box and two columns": elsevier,
    "thesis, contents plain": thesis,
    "thesis, contents bold": lambda: thesis("bold"),
    "thesis, contents dotted": lambda: thesis("dotted"),
    "thesis, contents bold, no pages": lambda: thesis("bold unnumbered"),
    "thesis, contents plain, no pages": lambda: thesis("plain unnumbered"),
    "paper, contents plain": lambda: paper_with_contents("plain"),
    "paper, contents bold": lambda: paper_with_contents("bold"),
    "paper, contents dotted": lambda: paper_with_contents("dotted"),
    "paper, contents bold, no pages": lambda: paper_with_contents("bold unnumbered"),
    "short, contents bold, no pages": lambda: paper_with_contents("bold unnumbered", 2, 4),
    "short, contents plain, no pages": lambda: paper_with_contents("plain unnumbered", 2, 4),
    "chapters with references": chapters_with_lists,
    "methods after references": methods_after_references,
    "appendix before references": appendix_before_references,
    "slides": slides,
    "a page of turned letters": lambda: landscape("turned"),
    "a page shown turned": lambda: landscape("shown"),
    "a wide page": lambda: landscape("wide"),
}

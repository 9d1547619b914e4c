"""Audits the pages of a PDF: hidden text, text beyond the contents of its pages, and instructions.

An instruction is a passage that instructs a paper's reviewers, or the language models that review it. A rule is a
pattern with a name. The rules of `ANYWHERE` apply to any text. They are strict, because papers on language models are
full of sentences that give a model orders. The rules of `UNSEEN` are looser: an order alone suffices. They apply only
to text that no reader sees.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pymupdf

from gre_bench.core.resources import patterns
from gre_bench.ingest.pdf.audit.glyphs import Glyphs, glyphs_of, text_page
from gre_bench.ingest.pdf.audit.hidden import Sight, look_at
from gre_bench.ingest.pdf.text import Finding, readable, rounded

LONGEST = 2000
"""The most characters of a finding's text that are kept."""
SIGNS = 8
"""From this many zero-width characters on a page, they can carry a message; fewer are removed without a finding."""


def audit_page(page: Any, number: int, faults: tuple[type[Exception], ...]) -> tuple[Sight, list[Finding], list[str]]:
    """Returns what a reader sees of *page*, its findings, and notes on parts whose check raised one of *faults*."""
    sight = look_at(page, number)
    findings, notes = [], []
    invisible = sum(finding.text.count("\\u{") for finding in sight.findings if finding.kind == "zero_width")
    for finding in sight.findings:
        telling = any(map(str.isalpha, finding.text.replace("\\u{", "")))
        if finding.kind != "zero_width" or invisible >= SIGNS or (telling and "\\u{" not in finding.text):
            findings.append(finding)
    for look in (lambda: annotated(page, number), lambda: replacements(page, number, sight.glyphs)):
        try:
            findings += look()
        except faults as error:
            reason = " ".join(str(error).split())[:120]
            notes.append(f"page {number}: annotations or replacements cannot be read: {reason}")
    findings = [judged(finding) for finding in findings]
    return sight, findings + _in_plain_sight(sight, number), notes


def judged(finding: Finding) -> Finding:
    """Returns *finding* with its text cut to `LONGEST` characters, and the name of the first rule that it matches."""
    passages = instructions_in(" ".join(finding.text.split()), unseen=True)
    text = finding.text if len(finding.text) <= LONGEST else f"{finding.text[:LONGEST]}…"
    return replace(finding, text=text, instructs=passages[0].rule if passages else None)


def _in_plain_sight(sight: Sight, number: int) -> list[Finding]:
    """Returns a finding for each passage of the visible text of page *number* that instructs reviewers or models."""
    text, places = _running(sight.glyphs, sight.hidden | sight.copies)
    findings = []
    for passage in instructions_in(text):
        inside = [index for index in places[passage.start : passage.end] if index is not None]
        box = sight.glyphs.bounds(inside)
        findings.append(Finding("instruction", number, box, text[passage.start : passage.end], passage.rule))
    return findings


def _running(glyphs: Glyphs, unread: Any) -> tuple[str, list[int | None]]:
    """Returns the text of a page without the characters *unread* as one line, and each character's index in *glyphs*.

    A word divided by a hyphen at a line's end is joined. A space that stands for a line's end has the index None.
    """
    text: list[str] = []
    places: list[int | None] = []
    line = None
    for index in (index for index in range(len(glyphs.text)) if not unread[index]):
        if line is not None and glyphs.line[index] != line:
            if len(text) > 1 and text[-1] in "-\u00ad" and text[-2].isalpha():
                text.pop()
                places.pop()
            else:
                text.append(" ")
                places.append(None)
        line = glyphs.line[index]
        if not (glyphs.text[index].isspace() and text and text[-1] == " "):
            text.append(" " if glyphs.text[index].isspace() else glyphs.text[index])
            places.append(index)
    return "".join(text), places


LEAST = 12
"""The fewest letters that a reported replacement adds; ligatures and hyphens are replaced by fewer."""


def annotated(page: Any, number: int) -> list[Finding]:
    """Returns a finding for each annotation and form field of *page* with text, whether it is printed or not."""
    findings = []
    for note in page.annots() or ():
        text = " ".join(part for part in (note.info.get("subject"), note.info.get("content")) if part)
        if text.strip():
            findings.append(_finding("annotation", number, note.rect, text))
    for field in page.widgets() or ():
        if str(field.field_value or "").strip() and field.field_type_string in ("Text", "ComboBox", "ListBox"):
            findings.append(_finding("annotation", number, field.rect, str(field.field_value)))
    return findings


def replacements(page: Any, number: int, glyphs: Glyphs) -> list[Finding]:
    """Returns at most one finding: the words that only the replacement texts (ActualText) of *page* contain.

    The page, whose characters are *glyphs*, does not show them, but programs that extract text read them.
    """
    texts = glyphs.joined(range(len(glyphs.text))), str(text_page(page, followed=True).extractText())
    plain, followed = (re.findall(r"[^\W\d_]+", text) for text in texts)
    if not Counter(followed) - Counter(plain):
        return []
    changes = SequenceMatcher(None, plain, followed, autojunk=False).get_opcodes()
    added = [followed[start:end] for change, _, _, start, end in changes if change in ("insert", "replace")]
    text = " ".join(" ".join(words) for words in added if sum(map(len, set(words))) >= LEAST)
    return [_finding("actual_text", number, page.rect, text)] if text else []


def layers(data: bytes, document: Any, most: int, conditional: bool = False) -> list[Finding]:
    """Returns a finding for each of the first *most* pages with text in layers that are off when the file is opened.

    *document* is the PDF *data* after `conform`, which says if layers are *conditional* on several others.
    """
    if not conditional and all(layers_on(document).values()):
        return []
    findings = []
    with pymupdf.open(stream=data, filetype="pdf") as closed:
        closed.xref_set_key(closed.pdf_catalog(), "OCProperties/D", "<</BaseState/ON>>")
        opened = closed.tobytes()
    with pymupdf.open(stream=opened, filetype="pdf") as other:
        for number in range(min(document.page_count, most)):
            shown, all_of = glyphs_of(document[number]), glyphs_of(other[number])
            extra = Counter(all_of.signs()) - Counter(shown.signs())
            places = []
            for index, key in enumerate(all_of.signs()):
                if extra[key] > 0:
                    extra[key] -= 1
                    places.append(index)
            text = all_of.joined(places)
            if text.strip():
                findings.append(_finding("hidden_layer", number + 1, all_of.bounds(places), text))
    return findings


def _finding(kind: Any, number: int, box: Any, text: str) -> Finding:
    return Finding(kind, number, rounded(box), readable(text.strip()))


NONE = re.compile(r"/Separation\s*/None(?![\w.-])|/DeviceN\s*\[((?:\s*/None(?![\w.-]))+)\s*\]")
TOKEN = re.compile(r"\[|\]|/And|/Or|/Not|(\d+) \d+ R")
DEEPEST = 20
"""How deeply nested arrays of a visibility expression are read."""


def conform(document: Any) -> bool:
    """Changes the PyMuPDF *document*, in memory only, so that MuPDF draws it as ISO 32000-2 says.

    - A layer membership (``/OCMD``) makes its content depend on layers. If its expression (``/VE``) or its policy
      (``/P``, 8.11.2.2) hides the content, MuPDF will no longer show that content.
    - The colorant ``/None`` (8.6.6.4, 8.6.6.5) leaves no mark on paper. Paint in it becomes white.

    Returns whether any layer membership hides its content.
    """
    on = layers_on(document)
    hidden = False
    white: dict[int, int] = {}
    for xref in range(1, document.xref_length()):
        text = document.xref_object(xref, compressed=True)
        if on and "/OCMD" in text and not _shows(document, xref, on):
            group, shown = next(iter(on.items()))
            document.xref_set_key(xref, "VE", "null")
            document.xref_set_key(xref, "OCGs", f"{group} 0 R")
            document.xref_set_key(xref, "P", "/AllOff" if shown else "/AnyOn")
            hidden = True
        if "/None" in text and NONE.search(text):
            document.update_object(xref, NONE.sub(lambda match: _white(document, match, white), text))
    return hidden


def layers_on(document: Any) -> dict[int, bool]:
    """Returns {object number of a layer: whether the layer is on when *document* is opened}."""
    groups = document.get_ocgs()
    if not groups:
        return {}
    given = document.get_layer(-1)
    base = given.get("basestate") != "OFF"
    return {xref: (base or xref in given.get("on", ())) and xref not in given.get("off", ()) for xref in groups}


def _shows(document: Any, xref: int, on: dict[int, bool]) -> bool:
    """Whether the layer membership (``/OCMD``) *xref* shows its content, given which layers are *on*."""
    kind, expression = document.xref_get_key(xref, "VE")
    if kind in ("array", "xref"):
        return _visible(document, expression, on)
    members = [on[int(number)] for number in re.findall(r"(\d+) \d+ R", document.xref_get_key(xref, "OCGs")[1] or "")
               if int(number) in on]  # fmt: skip
    policy = document.xref_get_key(xref, "P")[1]
    by_policy = {"/AllOn": all(members), "/AnyOff": not all(members), "/AllOff": not any(members)}
    return not members or by_policy.get(policy, any(members))


def _visible(document: Any, expression: str, on: dict[int, bool]) -> bool:
    """Whether the visibility *expression* (``/VE``) shows its content, as malformed ones do; *on* is as in `_shows`."""
    tokens = [(match.group(), match.group(1)) for match in TOKEN.finditer(expression)]

    def read(index: int, depth: int) -> tuple[bool, int]:
        token, number = tokens[index]
        if number is not None:
            group = int(number)
            if group in on:
                return on[group], index + 1
            inner = document.xref_object(group, compressed=True) if 0 < group < document.xref_length() else ""
            nested = inner.startswith("[") and depth < DEEPEST
            return (_visible(document, inner, on) if nested else True), index + 1
        if token != "[" or depth >= DEEPEST:
            raise ValueError
        operator, parts, index = tokens[index + 1][0], [], index + 2
        while tokens[index][0] != "]":
            part, index = read(index, depth + 1)
            parts.append(part)
        if operator == "/Not":
            return not all(parts), index + 1
        return (all(parts) if operator == "/And" else any(parts)), index + 1

    try:
        return read(0, 0)[0]
    except (IndexError, ValueError, RecursionError):
        return True


def _white(document: Any, match: re.Match[str], functions: dict[int, int]) -> str:
    """Returns the text of a colour space that begins as *match*, a match of `NONE`, and paints only white.

    The function that turns its colorants into white is one of *functions* ({number of colorants: object number}), to
    which, as to *document*, a missing one is added.
    """
    inks = len(re.findall("/None", match.group(1))) if match.group(1) else 1
    if inks not in functions:
        functions[inks] = document.get_new_xref()
        domain = " ".join(["0 1"] * inks)
        document.update_object(functions[inks], f"<</FunctionType 4/Domain[{domain}]/Range[0 1]>>")
        document.update_stream(functions[inks], ("{" + "pop " * inks + "1}").encode())
    return f"{match.group()}/DeviceGray {functions[inks]} 0 R"


HIDDEN, ORDER = (0.85, 0.05, 0.1), (0.95, 0.55, 0.0)
"""Red for hidden text, orange for instructions."""


def draw(data: bytes, findings: Iterable[Finding], folder: Path, dpi: int) -> list[str]:
    """Writes a picture of each page with findings into *folder*, and returns the names of the files.

    Each finding is framed, with its number from 1 beside it; one off the page is marked at the edge. *dpi* is lowered
    for huge pages.
    """
    by_page: defaultdict[int, list[tuple[int, Finding]]] = defaultdict(list)
    for number, finding in enumerate(findings, 1):
        by_page[finding.page].append((number, finding))
    names = []
    with pymupdf.open(stream=data, filetype="pdf") as document:
        for page_number, listed in sorted(by_page.items()):
            page = document[page_number - 1]
            scale = min(dpi / 72, (12e6 / max(page.rect.width * page.rect.height, 1.0)) ** 0.5)
            picture = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
            name = f"page-{page_number:03d}.png"
            _marked(picture, scale, listed).save(folder / name)
            names.append(name)
    return names


def _marked(picture: pymupdf.Pixmap, scale: float, listed: list[tuple[int, Finding]]) -> pymupdf.Pixmap:
    """Returns *picture*, drawn with *scale* pixels per point, with frames around *listed*, (number, finding) each.

    They are drawn on a new sheet, because the page's own transformations could displace them.
    """
    with pymupdf.open() as sheet:
        width, height = picture.width / scale, picture.height / scale
        page = sheet.new_page(width=width, height=height)
        page.insert_image(page.rect, pixmap=picture)
        for number, finding in listed:
            color = HIDDEN if finding.hidden else ORDER
            left, top, right, bottom = finding.box
            x0, x1 = (min(max(side, 2.0), width - 2) for side in (left - 2, right + 2))
            y0, y1 = (min(max(side, 2.0), height - 2) for side in (top - 2, bottom + 2))
            page.draw_rect((x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)), color=color, width=1.0)
            page.insert_text((max(x0 - 10, 1), max(y0 + 6, 8)), str(number), fontsize=8, color=color)
        return page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)


_RULES = patterns("instructions")
ANYWHERE, UNSEEN = (
    {name: re.compile(pattern, re.I | re.X) for name, pattern in _RULES[table].items()}
    for table in ("anywhere", "unseen")
)


@dataclass(frozen=True, slots=True)
class Passage:
    rule: str
    start: int
    end: int


def instructions_in(text: str, *, unseen: bool = False) -> list[Passage]:
    """Returns the passages of *text* that instruct reviewers or models, without overlaps; *unseen*: by all rules."""
    rules = ANYWHERE | UNSEEN if unseen else ANYWHERE
    matches = [Passage(name, *match.span()) for name, rule in rules.items() for match in rule.finditer(text)]
    passages: list[Passage] = []
    for passage in sorted(matches, key=lambda passage: (passage.start, -passage.end)):
        if not passages or passage.start >= passages[-1].end:
            passages.append(passage)
    return passages

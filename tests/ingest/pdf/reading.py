"""What `read_pdf` gives of a file that lies on disk, read once a run, and how much of a known text a reading gives back."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from gre_bench.ingest.pdf.extraction import read_pdf
from gre_bench.ingest.pdf.text import PdfText
from tests.ingest.pdf.layouts import Made
from tests.once import once

QUICK = slice(6, 15, 4)
"""Which of the real papers, in the order of their names, the default run reads: three that are read in a second each."""


@cache
def read_of(path: Path) -> PdfText:
    """Returns what `read_pdf` gives of the file *path*; that it travels as JSON unchanged is tested by itself."""

    def read(folder: Path) -> None:
        (folder / "read.json").write_text(json.dumps(read_pdf(path.read_bytes()).to_json()))

    folder = once(f"pdf-{hashlib.sha256(str(path).encode()).hexdigest()}", read)
    return PdfText.from_json(json.loads((folder / "read.json").read_text()))


@dataclass(frozen=True)
class Compared:
    """Shares of the words of a known text that were given back, of those given back that belong there; paragraphs
    that do not stand after the one before them; passages that should be gone and are there."""

    recall: float
    precision: float
    inversions: int
    left: int


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold().replace("-", ""))


def compared(made: Made, text: str) -> Compared:
    got = words(text)
    wanted = words(" ".join([*made.parts, *made.loose]))
    shared = (Counter(wanted) & Counter(got)).total()
    running = " ".join(got)
    places = [running.find(" ".join(words(part)[1:6])) for part in made.parts]
    found = [place for place in places if place >= 0]
    left = sum(" ".join(words(part)[1:7]) in running for part in made.gone)
    return Compared(
        shared / max(len(wanted), 1), shared / max(len(got), 1), sum(a > b for a, b in pairwise(found)), left
    )

"""What `read_pdf` gives of files and layouts, read once a run, and how much of a known text a reading gives back."""

from __future__ import annotations

import hashlib
import pickle
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from gre_bench.ingest.pdf.extraction import read_pdf
from gre_bench.ingest.pdf.text import PdfText
from tests.ingest.pdf.layouts import LAYOUTS, Made
from tests.once import once

T = TypeVar("T")

QUICK = slice(6, 15, 4)
"""Which of the real papers, in the order of their names, the default run reads: three that are read in a second each."""


def _once(key: bytes, read: Callable[[], T]) -> T:
    """Returns what *read* returns, of which the first result of a run under *key* serves all."""

    def write(folder: Path) -> None:
        (folder / "read").write_bytes(pickle.dumps(read()))

    return pickle.loads((once(f"pdf-{hashlib.sha256(key).hexdigest()}", write) / "read").read_bytes())


@cache
def read_of(path: Path) -> PdfText:
    data = path.read_bytes()
    return _once(data, lambda: read_pdf(data))


@cache
def read_layout(name: str) -> tuple[Made, PdfText]:
    """Returns the layout *name*, typeset, and what `read_pdf` gives of it."""

    def read() -> tuple[Made, PdfText]:
        made = LAYOUTS[name]()
        return made, read_pdf(made.data)

    return _once(f"layout {name}".encode(), read)


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

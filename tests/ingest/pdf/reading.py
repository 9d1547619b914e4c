"""What `read_pdf` gives of a file that lies on disk: each is read once a run, as one reading costs up to two seconds."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from gre_bench.ingest.pdf.extraction import read_pdf
from gre_bench.ingest.pdf.text import PdfText
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

"""Measures extracted words and their order in papers with known text, and compares real papers with pdftotext.

Run it as `python -m tests.bench.bench_layouts [folder of real papers]`. With `--beside` instead of the folder,
pymupdf4llm reads the papers of known text too, with its layout model and without.

Recall is the share of the words of paragraphs, headings and captions that `read_pdf` returns. Precision is the share of
its words that belong to them. Inversions are paragraphs that come before a paragraph that they should follow. "left"
counts references, appendices and entries of tables of contents that were not dropped.

The true text of a real paper is unknown. It is compared with the words that pdftotext (poppler-utils) finds before the
references. These include table cells and headers, so 1.0 is not expected. Breaks count places where text that is
contiguous in one is separated in the other.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pymupdf

from gre_bench.ingest.pdf.extraction import read_pdf
from gre_bench.ingest.pdf.text import sum_by_fate
from tests.ingest.pdf.layouts import LAYOUTS
from tests.ingest.pdf.reading import compared, words

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "paper-pdfs"
RUN = 6
"""The number of consecutive words by which a position is matched between two texts of a paper."""


def measure_generated() -> None:
    print(f"{'layout':34} columns  recall  precision  inversions  left  status    pages/s")
    for name, make in LAYOUTS.items():
        paper = make()
        start = time.process_time()
        read = read_pdf(paper.data)
        seconds = time.process_time() - start
        found = compared(paper, f"{read.title}\n\n{read.abstract}\n\n{read.text}")
        print(
            f"{name:34} {paper.columns:7} {found.recall:7.4f} {found.precision:10.4f} {found.inversions:11} {found.left:5}  "
            f"{read.status:8} {read.pages / seconds:8.0f}"
        )


def measure_pymupdf4llm() -> None:
    """Prints the figures of pymupdf4llm on the same papers, without the markup, headers and footers of its Markdown."""
    import pymupdf4llm

    for layout in (False, True):
        pymupdf4llm.use_layout(layout)
        print(f"\npymupdf4llm, {'with its layout model' if layout else 'by its rules'}")
        print(f"{'layout':34} recall  precision  inversions  left  pages/CPU s")
        leave_out = {"header": False, "footer": False} if layout else {}
        for name, make in LAYOUTS.items():
            paper = make()
            with pymupdf.open(stream=paper.data, filetype="pdf") as document:
                pages, start = document.page_count, time.process_time()
                text = str(pymupdf4llm.to_markdown(document, show_progress=False, **leave_out))
                seconds = time.process_time() - start
            # A word that is hyphenated at a line's end is joined; marks of emphasis and headings are not words.
            found = compared(paper, re.sub(r"[*_#|]+", "", re.sub(r"-\n(?=[a-z])", "", text)))
            print(
                f"{name:34} {found.recall:7.4f} {found.precision:10.4f} {found.inversions:11} {found.left:5} "
                f"{pages / seconds:10.1f}",
                flush=True,
            )


def breaks(ours: list[str], other: list[str]) -> int:
    """Returns how many adjacent runs of words that occur once in both texts are in the opposite order."""
    runs = [{" ".join(text[k : k + RUN]): k for k in range(len(text) - RUN)} for text in (ours, other)]
    once = [Counter(" ".join(text[k : k + RUN]) for k in range(len(text) - RUN)) for text in (ours, other)]
    places = [runs[1][run] for run in runs[0] if once[0][run] == 1 and once[1].get(run) == 1]
    return sum(after < before for before, after in pairwise(places))


def compare_real_papers(folder: Path) -> None:
    print(f"\n{'paper':24} status    kept    of    recall  precision  breaks  pages/s  most dropped")
    for path in sorted(folder.glob("*.pdf")):
        data = path.read_bytes()
        start = time.process_time()
        read = read_pdf(data)
        seconds = time.process_time() - start
        text = subprocess.run(["pdftotext", "-q", str(path), "-"], capture_output=True, check=True).stdout.decode()
        closing = list(re.finditer(r"^\W*(?:\d+\W+)?(?:references|bibliography)\W*$", text, re.I | re.M))
        other = words(text[: closing[-1].start()] if closing else text)
        ours = words(f"{read.title}\n\n{read.abstract}\n\n{read.text}")
        shared = (Counter(ours) & Counter(other)).total()
        fates = sum_by_fate(read.words)
        gone = sorted(((count, fate) for fate, count in fates.items() if fate != "kept"), reverse=True)[:3]
        print(
            f"{path.stem[:24]:24} {read.status:8} {fates['kept']:6} {sum(fates.values()):6} {shared / len(other):8.3f} "
            f"{shared / len(ours):10.3f} {breaks(ours, other):7} {read.pages / seconds:8.1f}  "
            + ", ".join(f"{fate} {count}" for count, fate in gone)
        )


if __name__ == "__main__":
    pymupdf.TOOLS.mupdf_display_errors(False)
    measure_generated()
    if sys.argv[1:] == ["--beside"]:
        sys.exit(measure_pymupdf4llm())
    papers = Path(sys.argv[1]) if len(sys.argv) > 1 else REAL
    if not papers.is_dir():
        print(f"no folder {papers}: real papers were not read")
    elif shutil.which("pdftotext") is None:
        print("pdftotext (poppler-utils) is not installed: real papers were not compared")
    else:
        compare_real_papers(papers)

"""Measures recall and precision of the words that `read_pdf` keeps, and its pages per second.

Run it as `python -m tests.bench.bench_pdf_text [folder of real papers]`. `page.get_text()` and pymupdf4llm are measured
too. The sample papers are compared with their sources, in order.

In a folder, each paper is compared as a bag of words with a file next to it. That is a GROBID file (`.tei.xml`:
abstract, paragraphs, headings and captions) or a text of pymupdf4llm (`.pymupdf4llm.txt`, up to its references).
Programs made these texts, so 1.0 is not expected.

All three are timed on one core: `read_pdf` with its audit, and pymupdf4llm without image recognition, cut at the
references.
"""

from __future__ import annotations

import difflib
import io
import re
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pymupdf

from gre_bench.ingest.pdf.extraction import read_pdf

ROOT = Path(__file__).resolve().parents[2]
TEI = "{http://www.tei-c.org/ns/1.0}"


def words(text: str) -> list[str]:
    for sign, letters in (("\ufb00", "ff"), ("\ufb01", "fi"), ("\ufb02", "fl"), ("\ufb03", "ffi")):
        text = text.replace(sign, letters)
    return re.findall(r"\w+", text.casefold())


def extract_by_read_pdf(data: bytes) -> str:
    got = read_pdf(data)
    return f"{got.abstract or ''}\n{got.text}"


def plain(data: bytes) -> str:
    with pymupdf.open(stream=data, filetype="pdf") as document:
        return "\n".join(page.get_text() for page in document)


def markdown(data: bytes) -> str:
    import pymupdf4llm

    with pymupdf.open(stream=data, filetype="pdf") as document, redirect_stdout(io.StringIO()):
        return before_references(pymupdf4llm.to_markdown(document, show_progress=False, use_ocr=False))


def before_references(text: str) -> str:
    """Returns the part of a Markdown text from the abstract to the references."""
    opening = re.search(r"abstract", text, re.I)
    closing = re.search(r"^\W*(?:\d+\W+)?references\W*$", text, re.I | re.M)
    return text[opening.end() if opening else 0 : closing.start() if closing else None]


def in_order(expected: list[str], got: list[str]) -> tuple[float, float]:
    blocks = difflib.SequenceMatcher(None, expected, got, autojunk=False).get_matching_blocks()
    shared = sum(block.size for block in blocks)
    return shared / max(len(got), 1), shared / len(expected)


def compare_bags(expected: list[str], got: list[str]) -> tuple[float, float]:
    shared = (Counter(expected) & Counter(got)).total()
    return shared / max(len(got), 1), shared / len(expected)


def sample() -> dict[Path, str]:
    texts = {}
    for source in sorted((ROOT / "data" / "sample" / "sources").glob("s??.md")):
        abstract, body = re.search(
            r"## Abstract\n+(.+?)\n+(## .+?)\n## References", source.read_text(encoding="utf-8"), re.S
        ).groups()
        texts[source.parent.parent / "pdfs" / f"{source.stem}.pdf"] = f"{abstract}\n{body}"
    return texts


def load_real(folder: Path) -> dict[Path, str]:
    texts = {}
    for file in sorted(folder.glob("*.pdf")):
        tei, given = file.with_suffix(".tei.xml"), file.with_suffix(".pymupdf4llm.txt")
        if tei.exists():
            root = ElementTree.parse(tei).getroot()
            parts = [root.find(f".//{TEI}abstract"), root.find(f".//{TEI}text/{TEI}body")]
            for part in parts:
                for table in part.iter(f"{TEI}figure") if part is not None else ():
                    for cells in table.findall(f"{TEI}table"):
                        table.remove(cells)
            texts[file] = " ".join(" ".join(part.itertext()) for part in parts if part is not None)
        elif given.exists():
            texts[file] = before_references(given.read_text(encoding="utf-8"))
    return texts


def measure(name: str, texts: dict[Path, str], compare: Callable[[list[str], list[str]], tuple[float, float]]) -> None:
    print(f"{name}: {len(texts)} papers")
    for label, read in (("read_pdf", extract_by_read_pdf), ("get_text", plain), ("pymupdf4llm", markdown)):
        results, seconds, pages = [], 0.0, 0
        for file, text in texts.items():
            data = file.read_bytes()
            start = time.perf_counter()
            got = read(data)
            seconds += time.perf_counter() - start
            pages += pymupdf.open(stream=data, filetype="pdf").page_count
            results.append(compare(words(text), words(got)))
            if len(texts) < 10:
                print(f"    {label} {file.stem}: precision {results[-1][0]:.3f}, recall {results[-1][1]:.3f}")
        precision, recall = (sum(column) / len(results) for column in zip(*results, strict=True))
        print(f"  {label}: precision {precision:.4f}, recall {recall:.4f}, {pages / seconds:.0f} pages a second")


if __name__ == "__main__":
    pymupdf.TOOLS.mupdf_display_errors(False)
    read_pdf((ROOT / "data" / "sample" / "pdfs" / "s01.pdf").read_bytes())
    measure("sample papers, words in order", sample(), in_order)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data" / "paper-pdfs"
    if folder.exists():
        measure("real papers, bags of words", load_real(folder), compare_bags)

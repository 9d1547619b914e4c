"""Measures recall and false alarms of hidden text, the statuses of files of all kinds, and pages per second.

Run it as `python -m tests.bench.bench_hidden_text [folder of research papers] [folder of hostile files]`. Each way of
`tests.ingest.pdf.hiding` hides one passage in each sample paper. Recall is the share of passages that a finding
contains. Findings in unaltered papers may be right: check them with `gre-bench papers audit`.
"""

from __future__ import annotations

import difflib
import sys
import time
from collections import Counter
from pathlib import Path

from gre_bench.ingest.pdf.reader import PdfReader
from tests.conftest import ROOT, SHARED
from tests.ingest.pdf.hiding import PHRASE, WAYS, with_hidden


def recall(reader: PdfReader, papers: list[Path]) -> None:
    print(f"{len(WAYS)} ways to hide a passage, each in {len(papers)} papers: found, and left out of the text")
    total = 0
    for way in WAYS:
        found = left_out = 0
        for _, read in reader.read_all(papers, lambda path, way=way: with_hidden(path.read_bytes(), way)):
            texts = [finding.text for finding in read.findings]
            if way == "in zero width characters":
                found += any(text.count("\\u{200") == 96 for text in texts)
            else:
                found += any(difflib.SequenceMatcher(None, PHRASE, text).ratio() > 0.9 for text in texts)
            left_out += PHRASE[:20] not in f"{read.title} {read.abstract} {read.text}"
        print(f"  {way:32} {found}/{len(papers)} found, {left_out}/{len(papers)} left out")
        total += found
    print(f"  recall {total / len(WAYS) / len(papers):.4f}")


def print_false_alarms(reader: PdfReader, name: str, papers: list[Path]) -> None:
    hidden = characters = pages = 0
    start = time.perf_counter()
    for path, read in reader.read_all(papers, Path.read_bytes):
        out = read.hidden
        hidden, characters, pages = hidden + out, characters + read.characters, pages + read.pages
        if out:
            print(f"    {path.name}: {out} of {read.characters:,} characters")
        for finding in (finding for finding in read.findings if finding.instructs):
            print(f"      {finding.line()}")
    seconds = time.perf_counter() - start
    share = hidden / max(characters, 1)
    print(f"  {name}: {hidden:,} of {characters:,} characters of {len(papers)} papers called hidden ({share:.4%}),")
    print(f"    {pages / seconds:.1f} pages a second with {reader.children} children")


def statuses(reader: PdfReader, folder: Path) -> None:
    files = sorted(folder.glob("*.pdf"))
    counts: Counter[str] = Counter()
    start = time.perf_counter()
    for path, read in reader.read_all(files, Path.read_bytes):
        counts[read.status] += 1
        kinds = Counter(finding.kind for finding in read.findings)
        found = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        print(f"  {path.name[:56]:56} {read.status:10} {read.pages:4} pages {len(read.text):7,} characters {found}")
    print(f"{folder.name}: {dict(counts)} in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:]] or [SHARED / "paper-pdfs", SHARED / "hostile-pdfs"]
    samples = sorted((ROOT / "data" / "sample" / "pdfs").glob("s??.pdf"))
    with PdfReader() as pdf_reader:
        recall(pdf_reader, samples)
        print_false_alarms(pdf_reader, "sample papers", samples)
        if folders[0].is_dir():
            print_false_alarms(pdf_reader, folders[0].name, sorted(folders[0].glob("*.pdf")))
        for one in folders:
            if one.is_dir():
                statuses(pdf_reader, one)

"""The child process that reads PDFs: `python -m gre_bench.ingest.pdf.worker MEMORY_BYTES`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gre_bench.ingest.records.isolated import Message, serve

MOST_DPI = 200


def load() -> Callable[[dict[str, Any], bytes], Message]:
    """Imports PyMuPDF; returns the function that reads a PDF."""
    # PyMuPDF would load neural networks for layout, which nobody here uses: 0.4 s and 55 MB.
    sys.modules["pymupdf.layout"] = None  # pyright: ignore[reportArgumentType]
    import pymupdf  # noqa: F401

    from gre_bench.ingest.pdf.extraction import read_pdf

    def answer(request: dict[str, Any], data: bytes) -> Message:
        read = read_pdf(data, max_pages=request["max_pages"])
        pictures = []
        if request.get("folder"):
            from gre_bench.ingest.pdf.audit.pages import draw

            pictures = draw(data, read.findings, Path(request["folder"]), min(request["dpi"], MOST_DPI))
        return {"read": read.to_json(), "pictures": pictures}, b""

    return answer


if __name__ == "__main__":
    serve(load)

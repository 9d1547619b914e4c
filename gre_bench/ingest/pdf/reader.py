"""Reads PDFs in child processes with limits, several at a time: `python -m gre_bench.ingest.pdf.reader MEMORY_BYTES`.

Each file gets a status even if it crashes its child process, and all other files are still read. A child that hangs is
killed, and a child that dies is replaced.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any, Self, TypeVar

from gre_bench.ingest.pdf.text import PdfText, explain_not_pdf
from gre_bench.ingest.records.isolated import Child, ChildDied, Message, serve_requests

T = TypeVar("T")

MOST_DPI = 200
FILES = 200
"""A child is replaced after this many files, because libraries do not release all memory."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for reading one file: seconds of wall-clock and CPU time, bytes of memory, and number of pages.

    *memory_bytes*: the maximum address space of the child process; its libraries need about 0.25 GiB of this.
    """

    wall_s: float = 60.0
    cpu_s: float = 60.0
    memory_bytes: int = 2 * 2**30
    max_pages: int = 200


class PdfReader:
    """Reads PDFs in child processes. They start when needed, and `close` ends them.

    *children*: the largest number of child processes (default: one per core). *limits*: the limits for each file. Any
    number of threads may call `read`.
    """

    def __init__(self, limits: Limits | None = None, children: int | None = None):
        self.limits = limits or Limits()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.children = children or cores
        self._idle: LifoQueue[Child] = LifoQueue()
        self._begun: set[Child] = set()
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None:
            self.kill_children()
        self.close()

    def kill_children(self) -> None:
        """Kills all child processes at once. PDFs that are being read, and later ones, get the status ``crashed``."""
        self._over = True
        for child in list(self._begun):
            child.process.kill()

    def close(self) -> None:
        """Asks all idle child processes to end, then waits for each."""
        children = []
        with suppress(Empty):
            while True:
                children.append(self._idle.get_nowait())
        for child in children:
            child.ask_to_end()
        for child in children:
            child.end(grace_s=5.0)

    def read(self, data: bytes) -> PdfText:
        """Returns the text and findings of the PDF *data*; raises `SourceError` if no child can be started."""
        return self._read_in_child(data, {})[0]

    def draw(self, data: bytes, folder: Path, dpi: int = 100) -> tuple[PdfText, list[Path]]:
        """Draws the pages with findings into *folder*; returns (the result of `read`, the paths of the pictures)."""
        folder.mkdir(parents=True, exist_ok=True)
        read, pictures = self._read_in_child(data, {"folder": str(folder.resolve()), "dpi": dpi})
        return read, [folder / name for name in pictures]

    def read_all(self, items: Iterable[T], load: Callable[[T], bytes]) -> Iterator[tuple[T, PdfText]]:
        """Reads the PDFs of *items*, several at a time, and yields (item, result) in the order of *items*.

        *load*: a function that returns the bytes of an item's PDF. If the caller stops early, running child processes
        are killed and the reader cannot be used again.
        """
        with ThreadPoolExecutor(self.children) as pool:
            items = list(items)
            try:
                yield from zip(items, pool.map(lambda item: self.read(load(item)), items), strict=True)
            except BaseException:
                self.kill_children()
                raise

    def _read_in_child(self, data: bytes, more: dict[str, Any]) -> tuple[PdfText, list[str]]:
        refused = explain_not_pdf(data)
        if refused:
            return PdfText("not_a_pdf", notes=(refused,)), []
        while not self._over:
            child = self._get_or_start_child()
            request = {"cpu_s": self.limits.cpu_s, "max_pages": self.limits.max_pages, **more}
            message = child.ask(request, data, self.limits.wall_s)
            if isinstance(message, ChildDied) and message.status == "crashed" and child.requests > 1:
                continue  # an earlier file may have damaged the child, so try a new child
            if isinstance(message, ChildDied):
                return PdfText(message.status, notes=(message.note,)), []
            answer, _ = message
            if child.requests >= FILES or answer["held_bytes"] > self.limits.memory_bytes / 2:
                child.end()
            else:
                self._idle.put(child)
            if "problem" in answer:
                return PdfText("crashed", notes=(answer["problem"],)), []
            return PdfText.from_json(answer["read"]), answer["pictures"]
        return PdfText("crashed", notes=("reading was stopped",)), []

    def _get_or_start_child(self) -> Child:
        try:
            return self._idle.get_nowait()
        except Empty:
            child = Child("gre_bench.ingest.pdf.reader", self.limits.memory_bytes, "PDFs", "pymupdf")
        self._begun.add(child)
        if self._over:
            child.process.kill()
        child.wait_until_ready()
        return child


def load() -> Callable[[dict[str, Any], bytes], Message]:
    """Imports PyMuPDF; returns the function that answers a request to read a PDF."""
    # PyMuPDF would take 0.4 s and 55 MB to load neural networks for layout, which are not needed here.
    sys.modules["pymupdf.layout"] = None  # pyrefly: ignore
    import pymupdf  # noqa: F401

    from gre_bench.ingest.pdf.extraction import read_pdf

    def answer(request: dict[str, Any], data: bytes) -> Message:
        read = read_pdf(data, max_pages=request["max_pages"])
        pictures = []
        if request.get("folder"):
            from gre_bench.ingest.pdf.audit import draw_findings

            pictures = draw_findings(data, read.findings, Path(request["folder"]), min(request["dpi"], MOST_DPI))
        return {"read": read.to_json(), "pictures": pictures}, b""

    return answer


if __name__ == "__main__":
    serve_requests(load)

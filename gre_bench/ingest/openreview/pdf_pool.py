"""Stores each distinct PDF once, in a file named by its SHA-256.

A stored file never changes, and its hash is checked when the file is read. Snapshots link to these files, so a file
that is damaged here is damaged in the snapshots too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from gre_bench.core.whole_files import READ_ONLY, put


class PdfPool:
    """The store of PDFs in *folder*."""

    def __init__(self, folder: Path):
        self.folder = folder

    def file(self, sha256: str) -> Path:
        """Returns the path of the PDF with the hash *sha256*, whether or not the file exists."""
        return self.folder / f"{sha256}.pdf"

    def read(self, sha256: str) -> bytes | None:
        """Returns the PDF with the hash *sha256*; None if the file is missing or damaged."""
        try:
            data = self.file(sha256).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def keep(self, data: bytes) -> str:
        """Stores the PDF *data*, overwriting a damaged copy, and returns its SHA-256 (64 hex digits)."""
        sha256 = hashlib.sha256(data).hexdigest()
        if self.read(sha256) is None:
            put(self.file(sha256), data, READ_ONLY)
        return sha256

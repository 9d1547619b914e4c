"""Stores each distinct PDF once, in a file named by its SHA-256; files never change and are checked on use.

Snapshots share these bytes on disk, so a damaged file here is damaged there too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from gre_bench.core.whole_files import READ_ONLY, put


class PdfPool:
    """The PDFs in *folder*."""

    def __init__(self, folder: Path):
        self.folder = folder

    def file(self, sha256: str) -> Path:
        """Returns the path for the PDF with that hash, whether or not it exists."""
        return self.folder / f"{sha256}.pdf"

    def read(self, sha256: str) -> bytes | None:
        """Returns the PDF with that hash; None if it is missing or damaged."""
        try:
            data = self.file(sha256).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def keep(self, data: bytes) -> str:
        """Stores a PDF, replacing a damaged copy, and returns its SHA-256 (hex)."""
        sha256 = hashlib.sha256(data).hexdigest()
        if self.read(sha256) is None:
            put(self.file(sha256), data, READ_ONLY)
        return sha256

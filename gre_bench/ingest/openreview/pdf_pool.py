"""PDFs by what is in them: a file for each content, named by its SHA-256, never changed, and checked when it is used.

Snapshots share the bytes on disk with it, so that a file that is damaged here is damaged there.
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
        """Where the PDF of that content is, or would be."""
        return self.folder / f"{sha256}.pdf"

    def read(self, sha256: str) -> bytes | None:
        """The PDF of that content; None if it is not there, or is not as it was written."""
        try:
            data = self.file(sha256).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def keep(self, data: bytes) -> str:
        """Puts a PDF in, in the place of a damaged one if that is there; its SHA-256 (hex)."""
        sha256 = hashlib.sha256(data).hexdigest()
        if self.read(sha256) is None:
            put(self.file(sha256), data, READ_ONLY)
        return sha256

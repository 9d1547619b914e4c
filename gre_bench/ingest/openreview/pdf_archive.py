"""Reads a zip archive of several papers' PDFs (API v2): finds the paper of each file and skips damaged files."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
_NUMBER = re.compile(r"(\d+)_")


@dataclass(frozen=True, slots=True)
class Archive:
    """The PDFs read from one archive.

    *files*: paper id → the PDF's bytes.
    *damaged*: part of the archive could not be read.
    *strangers*: the number of files that belong to none of the requested papers.
    """

    files: dict[str, bytes]
    damaged: bool = False
    strangers: int = 0

    @property
    def complete(self) -> bool:
        """Whether a requested paper that is not in the archive certainly has no PDF at the service.

        It is true if the whole archive could be read and every file belongs to a requested paper.
        """
        return not self.damaged and not self.strangers


def unpacked(data: bytes, numbers: Mapping[str, object]) -> Archive:
    """Returns the PDFs in the zip archive *data*; damaged files are skipped.

    *numbers*: the requested papers, as paper id → submission number at the venue.
    """
    files, damaged, strangers = dict[str, bytes](), False, 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                paper_id = _owner(name, numbers)
                if paper_id is None:
                    strangers += 1
                    continue
                try:
                    files[paper_id] = archive.read(name)
                except UNREADABLE:
                    damaged = True
    except UNREADABLE:
        damaged = True
    return Archive(files, damaged, strangers)


def _owner(name: str, numbers: Mapping[str, object]) -> str | None:
    """Returns the id of the paper that the archived file *name* belongs to; None if no requested paper fits.

    The file's name holds the paper's id or submission number.
    *numbers*: the requested papers, as paper id → submission number at the venue.
    """
    stem = name.rpartition("/")[2].removesuffix(".pdf")
    if stem in numbers:
        return stem
    match = _NUMBER.match(stem)
    owners = [paper_id for paper_id, number in numbers.items() if match and str(number) == match[1]]
    return owners[0] if len(owners) == 1 else None

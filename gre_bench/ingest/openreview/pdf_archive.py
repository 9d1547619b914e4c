"""Reads API v2's archive of several papers' PDFs: which paper each file belongs to, and which files are intact."""

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
    """PDFs of some papers by paper id.

    *damaged*: not all of the archive could be read. *strangers*: the number of files of no known paper.
    """

    files: dict[str, bytes]
    damaged: bool = False
    strangers: int = 0

    @property
    def complete(self) -> bool:
        """Whether the archive lacks only papers that have no PDF at the service."""
        return not self.damaged and not self.strangers


def unpacked(data: bytes, numbers: Mapping[str, object]) -> Archive:
    """Returns the PDFs in *data*; a damaged file does not affect the others.

    *numbers*: the number of each paper, by its id.
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
    """Returns the paper of a file in an archive, which is named by the paper's id or number; None if it is unknown."""
    stem = name.rpartition("/")[2].removesuffix(".pdf")
    if stem in numbers:
        return stem
    found = _NUMBER.match(stem)
    owners = [paper_id for paper_id, number in numbers.items() if found and str(number) == found[1]]
    return owners[0] if len(owners) == 1 else None

"""Registers: files ``learnt_from.txt`` that list, as digests, the papers and reviews that an artefact was trained on.

An artefact is a model or a rule that was trained; its register lies next to its weights. Each line is a kind and the
first 16 hex digits of a SHA-256; the lines are sorted. Lines of three kinds are entries:

- ``review``: the text of a review, not its judgments.
- ``abstract``: the abstract of a paper.
- ``paper``: the id of a paper as its source gives it, such as a forum id of OpenReview.

Digests of texts ignore case, Unicode form (NFKC) and white space. A paper counts as trained on if any of its entries is
registered. Texts alone would miss a review that was edited later. Ids alone would miss the same paper under another id.
Two more lines protect the register: ``artefact`` is the digest of the artefact's weights, and ``register`` is the
digest of all other lines.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.incoming import open_regular_file, read_bytes
from gre_bench.core.resources import locate_resource

FILE = "learnt_from.txt"
INCLUDED = {
    "cache-ngram-3": locate_resource("data", "evaluation_lm", "cache-ngram-3"),
    "gem-smollm2-2": locate_resource("data", "evaluation_lm", "gem-smollm2-2"),
    "rule-judgments-4": locate_resource("data", "judgments"),
}
"""Name of an artefact that comes with the program → its folder."""
WEIGHTS = ("*.safetensors", "weights.tsv")
_LINE = re.compile(r"(abstract|artefact|paper|register|review) ([0-9a-f]{16})")


@dataclass(frozen=True, slots=True)
class PaperTexts:
    """The parts of a paper that are looked up in a register: its id, abstract and the texts of its human reviews."""

    paper_id: str
    abstract: str | None = None
    reviews: tuple[str, ...] = ()

    @property
    def entries(self) -> frozenset[str]:
        """The register entries of this paper; a blank text has no entry."""
        texts = [("abstract", self.abstract or ""), *(("review", text) for text in self.reviews)]
        named = {f"{kind} {_digest_text(folded)}" for kind, text in texts if (folded := _normalise_text(text))}
        return frozenset(named | {f"paper {_digest_text(self.paper_id)}"})


@dataclass(frozen=True, slots=True)
class Register:
    """The register of the artefact (model or rule) *name*.

    *entries*: its entries; None if the register cannot be used. *problem*: why it cannot. *digest*: its digest.
    """

    name: str
    entries: frozenset[str] | None
    digest: str | None = None
    problem: str | None = None

    def trained_on(self, papers: Iterable[PaperTexts]) -> frozenset[str]:
        """Returns the ids of the *papers* with an entry in the register; empty if *entries* is None."""
        entries = self.entries or frozenset()
        return frozenset(paper.paper_id for paper in papers if not entries.isdisjoint(paper.entries))


def write_register(folder: Path, papers: Iterable[PaperTexts], others: Iterable[str] = ()) -> None:
    """Writes the register of the artefact in *folder*, which must already hold the artefact's weights.

    *papers*: the papers that the artefact was trained on. *others*: entries from the registers of other artefacts that
    produced its training data, such as the rule that wrote the judgments.
    """
    lines = {entry for paper in papers for entry in paper.entries} | set(others)
    lines.add(f"artefact {_digest_weight_files(folder)}")
    lines.add(f"register {_digest_lines(lines)}")
    (folder / FILE).write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")


def read_register(folder: Path, name: str) -> Register:
    """Returns the register in *folder* of the artefact *name*.

    The result has *entries* None if the file is missing or damaged, or belongs to other weights.
    """
    path = folder / FILE
    try:
        stamp = tuple(
            (file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in (path, *_list_weight_files(folder))
        )
    except OSError:
        return _make_unusable_register(name, f"no {FILE} beside its weights says what it was learnt from")
    return _read_register_file(folder, name, stamp)


def load_named_registers(names: Iterable[str]) -> list[Register]:
    """Returns the registers of artefacts. Each of *names* is a name in `INCLUDED`, or the folder of an artefact.

    Raises `SettingsError` if a register is missing or cannot be used.
    """
    registers = [read_register(INCLUDED.get(name, Path(name)), name) for name in names]
    for register in registers:
        if register.problem:
            raise SettingsError(f"{register.problem}; name another folder, or one of {', '.join(INCLUDED)}")
    return registers


@lru_cache(maxsize=16)
def _read_register_file(folder: Path, name: str, _: object) -> Register:
    try:
        lines = read_bytes(folder / FILE).decode().splitlines()
        entries = {line for line in lines if not line.startswith("register ")}
        kept = frozenset(line for line in entries if not line.startswith("artefact "))
        seal = _digest_lines(entries)
        if set(lines) - entries != {f"register {seal}"} or lines != sorted(set(lines)):
            raise ValueError
        if not all(map(_LINE.fullmatch, lines)):
            raise ValueError
        if entries - kept != {f"artefact {_digest_weight_files(folder)}"}:
            return _make_unusable_register(name, f"its {FILE} is that of other weights")
    except (OSError, ValueError, SourceError):
        return _make_unusable_register(name, f"its {FILE} is damaged: restore it")
    return Register(name, kept, seal)


def _make_unusable_register(name: str, why: str) -> Register:
    return Register(name, None, None, f"it is unknown what {name} was learnt from: {why}")


def _list_weight_files(folder: Path) -> list[Path]:
    return sorted({file for pattern in WEIGHTS for file in folder.glob(pattern)})


def _digest_weight_files(folder: Path) -> str:
    whole = hashlib.sha256()
    for file in _list_weight_files(folder):
        with open_regular_file(file) as stream:
            whole.update(file.name.encode() + hashlib.file_digest(stream, "sha256").digest())
    return whole.hexdigest()[:16]


def _digest_lines(lines: Iterable[str]) -> str:
    return _digest_text("\n".join(sorted(lines)))


def _normalise_text(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _digest_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

"""The cache of fetched models on this machine, and the settings that name one.

CACHE/smollm2-135m/             a model, moved here in one step when it is whole
CACHE/smollm2-135m/SHA256SUMS   what it was made of, its digest in signatures, SHA-256 of each file
CACHE/.smollm2-135m.*           what a killed command left; the next one removes it
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.pretrained.entries import KINDS, SETTINGS, Kind, Pretrained, entries

VARIABLE = "GRE_BENCH_MODELS"
SUMS = "SHA256SUMS"
_HEAD = "# {name}: made of {member}; digest {digest}"


@dataclass(frozen=True, slots=True)
class Held:
    """A fetched model: its *folder*, the SHA-256 of its source (*made_of*), its *digest*, its *files*' SHA-256."""

    folder: Path
    made_of: str
    digest: str
    files: dict[str, str]

    @property
    def bytes(self) -> int:
        """The total size of the model's existing files in bytes."""
        return sum(path.stat().st_size for name in self.files if (path := self.folder / name).is_file())

    def fault(self, thorough: bool = False) -> str | None:
        """Returns what is wrong with the model's files, None if nothing.

        With *thorough*, each file is read and compared with its SHA-256; else each only has to exist.
        """
        for name, expected in self.files.items():
            path = self.folder / name
            if not path.is_file():
                return f"{name} is not there"
            if thorough and sha256(path) != expected:
                return f"{name} was changed"
        return None


def cache() -> Path:
    """Returns the folder of all fetched models: the environment variable `VARIABLE` if set, else the user's cache.

    The folder may not exist yet. Raises `SettingsError` if the user has no home folder.
    """
    if chosen := os.environ.get(VARIABLE):
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(xdg):  # the specification says to ignore a relative path
        return Path(xdg) / "gre-bench" / "models"
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise SettingsError(f"this user has no home folder for the cache of models; set {VARIABLE} to a folder")
    return Path(home, *(("Library", "Caches") if sys.platform == "darwin" else (".cache",)), "gre-bench", "models")


def held(entry: Pretrained) -> Held | None:
    """Returns the model of *entry* in the cache, None if absent; raises `LMError` if it is incomplete or outdated."""
    folder = cache() / entry.name
    if not folder.is_dir():
        return None
    try:
        head, *lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError, ValueError):
        raise LMError(f"{entry.name} in {folder} is not whole: no {SUMS}; run: {entry.to_get}") from None
    made = re.fullmatch(_HEAD.format(name=r"\S+", member="([0-9a-f]{64})", digest="([0-9a-f]+)"), head)
    files = {name: digest for digest, _, name in (line.partition("  ") for line in lines if "  " in line)}
    if made is None or not files or made[1] != entry.member_sha256:
        raise LMError(f"{entry.name} in {folder} was made from an outdated file; run: {entry.to_get}")
    return Held(folder, made[1], made[2], files)


def write_sums(entry: Pretrained, folder: Path, digest: str) -> None:
    """Writes the file `SUMS` with the SHA-256 of all files in *folder*, in the form that ``sha256sum -c`` checks.

    *folder* holds the model of *entry*. Its *digest*, as in signatures, goes into the first line.
    """
    lines = [_HEAD.format(name=entry.name, member=entry.member_sha256, digest=digest)]
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    lines += [f"{sha256(path)}  {path.relative_to(folder).as_posix()}" for path in paths]
    (folder / SUMS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def placed(value: str | Path, beside: Path) -> Path:
    """Returns what a user's *value* for a model's folder means: the name of a pretrained model, or an absolute path.

    A relative path starts at the folder *beside*. If a folder there has the name of a pretrained model, it is the path.
    """
    path = Path(os.path.abspath(beside)) / value
    return Path(value) if named(Path(value)) and not path.is_dir() else path.resolve()


def named(folder: Path) -> Pretrained | None:
    """Returns the pretrained model whose name *folder* is; None if it is a path. *folder* is a result of `placed`."""
    return None if folder.is_absolute() or len(folder.parts) != 1 else entries().get(str(folder))


def located(folder: Path, kind: Kind) -> Path:
    """Returns the folder to open: *folder* itself if it is a path, else the folder of the model that it names.

    *folder* is a result of `placed`. Raises `LMError` if that model is not of this *kind*, absent or incomplete.
    """
    entry = named(folder)
    if entry is None:
        return folder
    if entry.kind != kind:
        what = f"{entry.name} is an {KINDS[entry.kind]}, not an {KINDS[kind]}"
        raise LMError(f"{what}; it belongs into {SETTINGS[entry.kind]}")
    found = held(entry)
    if found is None:
        raise LMError(f"{KINDS[kind]} {entry.name} is not on this machine ({cache()}); run: {entry.to_get}")
    if fault := found.fault():
        raise LMError(f"{entry.name} in {found.folder} is not whole: {fault}; run: {entry.to_get}")
    return found.folder


def refuse_changed(folder: Path, digest: str) -> None:
    """Raises `LMError` if the model that *folder* names no longer has the recorded *digest*.

    *folder* is a value that `placed` returned.
    """
    entry = named(folder)
    found = held(entry) if entry else None
    if entry and found and found.digest != digest:
        raise LMError(f"{entry.name} in {found.folder} was changed since it was fetched; run: {entry.to_get}")


def hint(folder: Path) -> str:
    """Returns the end of a message, ``; did you mean ...?``, if the last part of *folder* is nearly a model's name.

    Returns an empty text if no name is similar.
    """
    near = difflib.get_close_matches(folder.name.lower(), entries(), n=1, cutoff=0.75)
    return f"; did you mean the pretrained model {near[0]}?" if near else ""


def sha256(path: Path) -> str:
    """Returns the SHA-256 of the file *path* (64 hex digits)."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

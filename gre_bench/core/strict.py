"""Reads JSON and TOML from untrusted sources, and checks the entries; rejects duplicate keys and deep nesting."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gre_bench.core.errors import SettingsError
from gre_bench.core.incoming import check_json_depth, read_text

TOMLDecodeError = tomllib.TOMLDecodeError


class NamedEntry(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """An entry of a TOML file, identified by its *name*; the base class for `read_toml_entries`."""

    name: str


Kind = TypeVar("Kind", bound=NamedEntry)


def load_json(text: str | bytes) -> Any:
    """Returns the value of the JSON *text*.

    Raises `ValueError` for invalid JSON, deep nesting, or a duplicate key (RFC 8259).
    """
    check_json_depth(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return json.loads(text, object_pairs_hook=_reject_duplicate_keys)


def load_toml(text: str) -> dict[str, Any]:
    """Returns the table of the TOML *text*.

    Raises `TOMLDecodeError` for invalid TOML, deep nesting, or a number with thousands of digits.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TOMLDecodeError("arrays or tables are nested too deeply") from None
    except TOMLDecodeError:
        raise
    except ValueError as error:
        raise TOMLDecodeError(str(error).partition(";")[0]) from None


def read_toml(path: Path) -> dict[str, Any]:
    """Returns the table of the TOML file *path*; raises the errors of `read_text` and `load_toml`."""
    return load_toml(read_text(path))


def read_toml_with_title(path: Path, title: str) -> dict[str, Any]:
    """Returns the table of the TOML file *path*. *title*: what error messages call the file, such as ``claims file``.

    Raises FileNotFoundError if the file is missing, and `SettingsError` if it cannot be read.
    """
    try:
        return read_toml(path)
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError, TOMLDecodeError) as error:
        raise SettingsError(f"{title} {path} cannot be read: {error}") from None


def read_toml_entries(path: Path, title: str, key: str, kind: type[Kind], named: bool = False) -> dict[str, Kind]:
    """Returns name → entry for the tables ``[[key]]`` of the TOML file *path*.

    *title*: what error messages call the file. *named*: whether the message about an invalid entry states the entry's
    name. Raises `SettingsError` if the file cannot be read or has other contents than entries. Also raises it if an
    entry is invalid, or if two entries have the same name.
    """
    try:
        tree = read_toml_with_title(path, title)
    except FileNotFoundError as error:
        raise SettingsError(f"{title} {path} cannot be read: {error}") from None
    listed = tree.pop(key, None)
    if tree or not isinstance(listed, list):
        raise SettingsError(f"{title} {path}: write every entry as [[{key}]], nothing else")
    known: dict[str, Kind] = {}
    for number, fields in enumerate(listed, start=1):
        place = f"{path.name}, entry {number}"
        try:
            entry = kind.model_validate(fields)
        except ValidationError as error:
            name = f" ({fields.get('name')})" if named and isinstance(fields, dict) else ""
            raise SettingsError(f"{place}{name}: {'; '.join(format_validation_faults(error))}") from None
        if entry.name in known:
            raise SettingsError(f"{place}: {entry.name} is already there")
        known[entry.name] = entry
    return known


def format_validation_faults(error: ValidationError, whole: str = "") -> list[str]:
    """Returns one line for each fault in *error*: the field and the reason.

    The value is never included, because a user may have pasted a secret into a wrong field. *whole*: the text that
    replaces the field's name if a fault concerns the entry as a whole.
    """
    named = ((".".join(map(str, item["loc"])) or whole, item["msg"]) for item in error.errors())
    return [f"{field}: {reason}" if field else reason for field, reason in named]


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!a:.60} occurs twice")
    return fields

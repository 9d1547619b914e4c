"""Reads JSON and TOML from untrusted sources; rejects duplicate keys and too deep nesting."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from gre_bench.core.incoming import check_depth, read_text

TOMLDecodeError = tomllib.TOMLDecodeError


def load_json(text: str | bytes) -> Any:
    """Returns the value of the JSON *text*; raises `ValueError` for bad JSON, a duplicate key or too deep nesting.

    JSON leaves open what a duplicate key means (RFC 8259, section 4).
    """
    check_depth(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return json.loads(text, object_pairs_hook=_object)


def load_toml(text: str) -> dict[str, Any]:
    """Returns the table of the TOML *text*.

    Raises `TOMLDecodeError` for bad TOML, too deep nesting or a number of thousands of digits.
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
    """Returns the table of the TOML file *path*.

    Raises `SourceError` for a device, a pipe or a huge file, OSError, UnicodeDecodeError, and as `load_toml` does.
    """
    return load_toml(read_text(path))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!a:.60} occurs twice")
    return fields

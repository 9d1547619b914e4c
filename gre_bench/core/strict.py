"""Reads JSON and TOML from untrusted sources; rejects duplicate keys and too deep nesting."""

from __future__ import annotations

import json
import tomllib
from typing import Any

TOMLDecodeError = tomllib.TOMLDecodeError


def load_json(text: str | bytes) -> Any:
    """Returns the value of the JSON *text*; raises `ValueError` for bad JSON, a duplicate key or too deep nesting.

    JSON leaves open what a duplicate key means (RFC 8259, section 4).
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("arrays or objects are nested too deeply") from None


def load_toml(text: str) -> dict[str, Any]:
    """Returns the table of the TOML *text*; raises `TOMLDecodeError` for bad TOML or too deep nesting."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TOMLDecodeError("arrays or tables are nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!a:.60} occurs twice")
    return fields

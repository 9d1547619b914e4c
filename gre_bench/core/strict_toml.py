"""Reads TOML from outside; text nested too deeply to be parsed counts as no TOML."""

from __future__ import annotations

import tomllib
from typing import Any

TOMLDecodeError = tomllib.TOMLDecodeError


def loads(text: str) -> dict[str, Any]:
    """Returns the table in *text*; raises `TOMLDecodeError` if it is no TOML or nests arrays thousands deep."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TOMLDecodeError("arrays or tables are nested too deeply") from None

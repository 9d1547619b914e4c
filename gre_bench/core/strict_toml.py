"""TOML from outside: what is nested too deeply to be read is refused as what is no TOML."""

from __future__ import annotations

import tomllib
from typing import Any

TOMLDecodeError = tomllib.TOMLDecodeError


def loads(text: str) -> dict[str, Any]:
    """The table that *text* holds; `TOMLDecodeError` if it is no TOML, or holds thousands of arrays in one another."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TOMLDecodeError("arrays or tables are nested too deeply") from None

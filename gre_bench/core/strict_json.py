"""Reads JSON from outside so that no two readers can interpret it differently (RFC 8259, section 4)."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Returns the value in *text*; raises `ValueError` if it is no JSON, nested too deeply, or has a duplicate key."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("arrays or objects are nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!a:.60} occurs twice")
    return found

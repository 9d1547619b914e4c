"""Reads and writes ``status.json``, which holds the status of an edition's current or last run."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gre_bench.core.errors import StoreError
from gre_bench.store.files import putting


class _Counts(BaseModel, strict=True, extra="allow"):
    metric: str
    planned: int
    scored: int
    failed: int
    excluded: int
    missing: int


class _Status(BaseModel, strict=True, extra="allow"):
    """What readers of a status rely on."""

    state: str
    stage: str
    message: str
    pid: int
    due: int
    done: int
    pairs_per_s: float | None
    remaining_s: float | None
    metrics: list[_Counts]


def save(key: str, file: Path, status: Mapping[str, Any]) -> None:
    """Replaces the contents of *file* by *status* and a checksum, in one step.

    Raises `StoreError`, which names edition *key*, if that fails.
    """
    beside = file.with_name(f".status.{os.getpid()}.json")
    text = json.dumps(status, indent=1, default=str)
    with putting(key, file, beside):
        beside.write_text(json.dumps(json.loads(text) | {"crc": _sum(text)}, indent=1))
        os.replace(beside, file)


def load(key: str, file: Path) -> dict[str, Any] | None:
    """Returns the status in *file*, or None if the file does not exist because there was no run yet.

    Raises `StoreError`, which names edition *key*, if the file cannot be read, has another shape or does not match its
    checksum.
    """
    try:
        status = json.loads(file.read_text())
        _Status.model_validate(status)
        stated = status.pop("crc", None)
        if stated not in (None, _sum(json.dumps(status, indent=1))):
            raise ValueError("not as it was written")
        return status
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError, OSError):
        raise StoreError(
            f"edition {key}: {file} is damaged or cannot be read; the next refresh makes a new one"
        ) from None


def _sum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"

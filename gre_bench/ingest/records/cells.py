"""Reads a cell of a user's file as a value for records, or refuses the row of the cell with a reason."""

from __future__ import annotations

import re
from typing import Any

from gre_bench.core.known_names import is_path

LARGEST = 2**31 - 1
NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,200}")
"""Valid ids and candidates' names; some ids of OpenReview begin with a dash or an underscore."""

NO_PATH = ", and is no path: without / at its start, and without . or .. between slashes"
Row = dict[str, Any]


class RefusedError(Exception):
    """Says that a row is refused, and why; *code* is the kind of reason, if a caller has to know it."""

    def __init__(self, reason: str, code: str = ""):
        super().__init__(reason)
        self.code = code


def is_name(value: str) -> bool:
    """Whether *value* may be an id or a candidate's name: its characters are those of `NAME`, and it is no path."""
    return NAME.fullmatch(value) is not None and not is_path(value)


def read_name(row: Row, key: str) -> str:
    """Returns the id in the column *key* of *row*; a whole number is also an id.

    Raises `RefusedError` if the cell is missing or is not what `is_name` allows.
    """
    value = row.get(key)
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(value, str) or not value.strip():
        raise RefusedError(f"{key} is missing")
    if not is_name(value):
        raise RefusedError(f"{key} may hold letters, digits and . _ : / @ + - (at most 200 characters){NO_PATH}")
    return value


def read_text(row: Row, key: str) -> str | None:
    """Returns the text in the column *key* of *row*; None if the cell is missing, null or blank.

    Raises `RefusedError` for a value that is not text in valid Unicode.
    """
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise RefusedError(f"{key} is not text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise RefusedError(f"{key} is not valid Unicode") from None
    return value if value.strip() else None


def joined(value: Any) -> Any:
    """Returns a list of judgments as one text, with one judgment on each line; any other *value* unchanged."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value


def read_number(row: Row, key: str) -> float | None:
    """Returns the number in the column *key* of *row*; None if the cell is missing.

    Raises `RefusedError` for a value that is no finite number or has an absolute value above `LARGEST`.
    """
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise RefusedError(f"{key} is not a number of at most {LARGEST}")
    return float(value)


def read_integer(row: Row, key: str) -> int | None:
    """Returns the whole number in the column *key* of *row*, 0 or more; None if the cell is missing.

    Raises `RefusedError` for any other value.
    """
    value = read_number(row, key)
    if value is None:
        return None
    if value != int(value):
        raise RefusedError(f"{key} is not a whole number")
    if value < 0:
        raise RefusedError(f"{key} is negative")
    return int(value)


def shown(value: Any) -> str:
    """Returns a short form of *value*, a cell of a row, for messages."""
    return "?" if value in (None, "") else repr(value)[:60].strip("'\"")

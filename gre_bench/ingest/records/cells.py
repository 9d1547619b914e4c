"""Reads one cell of a user's row as a value for records, or refuses the row with a reason."""

from __future__ import annotations

import re
from typing import Any

LARGEST = 2**31 - 1
NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,200}")
"""Valid ids and candidates' names; some ids of OpenReview begin with a dash or an underscore."""

Row = dict[str, Any]


class RefusedError(Exception):
    """Refuses a row, with a reason; *code* names the kind of reason where one is needed."""

    def __init__(self, reason: str, code: str = ""):
        super().__init__(reason)
        self.code = code


def read_name(row: Row, key: str) -> str:
    """Returns the id in the column *key*; a whole number is also an id.

    Raises `RefusedError` if it is missing or holds other characters than `NAME` allows.
    """
    value = row.get(key)
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(value, str) or not value.strip():
        raise RefusedError(f"{key} is missing")
    if not NAME.fullmatch(value):
        raise RefusedError(f"{key} may hold letters, digits and . _ : / @ + - (at most 200 characters)")
    return value


def read_text(row: Row, key: str) -> str | None:
    """Returns the text of the column *key*; None if it is missing, null or blank.

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
    """Returns *value* as one text, one judgment per line, if it is a list of texts; anything else unchanged."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value


def read_number(row: Row, key: str) -> float | None:
    """Returns the number in the column *key*; None if it is missing.

    Raises `RefusedError` unless it is finite and its size at most `LARGEST`.
    """
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise RefusedError(f"{key} is not a number of at most {LARGEST}")
    return float(value)


def read_integer(row: Row, key: str) -> int | None:
    """Returns the whole number in the column *key*, 0 or more; None if it is missing.

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
    """Returns a short form of a row's value for messages."""
    return "?" if value in (None, "") else repr(value)[:60].strip("'\"")

"""One cell of a row from outside as a value that records can hold, or the reason why the row is refused."""

from __future__ import annotations

import re
from typing import Any

LARGEST = 2**31 - 1
NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,200}")
"""What an id or a candidate's name may be; ids of OpenReview open with a dash or an underscore at times."""

Row = dict[str, Any]


class RefusedError(Exception):
    """A row that is not taken, and why; *code* tells kinds of reasons apart, where somebody asks."""

    def __init__(self, reason: str, code: str = ""):
        super().__init__(reason)
        self.code = code


def read_name(row: Row, key: str) -> str:
    """The id in a column; a whole number is one too."""
    value = row.get(key)
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(value, str) or not value.strip():
        raise RefusedError(f"{key} is missing")
    if not NAME.fullmatch(value):
        raise RefusedError(f"{key} may hold letters, digits and . _ : / @ + - (at most 200 characters)")
    return value


def read_text(row: Row, key: str) -> str | None:
    """The text of a column; None where it is missing, null or blank."""
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
    """A list of judgments as one text, one a line; anything else unchanged."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value


def read_number(row: Row, key: str) -> float | None:
    """The number in a column, finite and of at most `LARGEST`; None where it is missing."""
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise RefusedError(f"{key} is not a number of at most {LARGEST}")
    return float(value)


def read_integer(row: Row, key: str) -> int | None:
    """The whole number in a column, 0 or more; None where it is missing."""
    value = read_number(row, key)
    if value is None:
        return None
    if value != int(value):
        raise RefusedError(f"{key} is not a whole number")
    if value < 0:
        raise RefusedError(f"{key} is negative")
    return int(value)


def shown(value: Any) -> str:
    """A value of a row as a user is told of it, short."""
    return "?" if value in (None, "") else repr(value)[:60].strip("'\"")

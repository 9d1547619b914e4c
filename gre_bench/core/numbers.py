"""Reads the numbers that texts state: cells of files, and ratings in LMs' replies. An ambiguous number is none."""

from __future__ import annotations

import math
import re

_DECIMAL_COMMA = re.compile(r"([+-]?)(\d+),(\d+)")
_LABELLED = re.compile(
    r"(-?\d+(?:[.,]\d+)?)(?:\s*(?P<sure>[:=])\s*|\s*[)(.,;|–—-]+\s*|\s+)"
    r"(?!(?:or|to|and|of|out|bis|oder|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b)(?P<label>[^\W\d_].*)",
    re.DOTALL | re.IGNORECASE,
)
"""A number and its label; spreadsheets turn ``7-8`` into ``8-Jul``."""
_PERCENTAGE = re.compile(r"\d+(?:[.,]\d+)?\s*%")
_GOES_ON = re.compile(
    r"\s*(?:[-–—~/&+,:\u2212]|\.{2,}|…|(?:to|or|and|of|out of)\b)\s*[+-]?\d|[.,'’·]?\d|\s*[½¼¾%]", re.IGNORECASE
)


def number_in(value: object) -> float | None:
    """Returns the finite number that *value* is, or that a text states and nothing else; None for anything else.

    A text may have a decimal comma. With three digits after it, the comma may as well separate thousands: that is none.
    """
    if isinstance(value, str):
        value = value.strip().replace("\u2212", "-")
        if comma := _DECIMAL_COMMA.fullmatch(value):
            sign, whole, part = comma.groups()
            value = None if len(part) == 3 and whole.strip("0") else f"{sign}{whole}.{part}"
        elif "_" in value:
            return None
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def rating_in(value: object) -> float | None:
    """Returns the number of *value* as `number_in` does; it may have a label, as in ``6: weak accept``.

    None for a range, a fraction or a second number, such as ``7-8``, ``2/5`` or ``6 or 7``.
    """
    number = number_in(value)
    match = _LABELLED.fullmatch(value.strip().replace("\u2212", "-")) if isinstance(value, str) else None
    if number is not None or match is None:
        return number
    if not match["sure"] and re.search(r"\d", _PERCENTAGE.sub("", match["label"])):
        return None
    return number_in(match[1])


def goes_on(after: str) -> bool:
    """Whether *after*, the text right after a number, makes it part of a decimal, a range, a fraction or a list."""
    return _GOES_ON.match(after) is not None

"""Formats numbers, names and scores for a page. A function that takes a number returns an empty string for None."""

from __future__ import annotations

from markupsafe import Markup

from gre_bench.release.pages.board import Entry


def number(value: float | None, digits: int | None = None) -> str:
    """Returns *value* with its sign (plus, or a true minus) and *digits* decimals.

    Without *digits*, values from 100 on have one decimal, and smaller ones have two.
    """
    if value is None:
        return ""
    decimals = _digits(value) if digits is None else digits
    return f"{round(value, decimals) + 0.0:+.{decimals}f}".replace("-", "−")


def named(candidate: str) -> Markup:
    """Returns a candidate's name as HTML, with the maker in a weaker colour. Lines may break before each ``+``."""
    maker, slash, name = candidate.rpartition("/")
    own = Markup("<wbr>+").join(name.split("+"))
    return Markup('<span class="org">{}</span>{}').format(maker + slash, own) if slash else own


def plain(value: float | None, digits: int | None = None) -> str:
    """Returns *value* as `number` does, but without a plus sign."""
    return "" if value is None else f"{value:.{_digits(value) if digits is None else digits}f}".replace("-", "−")


def count(value: float | None) -> str:
    """Returns *value* as a whole number with thousands separators."""
    return "" if value is None else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """Returns *share* (0 to 1) in percent; a share below 0.1% is shown as ``< 0.1%``."""
    if share is None:
        return ""
    return "< 0.1%" if 0 < share < 0.001 else f"{100 * share:.1f}%" if share else "0%"


def bare(value: float | None) -> str:
    """Returns *value* as text with at most nine decimals. The page's script sorts tables by this text."""
    return "" if value is None else repr(round(float(value), 9))


def billions(value: float | None) -> str:
    """Returns *value*, a number of parameters in billions, as text such as ``70 B``."""
    return "" if value is None else f"{value:g} B"


def _digits(value: float) -> int:
    return 1 if abs(value) >= 100 else 2


def spoken(entry: Entry) -> str:
    """Returns the score of *entry* in words, for screen readers."""
    if entry.mean is None:
        return "no score"
    between = "" if entry.low is None else f", 90% interval {number(entry.low)} to {number(entry.high)}"
    return f"{entry.candidate}: {number(entry.mean)}{between}"

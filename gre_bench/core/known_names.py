"""Finds the known name that a user's name stands for, or lists the most similar ones in one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gre_bench.core.errors import SettingsError

SHOWN = 12
"""How many names one line lists at most."""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Returns all *known* names, the most similar to *name* first; names of equal similarity are sorted.

    The similarity is difflib's ratio without regard to case.
    """

    def far(other: str) -> tuple[float, str]:
        whole, end = (difflib.SequenceMatcher(None, name.lower(), part.lower()) for part in (other, _end(other)))
        return -max(whole.ratio(), end.ratio()), other

    return sorted(set(known), key=far)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message: ``did you mean ICLR-2025?`` if similar names exist, else the known names."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name.lower(), [other.lower() for other in names], n=3, cutoff=0.7)
    results = [other for one in near for other in names if other.lower() == one]
    if results:
        return f"did you mean {' or '.join(dict.fromkeys(results))}?"
    return f"known: {listed(nearest(name, names))}"


def listed(names: Iterable[str]) -> str:
    """Returns *names* in one line, in order: the first `SHOWN`, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) or "none yet") + more


def resolved(name: str, known: Iterable[str], what: str) -> str:
    """Returns the known name that equals *name*, else the only one that ends in ``/name``. Case counts.

    Raises `SettingsError` if none or several match. Its message starts with *what* and lists the nearest names.
    """
    names = set(known)
    if found := whole(name, names):
        return found
    raise SettingsError(f"{what} {name}; known, nearest first: {listed(nearest(name, names))}")


def whole(name: str, known: Iterable[str]) -> str | None:
    """Returns what `resolved` returns, but None if no known name matches; raises `SettingsError` if several do."""
    names = set(known)
    if name in names:
        return name
    ends = sorted(other for other in names if _end(other) == name)
    if len(ends) > 1:
        raise SettingsError(f"{name} may be {' or '.join(ends)}: name one of them in full")
    return ends[0] if ends else None


def _end(name: str) -> str:
    return name.rpartition("/")[2]

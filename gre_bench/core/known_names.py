"""Resolves a name that a user gave among the known ones, or says in one line which come near."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gre_bench.core.errors import SettingsError

SHOWN = 12
"""Most names in one line."""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Returns all *known* names, the most similar to *name* first (difflib's ratio, ignoring case), ties
    alphabetically.
    """

    def far(other: str) -> tuple[float, str]:
        whole, end = (difflib.SequenceMatcher(None, name.lower(), part.lower()) for part in (other, _end(other)))
        return -max(whole.ratio(), end.ratio()), other

    return sorted(set(known), key=far)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message: ``did you mean ICLR-2025?`` if names come near, else the known ones."""
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
    """Returns the one of *known* that equals *name*, or the only one that ends in ``/name``; case counts.

    Raises `SettingsError` if several or none match; *what* opens the message, and the nearest names follow.
    """
    names = set(known)
    if found := whole(name, names):
        return found
    raise SettingsError(f"{what} {name}; known, nearest first: {listed(nearest(name, names))}")


def whole(name: str, known: Iterable[str]) -> str | None:
    """Like `resolved`, but returns None if no name matches."""
    names = set(known)
    if name in names:
        return name
    ends = sorted(other for other in names if _end(other) == name)
    if len(ends) > 1:
        raise SettingsError(f"{name} may be {' or '.join(ends)}: name one of them in full")
    return ends[0] if ends else None


def _end(name: str) -> str:
    return name.rpartition("/")[2]

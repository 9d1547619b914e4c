"""A name that a user gave, among the names there are: the one meant, or one line with those that come near."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gre_bench.core.errors import SettingsError

SHOWN = 12
"""Names in one line, at most."""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """All *known* names, the most similar to *name* first (difflib's ratio, case aside), equals by the alphabet."""

    def far(other: str) -> tuple[float, str]:
        whole, end = (difflib.SequenceMatcher(None, name.lower(), part.lower()) for part in (other, _end(other)))
        return -max(whole.ratio(), end.ratio()), other

    return sorted(set(known), key=far)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean ICLR-2025?`` where names come near, else those there are: an end of a sentence."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name.lower(), [other.lower() for other in names], n=3, cutoff=0.7)
    found = [other for one in near for other in names if other.lower() == one]
    if found:
        return f"did you mean {' or '.join(dict.fromkeys(found))}?"
    return f"known: {listed(nearest(name, names))}"


def listed(names: Iterable[str]) -> str:
    """*names* in one line, in their order: the first `SHOWN`, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) or "none yet") + more


def resolved(name: str, known: Iterable[str], what: str) -> str:
    """The one of *known* that *name* is, or the only one that ends in ``/name``; case counts.

    `SettingsError` where several end so, and where none does: *what* is wrong, with the nearest first.
    """
    names = set(known)
    if found := whole(name, names):
        return found
    raise SettingsError(f"{what} {name}; known, nearest first: {listed(nearest(name, names))}")


def whole(name: str, known: Iterable[str]) -> str | None:
    """`resolved`, but None where no name fits."""
    names = set(known)
    if name in names:
        return name
    ends = sorted(other for other in names if _end(other) == name)
    if len(ends) > 1:
        raise SettingsError(f"{name} may be {' or '.join(ends)}: name one of them in full")
    return ends[0] if ends else None


def _end(name: str) -> str:
    return name.rpartition("/")[2]

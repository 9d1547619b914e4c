"""Finds the name that a user means, and lists similar names for error messages.

The *known* names are all valid names of one kind, such as editions or metrics.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gre_bench.core.errors import SettingsError

SHOWN = 12
"""The maximum number of names listed in one line."""


def sort_by_similarity(name: str, known: Iterable[str]) -> list[str]:
    """Returns all *known* names, the most similar to *name* first; equally similar names are in alphabetical order.

    The similarity is difflib's ratio, ignoring case: that of *name* and the known name, or of *name* and the part of
    the known name after its last ``/``, whichever is higher.
    """

    def distance_to(other: str) -> tuple[float, str]:
        whole, end = (
            difflib.SequenceMatcher(None, name.lower(), part.lower()) for part in (other, get_part_after_slash(other))
        )
        return -max(whole.ratio(), end.ratio()), other

    return sorted(set(known), key=distance_to)


def suggest_known_names(name: str, known: Iterable[str]) -> str:
    """Returns the end of an error message: ``did you mean ICLR-2025?``, or the known names if none is similar."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name.lower(), [other.lower() for other in names], n=3, cutoff=0.7)
    results = [other for lowered in near for other in names if other.lower() == lowered]
    begin = name.lower().replace("-", "_")
    longer = [other for other in names if len(begin) > 2 and other.lower().replace("-", "_").startswith(f"{begin}_")]
    results = longer[:3] or results
    if results:
        return f"did you mean {' or '.join(dict.fromkeys(results))}?"
    return f"known: {format_name_list(sort_by_similarity(name, names))}"


def format_name_list(names: Iterable[str], most: int = SHOWN) -> str:
    """Returns the first *most* of *names* in one line, then how many are left out; ``none yet`` without names."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none yet") + more


def require_known_name(name: str, known: Iterable[str], subject: str) -> str:
    """Returns the result of `find_matching_name`.

    If no known name matches, raises `SettingsError`, whose message begins with *subject*.
    """
    names = set(known)
    if match := find_matching_name(name, names):
        return match
    raise SettingsError(f"{subject} {name}; known, nearest first: {format_name_list(sort_by_similarity(name, names))}")


def find_matching_name(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that equals *name*, or else the only one whose part after the last ``/`` equals *name*.

    Returns None if there is neither. Raises `SettingsError` if several known names have *name* after their last ``/``.
    """
    names = set(known)
    if name in names:
        return name
    ends = sorted(other for other in names if get_part_after_slash(other) == name)
    if len(ends) > 1:
        raise SettingsError(f"{name} may be {' or '.join(ends)}: name one of them in full")
    return ends[0] if ends else None


def get_part_after_slash(name: str) -> str:
    """Returns the end of *name*, such as a model's name without its maker: ``gpt-4o`` for ``openai/gpt-4o``."""
    return name.rpartition("/")[2]


def leaves_parent_folder(name: str) -> bool:
    """Whether the path *name* may lead out of its parent folder: it begins with ``/`` or has a part ``.`` or ``..``."""
    return name.startswith("/") or not {".", ".."}.isdisjoint(name.split("/"))

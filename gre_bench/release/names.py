"""Makes file names from ids that may hold any character."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 60


def page_of(key: str) -> str:
    """Returns the file name of the page of the paper or candidate with the id *key*.

    A short, lower-case id without special characters is used as it is. Any other id is cut, and a hash is added.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", key).strip("-.")
    if plain == key and len(plain) <= _LONGEST and plain.lower() == plain:
        return f"{plain}.html"
    return f"{plain[:_LONGEST] or 'page'}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.html"

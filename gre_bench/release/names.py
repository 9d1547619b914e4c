"""Names of files made from ids that may hold anything."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 60


def page_of(key: str) -> str:
    """File name of the page of a paper or candidate: its id where that is plain, else some of it and a hash."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", key).strip("-.")
    if plain == key and len(plain) <= _LONGEST and plain.lower() == plain:
        return f"{plain}.html"
    return f"{plain[:_LONGEST] or 'page'}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.html"

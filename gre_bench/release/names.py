"""Names of files made from ids that may hold anything."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 60


def page_of_paper(paper_id: str) -> str:
    """File name of a paper's page: its id where that is a plain name, else what is plain of it and a hash."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", paper_id).strip("-.")
    if plain == paper_id and len(plain) <= _LONGEST and plain.lower() == plain:
        return f"{plain}.html"
    return f"{plain[:_LONGEST] or 'paper'}-{hashlib.sha256(paper_id.encode()).hexdigest()[:8]}.html"

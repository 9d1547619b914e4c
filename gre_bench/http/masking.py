"""Secrets taken out of a text in each of the writings that servers and libraries give them back in.

Plain, URL-encoded, in base64 (of a longer text too, wherever the secret begins in it) and in hex: what is said of a
request's headers, body or address. Whoever has a secret and means harm can write it so that nobody finds it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, quote_plus

SHORTEST_SECRET = 8
"""A shorter one is a placeholder or a word: taking it out would only mangle the text."""


def masked(text: str, secrets: Iterable[str], mark: str = "[secret]") -> str:
    """*text* with *mark* in the place of each of *secrets*; those that are too short to be one are left."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            for writing in _writings(secret):
                text = text.replace(writing, mark)
    return text


@lru_cache(maxsize=64)
def _writings(secret: str) -> tuple[str, ...]:
    """How *secret* may stand in a text, plain first."""
    raw = secret.encode()
    found = [secret, quote(secret), quote(secret, safe=""), quote_plus(secret), raw.hex(), raw.hex().upper()]
    for ahead in range(3):
        # What stands beside the secret decides the first and the last sign of its base64, but none between.
        coded = base64.b64encode(b"\0" * ahead + raw).decode()
        found.append(coded[4 if ahead else 0 : (ahead + len(raw)) // 3 * 4])
    found += [text.replace("+", "-").replace("/", "_") for text in found[-3:]]
    return tuple(dict.fromkeys(found))

"""Removes secrets from a text, in every encoding in which servers and libraries may repeat them.

It covers plain text, URL encoding, hex, and base64, also within a longer encoded text. Messages about a request repeat
its headers, body or address in these ways. It does not find a secret that somebody hides on purpose.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, quote_plus

SHORTEST_SECRET = 8
"""A shorter secret is a placeholder or a word; removing it would only garble the text."""


def masked(text: str, secrets: Iterable[str], mark: str = "[secret]") -> str:
    """Returns *text* with *mark* in place of each of *secrets*; a secret shorter than `SHORTEST_SECRET` stays."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            for writing in _writings(secret):
                text = text.replace(writing, mark)
    return text


@lru_cache(maxsize=64)
def _writings(secret: str) -> tuple[str, ...]:
    """Returns the encodings of *secret* that may occur in a text; the first is the secret itself."""
    raw = secret.encode()
    results = [secret, quote(secret), quote(secret, safe=""), quote_plus(secret), raw.hex(), raw.hex().upper()]
    for ahead in range(3):
        # The neighbours of a secret change only the first and the last character of its base64.
        coded = base64.b64encode(b"\0" * ahead + raw).decode()
        results.append(coded[4 if ahead else 0 : (ahead + len(raw)) // 3 * 4])
    results += [text.replace("+", "-").replace("/", "_") for text in results[-3:]]
    return tuple(dict.fromkeys(results))

"""Removes secrets from texts, in every encoding in which servers and libraries may repeat a secret.

The encodings are plain text, URL encoding, hex and base64, also inside a longer encoded text. Error messages may repeat
a request's headers, body or URL in these encodings. A secret that somebody disguises on purpose is not found.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, quote_plus

SHORTEST_SECRET = 8
"""A shorter secret is a placeholder or a word; removing it would only garble the text."""


def masked(text: str, secrets: Iterable[str], mark: str = "[secret]") -> str:
    """Returns *text* with *mark* in place of each secret. Secrets shorter than `SHORTEST_SECRET` are not masked."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            for writing in _writings(secret):
                text = text.replace(writing, mark)
    return text


@lru_cache(maxsize=64)
def _writings(secret: str) -> tuple[str, ...]:
    """Returns the forms in which *secret* may occur in a text: as it is, then in each encoding."""
    raw = secret.encode()
    results = [secret, quote(secret), quote(secret, safe=""), quote_plus(secret), raw.hex(), raw.hex().upper()]
    for ahead in range(3):
        # The neighbours of a secret change only the first and the last character of its base64.
        coded = base64.b64encode(b"\0" * ahead + raw).decode()
        results.append(coded[4 if ahead else 0 : (ahead + len(raw)) // 3 * 4])
    results += [text.replace("+", "-").replace("/", "_") for text in results[-3:]]
    return tuple(dict.fromkeys(results))

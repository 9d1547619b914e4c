"""Checks and cleans the URLs of services, so that no password or key in a URL reaches the logs."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_ACCOUNT = re.compile(r"(?<=://)[^/\s]*@")


def normalise_base_url(url: str) -> str:
    """Returns *url* without a final slash.

    Raises `ValueError` if *url* is not an http(s) URL, or contains a user, a password, a query or a fragment. The
    message never contains the URL.
    """
    problem = ValueError("not an http(s) URL")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise problem from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("must hold no user, password or query; keys come from the environment")
    printable = url.isascii() and url.isprintable() and " " not in url
    if not printable or parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise problem
    return url.rstrip("/")


def redact_url_credentials(text: str) -> str:
    """Returns *text* with the user and password of each URL replaced by ``[account]``."""
    return _ACCOUNT.sub("[account]@", text)

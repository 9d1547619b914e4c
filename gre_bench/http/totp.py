"""Computes one-time codes as authenticator apps do, for two-factor logins (RFC 6238: SHA-1, 30 s, 6 digits)."""

from __future__ import annotations

import base64
import binascii
import hmac
import time

from gre_bench.core.errors import SettingsError

STEP_S = 30
DIGITS = 6


def compute_totp_code(secret: str, at: float | None = None) -> str:
    """Returns the 6-digit code for the base32 *secret*; raises `SettingsError` if *secret* is not base32.

    *at*: the time of the code in epoch seconds; None means now.
    """
    text = secret.replace(" ", "").upper()
    try:
        key = base64.b32decode(text + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        raise SettingsError("the secret of the one-time codes is not base32, as authenticator apps take it") from None
    step = int((time.time() if at is None else at) // STEP_S)
    mark = hmac.digest(key, step.to_bytes(8, "big"), "sha1")
    start = mark[-1] & 15
    number = int.from_bytes(mark[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"

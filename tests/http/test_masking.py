"""A secret is found in every usual writing, and what is no secret stays."""

from __future__ import annotations

import base64
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from gre_bench.http.lm_requests import mask_secrets

SECRETS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789+/=-_.:", min_size=8, max_size=60)


@given(SECRETS, st.binary(max_size=20), st.binary(max_size=20))
def test_a_secret_stands_nowhere_in_base64_of_a_longer_text(secret, before, after):
    coded = base64.b64encode(before + secret.encode() + after).decode()
    kept = base64.b64decode(
        mask_secrets(coded, [secret], "").ljust(len(coded) // 4 * 4 + 4, "A")[: len(coded) // 4 * 4]
    )
    assert secret.encode() not in kept and "[secret]" in mask_secrets(coded, [secret])


@given(SECRETS, st.text(max_size=20))
def test_a_secret_is_taken_out_plain_quoted_and_in_hex_longer_ones_first_and_all_else_stays(secret, around):
    for writing in (secret, quote(secret), quote(secret, safe=""), secret.encode().hex()):
        assert writing not in mask_secrets(f"{around} {writing} {around}", [secret], "\N{LOCK}")
    assert (
        mask_secrets("a key-0123456789 b key-01234567 c", ["key-01234567", "key-0123456789"])
        == "a [secret] b [secret] c"
    )
    assert mask_secrets("the password is secret", ["secret", ""]) == "the password is secret"
    assert mask_secrets("nothing of it", ["key-01234567"]) == "nothing of it"

"""Finds the secrets that a run knows, and removes them from every text that the run shows or stores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import GreBenchError
from gre_bench.core.settings import Settings
from gre_bench.http.masking import SHORTEST_SECRET, masked

OTHER_SECRETS = ("PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")


def secrets_of(settings: Settings) -> list[str]:
    """Returns the secret values in the environment, the longest first: keys of LMs, logins of OpenReview and Prefect.

    *settings* name the environment variables that hold them.
    """
    names = {*OTHER_SECRETS, settings.evaluation_lm.key_env}
    with suppress(GreBenchError):  # another check reports a faulty models file
        names |= {model.key_env for model in load_models(settings.writing.models).values()}
    fetch = settings.fetch
    for where in (fetch.username, fetch.password, fetch.token, fetch.mfa_code, fetch.totp_secret):
        names.add(where.removeprefix("env:"))
    values = {os.environ.get(name, "").strip() for name in names if name}
    return sorted((value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True)


def without(secrets: Sequence[str], text: str) -> str:
    """Returns *text* with each of *secrets* replaced by ``[secret]``."""
    return masked(text, secrets)

"""What tests of fetching share."""

from __future__ import annotations

import pytest

from tests.flows.fetching import IDEAL, LOGIN, fetched, served


@pytest.fixture
def logged_in(monkeypatch):
    for name, value in LOGIN.items():
        monkeypatch.setenv(name, value)
    for name in ("TOKEN", "MFA_CODE", "TOTP_SECRET"):
        monkeypatch.delenv(f"OPENREVIEW_{name}", raising=False)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The digest of a fetch that nothing disturbed."""
    with pytest.MonkeyPatch.context() as patch, served() as loopback:
        for name, value in LOGIN.items():
            patch.setenv(name, value)
        digest = fetched(loopback.v2, tmp_path_factory.mktemp("undisturbed"))["digest"]
        assert loopback.counts == IDEAL
    return digest

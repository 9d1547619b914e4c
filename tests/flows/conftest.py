"""What tests of fetching share."""

from __future__ import annotations

import pytest

from tests.flows.fetching import ACCOUNT, IDEAL, fetched, served


@pytest.fixture
def logged_in(monkeypatch):
    monkeypatch.setenv("OPENREVIEW_USERNAME", ACCOUNT.username)
    monkeypatch.setenv("OPENREVIEW_PASSWORD", ACCOUNT.password)
    for name in ("TOKEN", "MFA_CODE", "TOTP_SECRET"):
        monkeypatch.delenv(f"OPENREVIEW_{name}", raising=False)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The digest of a fetch that nothing disturbed."""
    with pytest.MonkeyPatch.context() as patch, served() as loopback:
        patch.setenv("OPENREVIEW_USERNAME", ACCOUNT.username)
        patch.setenv("OPENREVIEW_PASSWORD", ACCOUNT.password)
        digest = fetched(loopback.v2, tmp_path_factory.mktemp("undisturbed"))["digest"]
        assert loopback.counts == IDEAL
    return digest

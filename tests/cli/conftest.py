"""What tests of commands share."""

from __future__ import annotations

import pytest

from tests.cli.calling import ended


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs ``gre-bench`` in the test's own folder, on the state in it; (exit code, standard output, standard error)."""
    monkeypatch.setenv("GRE_BENCH_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return ended

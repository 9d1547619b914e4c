"""What the studies share: a server's faults pass quickly."""

from __future__ import annotations

from functools import partial

import pytest

from gre_bench.writing import http_writer


@pytest.fixture(autouse=True)
def retry_policy(monkeypatch):
    monkeypatch.setattr(http_writer, "RetryPolicy", partial(http_writer.RetryPolicy, attempts=2, first_wait_s=0.01))

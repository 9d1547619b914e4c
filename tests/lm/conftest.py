"""A tiny Llama of random weights, made once for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def llama3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder, to which nothing may be written."""
    from tests.lm.chat_models import build_chat_model

    return build_chat_model(tmp_path_factory.mktemp("model") / "llama3")


@pytest.fixture(scope="session")
def weights(llama3: Path):
    """The same, opened on the CPU."""
    from gre_bench.lm.weights import open_weights

    return open_weights(llama3, device="cpu")

"""The papers' texts, where they are on this machine."""

from __future__ import annotations

import pytest

from tests.conftest import SHARED

TITLES = {
    "000": "the appendix of PRE", "001": "the text of Kim et al. 2023", "003": "the text of Kotonya et al. 2023",
    "002": "the text of the paper on reviewer guidelines", "004": "the text of Xu et al. 2025",
}  # fmt: skip


def paper(number: str) -> str:
    """The text of the paper *number*; skips the test that asks for it if it is not there."""
    texts = list((SHARED.parent / "seeds").glob("001_clean.txt" if number == "001" else f"{number}*.txt"))
    if not texts:
        pytest.skip(f"{TITLES[number]} is not on this machine")
    return texts[0].read_text()

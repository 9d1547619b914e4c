"""Texts that users supply: what is body, what is cut."""

from __future__ import annotations

import pytest

from tasks.corpus.paper_text import body_of

WHOLE = "# A TITLE\n\n# ABSTRACT\n\nWe do x.\n\n# 1 INTRODUCTION\n\nIt matters.\n\n# 6 CONCLUSION\n\nDone.\n"


@pytest.mark.parametrize(("text", "abstract", "first", "last"), [
    (WHOLE + "# REFERENCES\n\n[1] A. B.", "We do x.", "# 1 INTRODUCTION", "Done."),
    (WHOLE + "**References**\n\n[1] A. B.\n\n# A PROOFS", "We do x.", "# 1 INTRODUCTION", "Done."),
    (WHOLE + "## Appendix A: proofs\n\nx", "We do x.", "# 1 INTRODUCTION", "Done."),
    (WHOLE, "We do x.", "# 1 INTRODUCTION", "Done."),
    ("Just a text.\nReferences to others are text too.", None, "Just", "too."),
    ("Abstract\nWe do y.\nThe method.", None, "We do y.", "method."),
    (WHOLE + "We prove it in\nAppendix A for details. Then more.", "We do x.", "# 1 INTRODUCTION", "Then more."),
    (WHOLE + "Appendix B\n\nProofs.", "We do x.", "# 1 INTRODUCTION", "Done."),
    ("", None, "", ""),
])
def test_abstract_and_body_are_found_and_the_rest_is_cut(text, abstract, first, last):
    found = body_of(text)
    assert found.abstract == abstract
    assert found.text.startswith(first)
    assert found.text.endswith(last)


def test_a_huge_text_is_read_in_linear_time():
    assert len(body_of("word " * 400_000).text) > 1_000_000

"""Texts that users supply: what is body, what is cut."""

from __future__ import annotations

import pytest

from gre_bench.ingest.pdf.matter import parse_abstract_and_body

WHOLE = "# A TITLE\n\n# ABSTRACT\n\nWe do x.\n\n# 1 INTRODUCTION\n\nIt matters.\n\n# 6 CONCLUSION\n\nDone.\n"


@pytest.mark.parametrize(
    ("text", "abstract", "first", "last"),
    [
        (WHOLE + "# REFERENCES\n\n[1] A. B.", "We do x.", "# 1 INTRODUCTION", "Done."),
        (WHOLE + "**References**\n\n[1] A. B.\n\n# A PROOFS", "We do x.", "# 1 INTRODUCTION", "Done."),
        (WHOLE + "## Appendix A: proofs\n\nx", "We do x.", "# 1 INTRODUCTION", "Done."),
        (WHOLE, "We do x.", "# 1 INTRODUCTION", "Done."),
        ("Just a text.\nReferences to others are text too.", None, "Just", "too."),
        ("Abstract\nWe do y.\nThe method.", None, "We do y.", "method."),
        (WHOLE + "We prove it in\nAppendix A for details. Then more.", "We do x.", "# 1 INTRODUCTION", "Then more."),
        (WHOLE + "Appendix B\n\nProofs.", "We do x.", "# 1 INTRODUCTION", "Done."),
        ("", None, "", ""),
    ],
)
def test_abstract_and_body_are_found_and_the_rest_is_cut(text, abstract, first, last):
    found = parse_abstract_and_body(text)
    assert found.abstract == abstract
    assert found.text.startswith(first)
    assert found.text.endswith(last)


PROSE = "The gradient of the sampler is bounded by what the corpus holds, and that is all that we say here of it.\n"
CITED = "\n".join(f"[{number}] A. Kernelson. A margin. Journal of Reading, {2000 + number}." for number in range(1, 9))
LISTED = "# Title\n\n## Contents\n\nIntroduction\n\nMethod\n\nReferences\n\nAppendix A\n\n"
SECTIONS = f"# Introduction\n\n{PROSE}\n# Method\n\n{PROSE * 9}\nIt ends here.\n\n"


@pytest.mark.parametrize(("text", "last"), [
    (LISTED + SECTIONS + f"# References\n\n{CITED}\n", "It ends here."),
    (LISTED + SECTIONS + f"# References\n\n{CITED}\n\n# Appendix A\n\n{PROSE}", "It ends here."),
    (LISTED + SECTIONS + f"# Appendix A\n\n{PROSE}\n# References\n\n{CITED}\n", "It ends here."),
    (SECTIONS + f"# References\n\n{CITED}\n\n# Appendix A\n\n{PROSE}\n# References\n\n{CITED}", "It ends here."),
    (SECTIONS + f"# References\n\n{PROSE * 30}It goes on.", "It goes on."),
    (SECTIONS + f"# References\n\n{CITED}\n\n# Methods\n\n{PROSE * 30}\nMore.\n\n# References\n\n{CITED}", "More."),
])  # fmt: skip
def test_a_heading_in_a_table_of_contents_ends_nothing_and_begins_nothing(text, last):
    found = parse_abstract_and_body(text)
    assert found.text.startswith("# Introduction\n\nThe gradient") and found.text.endswith(last) and not found.doubts


def test_every_word_of_a_text_is_kept_or_dropped_by_a_rule_in_linear_time_and_if_most_are_gone_it_is_doubtful():
    hostile = [piece * (100_000 // len(piece)) for piece in ("\n", " \n", "\r\n", "# \n", "1\n", "contents\n")]
    listed = LISTED + SECTIONS + f"# References\n\n{CITED}\n"
    for text in (WHOLE, listed, "", "No headings.", "word " * 400_000, *hostile):
        assert parse_abstract_and_body(text).words.total == len(text.split())
    found = parse_abstract_and_body(SECTIONS + f"# References\n\n{CITED}\n" + PROSE * 200)
    assert found.words.words["references"] > 3000 and "most words are dropped" in found.doubts[0]

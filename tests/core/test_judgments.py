"""Judgments: which lines are, what the strict form keeps."""

from __future__ import annotations

import pytest

from gre_bench.core.judgments import count_judgments, has_judgments, keep_only_judgments


@pytest.mark.parametrize(
    ("text", "counts", "kept"),
    [
        ("", (0, 0), ""),
        ("\n \n", (0, 0), ""),
        (
            "The reviewer appreciates a.\n\nThe reviewer questions b.",
            (2, 0),
            "The reviewer appreciates a.\nThe reviewer questions b.",
        ),
        ("  The reviewer suggests a. \nSummary:\n- The reviewer criticizes b.", (1, 2), "The reviewer suggests a."),
        ("the reviewer suggests a.", (0, 1), ""),
        ("The reviewer thinks a.\r\nThe reviewer criticizes b.", (1, 1), "The reviewer criticizes b."),
    ],
)
def test_lines_are_counted_and_kept(text, counts, kept):
    assert count_judgments(text) == counts
    assert keep_only_judgments(text) == kept


@pytest.mark.parametrize(
    ("text", "as_written", "strictly"),
    [
        ("The reviewer appreciates a.", True, True),
        ("- The reviewer appreciates a.", True, False),
        ("2) The reviewer questions a.\n* The reviewer suggests b.", True, False),
        ("The reviewer informs the area chair that they cannot review the paper.", False, False),
        ("Notes: The reviewer suggests a.", False, False),
        ("", False, False),
    ],
)
def test_a_text_that_judges_nothing_yields_none(text, as_written, strictly):
    assert (has_judgments(text, "as_written"), has_judgments(text, "strict")) == (as_written, strictly)

"""Ratings under a guideline: what counts as one, and what a rubric makes of a temporary score."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Problem
from gre_bench.guidelines.ratings import (
    Rating,
    convert_temporary_score_to_rating,
    overall_rating,
    parse_temporary_score,
)

# round(((t + 10)/20)·9 + 1) with the half of t = 0 rounded down, computed by hand.
NORMALISED = {
    -10: 1, -9: 1, -8: 2, -7: 2, -6: 3, -5: 3, -4: 4, -3: 4, -2: 5, -1: 5, 0: 5,
    1: 6, 2: 6, 3: 7, 4: 7, 5: 8, 6: 8, 7: 9, 8: 9, 9: 10, 10: 10,
}  # fmt: skip


def test_the_rubric_maps_each_temporary_score_as_listing_13_does_and_none_off_the_scale():
    assert {t: convert_temporary_score_to_rating(t) for t in range(-10, 11)} == NORMALISED
    for score in (-11, 11, 100):
        with pytest.raises(ValueError, match="not between"):
            convert_temporary_score_to_rating(score)


READ = [
    (overall_rating, ("Overall Rating: (6)", "Overall Rating: 6", "Overall Rating: 6.", "Overall Rating: 6.0",
                      "Overall Rating: 6 - Weak Accept", "The overall rating is 4.\nOverall Rating: 6"), 6),
    (overall_rating, ("Overall Rating: 7/10", "Overall Rating: (7/10)", "Overall Rating: 7 out of 10.",
                      "The overall rating is 7.",
                      "Overall Rating: 7 of 10", "Overall Rating: 7, Confidence: 4", "Overall Rating: 7+",
                      "The overall rating is 7/10, for the proof holds.\n\nThe overall rating is **7**"), 7),
    (overall_rating, ("overall rating:\n5", "Overall Rating: (5)\nOverall Rating: (Your Rating)"), 5),
    (overall_rating, ('It is sound.\n\n"Overall Rating: (8)"',), 8),
    (overall_rating, ("**Overall Rating:** 3",), 3), (overall_rating, ("**Overall Rating: (10)**",), 10),
    (overall_rating, ("Overall Rating: (Your Rating)\nOverall Rating: (4)",), 4),
    (overall_rating, ("Overall Rating: (9)\nOn reflection:\nOverall Rating: (2)",), 2),
    (overall_rating, ("<think>\nOverall Rating: (9)\n</think>\nOverall Rating: (1)",), 1),
    (overall_rating, ('Overall Rating: (3)\nThe review\'s own "Overall Rating: 8" is too kind.',
                      "Overall Rating: 3. The reviewer wrote Overall Rating: 9.",
                      "Hence I give the paper an Overall Rating: 3"), 3),
    (parse_temporary_score, ("Temporary score: 4",), 4), (parse_temporary_score, ("- The temporary score (-10 to +10): +3",), 3),
    (parse_temporary_score, ("**Temporary Score:** -7",), -7), (parse_temporary_score, ("temporary_score = 10",), 10),
    (parse_temporary_score, ("Temporary score: \u22122",), -2), (parse_temporary_score, ("Temporary Score: 5/10",), 5),
    (parse_temporary_score, ("Temporary score: 9\nI correct myself. Temporary score: (0)",), 0),
]  # fmt: skip


@pytest.mark.parametrize(("read", "replies", "number"), READ)
def test_a_stated_number_is_read(read, replies, number):
    assert {reply: read(reply) for reply in replies} == dict.fromkeys(replies, number)


REFUSED = [
    (overall_rating, "no_rating", (
        "", "I cannot rate this paper.", "Overall Rating: (Your Rating)", "Rating: 6",
        "<think>\nOverall Rating: (9)\n</think>\nA fine paper.", "<think>\nOverall Rating: (9)",
        'The reviewer closes with "Overall Rating: 8".', "The authors hope that the overall rating is 8.",
        "The overall rating is 3 points below the mean.", "The overall rating is 7,5.", "The overall rating is 7 to 8.",
    )),
    (overall_rating, "rating_not_integer: 6.5", ("Overall Rating: (6.5)",)),
    (overall_rating, "rating_ambiguous: 3 of 5", ("The overall rating is 3/5.", "Overall Rating: 3/5")),
    (overall_rating, "rating_ambiguous: 5 and 7", ("The overall rating is 7. No: the overall rating is 5.",)),
    (overall_rating, "rating_ambiguous: 5-6", ("Overall Rating: 5-6",)),
    (overall_rating, "rating_ambiguous: 5 or 6", ("Overall Rating: 5 or 6",)),
    (overall_rating, "rating_ambiguous: 7", tuple(f"Overall Rating: 7{more}" for more in (
        ",5", ", 5", "·5", "’5", "½", " ½", "%", " %", "/8", " of 8", "/10.5", "~8", " & 8", " and 8", "+1", "..8", "…8", ": 8", "–8",
    ))),
    (overall_rating, "rating_ambiguous: 7", ("**Overall Rating:** 7,5", "The overall rating is 7, 8 at most.")),
    (parse_temporary_score, "temporary_score_ambiguous: 2,5", ("Temporary score: 2,5",)),
    (overall_rating, "rating_ambiguous: 8", ("Overall Rating: 8, no, 3", "Overall Rating: 8 → 3", "Overall Rating: 8 and 3")),
    (overall_rating, "rating_ambiguous", ("Overall Rating: 12345678901234567890",)),
    (overall_rating, "rating_off_scale: 0", ("Overall Rating: (0)",)),
    (overall_rating, "rating_off_scale: -3", ("Overall Rating: -3",)),
    (overall_rating, "rating_off_scale: 11", ("Overall Rating: 11",)),
    (overall_rating, "rating_off_scale: 60", ("Overall Rating: (6)\nOverall Rating: (60)",)),
    (parse_temporary_score, "no_temporary_score", ("Overall Rating: (6)", "The temporary score (-10 to +10)")),
    (parse_temporary_score, "temporary_score_off_scale: 12", ("Temporary score: 12",)),
    (parse_temporary_score, "temporary_score_not_integer: 2.5", ("Temporary score: 2.5",)),
]  # fmt: skip


@pytest.mark.parametrize(("read", "code", "replies"), REFUSED)
def test_what_is_no_such_number_says_why(read, code, replies):
    for reply in replies:
        with pytest.raises(ReplyError) as error:
            read(reply)
        assert str(error.value).startswith(code), reply


@given(st.text(), st.integers(1, 10), st.sampled_from(["", "(", "**", '"(']))
def test_a_rating_at_the_end_is_read_whatever_stands_before_it(before, rating, mark):
    before = before.replace("<think>", "").replace("</think>", "")
    assert overall_rating(f"{before}\nOverall Rating: {mark}{rating}") == rating


@given(st.text(alphabet="Ovreal Rtingtempscy:_*`\"'()-+/.0123456789\n\t", max_size=400))
def test_no_reply_breaks_the_reading(reply):
    for read in (overall_rating, parse_temporary_score):
        with suppress(ReplyError):
            assert isinstance(read(reply), int)


def test_reading_takes_linear_time():
    assert overall_rating("Overall Rating: " * 20_000 + "Overall Rating: (3)" + " *" * 100_000) == 3


def test_a_rating_has_a_value_or_a_problem():
    with pytest.raises(ValueError, match="not both or neither"):
        Rating("p", "m", "none", None)
    with pytest.raises(ValueError, match="not both or neither"):
        Rating("p", "m", "none", 3, Problem("no_rating", ""))

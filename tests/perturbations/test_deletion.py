"""Sentence deletion and what a completion starts from: the paper's toy examples first, then what always holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gre_bench.core.errors import ReplyError
from gre_bench.perturbations.edits import MISSING, blank_even_sentences, check_completion, delete_even_sentences
from gre_bench.perturbations.material import (
    ICLR_2023,
    PerturbationInput,
    iterate_sentence_texts,
    split_at_headings,
    split_review,
)
from tests.perturbations.toy import BLANKED, BLANKED_AS_PRINTED, DELETED, SPACED, TOY

toy = PerturbationInput("toy", TOY)


@pytest.mark.parametrize("splitter", ["authors", "linguistic"])
def test_the_toy_review_is_deleted_and_blanked_as_printed_but_for_a_full_stop_that_the_paper_lost(splitter):
    assert delete_even_sentences(replace(toy, splitter=splitter)) == DELETED
    assert blank_even_sentences(replace(toy, splitter=splitter)) == BLANKED
    assert BLANKED.replace(".", "") == BLANKED_AS_PRINTED.replace(".", "")
    assert len(BLANKED) == len(BLANKED_AS_PRINTED) + 1


def test_blank_lines_around_headings_stay():
    assert delete_even_sentences(PerturbationInput("toy", SPACED)) == DELETED.replace(":\n", ":\n\n").replace(
        ".\n", ".\n\n"
    )


@pytest.mark.parametrize(
    ("splitter", "text", "expected"),
    [
        # The authors' pieces: "It has 0." "85 AUC." "Why?" "Good!" "e." "g." "x"
        ("authors", "It has 0.85 AUC. Why? Good! e.g. x", "It has 0. Why? e. x"),
        ("linguistic", "It has 0.85 AUC. Why? Good! e.g. x", "It has 0.85 AUC. Good! e.g. x"),
        # A line break ends a piece, blank ones are not counted, and what is left is joined by a space.
        ("authors", "one\n\n\ntwo\nthree", "one three"),
        ("linguistic", "- One.\n- Two.\n\n- Three.\n", "- One.\n\n- Three.\n"),
        ("authors", "One... two", "One. ."),
        ("authors", "One.", "One."),
        ("linguistic", "One. Two.\nThree. Four.", "One.\nThree."),
    ],
)
def test_sentences_end_where_the_splitter_says(splitter, text, expected):
    assert delete_even_sentences(PerturbationInput("x", text, splitter=splitter)) == expected


def test_a_piece_that_contains_a_heading_is_one_and_restarts_the_count():
    text = "A. B.\nIn the Summary Of The Review below. C. D. E."
    assert delete_even_sentences(PerturbationInput("x", text)) == "A.\nIn the Summary Of The Review below. C. E."


def test_headings_are_the_venues_own():
    text = "Summary:\nA. B. C.\n\nStrengths:\nD. E."
    assert (
        delete_even_sentences(PerturbationInput("x", text, headings=("Summary:", "Strengths:")))
        == "Summary:\nA. C.\n\nStrengths:\nD."
    )
    assert delete_even_sentences(PerturbationInput("x", text, headings=())) == "Summary: B. Strengths: E."
    assert [heading for heading, _ in split_at_headings(text, ())] == [""]


PIECES = [*ICLR_2023, ":", "\n", "\n\n", " ", ". ", "? ", "!", "0.85", "the word", "- ", "\u2028", "é", "\t"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=60)
SPLITTERS = st.sampled_from(["authors", "linguistic"])


@given(TEXTS)
@example("  Summary Of The Paper")
def test_sections_are_the_text_but_for_blanks_before_it(text):
    whole = "".join(heading + body for heading, body in split_at_headings(text, ICLR_2023))
    assert whole == text or (whole == text.lstrip() and split_at_headings(text, ICLR_2023)[0][0])


@given(TEXTS, SPLITTERS)
def test_deletion_keeps_all_headings_and_odd_sentences_in_order_and_nothing_else(text, splitter):
    kept = []
    for section in split_review(text, splitter, ICLR_2023):
        even = [one for one in section.sentences if one.text][1::2]
        left = [one for one in section.sentences if not any(one is gone for gone in even)]
        kept += [section.heading, *(one.mark + one.text for one in left)]
    after = delete_even_sentences(PerturbationInput("x", text, splitter=splitter))
    assert "".join(after.split()) == "".join("".join(kept).split())
    assert delete_even_sentences(PerturbationInput("another key", text, splitter=splitter, seed=5)) == after


@given(TEXTS, SPLITTERS)
def test_a_blanked_review_has_one_mark_for_each_deleted_sentence(text, splitter):
    marks = sum(len([*iterate_sentence_texts([section])]) // 2 for section in split_review(text, splitter, ICLR_2023))
    assert blank_even_sentences(PerturbationInput("x", text, splitter=splitter)).count(MISSING) == marks


COMPLETED = BLANKED.replace(MISSING, "More could be said of it.")


@pytest.mark.parametrize(("reply", "code"), [
    (BLANKED, "missing_sentences"),
    (COMPLETED.replace("More could be said of it.", MISSING.lower(), 1), "missing_sentences"),
    ("More could be said of it.", "lost_sentences"), ("I cannot help with that.", "lost_sentences"),
])  # fmt: skip
def test_a_completion_that_left_places_open_or_lost_sentences_is_none(reply, code):
    assert check_completion(f"\n{COMPLETED}\n", toy) == COMPLETED
    assert check_completion(COMPLETED.replace("This is the", "This  is\nthe"), toy)
    with pytest.raises(ReplyError, match=code):
        check_completion(reply, toy)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [". ", "\n", "Summary Of The Paper\n", "a. Summary Of The Review", "x ", "- y\n"])
def test_a_tenth_of_a_megabyte_is_cut_in_seconds(piece):
    material = PerturbationInput("x", piece * (100_000 // len(piece)))
    assert len(delete_even_sentences(material)) <= len(material.text)

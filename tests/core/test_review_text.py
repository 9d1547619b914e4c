"""A review as sections and sentences: headings of all dresses, sentence ends, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gre_bench.core.review_text import join_sections, list_sentences, split_into_sections


@pytest.mark.parametrize(
    ("line", "kind", "name"),
    [
        ("Summary Of The Paper:", "summary", "summary of the paper"),
        ("Strengths:", "strengths", "strengths"),
        ("Weaknesses", "weaknesses", "weaknesses"),
        ("**Strengths**", "strengths", "strengths"),
        ("**Weakness:**", "weaknesses", "weakness"),
        ("# Questions", "questions", "questions"),
        ("### Questions for the authors", "questions", "questions for the authors"),
        ("Strength And Weaknesses:", "mixed", "strength and weaknesses"),
        ("Pros/Cons", "mixed", "pros/cons"),
        ("Pros:", "strengths", "pros"),
        ("[Cons]", "weaknesses", "cons"),
        ("=== Limitations ===", "weaknesses", "limitations"),
        ("Clarity, Quality, Novelty And Reproducibility:", "aspects", "clarity, quality, novelty and reproducibility"),
        ("*Novelty:*", "aspects", "novelty"),
        ("Summary Of The Review:", "verdict", "summary of the review"),
        ("Minor comments:", "minor", "minor comments"),
        ("## Typos", "minor", "typos"),
        ("=====After rebuttal=====", "update", "after rebuttal"),
        ("References:", "references", "references"),
        ("<weaknesses>", "weaknesses", "weaknesses"),
        ("</summary>", "other", "summary"),
    ],
)
def test_a_heading_opens_a_section_of_its_kind(line, kind, name):
    text = f"Before.\n{line}\n\nThe tables are dense."
    first, second = split_into_sections(text)
    assert (first.kind, first.heading) == ("other", "")
    assert (second.kind, second.name, second.heading) == (kind, name, f"{line}\n\n")
    assert [one.text for one in second.sentences] == ["The tables are dense."]


@pytest.mark.parametrize(
    "line",
    [
        "The strengths of this paper are its proofs.",
        "Questions remain after reading the second section of this paper, mostly on scale.",
        "2. The weaknesses outnumber the rest",
        "Strengthening the bound would help.",
    ],
)
def test_a_sentence_that_mentions_a_part_is_no_heading(line):
    assert [section.heading for section in split_into_sections(line)] == [""]


def test_a_label_before_a_sentence_is_a_heading():
    summary, clarity, novelty = split_into_sections(
        "Summary: It sorts.\nClarity: good\n**Novelty**: The rule is known.\n"
    )
    assert (summary.kind, summary.heading, summary.sentences[0].text) == ("summary", "Summary: ", "It sorts.")
    assert (clarity.kind, clarity.name, clarity.sentences[0].text) == ("aspects", "clarity", "good")
    assert (novelty.heading, novelty.sentences[0].text) == ("**Novelty**: ", "The rule is known.")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Weaknesses:\n\nClarity: terms are unclear.\n\nSummary Of The Review:\nNo.", "weaknesses weaknesses verdict"),
        ("# Weaknesses\n## Proof of Lemma 2\nIt is wrong.\n", "weaknesses weaknesses"),
    ],
)
def test_an_aspect_or_unknown_words_among_weaknesses_stay_weaknesses(text, kinds):
    assert " ".join(section.kind for section in split_into_sections(text)) == kinds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It works. It is fast.", ["It works.", "It is fast."]),
        ("It uses pruning, e.g. Of heads. Fine.", ["It uses pruning, e.g. Of heads.", "Fine."]),
        ("Smith et al. (2019) did it. So did we.", ["Smith et al. (2019) did it.", "So did we."]),
        ("See Fig. 3 and Eq. 4. The rest holds.", ["See Fig. 3 and Eq. 4.", "The rest holds."]),
        ("AUC is 0.85 vs. 0.80. Good!", ["AUC is 0.85 vs. 0.80.", "Good!"]),
        ("Why? Is it (really?) needed?", ["Why?", "Is it (really?) needed?"]),
        ('He says "no." Then stops.', ['He says "no."', "Then stops."]),
        ("A line\nthat is wrapped. Next.", ["A line that is wrapped.".replace("line ", "line\n"), "Next."]),
        ("First point\n\nsecond point", ["First point", "second point"]),
        ("1. One thing\n2. Another", ["One thing", "Another"]),
        ("- a\n- b\n  - c", ["a", "b", "c"]),
        ("(1) Alpha is set.\n(b) Beta is not.", ["Alpha is set.", "Beta is not."]),
        ("W1. The data are few.\n[Q2] Why?", ["The data are few.", "Why?"]),
        ("", []),
    ],
)
def test_sentences_end_where_they_should(text, expected):
    assert list_sentences(text) == expected


def test_list_marks_and_blanks_stand_beside_the_text():
    (section,) = split_into_sections("  1. One.  Two.\n\n - Three.\n")
    assert [(one.mark, one.text, one.gap) for one in section.sentences] == [
        ("  1. ", "One.", "  "),
        ("", "Two.", "\n\n"),
        (" - ", "Three.", "\n"),
    ]


PIECES = "Summary:|# |**|Strengths|\n|\n\n| |. |? |e.g.|1. |- |</summary>|<questions>|The| word|\t|\r\n|\u2028|0.85|:|é"
TEXTS = st.text() | st.lists(st.sampled_from(PIECES.split("|")), max_size=40).map("".join)


@given(TEXTS)
@example("SUMMARY:0. \u20280")
def test_joining_what_was_split_gives_the_text(text):
    sections = split_into_sections(text)
    assert join_sections(sections) == text
    assert all(one.text == one.text.strip() for section in sections for one in section.sentences)
    assert all(section.heading for section in sections[1:])


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", [".", "?!", ". ", "\n", "A", "- ", "* ", "<", "1.", "Strengths ", "the word\n", "\u2028é"]
)
def test_a_quarter_of_a_megabyte_is_split_in_seconds(piece):
    text = piece * (250_000 // len(piece))
    assert join_sections(split_into_sections(text)) == text

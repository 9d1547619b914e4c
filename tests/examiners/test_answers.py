"""Replies are read strictly: tables of what counts and what does not, then properties."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import ReplyError
from gre_bench.examiners import answers
from gre_bench.examiners import templates as scales
from gre_bench.examiners.templates import DEVELOPMENT, TEMPLATES

COUNTS = [
    ("4", scales.FIVE, 4.0),
    (" 4.\n", scales.FIVE, 4.0),
    ("3.5", scales.FIVE, 3.5),
    ("3.5", scales.HALVES, 3.5),
    ("100", scales.HUNDRED, 100.0),
    ("85%", scales.HUNDRED, 85.0),
    ("0", scales.HUNDRED, 0.0),
    ("0.5%", scales.HUNDRED, 0.5),
    ("-50", scales.FIFTIES, -50.0),
    ("Score: −50", scales.FIFTIES, -50.0),
    ("Score: 4", scales.FIVE, 4.0),
    ("**Score:** 4/5", scales.FIVE, 4.0),
    ("4 out of 5", scales.FIVE, 4.0),
    ("- Relevance: 4", scales.FIVE, 4.0),
    ("4 (Good)", scales.FIVE, 4.0),
    ("4 - a good summary", scales.FIVE, 4.0),
    ("Answer: 4", scales.FIVE, 4.0),
    ("Answer:\nScore: 4", scales.FIVE, 4.0),
    ("Puntuación: 4", scales.FIVE, 4.0),
    ("Rating (1-5): 4", scales.FIVE, 4.0),
    ("4\n\nThe summary has 3 errors.", scales.FIVE, 4.0),
    ("Score: 5\nRationale: a score of 5 fits the 3 main points", scales.FIVE, 5.0),
    ("1. Read\n2. Thought\nScore: 4", scales.FIVE, 4.0),
    ("Having read the article, I rate this summary 4.", scales.FIVE, 4.0),
    ("On a scale of 1 to 5, I would give it a 4.", scales.FIVE, 4.0),
    ("Very Poor", scales.GRADES, 1.0),
    ("The summary is very good.", scales.GRADES, 5.0),
    ("Incomprehensible", scales.VERDICTS, 1.0),
]
DOES_NOT = [
    ("6", scales.FIVE, "out_of_range"), ("0", scales.FIVE, "out_of_range"), ("-4", scales.FIVE, "out_of_range"),
    ("3.7", scales.HALVES, "not_declared"), ("3.5", scales.LEVELS, "not_declared"),
    ("85", scales.TENS, "not_declared"), ("8/10", scales.FIVE, "other_scale"),
    ("The score of the review is 0.5.", scales.HUNDRED, "other_scale"),
    ("The review is not very good.", scales.GRADES, "negated"),
    ("It isn't a good review.", scales.VERDICTS, "negated"), ("85%", scales.FIVE, "other_scale"),
    ("3 or 4", scales.FIVE, "no_score"), ("I would give it a 3 or a 4.", scales.FIVE, "ambiguous"),
    ("Score: 3\nScore: 4", scales.FIVE, "ambiguous"), ("Relevance: 3\nFluency: 4", scales.FIVE, "ambiguous"),
    ("4,5", scales.FIVE, "no_score"), ("1-5", scales.FIVE, "no_score"),
    ("The summary has 3 errors.", scales.FIVE, "no_score"), ("four", scales.FIVE, "no_score"),
    ("Ich kann das nicht bewerten.", scales.FIVE, "no_score"), ("I cannot grade this text.", scales.FIVE, "no_score"),
    ("", scales.FIVE, "no_score"), ("Poor to Very Good", scales.GRADES, "ambiguous"),
    ("Bad", scales.GRADES, "no_label"), ("4", scales.GRADES, "no_label"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "scale", "value"), COUNTS)
def test_a_score_that_is_stated_without_doubt_counts(text, scale, value):
    assert answers.score(text, scale) == value


@pytest.mark.parametrize(("text", "scale", "reason"), DOES_NOT)
def test_what_is_no_score_has_its_reason(text, scale, reason):
    with pytest.raises(ReplyError) as error:
        answers.score(text, scale)
    assert str(error.value) == reason


@pytest.mark.parametrize("name", [name for name, form in TEMPLATES.items() if form.scale.declared])
def test_each_declared_score_of_each_template_comes_back_through_chatter(name):
    scale = TEMPLATES[name].scale
    for spelling, value in scale.declared:
        for form in ("{}", "Answer: {}", "Score: {}\nIt reads well.", "I rate it {}."):
            assert answers.score(form.format(spelling), scale) == value


@given(
    (st.just(0.0) | st.floats(1, 100)).map(lambda value: round(value, 3)),
    st.sampled_from(["", "Score: ", "Overall score is: ", "Answer: "]),
)
def test_any_number_on_a_continuous_scale_comes_back(value, before):
    assert answers.score(f"{before}{value:.3f}", scales.HUNDRED) == pytest.approx(value)


@given(st.text(max_size=300))
def test_no_text_yields_a_score_outside_its_scale(text):
    for scale in (scales.FIVE, scales.FIFTIES, scales.GRADES):
        with contextlib.suppress(ReplyError):
            assert scale.admits(answers.score(text, scale))


TABLE_12 = (
    "Answer: 2 (Worst) Relevance: 2 Explanation: It is not comprehensive enough. Consistency: 2 Explanation: It does not "
    "mention a detail. Fluency: 3 Explanation: It is not well-written. Coherence: 2 Explanation: It does not flow."
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TABLE_12, {"coherence": 2, "consistency": 2, "fluency": 3, "relevance": 2}),
        (
            "a. Coherence: 5 (clear)\nb. Consistency: 4\nc. Fluency: 3\nd. Relevance: 2\n7. Overall score: 3.5",
            {"coherence": 5, "consistency": 4, "fluency": 3, "relevance": 2},
        ),
        (
            "Relevance: 3\nAnswer: Consistency: 3\nAnswer: Fluency: 3\nAnswer: Coherence: 3",
            dict.fromkeys(DEVELOPMENT, 3),
        ),
        (
            "**Coherence**: 5/5\n**Consistency** score: 5\n**Fluency**: 5\n**Relevance** rating = 4",
            {"coherence": 5, "consistency": 5, "fluency": 5, "relevance": 4},
        ),
        ("Coherence: 4\nCoherence: 4\nConsistency: 4\nFluency: 4\nRelevance: 4", dict.fromkeys(DEVELOPMENT, 4)),
    ],
)
def test_aspects_are_read_as_the_papers_replies_have_them(text, found):
    assert answers.aspects(text, scales.FIVE, DEVELOPMENT) == found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Coherence: 4\nConsistency: 4\nFluency: 4", "missing_aspect: relevance"),
        ("Overall score: 85", "missing_aspect: coherence"),
        ("Coherence: 4\nCoherence: 5\nConsistency: 4\nFluency: 4\nRelevance: 4", "ambiguous_aspect: coherence"),
        ("Coherence: 9\nConsistency: 4\nFluency: 4\nRelevance: 4", "out_of_range"),
    ],
)
def test_aspects_that_are_not_all_there_once_are_refused(text, reason):
    with pytest.raises(ReplyError, match=reason):
        answers.aspects(text, scales.FIVE, DEVELOPMENT)


def test_an_aspect_scored_sentence_by_sentence_is_its_mean():
    text = "Sentence 1\nCoherence: 4\nConsistency: 3\nFluency: 3\nRelevance: 4\nSentence 2\nCoherence: 2\nConsistency: 3\nFluency: 5\nRelevance: 4"
    found = answers.aspects(text, scales.FIVE, DEVELOPMENT, repeats=True)
    assert found == {"coherence": 3.0, "consistency": 3.0, "fluency": 4.0, "relevance": 4.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes", True), ("1. Yes\n2. It repeats itself.", True),
        ("Yes, the review is redundant and not concise.", True), ("**Answer:** No.", False), ("no, it is not", False),
        ("No, the review isn't redundant.", False), ("No redundancy.", False),
    ],
)  # fmt: skip
def test_the_filter_is_answered_by_the_first_word(text, said):
    assert answers.yes_or_no(text) is said


@pytest.mark.parametrize("text", ["", "Maybe", "The answer is Yes", "Ja"])
def test_what_is_neither_yes_nor_no_is_refused(text):
    with pytest.raises(ReplyError):
        answers.yes_or_no(text)


@pytest.mark.parametrize("text", ["1. Yes, the review is not redundant.", "No, the review is redundant."])
def test_an_answer_that_its_own_sentence_takes_back_is_refused(text):
    with pytest.raises(ReplyError, match="contradiction"):
        answers.yes_or_no(text)


@pytest.mark.parametrize(
    ("text", "said"), [("one", 0), ("'two'.", 1), ("Output: One", 0), ("Summary two is better", 1), ("2", 1)]
)
def test_a_choice_of_two_is_read(text, said):
    assert answers.choice(text) == said


@pytest.mark.parametrize(
    "text", ["", "both", "one is better than two", "Summary one is better than summary two", "no one", "the first"]
)
def test_what_is_no_choice_is_refused(text):
    with pytest.raises(ReplyError):
        answers.choice(text)


TABLE_10 = "Relevance: 3\nExplanation: It captures them.\nAnswer:\nConsistency: 3\n**Answer:** Fluency: 3"


@pytest.mark.parametrize(
    ("text", "count"), [(TABLE_10, 2), (f"Answer:\n{TABLE_10}", 2), ("Answer: 4", 0), ("The answer: 4", 0), ("", 0)]
)
def test_an_answer_that_nobody_asked_for_is_counted(text, count):
    assert answers.hallucinated_answers(text) == count


def test_a_rationale_is_what_follows_its_announcement():
    assert answers.rationale("Score: 4\nRationale: It leaves one point out.") == "It leaves one point out."
    assert answers.rationale("4\nIt leaves one point out.") == "It leaves one point out."
    assert answers.rationale("4") is None


@pytest.mark.parametrize(
    "text",
    [
        "9" * 200_000, "Score " * 40_000, "1 to " * 40_000, "Relevance " * 20_000 + ":", "Answer: " * 25_000,
        "*" * 200_000, "4 (" * 60_000,
    ],
)  # fmt: skip
def test_a_hostile_reply_is_read_in_linear_time(text):
    began = time.process_time()
    for read in (
        lambda: answers.score(text, scales.FIVE),
        lambda: answers.aspects(text, scales.FIVE, DEVELOPMENT),
        lambda: answers.choice(text),
        lambda: answers.yes_or_no(text),
        lambda: answers.rationale(text),
    ):
        with contextlib.suppress(ReplyError):
            read()
    assert time.process_time() - began < 60

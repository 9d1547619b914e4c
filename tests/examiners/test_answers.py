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
    (scales.FIVE, 4.0, (
        "4", " 4.\n", "Score: 4", "**Score:** 4/5", "4 out of 5", "- Relevance: 4", "4 (Good)", "4 - a good summary",
        "Answer: 4", "Answer:\nScore: 4", "Puntuación: 4", "Rating (1-5): 4", "4\n\nThe summary has 3 errors.",
        "1. Read\n2. Thought\nScore: 4", "Having read the article, I rate this summary 4.",
        "On a scale of 1 to 5, I would give it a 4.",
    )),
    (scales.FIVE, 3.5, ("3.5",)), (scales.HALVES, 3.5, ("3.5",)),
    (scales.FIVE, 5.0, ("Score: 5\nRationale: a score of 5 fits the 3 main points",)),
    (scales.HUNDRED, 100.0, ("100",)), (scales.HUNDRED, 85.0, ("85%",)), (scales.HUNDRED, 0.0, ("0",)),
    (scales.HUNDRED, 0.5, ("0.5%",)), (scales.FIFTIES, -50.0, ("-50", "Score: −50")),
    (scales.GRADES, 1.0, ("Very Poor",)), (scales.GRADES, 5.0, ("The summary is very good.",)),
    (scales.VERDICTS, 1.0, ("Incomprehensible",)),
]  # fmt: skip
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


@pytest.mark.parametrize(("scale", "value", "texts"), COUNTS)
def test_a_score_that_is_stated_without_doubt_counts(scale, value, texts):
    assert {text: answers.score(text, scale) for text in texts} == dict.fromkeys(texts, value)


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


@pytest.mark.parametrize(("text", "found"), [
    (TABLE_12, {"coherence": 2, "consistency": 2, "fluency": 3, "relevance": 2}),
    ("a. Coherence: 5 (clear)\nb. Consistency: 4\nc. Fluency: 3\nd. Relevance: 2\n7. Overall score: 3.5",
     {"coherence": 5, "consistency": 4, "fluency": 3, "relevance": 2}),
    ("Relevance: 3\nAnswer: Consistency: 3\nAnswer: Fluency: 3\nAnswer: Coherence: 3", dict.fromkeys(DEVELOPMENT, 3)),
    ("**Coherence**: 5/5\n**Consistency** score: 5\n**Fluency**: 5\n**Relevance** rating = 4",
     {"coherence": 5, "consistency": 5, "fluency": 5, "relevance": 4}),
    ("Coherence: 4\nCoherence: 4\nConsistency: 4\nFluency: 4\nRelevance: 4", dict.fromkeys(DEVELOPMENT, 4)),
    ("Coherence: 4\nConsistency: 4\nFluency: 4", "missing_aspect: relevance"),
    ("Overall score: 85", "missing_aspect: coherence"),
    ("Coherence: 4\nCoherence: 5\nConsistency: 4\nFluency: 4\nRelevance: 4", "ambiguous_aspect: coherence"),
    ("Coherence: 9\nConsistency: 4\nFluency: 4\nRelevance: 4", "out_of_range"),
])  # fmt: skip
def test_aspects_are_read_as_the_papers_replies_have_them_or_refused(text, found):
    if isinstance(found, dict):
        assert answers.parse_aspect_scores(text, scales.FIVE, DEVELOPMENT) == found
    else:
        with pytest.raises(ReplyError, match=found):
            answers.parse_aspect_scores(text, scales.FIVE, DEVELOPMENT)


def test_an_aspect_scored_sentence_by_sentence_is_its_mean():
    text = "Sentence 1\nCoherence: 4\nConsistency: 3\nFluency: 3\nRelevance: 4\nSentence 2\nCoherence: 2\nConsistency: 3\nFluency: 5\nRelevance: 4"
    found = answers.parse_aspect_scores(text, scales.FIVE, DEVELOPMENT, repeats=True)
    assert found == {"coherence": 3.0, "consistency": 3.0, "fluency": 4.0, "relevance": 4.0}


TABLE_10 = "Relevance: 3\nExplanation: It captures them.\nAnswer:\nConsistency: 3\n**Answer:** Fluency: 3"


@pytest.mark.parametrize(("read", "text", "said"), [
    *((answers.parse_yes_or_no, text, True) for text in (
        "Yes", "1. Yes\n2. It repeats itself.", "Yes, the review is redundant and not concise.")),
    *((answers.parse_yes_or_no, text, False) for text in (
        "**Answer:** No.", "no, it is not", "No, the review isn't redundant.", "No redundancy.")),
    *((answers.parse_yes_or_no, text, "neither_yes_nor_no") for text in ("", "Maybe", "The answer is Yes", "Ja")),
    # An answer that its own sentence takes back:
    *((answers.parse_yes_or_no, text, "contradiction") for text in (
        "1. Yes, the review is not redundant.", "No, the review is redundant.")),
    (answers.parse_preferred_text_index, "one", 0), (answers.parse_preferred_text_index, "'two'.", 1), (answers.parse_preferred_text_index, "Output: One", 0),
    (answers.parse_preferred_text_index, "Summary two is better", 1), (answers.parse_preferred_text_index, "2", 1),
    *((answers.parse_preferred_text_index, text, "no_choice") for text in ("", "both", "one is better than two", "no one", "the first")),
    (answers.parse_preferred_text_index, "Summary one is better than summary two", "ambiguous"),
    # An "Answer:" that nobody asked for is counted, but for the first line's.
    (answers.count_hallucinated_answers, TABLE_10, 2), (answers.count_hallucinated_answers, f"Answer:\n{TABLE_10}", 2),
    *((answers.count_hallucinated_answers, text, 0) for text in ("Answer: 4", "The answer: 4", "")),
    (answers.extract_rationale, "4", None),
])  # fmt: skip
def test_other_replies_are_read_or_refused(read, text, said):
    if isinstance(said, str):
        with pytest.raises(ReplyError, match=said):
            read(text)
    else:
        assert read(text) == said


def test_a_rationale_is_what_follows_its_announcement():
    assert answers.extract_rationale("Score: 4\nRationale: It leaves one point out.") == "It leaves one point out."
    assert answers.extract_rationale("4\nIt leaves one point out.") == "It leaves one point out."


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
        lambda: answers.parse_aspect_scores(text, scales.FIVE, DEVELOPMENT),
        lambda: answers.parse_preferred_text_index(text),
        lambda: answers.parse_yes_or_no(text),
        lambda: answers.extract_rationale(text),
    ):
        with contextlib.suppress(ReplyError):
            read()
    assert time.process_time() - began < 60

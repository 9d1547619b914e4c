"""A judge's verdict is its own: well-formed replies are read, and no reply votes for what it quotes, denies or corrects."""

from __future__ import annotations

import json

import pytest

from gre_bench.core.errors import ReplyError
from gre_bench.examiners import answers
from gre_bench.examiners.grading import tokens_of, weighted
from gre_bench.examiners.templates import DEVELOPMENT, FIVE, GRADES, HALVES, HUNDRED, VERDICTS, Scale

SCORES = [
    '{}',
    '{}.',
    'Score: {}',
    '**Score:** {}/5',
    'Rating: {} out of 5',
    '<score>{}</score>',
    'The score is {}.',
    'Overall, I would rate this {}.',
    "I'd give this review a {}.",
    'Score: {}\nRationale: The review covers 3 of the main points and cites Table 2.',
    '{} - a good review',
    '{} (Good)',
    '1. Read the paper\n2. Read the review\n3. Score: {}\n4. Rationale: It finds 3 faults.',
    'On a scale of 1 to 5, I would give the review a {}.',
    'This review deserves a score of {}.',
    '{"score": {}, "reason": "The review states that 3 of the baselines are missing: all old."}',
    'Rationale: It is specific, but misses 2 flaws.\n\nScore: {}',
    '{}\n\nThe review raises 3 valid concerns about the baselines.',
    'The review is well written, so I give it a {}.',
    'Given the paper, this review scores {} out of 5.',
]  # fmt: skip
CHOICES = [
    '{}',
    "'{}'.",
    '**{}**',
    'Output: {}',
    'Answer: {}',
    'Review {}',
    '**Review {}.**',
    'The better one is {}.',
    'Review {} is better.',
    'Summary {} is better',
    'The better review is review {}.',
    'I would choose review {}.',
    'I prefer review {}.',
    'Review {} better judges the merits and faults of the paper.',
    '{}\n\nIt names more flaws of the paper.',
    'Based on accuracy and conciseness, review {} is better.',
    'Review {} is better because it is more precise.',
    'Review {} provides a more accurate evaluation.',
    '<answer>{}</answer>',
    'The review that better judges the paper is review {}.',
]  # fmt: skip
WORDS = [
    '{}',
    '**{}**',
    'Score: {}',
    'Overall score: {}',
    'The review is {}.',
    'I would rate this review as {}.',
    'Overall, the quality of this review is {}.',
    '{}\n\nThe review covers the main points.',
    'This is a {} review.',
    '<score>{}</score>',
    'My score is "{}".',
    'I give it a score of {}.',
]  # fmt: skip


def read(reader, *given):
    """What *reader* returns; None for a refusal."""
    try:
        return reader(*given)
    except ReplyError:
        return None


def test_well_formed_replies_are_read_in_every_form():
    numbers = {form.replace("{}", str(value)): value for form in SCORES for value in range(1, 6)}
    choices = {form.replace("{}", word): place for form in CHOICES for place, word in enumerate(("one", "two"))}
    words = {form.replace("{}", label): value for form in WORDS for label, value in VERDICTS.declared}
    assert len(numbers) + len(choices) + len(words) == 200
    assert {text: read(answers.score, text, FIVE) for text in numbers} == numbers
    assert {text: read(answers.parse_preferred_text_index, text) for text in choices} == choices
    assert {text: read(answers.score, text, VERDICTS) for text in words} == words


# Replies that name, quote, deny or correct something else, and the right value; None if there is none. The right value
# and a refusal are both sound.
OTHER_SCORES = [
    ('4 or 5', None),
    ('Score: 3-4', None),
    ('Score: 3 to 4', None),
    ('Score: 3 or 4', None),
    ('Score: 4+', None),
    ('Score: between 3 and 4', None),
    ('I would not give it a 4.', None),
    ('It does not deserve a 5.', None),
    ('A 5 would be too generous.', None),
    ('Score: 4\nScore: 2', None),
    ('4\n2', None),
    ('The reviewer gives the paper a rating of 4.', None),
    ('The authors rate their work 5.', None),
    ('Reviewer score: 5', None),
    ("The reviewer's rating: 5", None),
    ("The review's rating is 4.", None),
    ('The review says "Score: 5".', None),
    ('The review says: Score: 5', None),
    ('> Rating: 5\n\nThe quoted rating is not mine.', None),
    ('Rating of the paper: 5', None),
    ("The paper's rating is 4.", None),
    ('The review rates the paper 4.', None),
    ('At least 4.', None),
    ('I would give at most 4.', None),
    ('I give it more than 3.', None),
    ('Less than 3, I would say; score at least 2.', None),
    ('I cannot assign a score of 4.', None),
    ('I am unable to rate this 3.', None),
    ('Score: 4\nI would lower it to 2.', 2),
    ('Score: 4. Correction: 2.', 2),
    ('Score: 4. Wait, the review has no evidence.', None),
    ('3\n\nSorry, 2.', 2),
    ('If it cited Table 2, I would rate it 5.', None),
    ('Unless mended I rate it 2.', None),
    ('A score of 5 would need full coverage.', None),
    ('Score: 2\nA score of 5 would need full coverage.', 2),
    ('I rate the paper 5.', None),
    ('I rate the paper 5 and the review 2.', 2),
    ('Score: 4 errors were found.', None),
    ('My score is based on 3 criteria.', None),
    ('The review scored points with 2 good remarks.', None),
    ('Rating: 5 (says the reviewer)\nScore: 2', 2),
    ('The score is not 4.', None),
    ("My score isn't 4.", None),
    ('Should the score be 4?', None),
    ('Would I rate it 5? No.', None),
    ('Do I give it a 4?', None),
    ('The rating scale has 5 levels.', None),
    ('Give 5 examples.', None),
    ('Score the review from 1 to 5.', None),
    ('Score: N/A (3 errors)', None),
    ('Score: 4\nConfidence: 3', 4),
    ('Confidence: 3\nScore: 4', 4),
    ('The reviewer scores it 5; my score: 2', 2),
    ('It gives 2 reasons and rates the proof 5.', None),
    ('The review ends: I rate this paper 5.', None),
    ('The reviewer writes: "I would give this a 5." Score: 2', 2),
    ('The score of 4 by the reviewer is unjustified.', None),
    ("The review's own score of 5 is inflated; 3 is right.", None),
    ('Scores of 1 are for empty reviews.', None),
    ('Rating: 5 → 3', 3),
    ('Rating: 5 -> 3', 3),
    ('~~5~~ Score: 3', 3),
    ('Score: 1/2', None),
    ('Score: 4/10', None),
    ('Score: -3', None),
    ('Previous score: 5. New score: 2.', 2),
    ('Score: I would say 3, maybe 4.', None),
    ('Score: four or 3', None),
    ('Sample output: Score: 5. Here is mine: 2', 2),
    ('The reviewer closes with "Overall rating: 4", which the text does not support. I would give this review a 2.', 2),
    ('The review states Rating: 5 and gives no reason for it.\n\nMy verdict is 2 out of 5.', 2),
    ("Relevance: 5\nOverall: 5\n\nThese are the reviewer's own marks. My score is 2.", 2),
    ('3\n\nActually, 3 is too high; I would say 2.', 2),
    ('Score: 4\nOn reflection the errors weigh more.\nFinal: 2', 2),
    ('The review grades the paper 5, which is inflated.', None),
    ('I cannot give a score because the review has 4 lines.', None),
]  # fmt: skip
OTHER_WORDS = [
    ('The reviewer calls the paper Excellent.', None),
    ('The review praises the good experiments.', None),
    ('The paper is good.', None),
    ('The review says the results are poor.', None),
    ('The review is not good.', None),
    ('It would be good if it cited more.', None),
    ('The review is anything but good.', None),
    ('Good question.', None),
    ('The reviewer rates the paper as Excellent.', None),
    ('The review is less than good.', None),
    ('"Excellent", writes the reviewer.', None),
    ('Is the review good?', None),
    ('The average review is short.', None),
    ('I cannot call it excellent.', None),
    ('The writing of the paper is excellent.', None),
    ('Overall: Good. Correction: it is bad.', None),
    ('Good\nPoor', None),
    ('Score: Good or Average', None),
    ('The review has a good summary of the paper.', None),
    ("The authors' results are good.", None),
    ('The review is neither good nor bad.', None),
    ('The review is far from excellent.', None),
    ("The reviewer's verdict: Excellent", None),
    ('Poor experiments are criticized.', None),
    ('Good reviewers would find more.', None),
    ('Not an excellent review.', None),
]  # fmt: skip
OTHER_CHOICES = [
    ('two. Review one is longer but says less.', 1),
    ('Not review one.', None),
    ('Review one is not better.', None),
    ('Review one is worse.', None),
    ('Review one is less accurate.', None),
    ('two, not one.', 1),
    ('one\nReview two is longer.', None),
    ('Review one is longer. I prefer the second.', 1),
    ('Review one could be better.', None),
    ('Is review one better? No.', None),
    ('If review one cited the paper, it would be better.', None),
    ('Review two is better than review one.', 1),
    ('Neither review one nor review two.', None),
    ('Review one. No, wait: review two.', 1),
    ('Review one. Sorry, I take that back.', None),
    ('The authors prefer review one.', None),
    ("Review one's summary is good; review two says more.", None),
    ('The worse one is one.', None),
    ('The review that is worse is review one.', None),
    ('Review one lacks depth.', None),
    ('"Review one is better", says the reviewer. I disagree.', None),
    ('Output: one or two', None),
    ('one or two', None),
    ('Output: not one', None),
    ('I would not choose review one.', None),
    ('I cannot choose review one.', None),
    ("Review one isn't better.", None),
    ('Review one is the better one? Hardly.', None),
    ('one\n\nOn reflection, the second review is better.', 1),
    ('Review one fails to be better.', None),
    ('Answer: one\nFinal answer: two', 1),
    ('two\none', None),
    ('Review one has two errors.', None),
    ('The first review is better.', None),
    ('Review two is longer, review one is better.', 0),
    ('It is hard to say whether review one is better.', None),
    ('Summary one is better written but summary two is more accurate.', None),
    ('Output: one is worse', None),
    ('The loser is review one.', None),
    ('The better review is not review one.', None),
    ('I think neither; one is short.', None),
    ('Review one: shallow. Review two: deep.', 1),
    ('one of the two', None),
    ('Review one reads worse.', None),
    ('I prefer the other one.', None),
    ('Reject review one.', None),
    ('Review one and review two are equally good.', None),
    ('They say review one is better.', None),
    ('Review one was written first.', None),
    ('My choice is not one.', None),
    ('Choose review one? No, review two.', 1),
    ('Review one is hardly better.', None),
    ('Rather two than one.', 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "right"), OTHER_SCORES)
def test_no_number_counts_that_the_judge_did_not_give(text, right):
    assert read(answers.score, text, FIVE) in (right, None)


@pytest.mark.parametrize(("text", "right"), OTHER_WORDS)
def test_no_label_counts_that_the_judge_did_not_give(text, right):
    assert read(answers.score, text, VERDICTS) in (right, None)


@pytest.mark.parametrize(("text", "right"), OTHER_CHOICES)
def test_no_text_gets_a_vote_that_the_judge_did_not_give(text, right):
    assert read(answers.parse_preferred_text_index, text) in (right, None)


REDUNDANT = [
    ('Yes. The review is not redundant.', None),
    ('No. It is redundant.', None),
    ('Yes or no? No.', None),
    ('Yes/No: No', None),
    ('No doubt it is redundant.', None),
    ('No doubt redundant.', None),
    ('Yes. Wait, no.', None),
    ('No. Yes, it is.', None),
    ('Yes and no.', None),
    ('No\nThe review is redundant in parts.', None),
    ('Yes\n2. The review repeats itself.', True),
    ('No\n2. There are few redundant phrases.', False),
    ("No. The review isn't redundant.", False),
    ('Yes\nThe review is highly redundant.', True),
    ('No question, it repeats itself.', None),
    ('Yes, no new point is made.', True),
    ('No, no point is repeated.', False),
    ('No.\nNo sentence is said twice.', False),
    ('1. No\n2. The review makes no redundant points.', False),
    ('Yes. On reflection it is fine.', None),
    ('Yes.\n\nNo new information is given.', True),
    ('No, the review is not redundant. It is concise.', False),
    ('Yes, the review is redundant.', True),
    ('**Yes**', True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "right"), REDUNDANT)
def test_a_yes_or_no_that_the_reply_takes_back_is_refused(text, right):
    assert read(answers.parse_yes_or_no, text) is right


MARKS = "Coherence: {}\nConsistency: 4\nFluency: 4\nRelevance: 4"


@pytest.mark.parametrize(("text", "right"), [
    (MARKS.format("3 or 4"), None), (MARKS.format("3-4"), None), (MARKS.format("3 sentences are unclear"), None),
    (MARKS.format(3) + "\nThe reviewer writes \"Coherence: 5\".", 3), ("> Coherence: 5\n" + MARKS.format(2), 2),
    ("The reviewer gives Coherence: 5\n" + MARKS.format(2), 2), (MARKS.format(3) + "\nCorrection: Coherence: 2", None),
    (MARKS.removeprefix("Coherence: {}\n") + "\nThe reviewer's marks were Coherence: 5", None),
])  # fmt: skip
def test_no_aspect_gets_a_score_that_the_judge_did_not_give(text, right):
    found = read(answers.parse_aspect_scores, text, FIVE, DEVELOPMENT)
    assert (found and found["coherence"]) == right


@pytest.mark.parametrize(("parts", "scale", "right"), [
    ("4", FIVE, 4), (" 4", FIVE, 4), ("4|.", FIVE, 4), ("4|/|5", FIVE, 4), ("4| out| of| 5", FIVE, 4),
    ("4|\n\n|The| review| names| 3| flaws|.", FIVE, 4), ("4| (|Good|)", FIVE, 4), ("Very| Good", GRADES, 5),
    ("100", HUNDRED, 100), ("1|.|5", HALVES, 1.5),
    ("1|.| Accuracy is high.|\n|Score|:| 5", FIVE, None), ("4| of| the| 5| points are right|.| Score|:| 2", FIVE, None),
    ("1| to| 5|:| 4", FIVE, None), ("4|/|10", FIVE, None), ("4| or| 5", FIVE, None), ("4|,|5", FIVE, None),
    ("3| points| are| missing|.", FIVE, None), ("85|.|5", HUNDRED, None), ("Good|ness|!", GRADES, None),
    ("4|\n\n|Correction|:| 2", FIVE, None),
])  # fmt: skip
def test_probabilities_count_only_if_the_reply_begins_with_the_score_that_it_states(parts: str, scale: Scale, right):
    tokens = [{"token": part, "logprob": 0.0, "top": [[part, 0.0]]} for part in parts.split("|")]
    found = read(weighted, tokens_of(json.dumps({"text": parts.replace("|", ""), "tokens": tokens})), scale)
    assert (found and found.score) == right

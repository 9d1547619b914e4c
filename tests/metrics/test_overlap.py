"""BLEU, ROUGE-L and length: worked examples of the papers that define them, then what always holds, then faults."""

from __future__ import annotations

import math
import socket
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import METRICS
from gre_bench.core.records import Case
from gre_bench.metrics.overlap import (
    BLEU,
    LENGTH,
    ROUGE_L,
    Measure,
    OverlapMetric,
    bleu,
    common_subsequence_length,
    load_measure,
    rouge_l,
    split_bleu_words,
    split_rouge_words,
)

OVERLAPS = {measure.name: measure for measure in (BLEU, ROUGE_L, LENGTH)}
CASE = Case("p1", "c1", "r1", "review", "The paper is clear and short.", "The paper is clear but long.")
texts = st.lists(
    st.sampled_from(["The", "the", "paper", "papers", "is", "clear.", "clearly", "why?", "0.85", "—"]), max_size=30
).map(" ".join)
words = st.lists(st.sampled_from("abcd"), max_size=12)


def value_of(measure, candidate, reference=""):
    return measure.compare(measure.words(candidate), measure.words(reference))


BLEU_CASES = [
    # candidate, reference, matched n-grams of each order
    # Papineni et al. 2002, example 2: "the" counts once for each time the reference has it, 2 of 7.
    ("the the the the the the the", "the cat is on the mat", ("2/7", "0/6", "0/5", "0/4")),
    # Candidate 1 of example 1 against reference 1: 18 words against 16.
    (
        "It is a guide to action which ensures that the military always obeys the commands of the party",
        "It is a guide to action that ensures that the military will forever heed Party commands",
        ("11/18", "8/17", "6/16", "4/15"),
    ),
]


@pytest.mark.parametrize(("candidate", "reference", "matched"), BLEU_CASES)
def test_bleu_is_the_geometric_mean_of_clipped_precisions(candidate, reference, matched):
    expected = math.prod(float(Fraction(share)) for share in matched) ** 0.25
    assert value_of(BLEU, candidate, reference) == pytest.approx(expected, rel=1e-12, abs=1e-77)


def test_bleu_without_a_shared_run_of_four_words_is_next_to_nothing_and_keeps_case():
    assert 0 < value_of(BLEU, "a b c x", "a b c y") < 1e-77
    assert value_of(BLEU, "a b c d", "w x y z") == 0
    assert value_of(BLEU, "The paper is clear .", "the paper is clear .") == pytest.approx(
        (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    )


ROUGE = [
    # Lin 2004, section 3: of S1, S2 keeps "police the gunman" in order, S3 "the gunman", S4 "the gunman".
    ("police kill the gunman", "police killed the gunman", 3, 0.75),
    ("the gunman kill police", "police killed the gunman", 2, 0.5),
    ("the gunman police killed", "police killed the gunman", 2, 0.5),
    # P = 3/3, R = 3/6.
    ("a b c", "a x b y c z", 3, 2 / 3),
    ("a", "b", 0, 0.0),
]


@pytest.mark.parametrize(("candidate", "reference", "length", "score"), ROUGE)
def test_rouge_l_is_the_f_measure_of_the_longest_common_subsequence(candidate, reference, length, score):
    x, y = candidate.split(), reference.split()
    assert common_subsequence_length(x, y) == length
    assert rouge_l(x, y) == pytest.approx(score)


def test_rouge_l_stems_and_ignores_case_and_marks():
    assert value_of(ROUGE_L, "Police KILL the gunman!", "(police killed; the gunman)") == 1.0
    assert split_rouge_words("The experiments, clearly: 0.85 naïve") == [
        "the",
        "experi",
        "clearli",
        "0",
        "85",
        "na",
        "ve",
    ]


WORDS = [
    ("The paper is clear. It is short.", ["The", "paper", "is", "clear", ".", "It", "is", "short", "."]),
    ("See e.g. Fig. 3 and Xu et al. 2025.", ["See", "e.g.", "Fig.", "3", "and", "Xu", "et", "al.", "2025", "."]),
    ("It isn't 0.85, is it?", ["It", "is", "n't", "0.85", ",", "is", "it", "?"]),
    ("Strengths:\n- Clear.\n- Novel.", ["Strengths", ":", "-", "Clear", ".", "-", "Novel", "."]),
    ('A "new" idea (good).', ["A", "``", "new", "''", "idea", "(", "good", ")", "."]),
    ("1. Why?\n2. How?", ["1", ".", "Why", "?", "2", ".", "How", "?"]),
    (" \n", []),
]


@pytest.mark.parametrize(("text", "expected"), WORDS)
def test_the_words_of_bleu_are_those_of_nltk(text, expected):
    assert split_bleu_words(text) == expected


@given(st.text(st.sampled_from("abX .,!?:()\n\t-—é0189漢"), max_size=200))
def test_no_word_is_lost(text):
    assert "".join(split_bleu_words(text)) == "".join(text.split())


def test_length_counts_words_between_blanks_and_reads_no_reference():
    assert value_of(LENGTH, "Well-written, clear.\n\n\tNovel (0.85)!") == 4
    (score,) = OverlapMetric(LENGTH, "sig").score([replace(CASE, reference_id="none", reference="")])
    assert (score.value, score.reference_id) == (6, "none")


def test_a_measure_says_by_what_it_was_computed_and_disagrees_with_no_recipe():
    assert BLEU.identity.startswith("nltk 3.")
    assert "review_text instead of Punkt" in BLEU.identity
    assert "rouge-score 0.1.2" in ROUGE_L.identity
    assert load_measure(METRICS["judgments_length"]) is LENGTH
    assert all(name == load_measure(METRICS[name]).name for name in OVERLAPS)
    with pytest.raises(SettingsError, match="metric length: needs_reference is True in its recipe and False in"):
        load_measure(replace(METRICS["length"], needs_reference=True))


@given(words.filter(bool), words.filter(bool))
def test_bleu_is_its_definition_with_the_brevity_penalty(x, y):
    expected = 1.0 if len(x) > len(y) else math.exp(1 - len(y) / len(x))
    for n in (1, 2, 3, 4):
        mine, theirs = (
            Counter(tuple(text[place : place + n]) for place in range(len(text) - n + 1)) for text in (x, y)
        )
        expected *= (sum((mine & theirs).values()) / max(1, len(x) - n + 1)) ** 0.25
    assert bleu(x, y) == pytest.approx(expected, rel=1e-9, abs=1e-70)


@given(words, words)
def test_the_longest_common_subsequence_is_that_of_the_table(x, y):
    rows = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i, one in enumerate(x):
        for j, other in enumerate(y):
            rows[i + 1][j + 1] = rows[i][j] + 1 if one == other else max(rows[i][j + 1], rows[i + 1][j])
    assert common_subsequence_length(x, y) == rows[-1][-1] == common_subsequence_length(y, x)


@given(texts.filter(split_rouge_words), texts.filter(split_rouge_words))
def test_rouge_l_is_that_of_the_library(candidate, reference):
    from rouge_score.rouge_scorer import RougeScorer

    library = RougeScorer(["rougeL"], use_stemmer=True).score(reference, candidate)["rougeL"].fmeasure
    assert value_of(ROUGE_L, candidate, reference) == pytest.approx(library, abs=1e-12)


@pytest.mark.parametrize("name", OVERLAPS)
def test_scores_are_those_of_the_texts_in_the_order_of_the_cases(name):
    cases = [
        replace(CASE, candidate_id=f"c{place}", candidate=f"The paper is {adverb} clear and long.")
        for place, adverb in enumerate(("not", "very very", "not"))
    ]
    measure = OVERLAPS[name]
    scores = OverlapMetric(measure, "sig").score(cases)
    assert [score.candidate_id for score in scores] == ["c0", "c1", "c2"]
    assert [score.value for score in scores] == [value_of(measure, case.candidate, case.reference) for case in cases]
    assert scores[0].value == scores[2].value != scores[1].value
    assert {(score.signature_id, score.paper_id, score.reference_id) for score in scores} == {("sig", "p1", "r1")}


def test_each_text_is_cut_into_words_once():
    cut = []

    def split(text):
        cut.append(text)
        return text.split()

    cases = [replace(CASE, candidate=text) for text in ("a b", "b c", "a b", CASE.reference)]
    OverlapMetric(Measure("rouge_l", True, split, rouge_l, "test"), "sig").score(cases)
    assert sorted(cut) == sorted({"a b", "b c", CASE.reference})


@pytest.mark.parametrize(
    ("name", "candidate", "reference", "said"),
    [
        ("bleu", "", "A review.", "the candidate's text has no words"),
        ("bleu", "A review.", " \n\t", "the reference's text has no words"),
        ("rouge_l", "— … 漢字", "A review.", "the candidate's text has no words"),
        ("rouge_l", "A review.", "?!", "the reference's text has no words"),
        ("length", " \n", "A review.", "the candidate's text has no words"),
    ],
)
def test_a_text_without_words_is_a_problem_of_its_pair_alone(name, candidate, reference, said):
    failed, good = OverlapMetric(OVERLAPS[name], "sig").score(
        [replace(CASE, candidate=candidate, reference=reference), CASE]
    )
    assert failed.value is None
    assert (failed.problem.code, failed.problem.final) == ("empty_text", True)
    assert failed.problem.message == f"paper p1, candidate c1, reference r1: {said}"
    assert good.value > 0


@pytest.mark.parametrize("name", OVERLAPS)
def test_a_megabyte_of_hostile_text_is_scored_in_time_and_without_a_network(name, monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection was opened"))
    hostile = "((((" * 2_000 + "a" * 20_000 + " ." * 2_000 + "\ud800 " + "The paper is clear. " * 2_000
    (score,) = OverlapMetric(OVERLAPS[name], "sig").score([replace(CASE, candidate=hostile)])
    assert math.isfinite(score.value)


def faulty(*_):
    raise KeyError("a word\nthat is missing")


@pytest.mark.parametrize(
    ("words", "compare", "said"),
    [
        (faulty, lambda x, y: 1.0, " failed on these two texts: KeyError: 'a word\\nthat is missing'"),
        (str.split, faulty, " failed on these two texts: KeyError: 'a word\\nthat is missing'"),
        (str.split, lambda x, y: None, " gives these two texts no score: none"),
        (str.split, lambda x, y: math.nan, " gives these two texts no score: nan, which is no number"),
        (str.split, lambda x, y: math.inf, " gives these two texts no score: inf, which is no number"),
    ],
)
def test_another_packages_measure_that_fails_or_gives_no_number_gives_a_reason(words, compare, said):
    (score,) = OverlapMetric(Measure("mine", True, words, compare, "1"), "sig").score([CASE])
    assert score.value is None and score.problem is not None and score.problem.code == "no_score"
    assert score.problem.message.endswith(f": mine{said}")

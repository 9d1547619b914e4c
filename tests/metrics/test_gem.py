"""GEM: the difference of two summed log-probabilities, each prediction asked once, each fault kept as a problem."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SpanError
from gre_bench.core.metrics import METRICS
from gre_bench.core.records import Case, Prediction, SpanLogprob
from gre_bench.core.settings import ScoringSettings
from gre_bench.metrics.scoring import RAW_CUT, build_signature, collect_predictions, compute_missing_logprobs
from gre_bench.metrics.scoring import build_predictions as terms_of
from tests.scripted_lms import FaultyLM, OverlapLM, scores_of

SETTINGS = ScoringSettings()
CASE = Case("p1", "c1", "r1", "judgments", "alpha beta", "beta gamma delta")


def gem(lm, cases, metric="gem", settings=SETTINGS, known=None):
    return scores_of(metric, lm, cases, settings, known)


def terms(case, settings):
    return terms_of(METRICS["gem"], case, settings)


def test_score_is_conditional_minus_marginal_in_nats_summed_over_the_reply():
    (score,) = gem(OverlapLM(), [CASE])
    # Of beta, gamma, delta and the end, beta alone is known from x: -1.004 instead of -4.
    assert score.value == pytest.approx(4 - 1.004)
    assert (score.signature_id, score.paper_id, score.candidate_id, score.reference_id) == ("sig", "p1", "c1", "r1")


def test_a_synopsis_stands_in_both_terms():
    case = replace(CASE, synopsis="beta")
    (score,) = gem(OverlapLM(), [case], "gem_s_abstract")
    assert score.value == pytest.approx(0.0)
    conditional, marginal = terms(case, SETTINGS)
    assert (conditional.synopsis, marginal.synopsis, conditional.x, marginal.x) == ("beta", "beta", "alpha beta", None)


def test_each_marginal_is_computed_once_and_known_spans_never():
    lm = OverlapLM()
    cases = [replace(CASE, candidate_id=name, candidate=name) for name in ("c1", "c2", "c3")]
    predictions = collect_predictions(METRICS["gem"], cases, SETTINGS)
    answers = compute_missing_logprobs(lm, predictions)
    assert len(lm.asked) == 4
    assert set(answers) == set(predictions)
    known = dict(list(answers.items())[:2])
    assert set(compute_missing_logprobs(lm, predictions, known)) == set(answers) - set(known)
    assert len(lm.asked) == 6
    assert gem(lm, cases, known=answers) == gem(OverlapLM(), cases)
    assert len(lm.asked) == 6
    assert compute_missing_logprobs(lm, predictions, answers) == {}


@pytest.mark.parametrize(
    ("fault", "code", "final", "broken"),
    [
        (lambda span: replace(span, logprobs=(math.nan, *span.logprobs[1:])), "not_finite", True, True),
        (lambda span: replace(span, total=math.nan), "not_finite", True, True),
        (lambda span: replace(span, logprobs=(-math.inf, *span.logprobs[1:])), "not_finite", True, True),
        (lambda span: replace(span, logprobs=(0.1, *span.logprobs[1:])), "positive", True, True),
        (lambda span: replace(span, ids=span.ids[1:]), "misaligned", True, True),
        (lambda span: SpanLogprob(0.0, (), ()), "misaligned", True, True),
        (lambda span: SpanLogprob(0.0, (1,), (0.0,)), "all_zero", True, True),
        (lambda span: SpanError("too_long", "9000 tokens where 8192 fit"), "too_long", True, False),
        (lambda span: SpanError("out_of_memory", "no memory", final=False), "out_of_memory", False, False),
    ],
)
def test_a_fault_becomes_a_problem_that_names_the_pair_and_harms_no_other(fault, code, final, broken):
    lm = FaultyLM(fault, lambda prediction: prediction.x == "bad")
    bad = replace(CASE, paper_id="p2", candidate_id="c2", candidate="bad")
    good, failed = gem(lm, [CASE, bad])
    assert good.value == pytest.approx(4 - 1.004)
    assert failed.value is None
    assert (failed.problem.code, failed.problem.final, failed.problem.broken) == (code, final, broken)
    assert failed.problem.message.startswith("paper p2, candidate c2, reference r1: ")


def test_a_faulty_marginal_fails_every_pair_of_its_reference():
    lm = FaultyLM(lambda span: replace(span, total=math.nan), lambda prediction: prediction.x is None)
    scores = gem(lm, [CASE, replace(CASE, candidate_id="c2", candidate="beta")])
    assert [score.problem.code for score in scores] == ["not_finite", "not_finite"]


def test_original_reviews_are_cut_in_both_terms_or_as_the_authors_cut_them():
    long = replace(CASE, source="review", candidate="x" * 20_000, reference="y" * 20_000)
    conditional, marginal = terms(long, SETTINGS)
    assert (len(conditional.x), len(conditional.reply), len(marginal.reply)) == (RAW_CUT, RAW_CUT, RAW_CUT)
    conditional, marginal = terms(long, ScoringSettings(authors_compat=True))
    assert (len(conditional.x), len(conditional.reply), len(marginal.reply)) == (RAW_CUT, RAW_CUT, 20_000)
    # White space before a review does not push its text out of what is read.
    for blank in ("\n" * 100_000, " \u3000\t" * 4_000):
        assert terms(replace(long, candidate=f"{blank}Words. "), SETTINGS)[0].x == "Words. "
    assert terms(replace(long, candidate="\n\nWords. "), SETTINGS)[0].x == "\n\nWords. "


def test_judgments_are_scored_as_written_or_strictly():
    text = "The reviewer appreciates a.\n\n- stray line\n  The reviewer questions b. "
    case = replace(CASE, candidate=text, reference=text)
    assert terms(case, SETTINGS)[0] == Prediction(text, None, text)
    kept = "The reviewer appreciates a.\nThe reviewer questions b."
    assert terms(case, ScoringSettings(form="strict"))[0] == Prediction(kept, None, kept)


def test_ascii_fold_is_that_of_the_authors():
    case = replace(
        CASE, candidate='na\u00efve \u201cquote\u201d "q" \ufb01ne \u4e2d', reference="caf\u00e9", synopsis="\u00fc"
    )
    conditional, _ = terms(case, ScoringSettings(ascii_fold=True))
    assert conditional == Prediction("naive quote 'q' fine ", "u", "cafe")
    assert terms(case, SETTINGS)[0].reply == "caf\u00e9"


words = st.text(max_size=40).filter(str.strip)


@given(words, words)
def test_a_response_scores_no_less_than_absence_and_a_copy_of_the_reference_no_less_than_another(x, y):
    cases = [replace(CASE, candidate=x, reference=y), replace(CASE, candidate=y, reference=y)]
    found, copy = gem(OverlapLM(), cases)
    assert copy.value >= found.value - 1e-9
    assert found.value >= -1e-9


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"candidate": "\u4e2d\u6587"}, ScoringSettings(ascii_fold=True)),
        ({"reference": "\u4e2d\u6587"}, ScoringSettings(ascii_fold=True)),
        ({"source": "review", "candidate": " \n" * RAW_CUT}, SETTINGS),
    ],
)
def test_a_text_of_which_nothing_is_left_is_a_problem_and_not_a_score_of_zero(changes, settings):
    (score,) = gem(OverlapLM(), [replace(CASE, **changes)], settings=settings)
    assert (score.value, score.problem.code, score.problem.final) == (None, "empty_text", True)


def test_signatures_differ_by_every_choice_that_moves_a_score():
    lm = OverlapLM().identity
    chosen = [
        ("gem", lm, SETTINGS, "w"),
        ("gem_raw", lm, SETTINGS, "w"),
        ("gem_s_abstract", lm, SETTINGS, "w"),
        ("gem", lm, SETTINGS, "v"),
        ("gem", lm, ScoringSettings(form="strict"), "w"),
        ("gem", lm, ScoringSettings(ascii_fold=True), "w"),
        ("gem_raw", lm, ScoringSettings(authors_compat=True), "w"),
        ("gem", replace(lm, digest="1"), SETTINGS, "w"),
        ("gem", replace(lm, dtype="bfloat16"), SETTINGS, "w"),
    ]
    assert len({build_signature(METRICS[name], *rest).signature_id for name, *rest in chosen}) == len(chosen)

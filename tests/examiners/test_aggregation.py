"""How probabilities and samples become scores: number tables first, then properties, then real LMs."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import LMError, ReplyError, SettingsError
from gre_bench.core.records import Chat, LMIdentity, Problem, SpanLogprob
from gre_bench.examiners import templates as scales
from gre_bench.examiners.examiner import Binning, Examiner, GradingItem, build_grading_chats
from gre_bench.examiners.grading import (
    Grade,
    Token,
    bin_grades,
    bin_scores,
    compute_logprob_weighted_score,
    compute_score_probabilities,
    grade_by_lm,
    weighted,
)
from gre_bench.lm.protocol import require_chat_lm

ITEM = GradingItem("1", "A short source about ferries.", "A summary.")


@pytest.mark.parametrize(("shares", "scores", "raw", "normalised", "mass"), [
    ((0.1, 0.2, 0.3, 0.25, 0.15), (1, 2, 3, 4, 5), 3.15, 3.15, 1.0),
    ((0.05, 0.1, 0.15, 0.125, 0.075), (1, 2, 3, 4, 5), 1.575, 3.15, 0.5), ((0.9,), (100,), 90.0, 100.0, 0.9),
    ((0.25, 0.25), (-100, 100), 0.0, 0.0, 0.5), ((0.5, 0.25), (1, 1.5), 0.875, 7 / 6, 0.75),
])  # fmt: skip
def test_logprob_is_the_sum_of_probabilities_times_scores(shares, scores, raw, normalised, mass):
    logs = [math.log(share) for share in shares]
    assert compute_logprob_weighted_score(logs, scores, "raw").score == pytest.approx(raw)
    assert compute_logprob_weighted_score(logs, scores).score == pytest.approx(normalised)
    assert compute_logprob_weighted_score(logs, scores).mass == pytest.approx(mass)


def test_scores_too_improbable_for_a_float_still_have_a_mean():
    found = compute_logprob_weighted_score([-2000.0, -2000.0 + math.log(3)], (1.0, 5.0))
    assert found.score == pytest.approx(4.0)
    assert found.mass == 0.0


@given(st.lists(st.floats(-50, 0), min_size=2, max_size=8), st.floats(-30, 0))
def test_the_normalised_score_lies_on_the_scale_and_forgets_a_common_factor(logs, shift):
    values = list(range(1, len(logs) + 1))
    found = compute_logprob_weighted_score(logs, values)
    assert 1 <= found.score <= len(logs)
    assert compute_logprob_weighted_score([log + shift for log in logs], values).score == pytest.approx(
        found.score, rel=1e-9
    )


@pytest.mark.parametrize(("logs", "scores"), [([], []), ([-1.0], [1, 2]), ([math.nan], [1]), ([-math.inf], [1])])
def test_probabilities_that_cannot_be_are_refused(logs, scores):
    with pytest.raises(ValueError):
        compute_logprob_weighted_score(logs, scores)


# -- binning


@pytest.mark.parametrize(("method", "values", "bins", "out"), [
    ("equal_width", [1.0, 1.01, 3.0, 4.99, 5.0], 4, [1.5, 1.5, 3.5, 4.5, 4.5]),
    ("equal_width", [1.0, 5.0], 2, [2.0, 4.0]), ("equal_width", [3.0], 4, [3.5]),
    # Quantile bins cut the scores, and never part equal ones.
    ("quantile", [1, 1, 1, 2, 3, 4], 2, [1, 1, 1, 3, 3, 3]), ("quantile", [1, 2, 3], 2, [1.5, 1.5, 3]),
    ("quantile", [], 2, []),
])  # fmt: skip
def test_bins_replace_the_scores_in_them(method, values, bins, out):
    found = bin_scores(values, Binning(method=method, bins=bins), 1, 5)
    assert (found.values, found.before, found.after) == (out, len(set(values)), len(set(out)))


@given(st.lists(st.floats(0, 100), max_size=60), st.integers(2, 20), st.sampled_from(["equal_width", "quantile"]))
def test_binning_keeps_the_order_and_makes_no_more_scores_than_bins(values, bins, method):
    found = bin_scores(values, Binning(method=method, bins=bins), 0, 100)
    assert found.after <= min(bins, found.before)
    pairs = sorted(zip(values, found.values, strict=True))
    assert all(one[1] <= other[1] + 1e-9 for one, other in itertools.pairwise(pairs))


def test_grades_are_binned_over_those_that_there_are_and_none_off_the_scale():
    grades = [Grade("a", 1.2), Grade("b", None, Problem("unparsable", "")), Grade("c", 1.3), Grade("d", 4.8)]
    found, report = bin_grades(Examiner.model_validate({"binning": {"bins": 4}}), grades)
    assert [grade.value for grade in found] == [1.5, None, 1.5, 4.5]
    assert (report.before, report.after) == (3, 2)
    assert bin_grades(Examiner(), grades)[0] == grades
    with pytest.raises(ValueError, match="outside 1 to 5"):
        bin_scores([6.0], Binning(), 1, 5)


# -- an endpoint's likeliest tokens


def at(text: str, **shown: float) -> Token:
    """A token and what is shown at its place; a name's leading t is left off, p stands for a point."""
    return Token(text, tuple((name[1:].replace("p", "."), share) for name, share in shown.items()))


ONE_TOKEN = [at("4", t4=0.6, t5=0.3, t3=0.05, tThe=0.05)]
LABEL = [at("Very", tVery=0.5, tGood=0.3, tPoor=0.2), Token(" Good", ((" Good", 0.8), (" Poor", 0.2)))]


@pytest.mark.parametrize(("tokens", "spellings", "shares"), [
    (ONE_TOKEN, scales.FIVE.spellings, {"1": 0, "2": 0, "3": 0.05, "4": 0.6, "5": 0.3}),
    # Several tokens: their product, up to the end of the score.
    ([at("10", t10=0.8, t9=0.1, t20=0.1), at("0", t0=0.75, tx=0.25)], ("10", "20", "100"),
     {"100": 0.8 * 0.75, "10": 0.8 * 0.25, "20": 0.1}),
    # A half is told from the whole. Whether 2 goes on as 2.5 is not shown, for the reply did not begin with 2.
    ([at("1", t1=0.5, t2=0.5), at(".", tp=0.4, tend=0.6), at("5", t5=1.0)], scales.HALVES.spellings,
     {"1.5": 0.5 * 0.4, "1": 0.5 * 0.6, "2": 0, "2.5": 0}),
    # A blank before the score is passed over.
    ([Token(" ", ((" ", 0.9), ("5", 0.1))), Token("4", (("4", 1.0),))], scales.FIVE.spellings, {"4": 0.9}),
    ([Token(" 4", ((" 4", 0.7), ("4", 0.2)))], scales.FIVE.spellings, {"4": 0.9}),
    (LABEL, scales.GRADES.spellings, {"Very Poor": 0.1, "Poor": 0.2, "Average": 0, "Good": 0.3, "Very Good": 0.4}),
])  # fmt: skip
def test_a_score_has_the_probability_that_its_tokens_show(tokens, spellings, shares):
    found = compute_score_probabilities(tokens, spellings)
    assert {spelling: found[spelling] for spelling in shares} == pytest.approx(shares)


@pytest.mark.parametrize(("tokens", "scale", "mass", "score", "total"), [
    (ONE_TOKEN, scales.FIVE, "normalised", 4.05 / 0.95, 0.95), (ONE_TOKEN, scales.FIVE, "raw", 4.05, 0.95),
    (LABEL, scales.GRADES, "normalised", 0.1 * 1 + 0.2 * 2 + 0.3 * 4 + 0.4 * 5, 1.0),
])  # fmt: skip
def test_probabilities_that_are_shown_weigh_the_scores(tokens, scale, mass, score, total):
    seen = weighted(tokens, scale, mass)
    assert (seen.score, seen.mass) == (pytest.approx(score), pytest.approx(total))


def test_a_reply_without_any_declared_score_in_sight_has_none():
    with pytest.raises(ReplyError, match="no_declared_score"):
        weighted([at("Sure", tSure=1.0)], scales.FIVE)


# -- evaluation LMs


class Known:
    """Gives each declared reply the probability that a table states."""

    reads_chats = True
    identity = LMIdentity("known", "0" * 64, "test")

    def __init__(self, shares):
        self.shares = shares

    def logprob(self, chats):
        logs = [math.log(self.shares[chat.reply]) for chat in chats]
        return [SpanLogprob(log, (0,), (log,)) for log in logs]


KNOWN = {"1": 0.1, "2": 0.2, "3": 0.3, "4": 0.2, "5": 0.1, "Yes": 0.1, "No": 0.8}


def test_known_probabilities_give_the_score_of_the_formula():
    lm = Known(KNOWN)
    [normalised] = grade_by_lm(Examiner(template="human", aggregation="logprob"), [ITEM], lm)
    [raw] = grade_by_lm(Examiner(template="human", aggregation="logprob", mass="raw"), [ITEM], lm)
    [direct] = grade_by_lm(Examiner(template="human", filtering=True), [ITEM], lm)
    assert normalised.value == pytest.approx(2.7 / 0.9)
    assert raw.value == pytest.approx(2.7)
    assert raw.mass == {"overall": pytest.approx(0.9)}
    assert (direct.value, direct.filtered) == (3.0, False)


def test_what_the_filter_calls_redundant_gets_the_lowest_score_of_its_scale():
    shares = {spelling: 0.005 for spelling in scales.HUNDRED.spellings} | {"1": 0.1, "Yes": 0.5, "No": 0.4}
    for template, low in (("human", 1.0), ("base", 0.0), ("p6", -100.0)):
        lm = Known({spelling: 0.01 for spelling in scales.FIFTIES.spellings} | shares)
        [grade] = grade_by_lm(Examiner(template=template, filtering=True), [ITEM], lm)
        assert (grade.value, grade.filtered) == (low, True)


def test_many_replies_are_asked_in_parts_and_keep_their_places(monkeypatch):
    monkeypatch.setattr("gre_bench.examiners.grading.TOGETHER", 7)
    asked = []

    class Counting(Known):
        def logprob(self, chats):
            asked.append(len(chats))
            return super().logprob(chats)

    examiner = Examiner(template="human", granularity="fine", filtering=True)
    grades = grade_by_lm(examiner, [ITEM, ITEM, ITEM], Counting(KNOWN))
    assert [grade.value for grade in grades] == [3.0] * 3
    assert asked == [10] * 6 + [6]


@pytest.fixture(scope="module", params=["llama3", "chatml", "mistral"])
def tiny(request, tmp_path_factory):
    pytest.importorskip("torch", reason="needs the extra `lm`")
    from gre_bench.lm.backends.transformers_lm import TransformersLM
    from tests.lm.chat_models import build_chat_model

    folder = tmp_path_factory.mktemp("examiner") / request.param
    return TransformersLM.open(build_chat_model(folder, request.param), device="cpu")


@pytest.mark.parametrize("template", ["base", "p1", "p7"])
def test_a_score_has_the_probability_of_its_whole_token_sequence_and_end(tiny, template):
    """Against the model itself: each token's softmax multiplied up, for "100", "1.5" and "Very Good" as for "1"."""
    import torch

    examiner = Examiner(template=template, aggregation="logprob", mass="raw")
    scale, [chat] = examiner.form.scale, build_grading_chats(examiner, ITEM)
    product, mass, lengths = 0.0, 0.0, set()
    for spelling, value in scale.declared:
        written = tiny.template.encode(Chat(chat.system, chat.user, spelling))
        with torch.no_grad():
            logits = tiny.weights.model(torch.tensor([written.ids])).logits[0].double()
        share = 1.0
        for place in range(written.first, written.last + 1):
            share *= float(torch.softmax(logits[place - 1], -1)[written.ids[place]])
        lengths.add(written.last - written.first)
        product, mass = product + share * value, mass + share
    [grade] = grade_by_lm(examiner, [ITEM], tiny)
    assert len(lengths) > 1, "all scores have one length: nothing is shown"
    assert grade.value == pytest.approx(product, rel=1e-3)
    assert grade.mass["overall"] == pytest.approx(mass, rel=1e-3)
    assert 0 < mass < 1


def test_an_evaluation_lm_of_judgments_is_refused_in_one_line():
    class NGram:
        identity = LMIdentity("cache-ngram", "0" * 64, "1")

    with pytest.raises(LMError, match="evaluation LM cache-ngram scores judgments only: give a chat model"):
        require_chat_lm(NGram())


@pytest.mark.parametrize("tree", [{"template": "p9"}, {"template": "p3"}, {"aggregation": "approximation"}])
def test_what_an_evaluation_lm_cannot_grade_is_refused(tree):
    with pytest.raises(SettingsError, match="examiner"):
        grade_by_lm(Examiner.model_validate(tree), [ITEM], Known({}))

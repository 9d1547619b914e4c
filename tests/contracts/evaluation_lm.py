"""What every evaluation LM promises, as rules: each takes a function that opens the LM, and fails by assertion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gre_bench.core.errors import SpanError
from gre_bench.core.records import Prediction, SpanLogprob
from gre_bench.lm.protocol import EvaluationLM, validate_span_logprob

Open = Callable[[], EvaluationLM]

X = "The reviewer appreciates the clear writing.\n\nThe reviewer criticizes the limited novelty of the approach."
Y = "The reviewer appreciates the extensive experiments.\nThe reviewer questions the choice of hyperparameters."
SYNOPSIS = "We study how a model learns to predict the second review from the first."

ORDINARY = (
    Prediction(X, None, Y),
    Prediction(None, None, Y),
    Prediction(X, SYNOPSIS, Y),
    Prediction(None, SYNOPSIS, Y),
    Prediction(Y, None, X),
    Prediction("\n \tלא זמין 🙂\n", SYNOPSIS, " The reviewer suggests: 漢字, ünïcode, 1.5e-3.\n\n"),
    Prediction("not a judgment", None, "a"),
)
EMPTY = (Prediction("", None, Y), Prediction(X, "", Y), Prediction(X, None, ""), Prediction("", "", ""))
LONG = "The reviewer appreciates the idea.\n" * 7500
HUGE = (Prediction(LONG, None, Y), Prediction(None, None, LONG))
SURROGATE = (Prediction("a\ud800", None, Y), Prediction(None, "\udfff", Y), Prediction(None, None, "\ud83d."))


def answers_are_finite_log_probabilities_that_add_up(open_lm: Open) -> None:
    """Spans with a log-probability for each token, none above zero, and their sum, within 1e-6 relative."""
    for answer in open_lm().logprob(ORDINARY):
        _is_sound(answer)
        assert answer.total < 0


def order_does_not_matter(open_lm: Open) -> None:
    """The reverse of the predictions gives the reverse of the answers."""
    lm = open_lm()
    _are_close(lm.logprob(ORDINARY[::-1]), lm.logprob(ORDINARY)[::-1])


def duplicates_are_answered_each(open_lm: Open) -> None:
    """One answer for each prediction, equal ones for equal predictions."""
    lm = open_lm()
    once = lm.logprob(ORDINARY)
    _are_close(lm.logprob([ORDINARY[0], *ORDINARY, *ORDINARY]), [once[0], *once, *once])


def neighbours_do_not_matter(open_lm: Open) -> None:
    """A prediction alone has the log-probability it has in any company."""
    lm = open_lm()
    together = lm.logprob([*SURROGATE, *ORDINARY, *EMPTY])[len(SURROGATE) :]
    _are_close([lm.logprob([prediction])[0] for prediction in (*ORDINARY, *EMPTY)], together)


def different_predictions_have_different_answers(open_lm: Open) -> None:
    """What is given, and what is replied, both move the log-probability."""
    totals = [answer.total for answer in open_lm().logprob(ORDINARY)]
    assert len(set(totals)) == len(totals), totals


def nothing_asked_is_nothing_answered(open_lm: Open) -> None:
    """No predictions, no answers."""
    assert open_lm().logprob([]) == []


def empty_texts_are_scored(open_lm: Open) -> None:
    """Empty is a text like any other, the reply's span then holding the end alone or what leads to it."""
    for answer in open_lm().logprob(EMPTY):
        _is_sound(answer)


def huge_texts_are_answered_in_place(open_lm: Open) -> None:
    """A text of a quarter of a million characters is scored or finally refused, and its neighbours are as without it."""
    lm = open_lm()
    *huge, neighbour = lm.logprob([*HUGE, ORDINARY[0]])
    for answer in huge:
        if isinstance(answer, SpanError):
            assert answer.final and not answer.broken, answer
        else:
            _is_sound(answer)
    _are_close([neighbour], lm.logprob(ORDINARY[:1]))


def lone_surrogates_are_refused_in_place(open_lm: Open) -> None:
    """No Unicode text holds one: a final `SpanError` of code ``bad_text`` each."""
    answers = open_lm().logprob([*SURROGATE, ORDINARY[0]])
    assert [(answer.code, answer.final) for answer in answers[:-1]] == [("bad_text", True)] * len(SURROGATE)
    _is_sound(answers[-1])


def the_same_lm_opened_twice_is_the_same(open_lm: Open) -> None:
    """Equal identities, before and after work, and equal answers."""
    one, other = open_lm(), open_lm()
    identity = one.identity
    _are_close(one.logprob(ORDINARY), other.logprob(ORDINARY))
    assert identity == one.identity == other.identity
    assert all(isinstance(value, str) and value for value in (identity.name, identity.digest, identity.engine_version))


CONTRACT: tuple[Callable[[Open], None], ...] = (
    answers_are_finite_log_probabilities_that_add_up,
    order_does_not_matter,
    duplicates_are_answered_each,
    neighbours_do_not_matter,
    different_predictions_have_different_answers,
    nothing_asked_is_nothing_answered,
    empty_texts_are_scored,
    huge_texts_are_answered_in_place,
    lone_surrogates_are_refused_in_place,
    the_same_lm_opened_twice_is_the_same,
)


def _is_sound(answer: SpanLogprob | SpanError) -> None:
    assert isinstance(answer, SpanLogprob), answer
    assert validate_span_logprob(answer) is answer
    assert len(answer.ids) == len(answer.logprobs) > 0
    assert math.isclose(answer.total, math.fsum(answer.logprobs), rel_tol=1e-6)


def _are_close(answers: Sequence[SpanLogprob | SpanError], expected: Sequence[SpanLogprob | SpanError]) -> None:
    assert len(answers) == len(expected)
    for one, other in zip(answers, expected, strict=True):
        _is_sound(one)
        assert one.ids == other.ids
        assert math.isclose(one.total, other.total, rel_tol=1e-6), (one.total, other.total)

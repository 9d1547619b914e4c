"""Every evaluation LM the product ships keeps the contract; LMs that break a rule are caught by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.contracts.evaluation_lm")

from gre_bench.core.errors import SpanError  # noqa: E402
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob  # noqa: E402
from gre_bench.lm.protocol import EvaluationLM  # noqa: E402
from tests.contracts import evaluation_lm as contract  # noqa: E402
from tests.contracts.evaluation_lm import CONTRACT, Open  # noqa: E402

CACHE_NGRAM = Path(__file__).resolve().parents[2] / "data" / "evaluation_lm" / "cache-ngram-2"
BACKENDS = ("transformers-llama3", "transformers-chatml", "transformers-mistral", "cache-ngram")


@pytest.fixture(scope="module", params=BACKENDS)
def open_lm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Open:
    if request.param == "cache-ngram":
        if not CACHE_NGRAM.is_dir():
            pytest.skip(f"the embedded evaluation LM has not been trained yet: no {CACHE_NGRAM}")
        from gre_bench.lm.ngram.cache_ngram import CacheNgram

        return lambda: CacheNgram.load(CACHE_NGRAM)
    pytest.importorskip("torch", reason="this evaluation LM needs the extra `lm`")
    from gre_bench.lm.backends.transformers_lm import TransformersLM
    from tests.lm.chat_models import build_chat_model

    template = request.param.removeprefix("transformers-")
    folder = build_chat_model(tmp_path_factory.mktemp("models") / template, template)
    return lambda: TransformersLM.open(folder, device="cpu")


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_the_evaluation_lm_keeps_the_contract(open_lm: Open, rule: Callable[[Open], None]) -> None:
    rule(open_lm)


class Honest:
    """A small LM that keeps the contract: each character of the reply costs more the rarer it is in x."""

    def __init__(self, serial: int = 0):
        self.identity = LMIdentity("honest", "0" * 64, f"test-{serial}")

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        return [self.one(prediction) for prediction in predictions]

    def one(self, prediction: Prediction) -> SpanLogprob | SpanError:
        given = f"{prediction.x}|{prediction.synopsis}"
        try:
            f"{given}{prediction.reply}".encode()
        except UnicodeEncodeError:
            return SpanError("bad_text", "a lone surrogate")
        if len(given) + len(prediction.reply) > 100_000:
            return SpanError("too_long", "too long")
        ids = (*map(ord, prediction.reply), 0)
        logprobs = tuple(-1.0 - 1.0 / (1 + given.count(chr(token))) - len(given) / 1e4 for token in ids)
        return SpanLogprob(sum(logprobs), ids, logprobs)


class Sorted(Honest):
    def logprob(self, predictions):
        return sorted(super().logprob(predictions), key=lambda answer: getattr(answer, "total", 0.0))


class Deduplicated(Honest):
    def logprob(self, predictions):
        return super().logprob(dict.fromkeys(predictions))


class Padded(Honest):
    def logprob(self, predictions):
        most = max((len(prediction.reply) for prediction in predictions), default=0)
        return [self.moved(answer, 1e-5 * most) for answer in super().logprob(predictions)]

    def moved(self, answer, by):
        if isinstance(answer, SpanError):
            return answer
        logprobs = tuple(value - by for value in answer.logprobs)
        return replace(answer, total=sum(logprobs), logprobs=logprobs)


class DeafToX(Honest):
    def one(self, prediction):
        return super().one(replace(prediction, x=None))


def spoilt(name: str, change: Callable[[SpanLogprob], SpanLogprob]) -> type[Honest]:
    """An LM that would keep the contract, but for a *change* of each of its spans."""

    def one(self: Honest, prediction: Prediction) -> SpanLogprob | SpanError:
        answer = Honest.one(self, prediction)
        return answer if isinstance(answer, SpanError) else change(answer)

    return type(name, (Honest,), {"one": one})


WrongTotal = spoilt("WrongTotal", lambda span: replace(span, total=span.total * 1.00001))
Positive = spoilt("Positive", lambda span: SpanLogprob(-0.5, (1, 2), (0.5, -1.0)))
NotANumber = spoilt("NotANumber", lambda span: SpanLogprob(float("nan"), (1,), (float("nan"),)))
ShortOfOneToken = spoilt("ShortOfOneToken", lambda span: replace(span, ids=span.ids[1:]))
WithoutEnd = spoilt("WithoutEnd", lambda span: SpanLogprob(sum(span.logprobs[:-1]), span.ids[:-1], span.logprobs[:-1]))


class RefusesForNow(Honest):
    def one(self, prediction):
        answer = super().one(prediction)
        return SpanError("out_of_memory", "", final=False) if isinstance(answer, SpanError) else answer


class RaisesOnAnyFault(Honest):
    def one(self, prediction):
        answer = super().one(prediction)
        if isinstance(answer, SpanError):
            raise answer
        return answer


class RefusesNothingAsked(Honest):
    def logprob(self, predictions):
        return super().logprob(predictions) or [None]


class OfAnotherNameEachTime(Honest):
    opened = 0

    def __init__(self):
        OfAnotherNameEachTime.opened += 1
        super().__init__(OfAnotherNameEachTime.opened)


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_the_contract_can_be_kept(rule: Callable[[Open], None]) -> None:
    rule(Honest)


@pytest.mark.parametrize(
    ("lm", "rule"),
    [
        (Sorted, contract.order_does_not_matter),
        (Deduplicated, contract.duplicates_are_answered_each),
        (Padded, contract.neighbours_do_not_matter),
        (DeafToX, contract.different_predictions_have_different_answers),
        (WrongTotal, contract.answers_are_finite_log_probabilities_that_add_up),
        (Positive, contract.answers_are_finite_log_probabilities_that_add_up),
        (NotANumber, contract.answers_are_finite_log_probabilities_that_add_up),
        (ShortOfOneToken, contract.answers_are_finite_log_probabilities_that_add_up),
        (WithoutEnd, contract.empty_texts_are_scored),
        (RefusesForNow, contract.huge_texts_are_answered_in_place),
        (RefusesForNow, contract.lone_surrogates_are_refused_in_place),
        (RaisesOnAnyFault, contract.huge_texts_are_answered_in_place),
        (RefusesNothingAsked, contract.nothing_asked_is_nothing_answered),
        (OfAnotherNameEachTime, contract.the_same_lm_opened_twice_is_the_same),
    ],
)
def test_a_broken_lm_is_caught(lm: type[EvaluationLM], rule: Callable[[Open], None]) -> None:
    with pytest.raises((AssertionError, SpanError)):
        rule(lm)

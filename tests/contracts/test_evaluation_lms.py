"""Every evaluation LM the product ships keeps the contract; LMs that break a rule are caught by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.contracts.evaluation_lm")

from gre_bench.core.errors import SpanError  # noqa: E402
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob  # noqa: E402
from gre_bench.lm.ngram.cache_ngram import CacheNgram  # noqa: E402
from gre_bench.lm.protocol import EvaluationLM  # noqa: E402
from tests.contracts import evaluation_lm as contract  # noqa: E402
from tests.contracts.evaluation_lm import CONTRACT, Open  # noqa: E402

CACHE_NGRAM = Path(__file__).resolve().parents[2] / "data" / "evaluation_lm" / "cache-ngram-3"
BACKENDS = ("transformers-llama3", "transformers-chatml", "transformers-mistral", "cache-ngram")


@pytest.fixture(scope="module", params=BACKENDS)
def open_lm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Open:
    if request.param == "cache-ngram":
        return lambda: CacheNgram.load(CACHE_NGRAM)
    pytest.importorskip("torch", reason="this evaluation LM needs the extra `lm`")
    from gre_bench.lm.backends.transformers_lm import TransformersLM
    from tests.lm.chat_models import build_chat_model

    template = request.param.removeprefix("transformers-")
    folder = build_chat_model(tmp_path_factory.mktemp("models") / template, template)
    return lambda: TransformersLM.open(folder, device="cpu")


@pytest.fixture(scope="module")
def open_once(open_lm: Open) -> Open:
    return cache(open_lm)


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_the_evaluation_lm_keeps_the_contract(open_lm: Open, open_once: Open, rule: Callable[[Open], None]) -> None:
    rule(open_lm if rule is contract.the_same_lm_opened_twice_is_the_same else open_once)


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


def spoilt(span: Callable | None = None, error: Callable | None = None, **methods: Callable) -> type[Honest]:
    """An LM that would keep the contract, but for a change of each span, of each refusal, or of whole methods."""

    def one(self: Honest, prediction: Prediction) -> SpanLogprob | SpanError:
        answer = Honest.one(self, prediction)
        change = error if isinstance(answer, SpanError) else span
        return change(answer) if change else answer

    return type("Spoilt", (Honest,), {"one": one} | methods)


def with_less(span: SpanLogprob, by: float) -> SpanLogprob:
    logprobs = tuple(value - by for value in span.logprobs)
    return replace(span, total=sum(logprobs), logprobs=logprobs)


def padded(self: Honest, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
    by = 1e-5 * max((len(prediction.reply) for prediction in predictions), default=0)
    return [answer if isinstance(answer, SpanError) else with_less(answer, by) for answer in map(self.one, predictions)]


def flies(error: SpanError) -> SpanError:
    raise error


OPENED = count()
SOUND = contract.answers_are_finite_log_probabilities_that_add_up
BROKEN = {
    "sorted": (contract.order_does_not_matter, spoilt(
        logprob=lambda lm, asked: sorted(map(lm.one, asked), key=lambda answer: getattr(answer, "total", 0.0)))),
    "deduplicated": (contract.duplicates_are_answered_each, spoilt(
        logprob=lambda lm, asked: list(map(lm.one, dict.fromkeys(asked))))),
    "padded": (contract.neighbours_do_not_matter, spoilt(logprob=padded)),
    "deaf to x": (contract.different_predictions_have_different_answers, spoilt(
        one=lambda lm, asked: Honest.one(lm, replace(asked, x=None)))),
    "wrong total": (SOUND, spoilt(lambda span: replace(span, total=span.total * 1.00001))),
    "positive": (SOUND, spoilt(lambda span: SpanLogprob(-0.5, (1, 2), (0.5, -1.0)))),
    "not a number": (SOUND, spoilt(lambda span: SpanLogprob(float("nan"), (1,), (float("nan"),)))),
    "short of one token": (SOUND, spoilt(lambda span: replace(span, ids=span.ids[1:]))),
    "without end": (contract.empty_texts_are_scored, spoilt(
        lambda span: SpanLogprob(sum(span.logprobs[:-1]), span.ids[:-1], span.logprobs[:-1]))),
    **{f"{name} of {what}": (rule, spoilt(error=change))
       for name, change in (("refuses for now", lambda error: SpanError("out_of_memory", "", final=False)),
                            ("raises", flies))
       for what, rule in (("huge texts", contract.huge_texts_are_answered_in_place),
                          ("surrogates", contract.lone_surrogates_are_refused_in_place))},
    "refuses nothing asked": (contract.nothing_asked_is_nothing_answered, spoilt(
        logprob=lambda lm, asked: list(map(lm.one, asked)) or [None])),
    "of another name each time": (contract.the_same_lm_opened_twice_is_the_same, spoilt(
        __init__=lambda lm: Honest.__init__(lm, next(OPENED)))),
}  # fmt: skip


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_the_contract_can_be_kept(rule: Callable[[Open], None]) -> None:
    rule(Honest)


@pytest.mark.parametrize(("rule", "lm"), BROKEN.values(), ids=BROKEN)
def test_a_broken_lm_is_caught(rule: Callable[[Open], None], lm: type[EvaluationLM]) -> None:
    with pytest.raises((AssertionError, SpanError)):
        rule(lm)

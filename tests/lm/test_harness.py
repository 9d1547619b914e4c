"""Our log-probabilities against those of lm-evaluation-harness, on the same spans."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="the evaluation LM needs the extra `lm`")

from gre_bench.core.records import Prediction  # noqa: E402
from gre_bench.lm.engine.engines import OneByOneEngine  # noqa: E402
from gre_bench.lm.measurement import harness_logprobs  # noqa: E402
from gre_bench.lm.span import ChatTemplate, Conversation  # noqa: E402
from gre_bench.lm.weights import Weights, open_weights  # noqa: E402
from gre_bench.prompts.library import render  # noqa: E402
from tests.lm.chat_models import build_chat_model  # noqa: E402

pytest.importorskip("lm_eval", reason="the comparison needs the extra `harness`")
TOLERANCE = 1e-6
"""Relative: the harness adds the tokens of a span in float32, we in float64."""

LINES = ("appreciates the clear writing", "questions the choice of seeds", "criticizes the limited novelty")


@pytest.fixture(scope="module", params=["llama3", "chatml", "mistral"])
def weights(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Weights:
    folder = build_chat_model(tmp_path_factory.mktemp("models") / request.param, request.param)
    return open_weights(folder, device="cpu")


def conversations(weights: Weights) -> list[Conversation]:
    template = ChatTemplate.from_tokenizer(weights.tokenizer)
    xs = [None, "", *(f"The reviewer {line}." * n for n, line in enumerate(LINES, 1))]
    ys = ["", *("\n".join(f"The reviewer {line}." for line in LINES[:n]) for n in (1, 2, 3))]
    return [template.encode(render(Prediction(x, None, y))) for x in xs for y in ys]


@pytest.mark.parametrize("batch", [1, 7])
def test_the_harness_gives_the_same_sums(weights: Weights, batch: int) -> None:
    spans = conversations(weights)
    ours = [math.fsum(logprobs) for logprobs in OneByOneEngine(weights).logprobs(spans)]
    theirs = harness_logprobs(weights, spans, batch)
    assert theirs == pytest.approx(ours, rel=TOLERANCE, abs=2e-5)
    assert len(set(ours)) == len(ours) == 20


def test_a_span_that_is_one_token_off_would_show(weights: Weights) -> None:
    spans = conversations(weights)
    moved = [Conversation(item.ids, item.first - 1, item.last, item.escaped) for item in spans]
    right, wrong = harness_logprobs(weights, spans, 4), harness_logprobs(weights, moved, 4)
    assert min(abs(one - other) / abs(one) for one, other in zip(right, wrong, strict=True)) > 100 * TOLERANCE


def test_nothing_asked_is_nothing_answered(weights: Weights) -> None:
    assert harness_logprobs(weights, [], 4) == []

"""The evaluation LM behind a real vLLM server: the contract, and each log-probability against the one-by-one reference.

Needs vLLM's own environment (``make test-vllm`` makes it); the servers are started here, with tiny random models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the reference needs the extra `lm`")

from gre_bench.core.errors import SpanError  # noqa: E402
from gre_bench.core.records import Prediction, SpanLogprob  # noqa: E402
from gre_bench.lm.backends.transformers_lm import TransformersLM  # noqa: E402
from gre_bench.lm.backends.vllm_lm import VLLM  # noqa: E402
from gre_bench.lm.engine.engines import OneByOneEngine  # noqa: E402
from tests.contracts.evaluation_lm import CONTRACT, EMPTY, ORDINARY  # noqa: E402
from tests.lm.chat_models import build_chat_model  # noqa: E402
from tests.servers.processes import vllm_python, vllm_server  # noqa: E402

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]
TOLERANCE = 2e-5


@dataclass(frozen=True)
class Served:
    url: str
    folder: Path
    given: bool

    def open(self) -> VLLM:
        return VLLM.open(self.url, self.folder, dtype="float32")


@pytest.fixture(scope="module", params=["llama3-whole", "chatml-given"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    python = vllm_python()
    if python is None:
        pytest.skip("no vLLM here: make test-vllm sets its environment up, or GRE_BENCH_VLLM_PYTHON names its Python")
    template, way = request.param.split("-")
    parent = tmp_path_factory.mktemp("vllm")
    folder = build_chat_model(parent / template, template)
    with vllm_server(python, folder, parent / "log", second_runner=way == "given") as url:
        yield Served(url, folder, way == "given")


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_the_contract_is_kept_by_a_real_server(served: Served, rule) -> None:
    rule(served.open)


def test_each_log_probability_is_that_of_the_one_by_one_reference(served: Served) -> None:
    lm, weights = served.open(), TransformersLM.open(served.folder, device="cpu").weights
    reference = TransformersLM(weights, lm.template, OneByOneEngine(weights))
    predictions = [*ORDINARY, *EMPTY]
    # Twice, the second time with all that the server has kept of the first.
    for _ in range(2):
        for found, wanted in zip(lm.logprob(predictions), reference.logprob(predictions), strict=True):
            assert isinstance(found, SpanLogprob) and isinstance(wanted, SpanLogprob)
            assert found.ids == wanted.ids
            assert found.logprobs == pytest.approx(wanted.logprobs, abs=TOLERANCE, rel=0)
    assert lm.identity.digest == reference.identity.digest
    assert lm.identity.engine_version.startswith("vllm-0.")


def test_given_tokens_alone_are_scored_where_the_server_can(served: Served) -> None:
    assert bool(served.open().remarks) != served.given


def test_a_conversation_as_long_as_the_server_takes_is_scored_and_a_longer_one_refused(served: Served) -> None:
    lm = served.open()
    texts = [Prediction("x " * n, None, "The reviewer agrees.") for n in range(400, 1200)]
    encoded = [
        (len(item.ids), text) for text in texts if not isinstance(item := lm._encode_prediction(text), SpanError)
    ]
    longest, fits = max(encoded, key=lambda pair: pair[0])
    assert longest > 2000
    refused = texts[texts.index(fits) + 1]
    scored, error = lm.logprob([fits, refused])
    assert isinstance(scored, SpanLogprob), scored
    assert isinstance(error, SpanError) and (error.code, error.final) == ("too_long", True)
    # The limit is the server's own: what is sent all the same is refused by it, and understood.
    lm._limit = None
    (said,) = lm.logprob([refused])
    assert isinstance(said, SpanError), said
    assert (said.code, said.final, said.broken) == ("too_long", True, False)

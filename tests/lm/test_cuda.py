"""The evaluation LM on a CUDA device: the contract, and each way to run a model against one text at a time there."""

from __future__ import annotations

import importlib.util
import math
import os
from itertools import chain
from pathlib import Path
from statistics import fmean

import pytest

pytest.importorskip("torch", reason="the evaluation LM needs the extra `lm`")

import torch

from gre_bench.core.records import SpanLogprob
from gre_bench.lm.backends.transformers_lm import TransformersLM
from gre_bench.lm.engine import trie_attention
from gre_bench.lm.engine.engines import OneByOneEngine, TrieEngine
from gre_bench.lm.measurement import random_weights
from gre_bench.lm.span import ChatTemplate
from gre_bench.lm.weights import Weights, open_weights, read_tokenizer
from gre_bench.prompts.library import render
from tests.contracts.evaluation_lm import CONTRACT, ORDINARY
from tests.lm.chat_models import PREDICTIONS, build_chat_model

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is available here"),
]

DEVICE = "cuda"
ALLOWED = {"float32": 1e-4, "float16": 0.05, "bfloat16": 0.4}
"""Nats by which a token may be off that of one text at a time in the same dtype, on a model of sharp distributions."""
BUDGETS = [60, 10**6]
"""Tokens of a pack: so few that packs keep tokens for the next, and so many that there is one."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Llama; Mistral, whose window is shorter than a conversation; Gemma 2, with a window and soft caps."""
    parent = tmp_path_factory.mktemp("models")
    return {name: build_chat_model(parent / name, architecture=name) for name in ("llama", "mistral", "gemma2")}


def by_trie(weights: Weights, budget: int) -> tuple[list[float], list[float]]:
    """The log-probabilities of all tokens by the engine, and one text at a time."""
    template = ChatTemplate.from_tokenizer(weights.tokenizer)
    conversations = [template.encode(render(prediction)) for prediction in PREDICTIONS]
    found, right = (engine.logprobs(conversations) for engine in (TrieEngine(weights, budget), OneByOneEngine(weights)))
    return list(chain.from_iterable(found)), list(chain.from_iterable(right))


def ways_taken(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Fills up with the names of the ways to attend that are taken."""
    taken: set[str] = set()
    for name in ("cascaded", "multiplied", "batched", "gathered", "weighed"):

        def noted(*args, way=getattr(trie_attention, name), name=name, **options):
            taken.add(name)
            return way(*args, **options)

        monkeypatch.setattr(trie_attention, name, noted)
    return taken


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_the_contract_is_kept(folders: dict[str, Path], rule) -> None:
    lm = TransformersLM.open(folders["llama"], device=DEVICE)
    assert lm.identity.engine_version.startswith("trie-")
    rule(lambda: lm)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("dtype", list(ALLOWED))
@pytest.mark.parametrize(
    ("architecture", "attention", "way"),
    [
        ("llama", "sdpa", "batched"),
        ("mistral", "sdpa", "gathered"),
        ("gemma2", "eager", "weighed"),
        ("llama", "eager", "weighed"),
    ],
)
def test_each_token_is_what_it_is_in_one_text_at_a_time(
    folders: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    architecture: str,
    attention: str,
    way: str,
    dtype: str,
    budget: int,
) -> None:
    taken = ways_taken(monkeypatch)
    weights = open_weights(folders[architecture], device=DEVICE, dtype=dtype, attention=attention)
    found, right = by_trie(weights, budget)
    assert found == pytest.approx(right, abs=ALLOWED[dtype], rel=0)
    # The kernel of variable lengths takes half precision only.
    assert taken == {"gathered" if (way, dtype) == ("batched", "float32") else way}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_no_further_from_the_truth_than_one_text_at_a_time(folders, dtype):
    _, truth = by_trie(open_weights(folders["llama"], device="cpu"), 10**6)
    found, plain = by_trie(open_weights(folders["llama"], device=DEVICE, dtype=dtype), 10**6)
    off, plainly_off = (fmean(abs(a - b) for a, b in zip(each, truth, strict=True)) for each in (found, plain))
    assert 0 < off < 1.5 * plainly_off


def test_float32_is_that_of_the_cpu(folders: dict[str, Path]) -> None:
    answers = [TransformersLM.open(folders["llama"], device=device).logprob(ORDINARY) for device in (DEVICE, "cpu")]
    for found, right in zip(*answers, strict=True):
        assert found.ids == right.ids
        assert found.logprobs == pytest.approx(right.logprobs, abs=ALLOWED["float32"], rel=0)


@pytest.mark.parametrize("dtype", list(ALLOWED))
@pytest.mark.parametrize("engine", ["trie", "batches"])
def test_an_engine_that_is_asked_for_is_had_and_agrees(folders: dict[str, Path], engine: str, dtype: str) -> None:
    lm = TransformersLM.open(folders["llama"], device=DEVICE, dtype=dtype, engine=engine)
    assert lm.identity.engine_version.startswith(f"{engine}-") and not lm.remarks
    one = TransformersLM.open(folders["llama"], device=DEVICE, dtype=dtype, engine="one-by-one")
    for found, right in zip(lm.logprob(PREDICTIONS), one.logprob(PREDICTIONS), strict=True):
        assert isinstance(found, SpanLogprob) and isinstance(right, SpanLogprob)
        assert found.logprobs == pytest.approx(right.logprobs, abs=ALLOWED[dtype], rel=0)
        assert found.total == math.fsum(found.logprobs)


@pytest.mark.skipif(
    not importlib.util.find_spec("bitsandbytes"), reason="no bitsandbytes: pip install 'gre-bench[nf4]'"
)
@pytest.mark.parametrize("budget", BUDGETS)
def test_weights_in_four_bits_are_scored_as_one_text_at_a_time(folders: dict[str, Path], budget: int) -> None:
    weights = open_weights(folders["llama"], device=DEVICE, dtype="bfloat16", quantisation="nf4")
    assert weights.quantisation == "nf4-single" and weights.model.device.type == "cuda"
    assert any(type(module).__name__ == "Linear4bit" for module in weights.model.modules())
    found, right = by_trie(weights, budget)
    assert found == pytest.approx(right, abs=ALLOWED["bfloat16"], rel=0)
    _, whole = by_trie(open_weights(folders["llama"], device=DEVICE, dtype="bfloat16"), budget)
    assert right != pytest.approx(whole, abs=1e-3, rel=0)


def test_a_random_model_is_made_on_the_device(folders: dict[str, Path]) -> None:
    weights = random_weights("60m", read_tokenizer(folders["llama"]), device="auto", dtype="bfloat16")
    assert {(one.device.type, one.dtype) for one in weights.model.parameters()} == {("cuda", torch.bfloat16)}


@pytest.mark.skipif("CUDA_VISIBLE_DEVICES" in os.environ, reason="CUDA_VISIBLE_DEVICES names the GPUs here")
def test_the_gpus_that_workers_are_given_are_those_that_cuda_has() -> None:
    pytest.importorskip("duckdb", reason="workers need the store")
    from gre_bench.pipeline.runs.workers import list_gpus

    assert list_gpus() == tuple(map(str, range(torch.cuda.device_count())))

"""What is counted and timed when methods are compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="measuring needs the extra `lm`")

from gre_bench.core.errors import LMError  # noqa: E402
from gre_bench.core.records import Prediction  # noqa: E402
from gre_bench.lm import measurement  # noqa: E402
from gre_bench.lm.measurement import SHAPES, random_weights  # noqa: E402
from gre_bench.lm.span import Conversation  # noqa: E402
from gre_bench.lm.weights import Weights, open_weights  # noqa: E402
from tests.lm.chat_models import build_chat_model  # noqa: E402

CONVERSATIONS = [
    Conversation((1, 2, 3, 4, 9), 3, 4, 0),
    Conversation((1, 2, 3, 5, 9), 3, 4, 0),
    Conversation((1, 2, 6, 9), 2, 3, 0),
]
PREDICTIONS = [Prediction(x, None, y) for x in (None, "One thing.", "Another.") for y in ("A reply.", "A review.")]


def test_work_is_counted_token_by_token():
    assert measurement.count_work_without_prefix_sharing(CONVERSATIONS) == measurement.ModelWork(
        4 + 4 + 3, 2 + 2 + 2, 10 + 10 + 6
    )
    # 1-2-3-4, 1-2-3-5 and 1-2-6: six tokens at depths 0, 1, 2, 3, 3, 2. Asked after 3, 4, 5, 2 and 6.
    assert measurement.count_work_with_prefix_sharing(CONVERSATIONS) == measurement.ModelWork(
        6, 5, 1 + 2 + 3 + 4 + 4 + 3
    )


def test_multiply_adds_are_those_of_the_weights_and_of_attention_and_have_a_speed(weights):
    counted = sum(
        module.weight.numel() for module in weights.model.model.modules() if isinstance(module, torch.nn.Linear)
    )
    config = weights.model.config
    assert measurement.matmul_peak(weights, size=64) > 1e6
    assert measurement.ModelWork(1, 0, 0).multiply_adds(config) == counted
    assert measurement.ModelWork(0, 1, 0).multiply_adds(config) == weights.model.lm_head.weight.numel()
    assert measurement.ModelWork(0, 0, 1).multiply_adds(config) == 2 * 2 * 32 * 2


def test_methods_agree_and_the_engine_has_less_to_do(weights):
    ways, notes = measurement.methods(weights)
    assert {"one-by-one", "batches", "trie"} <= set(ways) and notes == []
    with pytest.raises(LMError, match="cannot be scored"):
        ways["trie"]([Prediction("word " * 5000, None, "y")])
    timings = measurement.measured(weights, [PREDICTIONS, PREDICTIONS], ways, rounds=2)
    found = measurement.report(weights, [PREDICTIONS, PREDICTIONS], timings, pairs=4, peak=1e9)
    for name, row in found.items():
        assert row["largest_disagreement"] < 1e-5, name
        assert row["wall_s"] > 0 and row["cpu_s"] > 0 and row["peak_memory_bytes"] > 0
        assert row["pairs_per_s"] == pytest.approx(4 / row["wall_s"])
        assert row["peak_fraction"] > 0
    assert found["one-by-one"]["cpu_ratio"] == found["one-by-one"]["wall_ratio"] == 1
    assert found["one-by-one"]["work_ratio"] == found["batches"]["work_ratio"] == 1
    assert found["trie"]["token_ratio"] > found["trie"]["work_ratio"] > 1.5
    # Papers are asked for one by one: what two of them share is read twice.
    half = {name: replace(one, totals=one.totals[: len(PREDICTIONS)]) for name, one in timings.items()}
    once = measurement.report(weights, [PREDICTIONS], half, pairs=4, peak=1e9)
    assert found["trie"]["tokens"] == 2 * once["trie"]["tokens"]
    # A ratio is the median over rounds.
    rounds = {"one-by-one": {"wall": [2.0, 3.0, 100.0]}, "trie": {"wall": [1.0, 1.0, 1.0], "cpu": None}}
    given = {name: replace(timings[name], **row) for name, row in rounds.items()}
    found = measurement.report(weights, [PREDICTIONS, PREDICTIONS], given, pairs=4, peak=1e9)
    assert (found["trie"]["wall_ratio"], found["trie"]["cpu_ratio"]) == (3.0, None)


def test_a_model_that_the_engine_cannot_run_is_measured_without_it(tmp_path):
    weights = open_weights(build_chat_model(tmp_path / "gpt2", architecture="gpt2"), device="cpu")
    ways, (note,) = measurement.methods(weights)
    assert "trie" not in ways and "gpt2" in note


def test_a_random_model_has_its_shape_and_the_shapes_have_the_weights_that_they_are_named_by(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(SHAPES, "tiny", {**SHAPES["60m"], "num_hidden_layers": 1, "hidden_size": 64})
    found = random_weights("tiny", weights.tokenizer, device="cpu", dtype="bfloat16")
    assert found.model.dtype == torch.bfloat16 and torch.get_default_dtype() == torch.float32
    assert found.model.config.num_hidden_layers == 1
    assert found.model.get_input_embeddings().num_embeddings == len(weights.tokenizer)
    with pytest.raises(LMError, match="no shape '7b' for a random model; known: 60m, llama-3.1-8b"):
        random_weights("7b", weights.tokenizer)
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.device("meta"):
        for shape, vocabulary, low, high in (("60m", 4096, 55e6, 65e6), ("llama-3.1-8b", 128256, 7.9e9, 8.2e9)):
            model = LlamaForCausalLM(LlamaConfig(**{"vocab_size": vocabulary, **SHAPES[shape]}))
            assert low < sum(weight.numel() for weight in model.parameters()) < high

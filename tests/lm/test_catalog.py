"""What the settings ask for reaches the evaluation LM that is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the evaluation LM needs the extra `lm`")

from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.records import Prediction, SpanLogprob
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.lm.catalog import check_here, open_lm

TEXTS = ("The reviewer appreciates the clear writing.", "The reviewer criticizes the limited novelty.")
PREDICTIONS = [Prediction(x, None, y) for x in (None, *TEXTS) for y in TEXTS]


def forwards(folder: Path, **settings: object) -> tuple[str, list[tuple[int, ...]]]:
    """Version of the engine that the settings get, and the shapes (rows, tokens) of its forwards."""
    lm = open_lm(EvaluationLMSettings(backend="transformers", folder=folder, device="cpu", **settings))
    shapes: list[tuple[int, ...]] = []
    hook = lm.weights.model.get_input_embeddings().register_forward_hook(
        lambda _, given, made: shapes.append(tuple(made.shape[:2]))
    )
    assert all(isinstance(answer, SpanLogprob) for answer in lm.logprob(PREDICTIONS))
    hook.remove()
    return lm.identity.engine_version.rpartition("-")[0], shapes


@pytest.mark.parametrize("engine", ["trie", "batches", "one-by-one"])
def test_the_engine_of_the_settings_is_the_one_that_runs(llama3: Path, engine: str) -> None:
    assert forwards(llama3, engine=engine)[0] == engine


def test_the_token_budget_of_the_settings_bounds_the_packs_of_the_trie(llama3: Path) -> None:
    _, shapes = forwards(llama3, engine="trie", token_budget=64)
    assert len(shapes) > 1 and max(tokens for _, tokens in shapes) <= 64
    _, (only,) = forwards(llama3, engine="trie")
    assert only[1] > 64


def test_the_token_budget_of_the_settings_bounds_the_batches(llama3: Path) -> None:
    _, shapes = forwards(llama3, engine="batches", token_budget=64)
    # Each conversation is longer than that, and goes alone.
    assert [rows for rows, _ in shapes] == [1] * len(PREDICTIONS)
    _, shapes = forwards(llama3, engine="batches", token_budget=4096)
    assert max(rows for rows, _ in shapes) > 1
    assert max(rows * tokens for rows, tokens in shapes) <= 4096


def test_how_the_model_is_run_reaches_it_too(llama3: Path) -> None:
    settings = EvaluationLMSettings(
        backend="transformers", folder=llama3, device="cpu", dtype="bfloat16", attention="eager", max_tokens=100
    )
    lm = open_lm(settings)
    assert (lm.identity.dtype, lm.identity.attention) == ("bfloat16", "eager")
    (refused,) = lm.logprob([Prediction("word " * 200, None, TEXTS[0])])
    assert "takes 100" in str(refused)
    assert open_lm(settings) is lm


def test_an_unknown_backend_is_named_with_the_known_ones() -> None:
    with pytest.raises(
        SettingsError, match="no evaluation LM backend 'gpt'; known: cache-ngram, gem-smollm2, transformers, vllm"
    ):
        open_lm(EvaluationLMSettings(backend="gpt"))


def test_a_model_folder_must_be_given() -> None:
    with pytest.raises(SettingsError, match="evaluation_lm.folder=FOLDER"):
        open_lm(EvaluationLMSettings(backend="transformers"))


def test_files_that_are_not_here_are_told_as_on_opening_without_loading_what_is_here(llama3, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", lambda *_, **__: pytest.fail("loaded"))
    check_here(EvaluationLMSettings(backend="transformers", folder=llama3))
    check_here(EvaluationLMSettings(backend="cache-ngram"))
    (tmp_path / "empty").mkdir()
    for given in (tmp_path / "none", tmp_path / "empty", Path("minilm-l6-v2")):
        asked = EvaluationLMSettings(backend="transformers", folder=given)
        with pytest.raises(LMError) as first:
            check_here(asked)
        with pytest.raises(LMError) as second:
            open_lm(asked)
        assert str(first.value) == str(second.value)

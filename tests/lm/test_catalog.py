"""What the settings ask for reaches the evaluation LM that is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the evaluation LM needs the extra `lm`")

from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.records import Prediction, SpanLogprob
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.lm.opening import check_model_is_local, open_lm

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


def test_the_engine_of_the_settings_is_the_one_that_runs_within_its_token_budget(llama3: Path) -> None:
    assert forwards(llama3, engine="one-by-one")[0] == "one-by-one"
    engine, shapes = forwards(llama3, engine="trie", token_budget=64)
    assert engine == "trie" and len(shapes) > 1 and max(tokens for _, tokens in shapes) <= 64
    _, (only,) = forwards(llama3, engine="trie")
    assert only[1] > 64
    engine, shapes = forwards(llama3, engine="batches", token_budget=64)
    # Each conversation is longer than that, and goes alone.
    assert engine == "batches" and [rows for rows, _ in shapes] == [1] * len(PREDICTIONS)
    _, shapes = forwards(llama3, engine="batches", token_budget=4096)
    assert max(rows for rows, _ in shapes) > 1
    assert max(rows * tokens for rows, tokens in shapes) <= 4096


def test_how_the_model_is_run_reaches_it_too(llama3: Path) -> None:
    settings = EvaluationLMSettings(
        backend="transformers", folder=llama3, device="cpu", dtype="bfloat16", attention="eager"
    )
    lm = open_lm(settings)
    assert (lm.identity.dtype, lm.identity.attention) == ("bfloat16", "eager")
    (refused,) = lm.logprob([Prediction("word " * 2500, None, TEXTS[0])])
    assert "takes 2048" in str(refused)
    assert open_lm(settings) is lm


@pytest.mark.parametrize(("backend", "said"), [
    ("gpt", "no evaluation LM backend 'gpt'; known: cache-ngram, gem-smollm2, transformers, vllm"),
    ("transformers", "evaluation_lm.folder=FOLDER"),
])  # fmt: skip
def test_an_unknown_backend_and_a_folder_that_lacks_are_named(backend: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        open_lm(EvaluationLMSettings(backend=backend))


def test_files_that_are_not_here_are_told_as_on_opening_without_loading_what_is_here(llama3, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", lambda *_, **__: pytest.fail("loaded"))
    check_model_is_local(EvaluationLMSettings(backend="transformers", folder=llama3))
    check_model_is_local(EvaluationLMSettings(backend="cache-ngram"))
    (tmp_path / "empty").mkdir()
    for given in (tmp_path / "none", tmp_path / "empty", Path("minilm-l6-v2")):
        asked = EvaluationLMSettings(backend="transformers", folder=given)
        with pytest.raises(LMError) as first:
            check_model_is_local(asked)
        with pytest.raises(LMError) as second:
            open_lm(asked)
        assert str(first.value) == str(second.value)

"""Embedders: one contract for all, what a model folder may hold, and that a model is known by its contents."""

from __future__ import annotations

import os
import shutil
import socket
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.register_assert_rewrite("tests.contracts.embedder")

from gre_bench.core.errors import LMError, SettingsError  # noqa: E402
from gre_bench.core.settings import EmbedderSettings, load  # noqa: E402
from gre_bench.lm.embedders import HashedNgramEmbedder, SentenceEmbedder, embedder_digest, open_embedder  # noqa: E402
from tests.contracts.embedder import CONTRACT, ORDINARY, Open  # noqa: E402
from tests.lm.damages import rewritten, without_weights  # noqa: E402
from tests.one_line import one_line  # noqa: E402

BACKENDS = ("hashed-ngrams", "sentence-transformers", "sentence-transformers-with-query")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny models, one without and one with a prompt for queries."""
    pytest.importorskip("sentence_transformers", reason="this embedder needs the extra `lm`")
    from tests.lm.sentence_models import build_sentence_model

    folder = tmp_path_factory.mktemp("embedders")
    return {
        "plain": build_sentence_model(folder / "plain"),
        "query": build_sentence_model(folder / "query", "the problem is "),
    }


@pytest.fixture
def model(models: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the plain model, to be damaged."""
    return Path(shutil.copytree(models["plain"], tmp_path / "model"))


@pytest.fixture(params=BACKENDS)
def opened(request: pytest.FixtureRequest) -> Open:
    if request.param == "hashed-ngrams":
        return HashedNgramEmbedder
    folders = request.getfixturevalue("models")
    return lambda: SentenceEmbedder.open(folders["query" if "query" in request.param else "plain"], "cpu")


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_the_embedder_keeps_the_contract(opened, rule):
    rule(opened)


EMBED = HashedNgramEmbedder.embed
BROKEN = {
    "unnormalised": lambda self, sentences, query=False: 2 * EMBED(self, sentences),
    "doubles": lambda self, sentences, query=False: EMBED(self, sentences).astype(float),
    "sorted": lambda self, sentences, query=False: EMBED(self, sorted(sentences)),
    "centred": lambda self, sentences, query=False: EMBED(self, sentences) - 0.1 * EMBED(self, sentences).sum(axis=0),
    "constant": lambda self, sentences, query=False: EMBED(self, ["the same"] * len(sentences)),
    "flat": lambda self, sentences, query=False: EMBED(self, sentences) if sentences else np.zeros((0, 0), np.float32),
    "mislabelled": True,
}


def test_an_embedder_that_breaks_a_rule_is_caught():
    opened = count(1024)
    broken = [
        type(name, (HashedNgramEmbedder,), {"asymmetric" if way is True else "embed": way})
        for name, way in BROKEN.items()
    ]
    for opens in (*broken, lambda: HashedNgramEmbedder(next(opened))):
        caught = []
        for rule in CONTRACT:
            try:
                rule(opens)
            except AssertionError:
                caught.append(rule.__name__)
        assert caught, opens


def test_the_hashed_ngrams_know_spelling():
    asked, near, far = HashedNgramEmbedder().embed(
        ["The writing is unclear.", "The writing is clearly bad.", "Add a second baseline!"]
    )
    assert asked @ near > 0.4 > 0.2 > asked @ far


@given(st.text(max_size=60))
def test_any_text_has_a_hashed_vector_and_blanks_do_not_move_it(text):
    embedder = HashedNgramEmbedder()
    one, other = embedder.embed([text, f"  {text}\n\n"])
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-5)
    if text.strip():
        assert np.array_equal(one, other)


def test_features_that_cancel_leave_a_vector_all_the_same():
    # In 3 places the features of a short text meet in pairs now and then, with either sign.
    vectors = HashedNgramEmbedder(dimension=3).embed([chr(place) for place in range(32, 2000)])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_hashed_vector_is_the_same_on_every_machine():
    vector = HashedNgramEmbedder().embed(["The reviewer appreciates the clear writing."])[0]
    assert HashedNgramEmbedder().identity.digest == "c10df4de83d7c462be4fabe34a59228809f39282ad06ef22684586b7797e725c"
    assert (int(np.argmax(vector)), int(np.argmin(vector))) == (650, 236)
    assert float(vector.max()) == pytest.approx(0.1427503, rel=1e-6)


def test_no_network_is_used(models, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert len(SentenceEmbedder.open(models["query"], "cpu").embed(ORDINARY, query=True)) == len(ORDINARY)


def test_a_model_is_known_by_what_its_folder_holds_and_computes_in_float32(models, model):
    import torch
    from safetensors.torch import load_file, save_file

    original, query = (SentenceEmbedder.open(models[name], "cpu").identity for name in ("plain", "query"))
    (model / "README.md").write_text("Notes.")
    same = SentenceEmbedder.open(model, "cpu").identity
    assert (same.digest, same.name, same.dtype) == (original.digest, "model", "float32")
    assert "prompt of the candidate's: none" in same.engine_version
    assert "prompt of the candidate's: s2s_query" in query.engine_version
    weights = load_file(model / "2_Dense" / "model.safetensors")
    save_file({name: (1.1 * weight).half() for name, weight in weights.items()}, model / "2_Dense/model.safetensors")
    assert embedder_digest(model) != original.digest
    weights = load_file(model / "model.safetensors")
    save_file({name: weight.half() for name, weight in weights.items()}, model / "model.safetensors", {"format": "pt"})
    changed = SentenceEmbedder.open(model, "cpu")
    assert {weight.dtype for weight in changed.model.parameters()} == {torch.float32}


def test_sentences_beyond_what_the_model_reads_are_cut(models):
    embedder = SentenceEmbedder.open(models["plain"], "cpu")
    long = "paper " * 100
    one, other = embedder.embed([long + "clear", long + "novelty"])
    assert np.allclose(one, other, atol=1e-6)
    assert "16 numbers of 64 tokens" in embedder.identity.engine_version


OWN_MODEL = {"model_type": "homemade", "auto_map": {"AutoConfig": "canary.Config", "AutoModel": "canary.Model"}}
OWN_TOKENIZER = {"tokenizer_class": "Canary", "auto_map": {"AutoTokenizer": ["canary.Tokenizer", "canary.Tokenizer"]}}
FAULTS = [
    (shutil.rmtree, "there is no such folder"),
    (lambda folder: (folder / "modules.json").unlink(), "no modules.json; the folder must be that of a sentence-tr"),
    (lambda folder: (folder / "modules.json").write_text("[{"), "modules.json cannot be read"),
    (lambda folder: (folder / "modules.json").write_text('{"a": 1}'), "modules.json is no list of modules"),
    (lambda folder: (folder / "modules.json").write_text("[]"), "modules.json names no module"),
    (lambda folder: (folder / "config.json").unlink(), "no config.json"),
    (rewritten("modules.json", lambda tree: tree[1].update(path="../..")), "which is not there"),
    (rewritten("config.json", lambda tree: []), "it cannot be loaded"),
    (lambda folder: (folder / "adapter_config.json").write_text("{}"), "it is an adapter; merge it"),
    (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
     "no *.safetensors; other weight formats can run code and are refused"),
    (lambda folder: (folder / "2_Dense/model.safetensors").unlink(), "2_Dense: no *.safetensors"),
    (rewritten("modules.json", lambda tree: tree[1].update(type="canary.Pooling")),
     "its module canary.Pooling can run code and is refused; accepted: Dense"),
    (rewritten("config.json", lambda tree: tree.update(OWN_MODEL)),
     "it needs custom code (auto_map in config.json), which is refused; one that needs none: gre-bench models get minilm"),
    (rewritten("tokenizer_config.json", lambda tree: tree.update(OWN_TOKENIZER)),
     "it needs custom code (auto_map in tokenizer_config.json), which is refused"),
    (rewritten("2_Dense/config.json", lambda tree: tree.update(activation_function="antigravity.geohash")),
     "2_Dense: its activation function is not one of torch"),
    (without_weights("model.safetensors", "encoder.layer.1.output.dense.weight".__eq__),
     "the files lack 1 weights of the model, such as encoder.layer.1.output.dense.weight"),
    (without_weights("2_Dense/model.safetensors", "linear.bias".__eq__), "it cannot be loaded"),
    (lambda folder: os.truncate(folder / "model.safetensors", 5000), "it cannot be loaded"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "said"), FAULTS, ids=[said[:30] + f"-{place}" for place, (_, said) in enumerate(FAULTS)]
)
def test_a_folder_that_cannot_be_used_is_one_line_that_names_it(model, damage, said):
    (model / "canary.py").write_text("raise SystemExit('code of the folder was run')")
    damage(model)
    with one_line(said, f"embedder {model}", kind=LMError):
        SentenceEmbedder.open(model, "cpu")


def test_a_pooler_that_no_embedding_is_made_of_may_lack(model):
    without_weights("model.safetensors", lambda key: key.startswith("pooler."))(model)
    assert SentenceEmbedder.open(model, "cpu").embed(ORDINARY).shape == (len(ORDINARY), 16)


def test_settings_open_the_embedder_and_keep_it_open(models, tmp_path):
    assert open_embedder(EmbedderSettings()).identity.name == "hashed-ngrams"
    given_folder = EmbedderSettings(backend="sentence-transformers", folder=models["plain"])
    assert open_embedder(given_folder) is open_embedder(given_folder)
    settings = tmp_path / "run.toml"
    settings.write_text('[embedder]\nbackend = "sentence-transformers"\nfolder = "models/stella"\n')
    assert load(settings).embedder.folder == (tmp_path / "models" / "stella").resolve()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (EmbedderSettings(backend="stella"), "no embedder 'stella'; known: hashed-ngrams, sentence-transformers"),
        (EmbedderSettings(folder=Path("stella")), "set embedder.backend=sentence-transformers too, or leave the"),
        (EmbedderSettings(backend="sentence-transformers"), "needs a model folder: --set embedder.folder=FOLDER"),
    ],
)
def test_settings_that_open_nothing_are_one_line(settings, said):
    with pytest.raises(SettingsError, match=said):
        open_embedder(settings)

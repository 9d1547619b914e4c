"""Sentence embedders for BERTScore: their interface, and functions that open them by name.

To add an embedder, add one line to `EMBEDDERS`. A sentence-transformers model is read from local files only, and its
weights only in the safetensors format. No code from its folder is run.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gre_bench.core.errors import LMError, SettingsError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.pretrained import check_model_unchanged, load_pretrained_models, locate_model, suggest_pretrained
from gre_bench.core.records import LMIdentity, digest
from gre_bench.core.settings import EmbedderSettings
from gre_bench.core.strict import load_json
from gre_bench.lm.weights import Device, choose_device, convert_errors_to_lm_error, digest_of_files, hide_progress_bars

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DIMENSION = 2048
NGRAM_LENGTHS = (3, 4, 5)
"""The lengths of the character n-grams of hashed-ngrams; a blank is added at both ends of the sentence."""
QUERY = "s2s_query"
"""The name of the prompt that the GEM authors put before the candidate's sentences; stella_en_400M_v5 defines it."""
BATCH = 64
MODULES = frozenset(
    ("Transformer", "StaticEmbedding", "Pooling", "WeightedLayerPooling", "Dense", "LayerNorm", "Dropout", "Normalize")
)
"""Modules of sentence-transformers that consist of weights and arithmetic only."""

_WORD = re.compile(r"\w+|[^\w\s]")
_DIGESTED = frozenset((".json", ".safetensors", ".txt", ".model"))
_OTHER_WEIGHTS = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack")


class Embedder(Protocol):
    """An embedder turns sentences into vectors, without using the network.

    - ``embed`` returns one vector of length 1 for each sentence, in the same order: float32, shape (sentences,
      dimension). A vector depends only on its own sentence, not on the other sentences of the call.
    - ``embed_tokens`` returns one array for each text, shape (tokens of the text, dimension): the vector of each token
      in the context of its text. Special tokens and the query prompt get no vector. Text beyond the model's limit is
      cut off.
    - *query*: true for the candidate's texts, false for the reference's. Some models put a prompt, the query prompt,
      before the candidate's texts. ``asymmetric``: whether *query* makes a difference.
    """

    @property
    def identity(self) -> LMIdentity: ...

    @property
    def asymmetric(self) -> bool: ...

    def embed(self, sentences: Sequence[str], query: bool = False) -> NDArray[np.float32]: ...

    def embed_tokens(self, texts: Sequence[str], query: bool = False) -> list[NDArray[np.float32]]: ...


class HashedNgramEmbedder:
    """An `Embedder` without a model: it hashes the words, word pairs and character n-grams of a sentence into a vector.

    It compares spelling, not meaning: "unclear" is near "clearly" and far from "confusing". It is a substitute for a
    sentence embedding model where none is available. BERTScore then measures a soft overlap of words.

    A feature that occurs n times has the weight 1 + ln n (sublinear term frequency). Its hash chooses a dimension and a
    sign, and the signed weight is added to that dimension. Collisions therefore cancel out on average (Weinberger et
    al. 2009). The vectors have *dimension* dimensions and are the same on every machine.
    """

    asymmetric = False

    def __init__(self, dimension: int = DIMENSION):
        self.dimension = dimension
        made = {"dimension": dimension, "runs": NGRAM_LENGTHS, "hash": "blake2b-64", "folding": "NFKC, lower case"}
        self.identity = LMIdentity("hashed-ngrams", digest(made), "hashed-ngrams 1", dtype="float32")

    def embed(self, sentences: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        vectors = np.zeros((len(sentences), self.dimension))
        for vector, sentence in zip(vectors, sentences, strict=True):
            for feature, count in Counter(_extract_features(sentence)).items():
                number = _hash_feature(feature)
                vector[number % self.dimension] += math.copysign(1 + math.log(count), (number >> 63) - 0.5)
            if not vector.any():
                # All features of a short text can cancel out in pairs; then the hash of the whole text is used.
                vector[_hash_feature(sentence) % self.dimension] = 1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)

    def embed_tokens(self, texts: Sequence[str], query: bool = False) -> list[NDArray[np.float32]]:
        """Returns one row for each word and punctuation mark; equal words have equal rows, whatever their context."""
        words = [_WORD.findall(text) for text in texts]
        indices = {word: index for index, word in enumerate(dict.fromkeys(word for line in words for word in line))}
        vectors = self.embed(list(indices))
        return [vectors[[indices[word] for word in line]] for line in words]


def _extract_features(sentence: str) -> Iterator[str]:
    words = _WORD.findall(unicodedata.normalize("NFKC", sentence).lower())
    for word in words:
        yield f"w {word}"
    for first, second in pairwise(words):
        yield f"p {first} {second}"
    line = f" {' '.join(words)} "
    for length in NGRAM_LENGTHS:
        for start in range(len(line) - length + 1):
            yield f"c {line[start : start + length]}"


@lru_cache(maxsize=1 << 18)
def _hash_feature(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class SentenceEmbedder:
    """An `Embedder` that runs a sentence-transformers *model*."""

    def __init__(self, model: SentenceTransformer, identity: LMIdentity):
        self.model = model
        self.identity = identity
        self.asymmetric = bool(model.prompts.get(QUERY))

    @classmethod
    def open(cls, folder: str | Path, device: Device = "auto") -> SentenceEmbedder:
        """Opens the model in *folder* in float32; if that fails, raises an `LMError` that says why."""
        folder = Path(folder)
        folders = list_checked_module_folders(folder)
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise LMError("sentence-transformers is not installed: pip install 'gre-bench[lm]'") from error
        device = choose_device(device, f"embedder {folder}")
        weights = {"use_safetensors": True, "dtype": torch.float32}
        with convert_errors_to_lm_error(folder, "it cannot be loaded", "embedder"), hide_progress_bars():
            model = SentenceTransformer(
                str(folder), device=device, local_files_only=True, trust_remote_code=False, model_kwargs=weights
            ).eval()
            absent = _find_missing_weights(model, folders, weights)
        if absent:
            raise LMError(f"embedder {folder}: the files lack {len(absent)} weights of the model, such as {absent[0]}")
        made = ", ".join(f"{name} {version(name)}" for name in ("sentence-transformers", "transformers", "torch"))
        shape = f"{model.get_embedding_dimension()} numbers of {model.max_seq_length} tokens"
        prompt = QUERY if model.prompts.get(QUERY) else "none"
        config = getattr(getattr(model[0], "auto_model", None), "config", None)
        identity = LMIdentity(
            name=folder.resolve().name,
            digest=embedder_digest(folder),
            engine_version=f"{made}; {shape}, prompt of the candidate's: {prompt}",
            dtype="float32",
            attention=getattr(config, "_attn_implementation", None) or "none",
        )
        return cls(model, identity)

    def embed(self, sentences: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        """Returns one vector for each of *sentences*, NaN where the model fails.

        Sentences longer than the model's limit are cut off, as sentence-transformers does.
        """
        if not sentences:
            return np.zeros((0, self.model.get_embedding_dimension() or 0), np.float32)
        sound = [sentence.encode("utf-8", "replace").decode() for sentence in sentences]
        prompt = QUERY if query and self.asymmetric else None
        vectors = self.model.encode(sound, prompt_name=prompt, batch_size=BATCH, show_progress_bar=False)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def embed_tokens(self, texts: Sequence[str], query: bool = False) -> list[NDArray[np.float32]]:
        """Returns one array for each text: the last hidden state of each token, scaled to length 1.

        Raises `LMError` if the model does not expose its hidden states.
        """
        import torch

        inner, tokenizer = getattr(self.model[0], "auto_model", None), self.model.tokenizer
        if inner is None or not getattr(tokenizer, "is_fast", False):
            raise LMError(f"embedder {self.identity.name}: it gives no token vectors; use metric bertscore")
        prompt = (self.model.prompts.get(QUERY) or "") if query and self.asymmetric else ""
        vectors = []
        for text in texts:
            encoded = tokenizer(
                prompt + text.encode("utf-8", "replace").decode(), truncation=True, return_tensors="pt",
                max_length=self.model.max_seq_length, return_offsets_mapping=True, return_special_tokens_mask=True,
            )  # fmt: skip
            ends, special = encoded.pop("offset_mapping")[0, :, 1], encoded.pop("special_tokens_mask")[0]
            with torch.inference_mode():
                states = inner(**encoded.to(self.model.device)).last_hidden_state[0].float().cpu()
            kept = states[(special == 0) & (ends > len(prompt))]
            vectors.append(torch.nn.functional.normalize(kept, dim=1).numpy())
        return vectors


def _find_missing_weights(model: SentenceTransformer, folders: Sequence[Path], weights: dict[str, Any]) -> list[str]:
    """Returns the names of the weights that *model* needs and that its modules' *folders* do not hold.

    transformers fills such weights with random numbers and only warns. *weights*: the loading options.
    """
    absent: list[str] = []
    for module, folder in zip(model, folders, strict=True):
        inner = getattr(module, "auto_model", None)
        if inner is not None:
            # pyrefly: ignore[missing-attribute]
            _, loaded = type(inner).from_pretrained(
                str(folder), local_files_only=True, output_loading_info=True, **weights
            )
            absent += [*loaded["missing_keys"], *(str(key) for key in loaded["mismatched_keys"])]
    # Sentence embeddings do not use BERT's own pooler, and many folders leave it out.
    return sorted(key for key in absent if not key.startswith("pooler."))


def list_checked_module_folders(folder: Path) -> list[Path]:
    """Returns the folder of each module of the model in *folder*, in the order of ``modules.json``.

    Raises `LMError` if a file is missing, or if a module is an adapter. Also raises it for a module that could run
    code: of an unknown type, with code of its own, or with weights in another format than safetensors.
    """
    if not folder.is_dir():
        problem = f"there is no such folder; give one that holds a downloaded model{suggest_pretrained(folder)}"
        raise LMError(f"embedder {folder}: {problem}")
    listing = _read_json_file(folder, folder / "modules.json")
    if not listing or not isinstance(listing, list) or not all(isinstance(module, dict) for module in listing):
        problem = "names no module" if listing == [] else "is no list of modules"
        raise LMError(f"embedder {folder}: modules.json {problem}")
    return [_check_module_folder(folder, module) for module in listing]


def embedder_digest(folder: Path) -> str:
    """Returns the SHA-256 over the names and contents of the files that define the model in *folder*."""
    return digest_of_files(folder, (path for path in folder.rglob("*") if path.suffix in _DIGESTED))


def _check_module_folder(folder: Path, module: dict[str, Any]) -> Path:
    kind, module_folder = str(module.get("type")), folder / str(module.get("path", ""))
    package, _, name = kind.rpartition(".")
    if not package.startswith("sentence_transformers.") or name not in MODULES:
        known = ", ".join(sorted(MODULES))
        problem = f"its module {kind} can run code and is refused; accepted: {known}{_suggest_embedders()}"
        raise LMError(f"embedder {folder}: {problem}")
    if not module_folder.resolve().is_relative_to(folder.resolve()) or not module_folder.is_dir():
        raise LMError(f"embedder {folder}: modules.json names the folder {module_folder}, which is not there")
    sound = any(module_folder.glob("*.safetensors"))
    other = any(any(module_folder.glob(pattern)) for pattern in _OTHER_WEIGHTS)
    if not sound and (other or name in ("Transformer", "StaticEmbedding", "Dense")):
        raise LMError(f"embedder {module_folder}: no *.safetensors; other weight formats can run code and are refused")
    if (module_folder / "adapter_config.json").is_file():
        raise LMError(f"embedder {module_folder}: it is an adapter; merge it into its base and give that folder")
    if name == "Transformer" and (file := _find_file_with_custom_code(folder, module_folder)):
        raise LMError(
            f"embedder {folder}: it needs custom code (auto_map in {file}), which is refused{_suggest_embedders()}"
        )
    if name == "Dense":
        # If an activation function is not from torch, sentence-transformers silently uses tanh instead.
        config = _read_json_file(folder, module_folder / "config.json")
        function = config.get("activation_function", "torch.") if isinstance(config, dict) else None
        if not (isinstance(function, str) and function.startswith("torch.")):
            raise LMError(f"embedder {module_folder}: its activation function is not one of torch, and is refused")
    return module_folder


def _suggest_embedders() -> str:
    """Returns the end of an error message: the embedders that need no custom code, and the command that gets them."""
    names = [name for name, entry in load_pretrained_models().items() if entry.kind == "embedder"]
    return f"; one that needs none: gre-bench models get {' or '.join(names)}"


def _find_file_with_custom_code(folder: Path, module_folder: Path) -> str | None:
    """Returns the name of a file that asks for custom code for the model or its tokenizer; None if no file does.

    Without this check, transformers would refuse a model's custom code with a long message. In place of a tokenizer
    with custom code, it would silently use another tokenizer.
    """
    known: Container[str] = ()
    with suppress(ImportError):
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES  # pyrefly: ignore

        known = CONFIG_MAPPING_NAMES
    config = _read_json_file(folder, module_folder / "config.json")
    if isinstance(config, dict) and "auto_map" in config and str(config.get("model_type")) not in known:
        return "config.json"
    tokenizer = module_folder / "tokenizer_config.json"
    settings = _read_json_file(folder, tokenizer) if tokenizer.is_file() else {}
    return tokenizer.name if isinstance(settings, dict) and "auto_map" in settings else None


def _read_json_file(folder: Path, path: Path) -> Any:
    try:
        return load_json(read_bytes(path))
    except FileNotFoundError:
        problem = f"no {path.name}; the folder must be that of a sentence-transformers model"
        raise LMError(f"embedder {folder}: {problem}") from None
    except (OSError, ValueError, SourceError) as error:
        raise LMError(f"embedder {folder}: {path.name} cannot be read: {error}") from None


def _open_hashed_ngrams(settings: EmbedderSettings) -> Embedder:
    if settings.folder is not None:
        raise SettingsError(
            f"hashed-ngrams has no folder, but embedder.folder is {settings.folder}: "
            "set embedder.backend=sentence-transformers too, or leave the folder out"
        )
    return HashedNgramEmbedder()


def _open_sentence_transformers(settings: EmbedderSettings) -> Embedder:
    if settings.folder is None:
        raise SettingsError("the sentence-transformers embedder needs a model folder: --set embedder.folder=FOLDER")
    folder = locate_model(settings.folder, "embedder")
    embedder = SentenceEmbedder.open(folder)
    check_model_unchanged(folder, embedder.identity.digest)
    return embedder


EMBEDDERS: dict[str, Callable[[EmbedderSettings], Embedder]] = {
    "hashed-ngrams": _open_hashed_ngrams,
    "sentence-transformers": _open_sentence_transformers,
}


@lru_cache(maxsize=1)
def open_embedder(settings: EmbedderSettings) -> Embedder:
    """Opens the embedder that *settings* describe; a repeated call with the same settings returns the same object.

    Raises `SettingsError` for unusable settings and `LMError` if the model cannot be opened.
    """
    if settings.backend not in EMBEDDERS:
        raise SettingsError(f"no embedder {settings.backend!r}; known: {', '.join(EMBEDDERS)}")
    return EMBEDDERS[settings.backend](settings)

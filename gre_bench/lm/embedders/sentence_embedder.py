"""An embedder that runs a sentence embedding model of sentence-transformers from a local folder.

Only local files are read, and weights only in the format safetensors. No code from the folder is run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gre_bench.core.errors import LMError
from gre_bench.core.records import LMIdentity
from gre_bench.lm.embedders import sentence_folder
from gre_bench.lm.weights import no_bars

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

QUERY = "s2s_query"
"""Name of the prompt that the GEM authors put before the candidate's sentences; stella_en_400M_v5 defines it."""

BATCH = 64


class SentenceEmbedder:
    """An `Embedder` that runs a sentence-transformers *model*."""

    def __init__(self, model: SentenceTransformer, identity: LMIdentity):
        self.model = model
        self.identity = identity
        self.asymmetric = bool(model.prompts.get(QUERY))

    @classmethod
    def open(cls, folder: str | Path, device: str = "auto") -> SentenceEmbedder:
        """Opens the model in *folder* in float32.

        Raises `LMError` with a message that says what is wrong with the folder.
        """
        folder = Path(folder)
        folders = sentence_folder.modules(folder)
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            problem = "sentence-transformers is not installed: pip install 'gre-bench[lm]'"
            raise LMError(problem) from error
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        elif device == "cuda" and not torch.cuda.is_available():
            raise LMError(f"embedder {folder}: no CUDA device is available; use device auto or cpu")
        weights = {"use_safetensors": True, "dtype": torch.float32}
        try:
            with no_bars():
                model = SentenceTransformer(
                    str(folder), device=device, local_files_only=True, trust_remote_code=False, model_kwargs=weights
                ).eval()
                absent = _absent(model, folders, weights)
        except Exception as error:
            # The loaders of sentence-transformers raise almost anything.
            reason = " ".join(f"{error or type(error).__name__}".split())[:500]
            raise LMError(f"embedder {folder}: it cannot be loaded: {reason}") from error
        if absent:
            raise LMError(f"embedder {folder}: the files lack {len(absent)} weights of the model, such as {absent[0]}")
        return cls(model, _identity(model, folder))

    def embed(self, sentences: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        """Returns one vector for each of *sentences*, shape (sentences, dimension).

        If the model fails on a sentence, the sentence's vector is NaN. Sentences longer than the model's limit are cut,
        as in sentence-transformers. If *query*, the model's query prompt is put before each sentence.
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

        If *query*, the model's query prompt is put before each text. Raises `LMError` if the model does not expose its
        hidden states.
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


def _absent(model: SentenceTransformer, folders: Sequence[Path], weights: dict[str, Any]) -> list[str]:
    """Returns the names of weights that *model* needs and its files lack.

    transformers fills such weights with random numbers and only warns. *folders* holds the folder of each module of the
    model. *weights* holds the options with which the weights are loaded.
    """
    absent: list[str] = []
    for module, folder in zip(model, folders, strict=True):
        inner = getattr(module, "auto_model", None)
        if inner is not None:
            _, loaded = type(inner).from_pretrained(
                str(folder), local_files_only=True, output_loading_info=True, **weights
            )
            absent += [*loaded["missing_keys"], *(str(key) for key in loaded["mismatched_keys"])]
    # Sentence embeddings do not use BERT's own pooler, and many folders leave it out.
    return sorted(key for key in absent if not key.startswith("pooler."))


def _identity(model: SentenceTransformer, folder: Path) -> LMIdentity:
    inner = getattr(model[0], "auto_model", None)
    longest, dimension = model.max_seq_length, model.get_embedding_dimension()
    prompt = QUERY if model.prompts.get(QUERY) else "none"
    made = ", ".join(f"{name} {version(name)}" for name in ("sentence-transformers", "transformers", "torch"))
    return LMIdentity(
        name=folder.resolve().name,
        digest=sentence_folder.folder_digest(folder),
        engine_version=f"{made}; {dimension} numbers of {longest} tokens, prompt of the candidate's: {prompt}",
        dtype="float32",
        attention=getattr(getattr(inner, "config", None), "_attn_implementation", None) or "none",
    )

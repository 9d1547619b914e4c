"""Opening a folder of weights: the model, its tokenizer, and what of them belongs in a signature.

Local files and safetensors only; nothing in the folder is run as code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from tasks.errors import LMError
from tasks.records import digest

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Device = Literal["auto", "cpu", "cuda"]
DType = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "eager"]

_DIGESTED = (
    *("config.json", "adapter_config.json", "*.safetensors", "*.safetensors.index.json"),
    *("tokenizer*", "special_tokens_map.json", "added_tokens.json", "chat_template*", "vocab.*", "merges.txt"),
    "*.model",
)


@dataclass(frozen=True, slots=True)
class Weights:
    """A model in evaluation mode on its device, and how it came to be there. *quantisation* is ``none`` or its name."""

    folder: Path
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    digest: str
    dtype: str
    attention: str
    quantisation: str

    @property
    def context(self) -> int | None:
        """The longest conversation that the model was made for, in tokens, if it says so."""
        return getattr(self.model.config.get_text_config(), "max_position_embeddings", None)


def open_weights(
    folder: str | Path, *, device: Device = "auto", dtype: DType = "float32", attention: Attention = "sdpa"
) -> Weights:
    """The weights in *folder*; `LMError` naming what it lacks or why they cannot be opened."""
    folder = Path(folder)
    _look(folder)
    for option, known in ((device, Device), (dtype, DType), (attention, Attention)):
        if option not in get_args(known):
            raise LMError(f"evaluation LM {folder}: {option!r} is none of {', '.join(get_args(known))}")
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise LMError("torch and transformers are not installed: pip install -e '.[lm]' -c constraints.txt") from error
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    elif device == "cuda" and not torch.cuda.is_available():
        raise LMError(f"evaluation LM {folder}: no CUDA device is available; use device auto or cpu")
    local = {"pretrained_model_name_or_path": str(folder), "local_files_only": True, "trust_remote_code": False}
    with blamed(folder, "its tokenizer cannot be read"):
        tokenizer = AutoTokenizer.from_pretrained(**local)
    with blamed(folder, "its weights cannot be loaded"):
        model, loaded = AutoModelForCausalLM.from_pretrained(
            **local,
            use_safetensors=True,
            dtype=getattr(torch, dtype),
            attn_implementation=attention,
            output_loading_info=True,
        )
        quantised = getattr(model.config, "quantization_config", None)
        # Quantised weights are put in their place as they are loaded and cannot be moved.
        model = (model if quantised else model.to(device)).eval()
    # transformers fills weights that the files lack with random numbers and only warns.
    if absent := sorted([*loaded["missing_keys"], *(str(key) for key in loaded["mismatched_keys"])]):
        raise LMError(f"evaluation LM {folder}: the files lack {len(absent)} weights of the model, as {absent[0]}")
    return Weights(
        folder, model, tokenizer, folder_digest(folder), dtype, attention,
        _quantisation(quantised) if quantised else "none",
    )


@contextmanager
def blamed(folder: Path, what: str) -> Iterator[None]:
    """Any failure within as one line on *folder*: the loaders of transformers raise almost anything."""
    try:
        yield
    except Exception as error:
        reason = " ".join(f"{error or type(error).__name__}".split())[:500]
        raise LMError(f"evaluation LM {folder}: {what}: {reason}") from error


def folder_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of the files that decide what the model in *folder* is."""
    files = sorted({path for pattern in _DIGESTED for path in folder.glob(pattern) if path.is_file()})
    contents = []
    for path in files:
        with path.open("rb") as stream:
            contents.append([path.name, hashlib.file_digest(stream, "sha256").hexdigest()])
    return digest(contents)


def _look(folder: Path) -> None:
    """`LMError` naming what *folder* lacks."""
    if not folder.is_dir():
        raise LMError(f"evaluation LM {folder}: there is no such folder; give one that holds a downloaded model")
    if not (folder / "config.json").is_file():
        raise LMError(f"evaluation LM {folder}: no config.json; the folder must be that of a transformers model")
    if not any(folder.glob("*.safetensors")):
        raise LMError(f"evaluation LM {folder}: no *.safetensors; other weight formats can run code and are refused")


def _quantisation(config: object) -> str:
    table = config if isinstance(config, dict) else config.to_dict()  # type: ignore[attr-defined]
    bits = 4 if table.get("load_in_4bit") else 8 if table.get("load_in_8bit") else table.get("bits")
    return f"{table.get('quant_method', 'unknown')}" + (f"-{bits}bit" if bits else "")

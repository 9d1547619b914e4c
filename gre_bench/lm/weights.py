"""Opens a folder of weights: loads the model and its tokenizer and computes their digest.

The folder holds a whole model, or an adapter that names the folder of its base model. Only local files are read, and
weights only in the format safetensors. No code from the folder is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from gre_bench.core.errors import LMError
from gre_bench.core.pretrained import hint, refuse_changed
from gre_bench.core.records import digest
from gre_bench.lm import adapter_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Device = Literal["auto", "cpu", "cuda"]
DType = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "eager"]
Quantisation = Literal["none", "nf4"]

_DIGESTED = (
    *("config.json", "*.safetensors", "*.safetensors.index.json"),
    *("tokenizer*", "special_tokens_map.json", "added_tokens.json", "chat_template*", "vocab.*", "merges.txt"),
    *("*.model", "additional_chat_templates/*"),
)


@dataclass(frozen=True, slots=True)
class Weights:
    """A model in evaluation mode on its device, with its tokenizer and the options it was opened with.

    - *digest*: SHA-256 over the files that define the model.
    - *attention*: the attention implementation of transformers.
    - *quantisation*: the name of the quantisation method, or ``none``.
    """

    folder: Path
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    digest: str
    dtype: str
    attention: str
    quantisation: str

    @property
    def context(self) -> int | None:
        """The longest conversation that the model was made for, in tokens; None if its config states none."""
        return getattr(self.model.config.get_text_config(), "max_position_embeddings", None)


def open_weights(
    folder: str | Path,
    *,
    device: Device = "auto",
    dtype: DType = "float32",
    attention: Attention = "sdpa",
    quantisation: Quantisation = "none",
) -> Weights:
    """Opens the model in *folder* in evaluation mode.

    If *folder* holds an adapter, it is merged into its base model, unless the base model is quantised. The digest
    covers both. *quantisation* ``nf4`` packs the weights into 4 bits while loading, as for the evaluation LM of Xu et
    al. 2025. Raises `LMError` if a file is missing or the model cannot be opened.
    """
    folder = Path(folder)
    adapter = adapter_folder.read_adapter(folder)
    base = adapter.base if adapter else folder
    _check_base(base)
    subject = f"evaluation LM {folder}"
    refuse_unknown(subject, (device, Device), (dtype, DType), (attention, Attention), (quantisation, Quantisation))
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
    except ImportError as error:
        raise LMError("torch and transformers are not installed: pip install 'gre-bench[lm]'") from error
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    elif device == "cuda" and not torch.cuda.is_available():
        raise LMError(f"evaluation LM {folder}: no CUDA device is available; use device auto or cpu")
    packed = {}
    if quantisation == "nf4":
        if lack := lacks_nf4(device):
            raise LMError(f"evaluation LM {folder}: quantisation nf4 needs {lack}; use quantisation none")
        packed["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=getattr(torch, dtype),
        )
    local = {"local_files_only": True, "trust_remote_code": False}
    with blamed(folder, "its tokenizer cannot be read"):
        tokenizer = AutoTokenizer.from_pretrained(
            str(folder if (folder / "tokenizer_config.json").is_file() else base), **local
        )
    with blamed(folder, "its weights cannot be loaded"), no_bars():
        model, loaded = AutoModelForCausalLM.from_pretrained(  # pyright: ignore[reportGeneralTypeIssues]
            str(base),
            **local,
            **packed,
            use_safetensors=True,
            dtype=getattr(torch, dtype),
            attn_implementation=attention,
            output_loading_info=True,
        )
        quantised = getattr(model.config, "quantization_config", None)
        # Quantised weights are put on the device while loading and cannot be moved.
        model = model if quantised else model.to(device)
    # transformers fills absent weights with random numbers and only warns.
    if absent := sorted([*loaded["missing_keys"], *(str(key) for key in loaded["mismatched_keys"])]):
        raise LMError(f"evaluation LM {base}: the files lack {len(absent)} weights of the model, such as {absent[0]}")
    model_digest = base_digest = folder_digest(base)
    refuse_changed(base, base_digest)
    if adapter is not None:
        if adapter.base_digest not in (None, base_digest):
            raise LMError(f"evaluation LM {folder}: its base {base} is not the one it was trained on; use that one")
        with blamed(folder, "its adapter cannot be used"):
            model = adapter_folder.apply(adapter, model, merge=not quantised)
        model_digest = digest([base_digest, adapter.described, folder_digest(folder)])
    named = quantisation if quantisation != "none" else _quantisation(quantised) if quantised else "none"
    return Weights(folder, model.eval(), tokenizer, model_digest, dtype, attention, named)


def refuse_unknown(subject: str, *chosen: tuple[str, Any]) -> None:
    """Raises `LMError` about *subject* if one of the chosen values is unknown.

    Each of *chosen* is a pair: a value, and the `Literal` type that lists the known values.
    """
    for option, known in chosen:
        if option not in get_args(known):
            raise LMError(f"{subject}: {option!r} is none of {', '.join(get_args(known))}")


@contextmanager
def no_bars() -> Iterator[None]:
    """Hides the progress bars of transformers within the block, because they would disturb other output."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def lacks_nf4(device: str) -> str | None:
    """Returns what this machine lacks to run 4-bit weights on *device*; None if nothing is missing."""
    if device != "cuda":
        return "a CUDA device"
    installed = importlib.util.find_spec("bitsandbytes")
    return None if installed else "bitsandbytes (pip install 'gre-bench[nf4]')"


@contextmanager
def blamed(folder: Path, problem: str) -> Iterator[None]:
    """Turns any exception of the block into an `LMError` of one line.

    The line consists of *folder*, *problem* and the exception's message. *problem* is a phrase such as "its weights
    cannot be loaded". Any exception is caught, because the loaders of transformers raise almost anything.
    """
    try:
        yield
    except Exception as error:
        reason = " ".join(f"{error or type(error).__name__}".split())[:500]
        raise LMError(f"evaluation LM {folder}: {problem}: {reason}") from error


def folder_digest(folder: Path) -> str:
    """Returns the SHA-256 over the names and contents of the files that define the model in *folder*."""
    files = sorted({path for pattern in _DIGESTED for path in folder.glob(pattern) if path.is_file()})
    contents = []
    for path in files:
        with path.open("rb") as stream:
            contents.append([path.relative_to(folder).as_posix(), hashlib.file_digest(stream, "sha256").hexdigest()])
    return digest(contents)


def check_files(folder: Path) -> None:
    """Raises `LMError` if files that `open_weights` reads are missing; loads no weights.

    If *folder* holds an adapter, its base model's folder is checked too.
    """
    adapter = adapter_folder.read_adapter(folder)
    _check_base(adapter.base if adapter else folder)


def _check_base(folder: Path) -> None:
    """Raises `LMError` if *folder* is absent or lacks the config or the weights of a model."""
    if not folder.is_dir():
        problem = f"there is no such folder; give one that holds a downloaded model{hint(folder)}"
        raise LMError(f"evaluation LM {folder}: {problem}")
    if not (folder / "config.json").is_file():
        raise LMError(f"evaluation LM {folder}: no config.json; the folder must be that of a transformers model")
    if not any(folder.glob("*.safetensors")):
        raise LMError(f"evaluation LM {folder}: no *.safetensors; other weight formats can run code and are refused")


def _quantisation(config: object) -> str:
    table = config if isinstance(config, dict) else config.to_dict()  # type: ignore[attr-defined]
    bits = 4 if table.get("load_in_4bit") else 8 if table.get("load_in_8bit") else table.get("bits")
    return f"{table.get('quant_method', 'unknown')}" + (f"-{bits}bit" if bits else "")

"""Opens a folder of weights: loads the model and its tokenizer, and computes their digest.

The folder holds a whole model, or a LoRA adapter in peft's format, which names the folder of its base model. Only local
files are read, and weights only in the safetensors format. No code from the folder is run.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from gre_bench.core.errors import LMError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.pretrained import check_model_unchanged, locate_model, resolve_model_ref, suggest_pretrained
from gre_bench.core.records import digest
from gre_bench.core.strict import load_json
from gre_bench.core.whole_files import sha256

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Device = Literal["auto", "cpu", "cuda"]
DType = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "eager"]
Quantisation = Literal["none", "nf4", "nf4-double"]

ADAPTER = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
RECORD = "training.json"
START_CONTRAST = "start learnt contrast"
BASE = "base_model_name_or_path"
NF4 = {"nf4": "nf4-single", "nf4-double": "nf4-double"}
"""4-bit quantisation → its name in signatures. With ``nf4-double``, the quantisation constants are quantised, too."""

_DIGESTED = (
    *("config.json", "*.safetensors", "*.safetensors.index.json"),
    *("tokenizer*", "special_tokens_map.json", "added_tokens.json", "chat_template*", "vocab.*", "merges.txt"),
    *("*.model", "additional_chat_templates/*"),
)


@dataclass(frozen=True, slots=True)
class Weights:
    """A model in evaluation mode on its device, with its tokenizer and the options it was opened with.

    *digest* is the SHA-256 over the files that define the model.
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

    @property
    def rows(self) -> int:
        """The number of token ids that the model has embeddings for."""
        return self.model.get_input_embeddings().num_embeddings  # pyrefly: ignore


@dataclass(frozen=True, slots=True)
class Adapter:
    """A LoRA adapter: its parsed configuration and the folder of its *base*.

    *base_digest*: the digest of the base at training time; None if *folder* does not record it.
    """

    folder: Path
    config: Mapping[str, Any]
    base: Path
    base_digest: str | None


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """A CUDA device, with its *free* memory and its total *memory* in bytes."""

    name: str
    free: int
    memory: int


@dataclass(frozen=True, slots=True)
class InstalledTorch:
    """The installed torch: the CUDA version it was built for (None: CPU only), and the CUDA devices that it sees."""

    version: str
    cuda: str | None
    devices: tuple[CudaDevice, ...]


def describe_installed_torch() -> InstalledTorch | None:
    """Returns the installed torch and its devices; None if torch is not installed."""
    try:
        import torch
    except ImportError:
        return None
    devices = range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    accelerators = (CudaDevice(torch.cuda.get_device_name(each), *torch.cuda.mem_get_info(each)) for each in devices)
    return InstalledTorch(torch.__version__, torch.version.cuda, tuple(accelerators))


def measure_dtype_slowdown(dtype: DType, size: int = 256, rounds: int = 5) -> float:
    """Returns how many times longer this CPU takes for a matrix product in *dtype* than in float32.

    The measurement uses one thread and takes about 0.2 s. For each dtype, it takes the fastest of *rounds* products of
    *size* × *size* matrices. A CPU without 16-bit arithmetic emulates it, which can take seventy times as long.
    """
    import torch

    def time_fastest_product(kind: torch.dtype) -> float:
        matrix, times = torch.ones(size, size, dtype=kind), []
        for _ in range(rounds):
            began = time.perf_counter()
            torch.matmul(matrix, matrix)
            times.append(time.perf_counter() - began)
        return min(times)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return time_fastest_product(getattr(torch, dtype)) / time_fastest_product(torch.float32)
    finally:
        torch.set_num_threads(threads)


def open_weights(
    folder: str | Path,
    *,
    device: Device = "auto",
    dtype: DType = "float32",
    attention: Attention = "sdpa",
    quantisation: Quantisation = "none",
) -> Weights:
    """Opens the model in *folder* in evaluation mode; raises `LMError` if that fails.

    An adapter is merged into its base model, unless the base is quantised. The digest covers adapter and base.
    *quantisation*: ``nf4`` packs the weights into 4 bits while loading, as the notebook of Xu et al. 2025 does.
    ``nf4-double`` also packs the quantisation constants.
    """
    folder = Path(folder)
    adapter = check_model_files_and_read_adapter(folder)
    base = adapter.base if adapter else folder
    subject = f"evaluation LM {folder}"
    check_option_values(subject, (device, Device), (dtype, DType), (attention, Attention), (quantisation, Quantisation))
    try:
        import torch
        from transformers import AutoModelForCausalLM, BitsAndBytesConfig
    except ImportError as error:
        raise LMError("torch and transformers are not installed: pip install 'gre-bench[lm]'") from error
    device = choose_device(device, subject)
    packed = {}
    if quantisation in NF4:
        if lack := find_missing_nf4_support(device):
            raise LMError(f"{subject}: quantisation {quantisation} needs {lack}; use quantisation none")
        packed["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=quantisation == "nf4-double",
            bnb_4bit_compute_dtype=getattr(torch, dtype),
        )  # fmt: skip
    tokenizer = read_tokenizer(folder if (folder / "tokenizer_config.json").is_file() else base, folder)
    with convert_errors_to_lm_error(folder, "its weights cannot be loaded"), hide_progress_bars():
        model, loaded = AutoModelForCausalLM.from_pretrained(  # pyrefly: ignore
            str(base), **packed, local_files_only=True, trust_remote_code=False, use_safetensors=True,
            dtype=getattr(torch, dtype), attn_implementation=attention, output_loading_info=True,
        )  # fmt: skip
        quantised = getattr(model.config, "quantization_config", None)
        # Quantised weights are put on the device while loading and cannot be moved.
        model = model if quantised else model.to(device)
    # transformers fills absent weights with random numbers and only warns.
    if absent := sorted([*loaded["missing_keys"], *(str(key) for key in loaded["mismatched_keys"])]):
        raise LMError(f"evaluation LM {base}: the files lack {len(absent)} weights of the model, such as {absent[0]}")
    model_digest = base_digest = folder_digest(base)
    check_model_unchanged(base, base_digest)
    if adapter is not None:
        if adapter.base_digest not in (None, base_digest):
            raise LMError(f"{subject}: its base {base} is not the one it was trained on; use that one")
        with convert_errors_to_lm_error(folder, "its adapter cannot be used"):
            adapted = with_adapter(adapter, model)
            model = adapted.get_base_model() if quantised else adapted.merge_and_unload(safe_merge=True)
        # The path of the base differs between machines.
        described = {name: value for name, value in adapter.config.items() if name != BASE}
        model_digest = digest([base_digest, described, folder_digest(folder)])
    named = NF4.get(quantisation, quantisation)
    if named == "none" and quantised:
        table = quantised if isinstance(quantised, dict) else quantised.to_dict()
        bits = 4 if table.get("load_in_4bit") else 8 if table.get("load_in_8bit") else table.get("bits")
        named = f"{table.get('quant_method', 'unknown')}" + (f"-{bits}bit" if bits else "")
    return Weights(folder, model.eval(), tokenizer, model_digest, dtype, attention, named)


def choose_device(device: Device, subject: str) -> Literal["cpu", "cuda"]:
    """Returns the device that *device* means on this machine.

    Raises `LMError` if CUDA is requested and not available. *subject*: what the error message is about.
    """
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise LMError(f"{subject}: no CUDA device is available; use device auto or cpu")
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def check_option_values(subject: str, *chosen: tuple[str, Any]) -> None:
    """Raises `LMError` if an option's value is not allowed. *chosen*: (value, `Literal` of the allowed values).

    *subject*: what the error message is about.
    """
    for option, known in chosen:
        if option not in get_args(known):
            raise LMError(f"{subject}: {option!r} is none of {', '.join(get_args(known))}")


@contextmanager
def hide_progress_bars() -> Iterator[None]:
    """Hides the progress bars of transformers within the ``with`` block."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def find_missing_nf4_support(device: str) -> str | None:
    """Returns what this machine lacks to run 4-bit weights on *device*; None if nothing is missing."""
    if device != "cuda":
        return "a CUDA device"
    return None if importlib.util.find_spec("bitsandbytes") else "bitsandbytes (pip install 'gre-bench[nf4]')"


@contextmanager
def convert_errors_to_lm_error(folder: Path, problem: str, model: str = "evaluation LM") -> Iterator[None]:
    """Turns any exception of the ``with`` block, such as those of transformers' loaders, into a one-line `LMError`."""
    try:
        yield
    except Exception as error:
        reason = " ".join(f"{error or type(error).__name__}".split())[:500]
        raise LMError(f"{model} {folder}: {problem}: {reason}") from error


def folder_digest(folder: Path) -> str:
    """Returns the SHA-256 over the names and contents of the files that define the model in *folder*."""
    return digest_of_files(folder, {path for pattern in _DIGESTED for path in folder.glob(pattern)})


def digest_of_files(folder: Path, paths: Iterable[Path]) -> str:
    """Returns the SHA-256 over the names and contents of *paths* within *folder*; skips paths that are no files."""
    files = [path for path in sorted(paths) if path.is_file()]
    return digest([[path.relative_to(folder).as_posix(), sha256(path)] for path in files])


def read_adapter(folder: Path) -> Adapter | None:
    """Returns the adapter in *folder*; None if the folder holds no adapter.

    Its config names the base model by a path, or by the name of a pretrained model in the cache. A relative path is
    relative to *folder*. Raises `LMError` if the config, the weights, the base or the training record are missing or
    unusable.
    """
    if not (folder / ADAPTER).is_file():
        return None
    try:
        config = load_json(read_bytes(folder / ADAPTER))
        named, kind = config[BASE], config["peft_type"]
    except (OSError, ValueError, KeyError, TypeError, SourceError) as error:
        raise LMError(f"evaluation LM {folder}: {ADAPTER} cannot be read: {error!r}") from None
    if kind != "LORA" or config.get("megatron_config"):
        raise LMError(f"evaluation LM {folder}: the adapter's kind is {kind}; only plain LoRA adapters are supported")
    if not (folder / ADAPTER_WEIGHTS).is_file():
        raise LMError(
            f"evaluation LM {folder}: no {ADAPTER_WEIGHTS}; other weight formats can run code and are refused"
        )
    base = locate_model(resolve_model_ref(str(named or ""), folder), "lm")
    if not named or not base.is_dir():
        raise LMError(
            f"evaluation LM {folder}: its base {named} is no folder on this machine; write the base's folder "
            f"into {BASE} of {folder / ADAPTER}"
        )
    if (base / ADAPTER).is_file():
        raise LMError(f"evaluation LM {folder}: its base {base} is an adapter itself; merge that first")
    base_digest = None
    if (folder / RECORD).is_file():
        try:
            base_digest = load_json(read_bytes(folder / RECORD))["base"]["digest"]
        except (OSError, ValueError, KeyError, TypeError, SourceError) as error:
            raise LMError(f"evaluation LM {folder}: its training record {RECORD} cannot be read: {error!r}") from None
    return Adapter(folder, config, base, base_digest)


def is_trained_by_contrast(folder: Path) -> bool:
    """Whether the training record in *folder* says that the model had contrastive training.

    Such training teaches a model to tell reviews of the paper from reviews of other papers. Returns False if the record
    is missing or unreadable.
    """
    try:
        request = load_json(read_bytes(folder / RECORD))["asked"]
        return any(request.get(key) for key in ("contrast", START_CONTRAST))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SourceError):
        return False


def with_adapter(adapter: Adapter, model: PreTrainedModel, *, trainable: bool = False) -> Any:
    """Returns *model* with *adapter*, as a peft model; raises `LMError` if the tensors do not fit."""
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # absent tensors raise an error below; old names are harmless
        adapted = PeftModel.from_pretrained(model, str(adapter.folder), is_trainable=trainable)
    with safe_open(adapter.folder / ADAPTER_WEIGHTS, "pt") as file:
        present = set(file.keys())
    # With save_embedding_layers=False, peft does not query a model hub about the base.
    expected = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    if absent := sorted(expected ^ present):
        raise LMError(f"{ADAPTER_WEIGHTS} does not fit the base {adapter.base}, for example {absent[0]}")
    return adapted


def read_tokenizer(folder: Path, model: Path | None = None) -> PreTrainedTokenizerBase:
    """Returns the tokenizer in *folder*, from local files; raises `LMError` if it cannot be read.

    *model*: the folder that the error message names; None: *folder*.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise LMError("transformers is not installed: pip install 'gre-bench[lm]'") from error
    with convert_errors_to_lm_error(model or folder, "its tokenizer cannot be read"):
        # pyrefly: ignore[bad-return]
        return AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)


def check_model_files_and_read_adapter(folder: Path) -> Adapter | None:
    """Returns the adapter in *folder*, if any; raises `LMError` if files of the model or its base are missing."""
    adapter = read_adapter(folder)
    folder = adapter.base if adapter else folder
    if not folder.is_dir():
        problem = "there is no such folder; give one that holds a downloaded model, or OWNER/NAME@COMMIT of the Hub"
        raise LMError(f"evaluation LM {folder}: {problem}{suggest_pretrained(folder)}")
    if not (folder / "config.json").is_file():
        raise LMError(f"evaluation LM {folder}: no config.json; the folder must be that of a transformers model")
    if not any(folder.glob("*.safetensors")):
        raise LMError(f"evaluation LM {folder}: no *.safetensors; other weight formats can run code and are refused")
    return adapter

"""Makes models with random weights for speed measurements.

A model with random weights is as slow as a trained model of the same shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import LMError
from gre_bench.lm.weights import Attention, Device, DType, Weights, blamed, refuse_unknown

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_CONTROL = ("<|im_start|>", "<|im_end|>")
_CHATML = """
{%- for message in messages -%}
    {{- "<|im_start|>" + message.role + "\\n" + message.content + "<|im_end|>\\n" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\\n" -}}{%- endif -%}"""

MEMINFO = Path("/proc/meminfo")

SHAPES: dict[str, dict[str, Any]] = {
    "60m": {
        "hidden_size": 512,
        "intermediate_size": 1536,
        "num_hidden_layers": 16,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
        "max_position_embeddings": 8192,
    },
    "llama-3.1-8b": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "max_position_embeddings": 131072,
        "vocab_size": 128256,
    },
}


def random_weights(
    shape: str,
    tokenizer: PreTrainedTokenizerBase,
    *,
    device: Device = "auto",
    dtype: DType = "float32",
    attention: Attention = "sdpa",
) -> Weights:
    """Returns a Llama model with random weights, together with *tokenizer*; *shape* is a key of `SHAPES`.

    Raises `LMError` if this machine cannot hold or run the model.
    """
    if shape not in SHAPES:
        raise LMError(f"no shape {shape!r} for a random model; known: {', '.join(SHAPES)}")
    refuse_unknown(f"random model {shape}", (device, Device), (dtype, DType), (attention, Attention))
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    elif device == "cuda" and not torch.cuda.is_available():
        raise LMError(f"random model {shape}: no CUDA device is available; use device auto or cpu")
    config = LlamaConfig(**{"vocab_size": len(tokenizer), "attn_implementation": attention, **SHAPES[shape]})
    usual = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        if device == "cpu":
            with torch.device("meta"):
                wanted = sum(weight.nbytes for weight in LlamaForCausalLM(config).parameters())
            _look_for_memory(shape, wanted)
        with blamed(Path(shape), "the random model cannot be made"), torch.random.fork_rng(), torch.device(device):
            torch.manual_seed(0)
            model = LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(usual)
    return Weights(Path(f"random-{shape}"), model, tokenizer, f"random {shape}", dtype, attention, "none")


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Returns the tokenizer in *folder*; raises `LMError` if the tokenizer cannot be read."""
    from transformers import AutoTokenizer

    with blamed(folder, "its tokenizer cannot be read"):
        return AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)


def learnt_tokenizer(texts: Iterable[str], size: int = 4096) -> PreTrainedTokenizerBase:
    """Trains a byte-level BPE tokenizer on *texts* and returns it with a ChatML chat template.

    *size* is the most tokens in its vocabulary.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    learnt = Tokenizer(models.BPE())
    learnt.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learnt.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    learnt.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size, special_tokens=list(_CONTROL), initial_alphabet=alphabet, show_progress=False
        ),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=learnt, eos_token=_CONTROL[1], pad_token=_CONTROL[1])
    tokenizer.chat_template = _CHATML
    return tokenizer


def _look_for_memory(shape: str, wanted: int) -> None:
    """Raises `LMError` if this machine has less than *wanted* bytes of free memory; checks on Linux only."""
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        if line.startswith("MemAvailable:") and (left := int(line.split()[1]) * 1024) < wanted:
            raise LMError(
                f"random model {shape}: its weights take {wanted / 2**30:.1f} GiB and this machine has "
                f"{left / 2**30:.1f} GiB left; use a GPU, a smaller dtype or another shape"
            )

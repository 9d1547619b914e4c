"""Chooses the trained parameters of a model and saves them: an adapter (LoRA, Hu et al. 2022) or the whole model.

Xu et al. 2025, appendix E.1: rank 16, alpha 16, no dropout, on all matrices of attention and feed-forward layers, with
the base in 4 bits. Where 4 bits are unavailable, the base keeps its full precision.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import LMError
from gre_bench.core.pretrained import located, named
from gre_bench.lm.adapter_folder import WEIGHTS, read_adapter
from gre_bench.lm.weights import Quantisation, Weights, blamed, lacks_nf4, open_weights
from gre_bench.tuning.checkpoint import writing
from gre_bench.tuning.settings import TuningSettings

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedTokenizerBase


def open_base(folder: Path, settings: TuningSettings) -> Weights:
    """Opens the model in *folder* for training.

    *folder* may also be the name of a pretrained model in the cache. If the whole model is trained, it is opened in
    float32. The base of an adapter is opened in 4 bits or in the dtype of *settings*. Raises `LMError` if the model
    cannot be opened or trained.
    """
    folder = located(folder, "lm")
    if read_adapter(folder) is not None:
        raise LMError(f"evaluation LM {folder} is an adapter; give the folder of a whole model as the base")
    whole = settings.method == "full"
    weights = open_weights(
        folder,
        device=settings.device,
        dtype="float32" if whole else settings.dtype,
        attention=settings.attention,
        quantisation="none" if whole else _quantisation(settings),
    )
    if whole and weights.quantisation != "none":
        raise LMError(f"evaluation LM {folder}: quantised weights cannot be trained as a whole; use method lora")
    return weights


def trainable(weights: Weights, settings: TuningSettings) -> nn.Module:
    """Returns the model of *weights*, with an adapter added if *settings* ask for one.

    Only the parameters that are trained require a gradient. Raises `LMError` if the model lacks the matrices that the
    adapter needs, or if peft is not installed.
    """
    import torch

    if settings.method == "full":
        return weights.model.requires_grad_(True)
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise LMError("peft is not installed: pip install 'gre-bench[lm]'") from error
    model = weights.model.requires_grad_(False)
    _refuse_tied(weights, settings.lora_targets)
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=settings.lora_r,
        lora_alpha=settings.lora_alpha,  # pyright: ignore[reportArgumentType]
        lora_dropout=settings.lora_dropout,
        target_modules=sorted(settings.lora_targets),
        bias="none",
    )
    torch.manual_seed(settings.seed)
    with blamed(weights.folder, "no adapter can be added"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft calls transformers by an old name
        # Adapters stay in float32 whatever the base's dtype: steps of 2e-4 vanish in bfloat16.
        return get_peft_model(model, config, autocast_adapter_dtype=True)


def save(model: nn.Module, tokenizer: PreTrainedTokenizerBase, base: Path, folder: Path, dtype: str) -> None:
    """Writes a trained model into *folder*: a whole model with its *tokenizer*, or an adapter alone.

    *base*: the path or the name of the pretrained base model, which the adapter's files refer to. *dtype*: the
    precision of the base, in which the adapter's weights are written. Raises `SettingsError` if the folder cannot be
    written.
    """
    with writing(folder):
        wrapped: Any = model
        if hasattr(model, "peft_config"):
            wrapped.peft_config["default"].base_model_name_or_path = str(base) if named(base) else os.path.abspath(base)
            # An adapter never holds embeddings; without this argument peft would ask a hub about the base.
            wrapped.save_pretrained(folder, safe_serialization=True, save_embedding_layers=False)
            _convert(folder / WEIGHTS, dtype)
            # peft writes a model card full of blanks.
            (folder / "README.md").unlink(missing_ok=True)
        else:
            wrapped.save_pretrained(folder)
            tokenizer.save_pretrained(folder)


def _convert(file: Path, dtype: str) -> None:
    """Rewrites the tensors of *file* in *dtype*."""
    import torch
    from safetensors.torch import load_file, save_file

    tensors = {name: each.to(getattr(torch, dtype)) for name, each in load_file(file).items()}
    save_file(tensors, file, metadata={"format": "pt"})


def _refuse_tied(weights: Weights, targets: Sequence[str]) -> None:
    """Refuses to adapt an embedding if the input and output embeddings share one matrix; raises `LMError`.

    *targets*: names of the matrices to adapt. Training would adapt only one of the two embeddings. Merging the adapter
    into the shared matrix would change both embeddings.
    """
    ends = weights.model.get_input_embeddings(), weights.model.get_output_embeddings()
    if None in ends or ends[0].weight is not ends[1].weight:  # pyright: ignore[reportOptionalMemberAccess]
        return
    for name, module in weights.model.named_modules():
        if module in ends and (
            target := next((suffix for suffix in targets if f".{name}".endswith(f".{suffix}")), None)
        ):
            raise LMError(
                f"evaluation LM {weights.folder}: its input and output embeddings are one matrix, which an adapter "
                f"cannot train; leave {target} out of lora_targets"
            )


def _quantisation(settings: TuningSettings) -> Quantisation:
    if settings.quantisation != "auto":
        return settings.quantisation
    import torch

    device = settings.device if settings.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    return "none" if lacks_nf4(device) else "nf4"

"""A folder that holds an adapter (LoRA, as peft saves it) and names the folder of the base it belongs to."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import LMError
from gre_bench.core.pretrained.cache import located, placed

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
RECORD = "training.json"
BASE = "base_model_name_or_path"


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter's folder, its *config*, its *base*'s folder, and the base's digest when it was trained, if known."""

    folder: Path
    config: Mapping[str, Any]
    base: Path
    base_digest: str | None

    @property
    def described(self) -> dict[str, Any]:
        """What of the config decides what the model is: all but where the base lies on this machine."""
        return {name: value for name, value in self.config.items() if name != BASE}


def read_adapter(folder: Path) -> Adapter | None:
    """The adapter in *folder*, None if it holds none; `LMError` naming what it lacks.

    A relative path to the base is taken from *folder*; the name of a pretrained model stands for the fetched one.
    """
    if not (folder / CONFIG).is_file():
        return None
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        named, kind = config[BASE], config["peft_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LMError(f"evaluation LM {folder}: {CONFIG} cannot be read: {error!r}") from None
    if kind != "LORA" or config.get("megatron_config"):
        raise LMError(f"evaluation LM {folder}: an adapter of kind {kind}; only plain LoRA adapters are opened")
    if not (folder / WEIGHTS).is_file():
        raise LMError(f"evaluation LM {folder}: no {WEIGHTS}; other weight formats can run code and are refused")
    base = located(placed(str(named or ""), folder), "lm")
    if not named or not base.is_dir():
        raise LMError(
            f"evaluation LM {folder}: its base {named} is no folder on this machine; put the base's folder "
            f"into {BASE} of {folder / CONFIG}"
        )
    if (base / CONFIG).is_file():
        raise LMError(f"evaluation LM {folder}: its base {base} is an adapter itself; merge that first")
    return Adapter(folder, config, base, _digest_at_training(folder))


def apply(adapter: Adapter, model: PreTrainedModel, *, merge: bool) -> PreTrainedModel:
    """*model* with the *adapter* in place, merged into its weights or beside them; `LMError` if it does not fit."""
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tensors that are absent, which is an error here, and of old names
        adapted = PeftModel.from_pretrained(model, str(adapter.folder), is_trainable=False)
    with safe_open(adapter.folder / WEIGHTS, "pt") as file:
        there = set(file.keys())
    # Saying that embeddings are no part of it keeps peft from asking a hub about the base.
    expected = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    if absent := sorted(expected ^ there):
        raise LMError(f"{WEIGHTS} does not fit the base {adapter.base}, as at {absent[0]}")
    return adapted.merge_and_unload(safe_merge=True) if merge else adapted.get_base_model()  # pyright: ignore[reportReturnType]


def _digest_at_training(folder: Path) -> str | None:
    """The base's digest that the training record beside the adapter states, if there is one."""
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))["base"]["digest"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LMError(f"evaluation LM {folder}: its training record {RECORD} cannot be read: {error!r}") from None

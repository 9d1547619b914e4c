"""Reads and applies LoRA adapters, stored in folders in the format of peft."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import LMError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.pretrained import located, placed
from gre_bench.core.pretrained.cache import located, placed
from gre_bench.core.strict import load_json

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
RECORD = "training.json"
BASE = "base_model_name_or_path"


@dataclass(frozen=True, slots=True)
class Adapter:
    """A LoRA adapter on disk.

    - *folder*: the folder that holds the adapter.
    - *config*: the adapter's parsed configuration.
    - *base*: the folder of the model that the adapter was trained on.
    - *base_digest*: the digest of that model at training time; None if *folder* does not record it.
    """

    folder: Path
    config: Mapping[str, Any]
    base: Path
    base_digest: str | None

    @property
    def described(self) -> dict[str, Any]:
        """The entries of the config that define the model.

        These are all entries except the base model's path, which differs between machines.
        """
        return {name: value for name, value in self.config.items() if name != BASE}


def read_adapter(folder: Path) -> Adapter | None:
    """Returns the adapter in *folder*; None if the folder holds no adapter.

    The adapter's config names the base model, by a path or by the name of a pretrained model in the cache. A relative
    path starts at *folder*. Raises `LMError` if the config, the weights or the base model are missing or unusable.
    """
    if not (folder / CONFIG).is_file():
        return None
    try:
        config = load_json(read_bytes(folder / CONFIG))
        named, kind = config[BASE], config["peft_type"]
    except (OSError, ValueError, KeyError, TypeError, SourceError) as error:
        raise LMError(f"evaluation LM {folder}: {CONFIG} cannot be read: {error!r}") from None
    if kind != "LORA" or config.get("megatron_config"):
        raise LMError(f"evaluation LM {folder}: the adapter's kind is {kind}; only plain LoRA adapters are supported")
    if not (folder / WEIGHTS).is_file():
        raise LMError(f"evaluation LM {folder}: no {WEIGHTS}; other weight formats can run code and are refused")
    base = located(placed(str(named or ""), folder), "lm")
    if not named or not base.is_dir():
        raise LMError(
            f"evaluation LM {folder}: its base {named} is no folder on this machine; write the base's folder "
            f"into {BASE} of {folder / CONFIG}"
        )
    if (base / CONFIG).is_file():
        raise LMError(f"evaluation LM {folder}: its base {base} is an adapter itself; merge that first")
    return Adapter(folder, config, base, _digest_at_training(folder))


def apply(adapter: Adapter, model: PreTrainedModel, *, merge: bool) -> PreTrainedModel:
    """Adds *adapter* to *model* and returns the result.

    If *merge*, the adapter is merged into the weights of *model*. Otherwise, the adapter stays in separate LoRA layers.
    Raises `LMError` if the tensors of the adapter do not fit the model.
    """
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # absent tensors raise an error below; old names are harmless
        adapted = PeftModel.from_pretrained(model, str(adapter.folder), is_trainable=False)
    with safe_open(adapter.folder / WEIGHTS, "pt") as file:
        present = set(file.keys())
    # With save_embedding_layers=False peft does not ask a model hub about the base.
    expected = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    if absent := sorted(expected ^ present):
        raise LMError(f"{WEIGHTS} does not fit the base {adapter.base}, for example {absent[0]}")
    return adapted.merge_and_unload(safe_merge=True) if merge else adapted.get_base_model()  # pyright: ignore[reportReturnType]


def _digest_at_training(folder: Path) -> str | None:
    """Returns the base model's digest from the training record in *folder*; None if there is no training record.

    Raises `LMError` if the record cannot be read.
    """
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        return load_json(read_bytes(path))["base"]["digest"]
    except (OSError, ValueError, KeyError, TypeError, SourceError) as error:
        raise LMError(f"evaluation LM {folder}: its training record {RECORD} cannot be read: {error!r}") from None

"""Checks that the folder of a sentence-transformers model can be opened without running code from the folder."""

from __future__ import annotations

import hashlib
from collections.abc import Container
from pathlib import Path
from typing import Any

from gre_bench.core.errors import LMError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.pretrained import hint
from gre_bench.core.pretrained.cache import hint
from gre_bench.core.records import digest
from gre_bench.core.strict import load_json

MODULES = frozenset(
    ("Transformer", "StaticEmbedding", "Pooling", "WeightedLayerPooling", "Dense", "LayerNorm", "Dropout", "Normalize")
)
"""Modules of sentence-transformers that are weights and arithmetic only."""

_DIGESTED = frozenset((".json", ".safetensors", ".txt", ".model"))
_OTHER_WEIGHTS = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack")


def modules(folder: Path) -> list[Path]:
    """Returns the folder of each module of the model in *folder*, in the order of ``modules.json``.

    Raises `LMError` if a file is missing, or if a module needs code or weights other than safetensors.
    """
    if not folder.is_dir():
        problem = f"there is no such folder; give one that holds a downloaded model{hint(folder)}"
        raise LMError(f"embedder {folder}: {problem}")
    listing = _json(folder, folder / "modules.json")
    if not isinstance(listing, list) or not all(isinstance(module, dict) for module in listing):
        raise LMError(f"embedder {folder}: modules.json is no list of modules")
    if not listing:
        raise LMError(f"embedder {folder}: modules.json names no module")
    return [_module(folder, module) for module in listing]


def folder_digest(folder: Path) -> str:
    """Returns the SHA-256 over the names and contents of the files that define the model in *folder*."""
    contents = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in _DIGESTED and path.is_file():
            with path.open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            contents.append([path.relative_to(folder).as_posix(), sha256])
    return digest(contents)


def _module(folder: Path, module: dict[str, Any]) -> Path:
    kind, module_folder = str(module.get("type")), folder / str(module.get("path", ""))
    package, _, name = kind.rpartition(".")
    if not package.startswith("sentence_transformers.") or name not in MODULES:
        known = ", ".join(sorted(MODULES))
        raise LMError(f"embedder {folder}: its module {kind} can run code and is refused; accepted: {known}")
    if not module_folder.resolve().is_relative_to(folder.resolve()) or not module_folder.is_dir():
        raise LMError(f"embedder {folder}: modules.json names the folder {module_folder}, which is not there")
    sound, other = (
        any(module_folder.glob("*.safetensors")),
        any(any(module_folder.glob(kind)) for kind in _OTHER_WEIGHTS),
    )
    if not sound and (other or name in ("Transformer", "StaticEmbedding", "Dense")):
        raise LMError(f"embedder {module_folder}: no *.safetensors; other weight formats can run code and are refused")
    if (module_folder / "adapter_config.json").is_file():
        raise LMError(f"embedder {module_folder}: it is an adapter; merge it into its base and give that folder")
    if name == "Transformer" and (file := _file_that_needs_code(folder, module_folder)):
        raise LMError(f"embedder {folder}: it needs custom code (auto_map in {file}), which is refused")
    if name == "Dense" and not _of_torch(_json(folder, module_folder / "config.json")):
        raise LMError(f"embedder {module_folder}: its activation function is not one of torch, and is refused")
    return module_folder


def _file_that_needs_code(folder: Path, module_folder: Path) -> str | None:
    """Returns the name of a file that asks for custom code for the model or its tokenizer; None if no file does.

    *module_folder* is the folder of the model's transformer within *folder*. Without this check, transformers would
    refuse custom code of a model in a long message. For a tokenizer with custom code, it would silently use another
    tokenizer.
    """
    config = _json(folder, module_folder / "config.json")
    if isinstance(config, dict) and "auto_map" in config and str(config.get("model_type")) not in _known_models():
        return "config.json"
    tokenizer = module_folder / "tokenizer_config.json"
    settings = _json(folder, tokenizer) if tokenizer.is_file() else {}
    return tokenizer.name if isinstance(settings, dict) and "auto_map" in settings else None


def _known_models() -> Container[str]:
    try:
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES  # pyright: ignore[reportPrivateImportUsage]
    except ImportError:
        return ()
    return CONFIG_MAPPING_NAMES


def _of_torch(config: Any) -> bool:
    """Whether *config*, a module's configuration, names an activation function of torch.

    sentence-transformers silently replaces all other activation functions by tanh.
    """
    function = config.get("activation_function", "torch.") if isinstance(config, dict) else None
    return isinstance(function, str) and function.startswith("torch.")


def _json(folder: Path, path: Path) -> Any:
    try:
        return load_json(read_bytes(path))
    except FileNotFoundError:
        problem = f"no {path.name}; the folder must be that of a sentence-transformers model"
        raise LMError(f"embedder {folder}: {problem}") from None
    except (OSError, ValueError, SourceError) as error:
        raise LMError(f"embedder {folder}: {path.name} cannot be read: {error}") from None

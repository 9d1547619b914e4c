"""The manifest of a release: SHA-256 of every file, the provenance of the scores, and the key that signed the release.

``manifest.sha256`` holds the digest of ``manifest.json`` in the format of sha256sum. ``manifest.sig`` holds the
signature of ``manifest.sha256``:

    openssl pkeyutl -verify -pubin -inkey release.pub -rawin -in manifest.sha256 -sigfile manifest.sig
    sha256sum --check manifest.sha256
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping
from functools import cache
from importlib.metadata import distributions
from pathlib import Path, PurePosixPath
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.release.signing import SigningKey, is_signed

FORMAT = 1
NAME, SEAL, SIGNATURE = "manifest.json", "manifest.sha256", "manifest.sig"
SIGNED_BY = "signed_by"
_AGAIN = "get the release again from where it came"
_PRIVATE_SETTINGS = {"endpoint", "ray_address", "host", "username", "password", "totp_secret", "token", "mfa_code"}


def seal(folder: Path, about: Mapping[str, Any], key: SigningKey | None = None) -> str:
    """Writes the manifest of the release in *folder* and a file with the manifest's digest; returns the digest.

    *about*: facts about the release, which become the first entries of the manifest. *key*: the key that
    signs the release. The manifest then names this key, and a signature file is written too.
    """
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    head = {"format": FORMAT, **about, SIGNED_BY: key.name if key else None}
    text = json.dumps({**head, "files": files}, indent=1, sort_keys=False, default=str) + "\n"
    (folder / NAME).write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    sealed = f"{digest}  {NAME}\n".encode()
    (folder / SEAL).write_bytes(sealed)
    if key:
        (folder / SIGNATURE).write_bytes(key.sign(sealed))
    return digest


def is_release(folder: Path) -> bool:
    """Returns whether *folder* seems to hold a release; the release may be damaged."""
    return (folder / SEAL).is_file() or (folder / "release.duckdb").is_file()


def read(folder: Path) -> dict[str, Any]:
    """Returns the manifest of the release in *folder*.

    Raises `SourceError` if the manifest is missing, does not match its digest, or has an unknown format.
    """
    try:
        text = (folder / NAME).read_bytes()
        sealed = (folder / SEAL).read_bytes()
    except OSError as error:
        raise SourceError(f"{folder} is no release: {NAME} or {SEAL} cannot be read ({error.strerror})") from None
    if sealed != f"{hashlib.sha256(text).hexdigest()}  {NAME}\n".encode():
        raise SourceError(f"{folder}: {NAME} is not as it was written; {_AGAIN}")
    try:
        manifest = json.loads(text)
        known = manifest["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        raise SourceError(f"{folder}: {NAME} is no manifest of a release; {_AGAIN}") from None
    if not known:
        raise SourceError(f"{folder}: {NAME} has format {manifest['format']}, this program reads {FORMAT}; update it")
    return dict(manifest)


def verify(folder: Path) -> dict[str, Any]:
    """Checks that the release in *folder* has all its files, unchanged, and no others; returns its manifest.

    If the manifest names a key, its signature is checked too. A link is a fault, and so is a subfolder that holds no
    file of the release. Raises `SourceError`, whose message names the first fault.
    """
    manifest = read(folder)
    stated_files = manifest["files"]
    signed = _check_signature(folder, manifest.get(SIGNED_BY))
    files, folders = _inside(folder)
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
    if strange := sorted((files - {*stated_files, NAME, SEAL, *signed}) | (folders - needed)):
        raise SourceError(f"{folder}: {strange[0]} is not part of the release; remove it")
    return manifest


def _check_signature(folder: Path, name: object) -> tuple[str, ...]:
    """Checks the signature of the release in *folder* and returns the names of its signature files.

    *name*: the key that the manifest names. If it is None, the release is unsigned and the result is empty. Raises
    `SourceError` for a wrong or missing signature.
    """
    if name is None:
        return ()
    try:
        right = is_signed(name, (folder / SEAL).read_bytes(), (folder / SIGNATURE).read_bytes())
    except OSError as error:
        raise SourceError(f"{folder}: {SIGNATURE} cannot be read ({error.strerror}); {_AGAIN}") from None
    if not right:
        raise SourceError(f"{folder}: {SIGNATURE} is not the signature by the key that {NAME} names; {_AGAIN}")
    return (SIGNATURE,)


def _inside(folder: Path) -> tuple[set[str], set[str]]:
    """Returns the relative paths of all files, and of all folders, in *folder* and below.

    Raises `SourceError` for links and special files.
    """
    files, folders = set[str](), set[str]()
    for path in folder.rglob("*"):
        name, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise SourceError(f"{folder}: {name} is neither a file nor a folder but a link or the like; {_AGAIN}")
        (folders if stat.S_ISDIR(mode) else files).add(name)
    return files, folders


def digest_of(folder: Path) -> str:
    """Returns the digest of the release in *folder*: the SHA-256 of its manifest.

    The digest covers the whole release, because the manifest lists the SHA-256 of every file.
    """
    return sha256(folder / NAME)


def sha256(path: Path) -> str:
    """Returns the SHA-256 of the file *path*, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def public_settings(settings: Any, name: str = "") -> Any:
    """Returns *settings* without logins and details of the machine: paths become file names, addresses are removed.

    *settings*: a tree of settings, or the value of one setting. *name*: the name of that setting.
    """
    if isinstance(settings, Mapping):
        return {key: public_settings(value, key) for key, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [public_settings(value) for value in settings]
    if name in _PRIVATE_SETTINGS and settings is not None:
        return "(not published)"
    if isinstance(settings, str) and PurePosixPath(settings).is_absolute():
        return PurePosixPath(settings).name
    return settings


@cache
def packages() -> Mapping[str, str]:
    """Returns the version of every installed package, by package name.

    The packages are read once, at the first call.
    """
    metadata_of_all = (package.metadata for package in distributions())
    versions = {(metadata["Name"] or "").lower(): metadata["Version"] for metadata in metadata_of_all}
    return {name: versions[name] for name in sorted(versions) if name}

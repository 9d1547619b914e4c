"""Ed25519 signatures of releases (RFC 8032), by keys in PEM files made with ``openssl``.

    openssl genpkey -algorithm ed25519 -out release.key && chmod 600 release.key
    openssl pkey -in release.key -pubout -out release.pub

A key's name is its public part: 64 hexadecimal digits.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from gre_bench.core.errors import SettingsError, SourceError, no_file

PASSPHRASE = "GRE_BENCH_KEY_PASSPHRASE"
"""Environment variable with the passphrase of an encrypted private key."""
LARGEST_KEY = 2**16
OTHERS = 0o077
"""Permission bits for everybody but the owner; a private key must have none of them set."""


class SigningKey:
    """A private key for signing releases. Its attribute *name* is the public part as 64 hexadecimal digits."""

    def __init__(self, key: Ed25519PrivateKey):
        self._key = key
        self.name = key.public_key().public_bytes_raw().hex()

    def sign(self, data: bytes) -> bytes:
        """Returns the signature of *data*, 64 bytes."""
        return self._key.sign(data)


def signing_key(path: Path, outside: Sequence[Path] = ()) -> SigningKey:
    """Returns the private key in the PEM file *path*.

    Raises `SettingsError` if other users may read the file, or if it holds no private Ed25519 key. Raises
    `SettingsError` too if the file is in one of the folders *outside*, because these folders may be passed on.
    """
    text = _read(path)
    for folder in outside:
        if path.resolve().is_relative_to(folder.resolve()):
            raise SettingsError(f"{path}: a private key must not lie in {folder}; keep it elsewhere")
    if b"PUBLIC KEY" in text:
        raise SettingsError(f"{path} is a public key; --sign takes the private one")
    if path.stat().st_mode & OTHERS:
        raise SettingsError(f"{path}: others can read this private key; run: chmod 600 {path}")
    secret = os.environ.get(PASSPHRASE)
    try:
        key = serialization.load_pem_private_key(text, secret.encode() if secret else None)
    except TypeError:
        state = "is not encrypted: unset" if secret else "is encrypted: set"
        raise SettingsError(f"{path} {state} {PASSPHRASE}") from None
    except (ValueError, UnsupportedAlgorithm):
        raise SettingsError(f"{path} is no private key in PEM, or {PASSPHRASE} does not open it") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SettingsError(f"{path} is no Ed25519 key; make one with: openssl genpkey -algorithm ed25519")
    return SigningKey(key)


def public_key(path: Path) -> str:
    """Returns the name of the public key in the PEM file *path*; raises `SettingsError` if the file holds none."""
    text = _read(path)
    if b"PRIVATE KEY" in text:
        raise SettingsError(f"{path} is a private key; --key takes the public one: openssl pkey -in KEY -pubout")
    try:
        key = serialization.load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm):
        raise SettingsError(f"{path} is no public key in PEM") from None
    if not isinstance(key, Ed25519PublicKey):
        raise SettingsError(f"{path} is no Ed25519 key")
    return key.public_bytes_raw().hex()


def is_signed(name: object, data: bytes, signature: bytes) -> bool:
    """Returns whether *signature* is the signature of *data* by the key *name* (64 hexadecimal digits).

    Returns False if *name* is no key.
    """
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(str(name))).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def check_signer(subject: object, name: object, keys: Sequence[str]) -> None:
    """Raises `SourceError` unless the signing key is one of *keys*; does nothing if *keys* is empty.

    *subject*: what was signed, such as a release's name, for the error message. *name*: the public key that signed it,
    as 64 hexadecimal digits; None if unsigned. *keys*: the trusted public keys, in the same form.
    """
    if keys and name not in keys:
        by = f"is signed by another key, {name}" if name else "is not signed"
        raise SourceError(f"{subject} {by}; the key given is {' or '.join(keys)}")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_KEY + 1)
    except (FileNotFoundError, IsADirectoryError):
        raise no_file(path) from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(text) > LARGEST_KEY:
        raise SettingsError(f"{path} is too large to be a key")
    return text

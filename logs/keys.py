"""The Ed25519 keys of log tickets: made, loaded from PEM files, and named by their own fingerprint."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SETTLED = 1.0  # seconds; coarser than any local file system's time stamps


class BadKey(Exception):
    """A key file that is not an Ed25519 key, or a key folder that somebody else may write."""


def key_id(key: Ed25519PublicKey | Ed25519PrivateKey) -> str:
    """Name a key by the first 16 hex digits of SHA-256 over its 32 raw public bytes."""
    public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:16]


def generate(private_path: Path, public_folder: Path) -> str:
    """Make a key pair: the private half alone in `private_path` (0600), the public half as `<id>.pem`; give the id.

    An existing private key is never overwritten (FileExistsError): rotate by making one at another path.
    """
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(private_path, pem, mode=0o600)
    publish(private, public_folder)
    return key_id(private)


def publish(private: Ed25519PrivateKey, public_folder: Path) -> Path:
    """Write the public half of a key into the folder the opener reads; the same key lands in the same file."""
    pem = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    path = public_folder / f"{key_id(private)}.pem"
    if not path.exists():
        _write(path, pem, mode=0o644)
    return path


def load_private(path: Path) -> Ed25519PrivateKey:
    """Load the signing key from an unencrypted PEM file."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise BadKey(f"{path} is not an unencrypted PEM key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey(f"{path} is not an Ed25519 key")
    return key


def load_public(folder: Path) -> dict[str, Ed25519PublicKey]:
    """Load every `*.pem` of a folder by its own fingerprint; one bad file is an error, not a key less."""
    keys = [_load_public_file(path) for path in sorted(folder.glob("*.pem"))]
    return {key_id(key): key for key in keys}


class KeyFolder:
    """The public keys of a folder, read again whenever the folder changed: adding or removing a file is enough."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stamp = -1
        self._keys: Mapping[str, Ed25519PublicKey] = {}

    def current(self) -> Mapping[str, Ed25519PublicKey]:
        """The keys that count now. Raises BadKey where the folder is not safe, OSError where it is gone."""
        stat = self.folder.stat()
        young = time.time() - stat.st_mtime < SETTLED  # a second change may still carry the same time stamp
        if young or stat.st_mtime_ns != self._stamp:
            if stat.st_uid not in (0, os.geteuid()) or stat.st_mode & 0o022:
                raise BadKey(f"{self.folder} must belong to root and be writable by nobody else")
            self._keys, self._stamp = load_public(self.folder), stat.st_mtime_ns
        return self._keys


def _load_public_file(path: Path) -> Ed25519PublicKey:
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except ValueError as error:
        raise BadKey(f"{path} is not a PEM public key") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadKey(f"{path} is not an Ed25519 key")
    return key


def _write(path: Path, content: bytes, *, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)

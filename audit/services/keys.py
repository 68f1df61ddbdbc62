"""The sealer's key: Ed25519, read by the sealer alone; its public half is for everybody."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


class NoKey(Exception):
    """The file holds no Ed25519 private key."""


def load(path: Path) -> Ed25519PrivateKey:
    """The private key of a PEM file. Raises NoKey."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError) as error:
        raise NoKey(f"{path}: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise NoKey(f"{path} is no Ed25519 key")
    return key


def raw(key: Ed25519PublicKey) -> bytes:
    """Its 32 bytes."""
    return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def key_id(key: Ed25519PublicKey) -> str:
    """A short name for it: the beginning of its digest."""
    return hashlib.sha256(raw(key)).hexdigest()[:16]

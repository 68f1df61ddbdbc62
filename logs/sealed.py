"""The form all tickets share: "<version>.<key id>.<payload>.<signature>", base64url in its one spelling, Ed25519."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # most processes only hand tickets on, and the library costs 6 MB in each
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

MAX_TEXT = 16 * 1024  # characters of a whole ticket: two paths at their longest fit
_KEY_ID = re.compile(r"[0-9a-f]{16}")
_TEXT = re.compile(r"[A-Za-z0-9_-]+")


class BadTicket(Exception):
    """The ticket is malformed, not signed by a key that counts, or past its time; nothing was opened."""


def seal(version: str, key_id: str, payload: bytes, private_key: Ed25519PrivateKey) -> str:
    """Give the signed text; the signature covers everything before its dot, the version with it."""
    if not _KEY_ID.fullmatch(key_id):
        raise BadTicket("key_id has not the form it must have")
    body = f"{version}.{key_id}.{_encode(payload)}"
    text = f"{body}.{_encode(private_key.sign(body.encode()))}"
    if len(text) > MAX_TEXT:
        raise BadTicket("longer than a ticket may be")
    return text


def prove(version: str, text: str, public_keys: Mapping[str, Ed25519PublicKey]) -> None:
    """Raise BadTicket unless one of these keys signed the text."""
    from cryptography.exceptions import InvalidSignature

    name, body, signature = _split(version, text)
    key = public_keys.get(name)
    if key is None:
        raise BadTicket("signed by a key that does not count")
    try:
        key.verify(signature, body.encode())
    except InvalidSignature as error:
        raise BadTicket("the signature does not fit") from error


def payload_of(version: str, text: str) -> tuple[str, bytes]:
    """(key id, payload), without any proof."""
    name, body, _ = _split(version, text)
    return name, _decode(body.rsplit(".", 1)[1])


def _split(version: str, text: str) -> tuple[str, str, bytes]:
    """Give (key id, signed part, signature), each of its only possible form."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise BadTicket("not a ticket")
    parts = text.split(".")
    if len(parts) != 4 or parts[0] != version or not _KEY_ID.fullmatch(parts[1]):
        raise BadTicket("not a ticket of a version known here")
    return parts[1], text.rsplit(".", 1)[0], _decode(parts[3])


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    if not _TEXT.fullmatch(text):
        raise BadTicket("not base64url")
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, binascii.Error) as error:
        raise BadTicket("not base64url") from error
    if _encode(raw) != text:  # unused low bits set: a second spelling of the same bytes
        raise BadTicket("not base64url in its one spelling")
    return raw

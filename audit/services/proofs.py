"""What a signature of the sealer's proves: that a checkpoint is its own, and that a body was removed by it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Any

import structlog
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings

from audit.actions import Action
from audit.models import AuditEvent, AuditSeal, Checkpoint
from audit.services import canonical
from audit.services.keys import key_id
from audit.services.sealing import microseconds

log = structlog.get_logger(__name__)


@cache
def public_keys() -> dict[str, Ed25519PublicKey]:
    """The sealer's keys, this one and earlier ones, by their names."""
    found = {}
    for path in settings.SEAL_PUBLIC_KEYS:
        try:
            key = serialization.load_pem_public_key(Path(path).read_bytes())
        except (OSError, ValueError) as error:  # the page says that there is none
            log.error("no public key of the sealer", path=path, why=str(error))
            continue
        if isinstance(key, Ed25519PublicKey):
            found[key_id(key)] = key
    return found


class Proofs:
    """Asked again and again while a trail is read; "" is a proof, anything else says what is lacking."""

    def __init__(self) -> None:
        self._removals: dict[int, tuple[list[int], list[int]] | str] = {}

    def of_checkpoint(self, signed: Checkpoint, chain: bytes) -> str:
        """Of a checkpoint over the chain as it was found."""
        if bytes(signed.chain) != chain:
            return "other_chain"
        key = public_keys().get(signed.key_id)
        said = canonical.checkpoint_bytes(
            origin=settings.PUBLIC_URL, seq=signed.seq, chain=chain, at_us=microseconds(signed.at)
        )
        return "unknown_key" if key is None else _checked(key, bytes(signed.signature), said, "bad_signature")

    def of_removal(self, seq: int, by: int | None) -> str:
        """Of a body that is not there, by the record that is said to have removed it."""
        if by is None or by <= seq:
            return "gone"
        if by not in self._removals:
            self._removals[by] = _removal(by)
        found = self._removals[by]
        if isinstance(found, str):
            return found
        firsts, lasts = found
        place = bisect_right(firsts, seq) - 1
        return "" if place >= 0 and seq <= lasts[place] else "not_named"


def _removal(by: int) -> tuple[list[int], list[int]] | str:
    """(first records, last records) of what a signed removal names."""
    seal = AuditSeal.objects.filter(seq=by).first()
    event = AuditEvent.objects.filter(pk=seal.event_id, action=Action.BODIES_REMOVED).first() if seal else None
    if event is None or not Checkpoint.objects.filter(seq__gte=by).exists():
        return "gone"
    try:
        return _named(event.detail)
    except (KeyError, TypeError, ValueError):
        return "forged_removal"


def _named(said: dict[str, Any]) -> tuple[list[int], list[int]] | str:
    named = ",".join(said["records"])
    words = canonical.removal_bytes(
        origin=settings.PUBLIC_URL, kind=said["kind"], records=named, digest=bytes.fromhex(said["digest"])
    )
    key = public_keys().get(said["key"])
    if key is None or _checked(key, bytes.fromhex(said["signature"]), words, "bad"):
        return "forged_removal"
    parts = [part.partition("-") for part in named.split(",")]
    return [int(first) for first, _dash, _last in parts], [int(last or first) for first, _dash, last in parts]


def _checked(key: Ed25519PublicKey, signature: bytes, said: bytes, otherwise: str) -> str:
    try:
        key.verify(signature, said)
    except InvalidSignature:
        return otherwise
    return ""

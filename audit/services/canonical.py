"""The bytes of an event that are hashed, and of a checkpoint that are signed. Versioned; docs/sealing.md says the same.

Every value is written as it is stored: eight bytes of length, then its UTF-8 text; eight bytes of 0xff stand for NULL.
`client/bancada/verify` has the same rules in code of its own, so that an auditor trusts no line of the portal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

EVENT, CHECKPOINT, REMOVAL, VERSION = b"bancada:event:1\n", b"bancada:checkpoint:1\n", b"bancada:removal:1\n", 1
NULL = b"\xff" * 8
GENESIS = hashlib.sha256(b"bancada:genesis:1\n").digest()
# in this order, each as PostgreSQL gives it for the SQL beside it
FIELDS = {
    "id": "id::text",
    "uid": "uid::text",
    "at": "(extract(epoch FROM at) * 1000000)::bigint::text",
    "action": "action",
    "outcome": "outcome",
    "actor_id": "actor_id::text",
    "actor_ref": "actor_ref::text",
    "ran_as_ref": "ran_as_ref::text",
    "subject_type": "subject_type",
    "subject_id": "subject_id",
    "subject_ref": "subject_ref::text",
    "subject_text": "subject_text",
    "project_id": "project_id::text",
    "project_code": "project_code",
    "channel": "channel",
    "address_ref": "address_ref::text",
    "correlation": "correlation",
    "db_role": "db_role",
    "detail": "detail::text",
}


def encoded(values: Iterable[str | None]) -> bytes:
    """Length-prefixed, so that no two lists of values give the same bytes."""
    parts = []
    for value in values:
        raw = None if value is None else value.encode()
        parts.append(NULL if raw is None else len(raw).to_bytes(8, "big") + raw)
    return b"".join(parts)


def event_digest(values: Iterable[str | None]) -> bytes:
    """Of the values of FIELDS, in their order."""
    return hashlib.sha256(EVENT + encoded(values)).digest()


def linked(before: bytes, seq: int, digest: bytes) -> bytes:
    """The chain over one more event."""
    return hashlib.sha256(before + seq.to_bytes(8, "big") + digest).digest()


def checkpoint_bytes(*, origin: str, seq: int, chain: bytes, at_us: int) -> bytes:
    """What is signed: whose trail, up to where, and when (microseconds of UTC since 1970)."""
    return CHECKPOINT + encoded([origin, str(seq), chain.hex(), str(at_us)])


def removal_bytes(*, origin: str, kind: str, records: str, digest: bytes) -> bytes:
    """What is signed where bodies are removed: of which class, which records, and the digest over theirs."""
    return REMOVAL + encoded([origin, kind, records, digest.hex()])

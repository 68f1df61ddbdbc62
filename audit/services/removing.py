"""Bodies whose time is over are removed, class by class: named in an event the sealer signs, then gone; seals stay.

Only the sealer can: the event is written by its role and signed with its key, and the one function that deletes a body
(`audit_remove_bodies`, in the database) is its alone and believes nobody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from audit import catalogue, context, trail
from audit.actions import Action
from audit.catalogue import RetentionClass
from audit.models import Checkpoint
from audit.services import canonical
from audit.services.keeping import keeping
from audit.services.keys import key_id
from audit.services.sealing import Sealer

log = structlog.get_logger(__name__)
AT_A_TIME = 5_000  # records one event names
_LONGEST = 1_900  # characters of one part of the list of records
_DUE = f"""
SELECT s.seq, s.digest FROM audit_auditseal s JOIN audit_auditevent e ON e.id = s.event_id
WHERE s.seq > %s AND s.seq <= %s AND e.action = ANY(%s) AND e.at < %s AND NOT audit_is_held(e)
ORDER BY s.seq LIMIT {AT_A_TIME}"""  # noqa: S608 - a number of ours
Told = Callable[[Checkpoint], None]


def remove_due(*, sealer: Sealer, key: Ed25519PrivateKey, told: Told, now: datetime | None = None) -> int:
    """Remove every body whose time is over; how many. What fails is tried again with the next run."""
    gone = 0
    for one in keeping(now):
        for records in _due(one.kind, one.days, now or timezone.now()):
            try:
                gone += _remove(one.kind, one.days or 0, records, sealer, key, told)
            except DatabaseError as error:
                log.error("bodies not removed", kind=one.kind, why=str(error))
                return gone
    return gone


def _due(kind: RetentionClass, days: int | None, now: datetime) -> Iterator[list[tuple[int, bytes]]]:
    """Records of a class that were written, and signed for, before its days; held ones are left out."""
    if days is None:
        return
    before = now - timedelta(days=days)
    signed = Checkpoint.objects.filter(at__lt=before).order_by("-seq").values_list("seq", flat=True).first() or 0
    actions = [name for name in catalogue.in_class(kind) if name != Action.BODIES_REMOVED]
    after = 0
    while after < signed:
        with connection.cursor() as cursor:
            cursor.execute(_DUE, [after, signed, actions, before])
            found = [(int(seq), bytes(digest)) for seq, digest in cursor.fetchall()]
        if not found:
            return
        after = found[-1][0]
        yield found


def _remove(
    kind: RetentionClass, days: int, records: Sequence[tuple[int, bytes]], sealer: Sealer, key: Any, told: Told
) -> int:
    """Name, seal, sign; only then remove."""
    with transaction.atomic(), context.coming_from("system"):
        event = trail.record(Action.BODIES_REMOVED, kind=kind, before=f"{days} d", **_signed(kind, records, key))
    sealer.seal()
    told(sealer.checkpoint(key))
    with connection.cursor() as cursor:
        cursor.execute("SELECT audit_remove_bodies(%s)", [event.pk])
        return int(cursor.fetchone()[0])


def _signed(kind: str, records: Sequence[tuple[int, bytes]], key: Ed25519PrivateKey) -> dict[str, Any]:
    """What the event says of the records, with the sealer's signature over it."""
    named = ranges([seq for seq, _digest in records])
    digest = digest_of(records)
    said = canonical.removal_bytes(origin=settings.PUBLIC_URL, kind=kind, records=named, digest=digest)
    return {
        "count": len(records), "records": list(_parts(named)), "digest": digest.hex(), "key": key_id(key.public_key()),
        "signature": key.sign(said).hex(),
    }  # fmt: skip


def digest_of(records: Sequence[tuple[int, bytes]]) -> bytes:
    """SHA-256 over each record's number in eight bytes and its digest, in order."""
    whole = hashlib.sha256()
    for seq, digest in records:
        whole.update(seq.to_bytes(8, "big") + digest)
    return whole.digest()


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as "5-12,14"."""
    parts: list[tuple[int, int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1] = (parts[-1][0], number)
        else:
            parts.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _parts(named: str) -> Iterator[str]:
    """Cut at commas, for one value of an event's detail holds only so much."""
    while len(named) > _LONGEST:
        cut = named.rindex(",", 0, _LONGEST)
        yield named[:cut]
        named = named[cut + 1 :]
    yield named

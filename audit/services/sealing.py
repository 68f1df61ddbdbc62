"""Seal what was committed, in order, without gap; sign where the chain stands. By one process, the sealer.

An event is sealed once no transaction that began before its own can still commit (`xid` against the snapshot's
horizon): whatever order writers commit in, none is passed over, and none is waited for longer than its writer runs.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import connection, transaction

from audit.models import AuditSeal, Checkpoint
from audit.services import canonical
from audit.services.keys import key_id

LOCK = 0x7365616C
AT_A_TIME = 5_000
_COLUMNS = ", ".join(canonical.FIELDS.values())
_NEXT = f"""
SELECT {_COLUMNS} FROM audit_auditevent e
WHERE xid >= %s::text::xid8 AND xid < %s::text::xid8
  AND NOT EXISTS (SELECT FROM audit_auditseal s WHERE s.event_id = e.id)
ORDER BY id LIMIT {AT_A_TIME}"""  # noqa: S608 - our own column names
_LEFT = f"""
SELECT {_COLUMNS} FROM audit_auditevent e
WHERE NOT EXISTS (SELECT FROM audit_auditseal s WHERE s.event_id = e.id) AND xid < %s::text::xid8
ORDER BY id LIMIT {AT_A_TIME}"""  # noqa: S608


@dataclasses.dataclass
class Sealer:
    """Where the chain stands. Made once a process; `first` looks at everything that is not sealed, not only the new."""

    seq: int = 0
    chain: bytes = canonical.GENESIS
    horizon: int = 0  # all older transactions are sealed
    looked: bool = False

    @classmethod
    def where_it_stands(cls) -> Sealer:
        """After the last seal there is."""
        last = AuditSeal.objects.order_by("-seq").first()
        return cls(last.seq, bytes(last.chain)) if last else cls()

    def seal(self) -> int:
        """Seal what is to be sealed now; how many events."""
        horizon, sealed = _horizon(), 0
        if horizon < self.horizon:  # another server: a dump was restored
            self.looked, self.horizon = False, 0
        while rows := self._unsealed(horizon):
            self._append(rows)
            sealed += len(rows)
            if len(rows) < AT_A_TIME:
                break
        self.looked, self.horizon = True, horizon
        return sealed

    def _unsealed(self, horizon: int) -> list[tuple[str | None, ...]]:
        with connection.cursor() as cursor:
            if self.looked:
                cursor.execute(_NEXT, [str(self.horizon), str(horizon)])
            else:
                cursor.execute(_LEFT, [str(horizon)])
            return cursor.fetchall()  # type: ignore[no-any-return]

    def _append(self, rows: list[tuple[str | None, ...]]) -> None:
        """All of them or none; what the process remembers moves only once they are committed."""
        seq, chain, seals = self.seq, self.chain, []
        for row in rows:
            seq += 1
            digest = canonical.event_digest(row)
            chain = canonical.linked(chain, seq, digest)
            seals.append(AuditSeal(seq=seq, event_id=int(row[0] or 0), digest=digest, chain=chain))
        with transaction.atomic():
            AuditSeal.objects.bulk_create(seals)
        self.seq, self.chain = seq, chain

    def checkpoint(self, key: Ed25519PrivateKey) -> Checkpoint:
        """Sign where the chain stands now."""
        at = datetime.now(UTC)
        said = canonical.checkpoint_bytes(
            origin=settings.PUBLIC_URL, seq=self.seq, chain=self.chain, at_us=microseconds(at)
        )
        return Checkpoint.objects.create(
            at=at, seq=self.seq, chain=self.chain, key_id=key_id(key.public_key()), signature=key.sign(said)
        )


def microseconds(at: datetime) -> int:
    """Whole ones since 1970, without a float in between."""
    gone = at - datetime(1970, 1, 1, tzinfo=UTC)
    return (gone.days * 86_400 + gone.seconds) * 1_000_000 + gone.microseconds


def told(row: Checkpoint) -> dict[str, Any]:
    """A checkpoint as it leaves the host: one line of JSON."""
    return {
        "origin": settings.PUBLIC_URL, "seq": row.seq, "chain": bytes(row.chain).hex(), "at_us": microseconds(row.at),
        "key": row.key_id, "signature": bytes(row.signature).hex(),
    }  # fmt: skip


def _horizon() -> int:
    """The oldest transaction that may still commit: all before it are over."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
        return int(cursor.fetchone()[0])

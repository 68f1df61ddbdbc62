"""Seal what was committed, in the order it becomes visible, without gap; sign where the chain stands. By one process.

Numbers of events are given at insertion and commits come in any order, so a later number may be there first. Whoever
inserts holds a lock on the table until its end: once all who held one at some moment are through, nothing below the
number given out by then can still appear, and the sealer looks above it only (`_Settled`).
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
AT_A_TIME = 2_000
_COLUMNS = ", ".join(canonical.FIELDS.values())
# the number is said of both tables: PostgreSQL would read all seals there are, each time, to come to the last ones
_UNSEALED = f"""
SELECT {_COLUMNS} FROM audit_auditevent e WHERE id > %(after)s AND NOT EXISTS (
  SELECT FROM audit_auditseal s WHERE s.event_id = e.id AND s.event_id > %(after)s) ORDER BY e.id LIMIT {AT_A_TIME}"""  # noqa: S608
_SEALED = "COPY audit_auditseal (seq, event_id, version, digest, chain) FROM STDIN"
_GIVEN_OUT = "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('audit_auditevent', 'id')), 0)"
_WRITING = """
SELECT virtualtransaction FROM pg_locks WHERE relation = 'audit_auditevent'::regclass AND mode = 'RowExclusiveLock'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


class _Settled:
    """Below which number everything that will ever be there is there."""

    def __init__(self) -> None:
        self.below = 0
        self._next: tuple[int, set[str]] | None = None  # a number given out, and who was writing just after

    def seen(self) -> int:
        """Asked before events above `below` are read; what has been read, `below` is raised to afterwards."""
        through = self.below
        if self._next is not None and not self._next[1] & _writing():
            through, self._next = self._next[0], None
        if self._next is None:
            given = int(_asked(_GIVEN_OUT)[0][0])  # first the number, then who writes: never the other way round
            self._next = (given, _writing())
        return through


def _writing() -> set[str]:
    return {row[0] for row in _asked(_WRITING)}


def _asked(statement: str, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


@dataclasses.dataclass
class Sealer:
    """Where the chain stands. A new one looks at everything that is not sealed."""

    seq: int = 0
    chain: bytes = canonical.GENESIS
    settled: _Settled = dataclasses.field(default_factory=_Settled)

    @classmethod
    def where_it_stands(cls) -> Sealer:
        """After the last seal there is."""
        last = AuditSeal.objects.order_by("-seq").first()
        return cls(last.seq, bytes(last.chain)) if last else cls()

    def seal(self) -> int:
        """Seal what is to be sealed now; how many events."""
        through, at, sealed = self.settled.seen(), self.settled.below, 0
        while rows := _asked(_UNSEALED, {"after": at}):
            self._append(rows)
            sealed, at = sealed + len(rows), int(rows[-1][0])
            if len(rows) < AT_A_TIME:
                break
        self.settled.below = through
        return sealed

    def _append(self, rows: list[tuple[str | None, ...]]) -> None:
        """All of them or none; what the process remembers moves only once they are committed."""
        seq, chain, seals = self.seq, self.chain, []
        for row in rows:
            seq += 1
            digest = canonical.event_digest(row)
            chain = canonical.linked(chain, seq, digest)
            seals.append((seq, int(row[0] or 0), canonical.VERSION, digest, chain))
        with transaction.atomic(), connection.cursor() as cursor, cursor.copy(_SEALED) as copy:
            for seal in seals:
                copy.write_row(seal)
        self.seq, self.chain = seq, chain

    def checkpoint(self, key: Ed25519PrivateKey, at: datetime | None = None) -> Checkpoint:
        """Sign where the chain stands now; `at` is for trails made up by tests and benches."""
        at = at or datetime.now(UTC)
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

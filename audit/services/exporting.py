"""The trail as evidence: JSON lines straight from PostgreSQL's COPY, in flat memory, the same for the same checkpoint.

A header says where the chain stood before, each record is an event (or, where a filter leaves it out, its digest),
checkpoints stand where they were signed, the last line says where it ends. `bancada-verify` reads it. A record whose
body retention removed says by which record it was; that one is always written out whole.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection

from audit.models import AuditSeal, Checkpoint
from audit.services import canonical
from audit.services.sealing import told

_VALUES = ", ".join(f"'{name}', {sql}" for name, sql in canonical.FIELDS.items())
_RECORDS = """
COPY (SELECT CASE WHEN e.id IS NOT NULL AND (({wanted}) OR e.action = 'trail.bodies_removed')
    THEN json_build_object('seq', s.seq, 'chain', encode(s.chain, 'hex'), 'event', json_build_object({values}))
    WHEN e.id IS NULL THEN json_build_object('seq', s.seq, 'digest', encode(s.digest, 'hex'),
      'removed', (SELECT b.by FROM audit_removedbody b WHERE b.seq = s.seq))
    ELSE json_build_object('seq', s.seq, 'digest', encode(s.digest, 'hex')) END::text
  FROM audit_auditseal s LEFT JOIN audit_auditevent e ON e.id = s.event_id
  WHERE s.seq > {first} AND s.seq <= {last} ORDER BY s.seq) TO STDOUT"""


class NothingSealed(Exception):
    """There is no checkpoint to export up to."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are written out whole. Empty: all of them."""

    project_id: int | None = None
    actor_id: int | None = None
    action: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def sql(self) -> tuple[str, list[Any]]:
        """A condition over `e`, and its values."""
        parts = {
            "e.project_id = %s": self.project_id, "e.actor_id = %s": self.actor_id, "e.action = %s": self.action,
            "e.at >= %s": self.since, "e.at < %s": self.until,
        }  # fmt: skip
        asked = {part: value for part, value in parts.items() if value not in (None, "")}
        return " AND ".join(asked) or "true", list(asked.values())


def export(wanted: Wanted, *, after: int = 0, checkpoint: Checkpoint | None = None) -> Iterator[bytes]:
    """The lines after record `after` up to a checkpoint (the last one). Raises NothingSealed."""
    last = checkpoint or Checkpoint.objects.order_by("-seq", "-id").first()
    if last is None:
        raise NothingSealed
    yield _line(_header(wanted, after))
    start = after
    for stop in _stops(after, last):
        yield from _records(wanted, start, stop.seq)
        yield _line({"checkpoint": told(stop)})
        start = stop.seq
    yield _line({"end": {"seq": last.seq, "chain": bytes(last.chain).hex()}})


def _header(wanted: Wanted, after: int) -> dict[str, Any]:
    chain = bytes(AuditSeal.objects.get(seq=after).chain) if after else canonical.GENESIS
    asked = {name: str(value) for name, value in dataclasses.asdict(wanted).items() if value not in (None, "")}
    return {
        "bancada": "trail", "version": 1, "origin": settings.PUBLIC_URL, "filter": asked,
        "before": {"seq": after, "chain": chain.hex()},
    }  # fmt: skip


def _stops(after: int, last: Checkpoint) -> Iterator[Checkpoint]:
    """One checkpoint for each place where one was signed, in order; the idle ones between say nothing new."""
    rows = Checkpoint.objects.filter(seq__gt=after, seq__lte=last.seq, id__lte=last.pk)
    yield from rows.order_by("seq", "id").distinct("seq").iterator(chunk_size=1000)


def _records(wanted: Wanted, first: int, last: int) -> Iterator[bytes]:
    condition, values = wanted.sql()
    statement = _RECORDS.format(wanted=condition, values=_VALUES, first=int(first), last=int(last))
    with connection.cursor() as cursor, cursor.copy(statement, values) as rows:
        for block in rows:
            yield bytes(block).replace(b"\\\\", b"\\")  # COPY doubles what JSON escapes; nothing else in JSON needs it


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"

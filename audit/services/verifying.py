"""The trail in the database checked against its seals, in parts that a worker does between other things.

What `bancada-verify` does with an export, done where the trail lies: for a quick look. It trusts the portal's own code
and the public key on this host; an export checked elsewhere, with a checkpoint kept outside, trusts neither.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from access import bells
from audit import identities, trail
from audit.actions import Action, Outcome
from audit.models import Checkpoint, Verdict, Verification
from audit.services import canonical
from audit.services.proofs import Proofs

TASK = "default.verify_trail"
AT_A_TIME = 5_000
SECONDS = 90.0  # of one part; the rest is done when the bell rings again
_RECORDS = f"""
SELECT s.seq, s.digest, s.chain, b.by, e.* FROM audit_auditseal s LEFT JOIN LATERAL (
  SELECT {", ".join(f"{sql} AS c{n}" for n, sql in enumerate(canonical.FIELDS.values()))}
  FROM audit_auditevent WHERE id = s.event_id) e ON true LEFT JOIN audit_removedbody b ON b.seq = s.seq
WHERE s.seq > %s AND s.seq <= %s ORDER BY s.seq LIMIT {AT_A_TIME}"""  # noqa: S608 - columns of ours


class Wrong(Exception):
    """The first record that is not as it was sealed, and in which way (see audit.views.verifying.WORDS)."""

    def __init__(self, seq: int, how: str) -> None:
        super().__init__(f"{seq}: {how}")
        self.seq, self.how = seq, how


@dataclasses.dataclass(frozen=True, slots=True)
class _Asker:
    """Who asked, as `trail.record` wants to know them."""

    pk: int
    login: str

    def get_username(self) -> str:
        return self.login


@transaction.atomic
def ask(*, by: Any) -> Verification:
    """Have the trail checked; the one that is being checked already is as good as another."""
    running = Verification.objects.filter(ended_at=None).first()
    if running is not None:
        return running
    last = Checkpoint.objects.order_by("-seq", "-id").first()
    row = Verification.objects.create(
        by_id=by.pk, by_ref=identities.ref(identities.LOGIN, by.get_username(), by.pk), last=last.seq if last else 0,
        chain=canonical.GENESIS,
    )  # fmt: skip
    bells.ring(TASK)
    return row


def work() -> int:
    """One part of what waits; how many records were looked at. A part that broke off is done again."""
    with transaction.atomic():
        row = (
            Verification.objects.select_for_update(skip_locked=True).filter(ended_at=None).order_by("asked_at").first()
        )
        return _part(row) if row is not None else 0


def _part(row: Verification) -> int:
    began, seen, proofs = time.monotonic(), 0, Proofs()
    try:
        while row.seq < row.last and time.monotonic() - began < SECONDS:
            seen += _chunk(row, proofs)
    except Wrong as error:
        _end(row, Verdict.WRONG, error)
        return seen
    if row.seq >= row.last:
        _end(row, Verdict.OK if row.last else Verdict.NOTHING)
    else:
        row.worked_at = timezone.now()
        row.save()
        bells.ring(TASK)
    return seen


def _chunk(row: Verification, proofs: Proofs) -> int:
    """The next records: each in its place, of its digest, linked to the one before, and signed where it was."""
    with connection.cursor() as cursor:
        cursor.execute(_RECORDS, [row.seq, row.last])
        records = cursor.fetchall()
    if not records:
        raise Wrong(row.seq + 1, "missing")
    chains: dict[int, bytes] = {}
    seq, chain = row.seq, bytes(row.chain)
    for record in records:
        seq += 1
        if record[0] != seq:
            raise Wrong(seq, "missing")
        chain = canonical.linked(chain, seq, _digest(row, record, proofs))
        if chain != bytes(record[2]):
            raise Wrong(seq, "changed")
        chains[seq] = chain
    for signed in _signed(row.seq, seq):
        how = proofs.of_checkpoint(signed, chains[signed.seq])
        if how:
            raise Wrong(signed.seq, how)
        _count(row, "checkpoints")
    row.seq, row.chain = seq, chain
    return len(records)


def _digest(row: Verification, record: tuple[Any, ...], proofs: Proofs) -> bytes:
    """Of the event itself; of one whose body retention removed, that of its seal, if its removal holds."""
    seq, digest, _chain, by, *values = record
    if values[0] is not None:
        _count(row, "events")
        return canonical.event_digest(values)
    how = proofs.of_removal(seq, by)
    if how:
        raise Wrong(seq, how)
    _count(row, "removed")
    return bytes(digest)


def _signed(first: int, last: int) -> Iterator[Checkpoint]:
    """One a place; the idle minutes between say nothing new."""
    rows = Checkpoint.objects.filter(seq__gt=first, seq__lte=last)
    yield from rows.order_by("seq", "id").distinct("seq").iterator(chunk_size=1000)


def _count(row: Verification, what: str) -> None:
    row.counts[what] = row.counts.get(what, 0) + 1


def _end(row: Verification, verdict: Verdict, error: Wrong | None = None) -> None:
    row.verdict, row.ended_at = verdict, timezone.now()
    row.worked_at = row.ended_at
    if error is not None:
        row.wrong_seq, row.wrong = error.seq, error.how
    row.save()
    login = identities.named(row.by_ref)
    trail.record(
        Action.TRAIL_VERIFIED, by=_Asker(row.by_id, login), outcome=Outcome.FAILED if error else Outcome.DONE,
        verification=row.pk, first=1, last=row.seq, wrong=f"{error.seq} {error.how}" if error else None,
    )  # fmt: skip

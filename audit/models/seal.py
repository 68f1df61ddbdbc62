"""What proves the trail: a seal for every event, in one gap-free order, and signed checkpoints over them."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.utils import timezone

GUARDS = (
    pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete),
    pgtrigger.Trigger(
        name="no_truncate",
        level=pgtrigger.Statement,
        operation=pgtrigger.Truncate,
        when=pgtrigger.Before,
        func="RAISE EXCEPTION 'the seals are append-only';",
    ),
)


class AuditSeal(models.Model):
    """One event's place: digest of its canonical bytes, and the chain over all digests up to here (32 bytes each)."""

    seq = models.BigIntegerField(primary_key=True)
    event_id = models.BigIntegerField(unique=True)
    version = models.PositiveSmallIntegerField(default=1)
    digest = models.BinaryField(max_length=32)
    chain = models.BinaryField(max_length=32)

    class Meta:
        triggers = GUARDS

    def __str__(self) -> str:
        return str(self.seq)


class Checkpoint(models.Model):
    """The chain up to `seq`, signed by the sealer's key and sent off the host; made every minute, also when idle."""

    at = models.DateTimeField(default=timezone.now)
    seq = models.BigIntegerField()
    chain = models.BinaryField(max_length=32)
    key_id = models.CharField(max_length=16)
    signature = models.BinaryField(max_length=64)

    class Meta:
        triggers = GUARDS
        indexes = (models.Index(fields=["seq"], name="checkpoint_seq"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.at:%Y-%m-%d %H:%M}"


class Outbox(models.Model):
    """Up to which checkpoint a place outside ("file", "syslog") has all of them; the sealer's alone."""

    place = models.CharField(max_length=10, primary_key=True)
    checkpoint = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.place} {self.checkpoint}"

"""Mail about the trail: to whoever asked that an export is ready, and daily to the data protection officer."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone

from access import letters
from audit import trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent, Checkpoint
from audit.models.export import Export, State
from audit.services.sealing import told

DAILY = timedelta(hours=24)
TROUBLE = "mail about the trail not sent"
_MOST = 2000  # checkpoints in one mail: a day has 1,440


def tell() -> int:
    """Write to those whose export has ended; how many. The note is made after the mail went: one lost is sent again."""
    sent = 0
    for row in Export.objects.filter(state__in=(State.READY, State.FAILED), told_at=None, finished_at__isnull=False):
        person: Any = get_user_model()._default_manager.filter(pk=row.asked_by_id or 0, is_active=True).first()
        if settings.MAIL_IS_ON and person and person.email and not letters.sent([_notice(row, person)], TROUBLE):
            continue
        Export.objects.filter(pk=row.pk, told_at=None).update(told_at=timezone.now())
        sent += 1
    return sent


def address_of(row: Export) -> str:
    """The page of an export."""
    within = f"/projects/{quote(row.project_code)}/trail" if row.project_code else "/audit"
    return f"{settings.PUBLIC_URL}{within}/exports/{row.pk}"


def _notice(row: Export, person: Any) -> EmailMessage:
    facts = {"export": row, "user": person, "address": address_of(row), "ready": row.state == State.READY}
    return letters.letter("export", [person.email], row.language, **facts)


def mail_checkpoints(now: datetime | None = None) -> bool:
    """Once a day, the checkpoints since the last mail to the data protection officer; whether one went.

    The event that says so is the memory of it: none is written where the mail did not go, so it is tried again.
    """
    at = now or timezone.now()
    if not (settings.DPO_MAIL and settings.MAIL_IS_ON):
        return False
    earlier = AuditEvent.objects.filter(action=Action.CHECKPOINT_MAILED, outcome=Outcome.DONE).order_by("-pk").first()
    if earlier and at - earlier.at < DAILY - timedelta(minutes=5):
        return False
    after = earlier.detail.get("checkpoint", 0) if earlier else 0
    rows = list(Checkpoint.objects.filter(pk__gt=after).order_by("-pk")[:_MOST])[::-1]
    if not rows or not letters.sent([_message(rows)], TROUBLE):
        return False
    with transaction.atomic():
        trail.record(Action.CHECKPOINT_MAILED, checkpoint=rows[-1].pk, last=rows[-1].seq, count=len(rows))
    return True


def _message(rows: list[Checkpoint]) -> EmailMessage:
    facts: dict[str, Any] = {
        "first": rows[0],
        "last": rows[-1],
        "count": len(rows),
        "chain": bytes(rows[-1].chain).hex(),
    }
    mail = letters.letter("checkpoints", settings.DPO_MAIL, **facts)
    lines = "".join(json.dumps(told(row)) + "\n" for row in rows)
    mail.attach(f"checkpoints-{rows[-1].at:%Y%m%d}.jsonl", lines, "application/x-ndjson")
    return mail

"""Mail about the trail: to whoever asked that an export is ready, and daily to the data protection officer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone, translation

from audit import trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent, Checkpoint
from audit.models.export import Export, State
from audit.services.sealing import told

log = structlog.get_logger(__name__)
DAILY = timedelta(hours=24)
_MOST = 2000  # checkpoints in one mail: a day has 1,440


def tell() -> int:
    """Write to those whose export has ended; how many. The note is made after the mail went: one lost is sent again."""
    sent = 0
    for row in Export.objects.filter(state__in=(State.READY, State.FAILED), told_at=None, finished_at__isnull=False):
        person: Any = get_user_model()._default_manager.filter(pk=row.asked_by_id or 0, is_active=True).first()
        if settings.MAIL_IS_ON and person and person.email and not _send([_notice(row, person)]):
            continue
        Export.objects.filter(pk=row.pk, told_at=None).update(told_at=timezone.now())
        sent += 1
    return sent


def address_of(row: Export) -> str:
    """The page of an export."""
    within = f"/projects/{quote(row.project_code)}/trail" if row.project_code else "/audit"
    return f"{settings.PUBLIC_URL}{within}/exports/{row.pk}"


def _notice(row: Export, person: Any) -> EmailMessage:
    with translation.override(row.language or settings.LANGUAGE_CODE):
        facts = {"export": row, "user": person, "address": address_of(row), "ready": row.state == State.READY}
        subject = " ".join(render_to_string("mail/export_subject.txt", facts).split())
        return EmailMessage(subject, render_to_string("mail/export.txt", facts), to=[person.email])


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
    if not rows or not _send([_message(rows)]):
        return False
    with transaction.atomic():
        trail.record(Action.CHECKPOINT_MAILED, checkpoint=rows[-1].pk, last=rows[-1].seq, count=len(rows))
    return True


def _message(rows: list[Checkpoint]) -> EmailMessage:
    with translation.override(settings.LANGUAGE_CODE):
        facts = {"first": rows[0], "last": rows[-1], "count": len(rows), "address": settings.PUBLIC_URL,
                 "chain": bytes(rows[-1].chain).hex()}  # fmt: skip
        subject = " ".join(render_to_string("mail/checkpoints_subject.txt", facts).split())
        mail = EmailMessage(subject, render_to_string("mail/checkpoints.txt", facts), to=list(settings.DPO_MAIL))
    lines = "".join(json.dumps(told(row)) + "\n" for row in rows)
    mail.attach(f"checkpoints-{rows[-1].at:%Y%m%d}.jsonl", lines, "application/x-ndjson")
    return mail


def _send(messages: Iterable[EmailMessage]) -> bool:
    try:
        with get_connection() as connection:
            for message in messages:
                message.connection = connection
                message.send()
    except OSError as error:  # what smtplib raises are OSErrors too
        log.warning("mail about the trail not sent", error=type(error).__name__)
        return False
    return True

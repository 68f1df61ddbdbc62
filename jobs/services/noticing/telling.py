"""Tell what was noted: settle the way by each person's choice, and mail what is to be mailed, one mail a person.

That a mail begins is committed before it is sent: a worker that dies in between loses a mail, and nobody gets two.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone, translation

from access import gate
from access.permissions import Permission
from accounts.models import User
from jobs.models import Job, Notice, Way
from jobs.services.noticing import choosing

log = structlog.get_logger(__name__)
AT_ONCE = 500
MAILS_AN_HOUR = 12  # to one person; what comes above waits and goes together
LISTED = 50  # jobs in one mail
PATIENCE, KEPT = timedelta(days=1), timedelta(days=90)


def tell() -> int:
    """How many were settled. What is old is thrown away."""
    Notice.objects.filter(at__lt=timezone.now() - KEPT).delete()
    settled = _settle()
    if settings.MAIL_IS_ON:
        _mail_all()
    return settled


@transaction.atomic
def _settle() -> int:
    rows = list(Notice.objects.select_for_update(skip_locked=True).filter(way="").order_by("pk")[:AT_ONCE])
    wanted = choosing.choices((row.user_id, row.job_id) for row in rows)
    for row in rows:
        row.way = wanted[row.user_id, row.job_id][row.kind]
    Notice.objects.bulk_update(rows, ["way"])
    return len(rows)


def _mail_all() -> None:
    since = timezone.now() - PATIENCE
    due = Notice.objects.filter(way=Way.MAIL, mail_began_at=None, at__gt=since).order_by("pk")
    for user in User.objects.filter(pk__in=due.values("user"), is_active=True).exclude(email=""):
        if not _mail_one(user):
            return


def _mail_one(user: User) -> bool:
    """False where the mail server does not take it: another time."""
    rows = _begin(user)
    if not rows:
        return True
    try:
        with get_connection() as connection:
            message = _message(user, rows)
            message.connection = connection
            message.send()
    except OSError as error:  # what smtplib raises are OSErrors too
        log.warning("notices not mailed", user=user.pk, error=type(error).__name__)
        Notice.objects.filter(pk__in=[row.pk for row in rows]).update(mail_began_at=None)
        return False
    Notice.objects.filter(pk__in=[row.pk for row in rows]).update(mailed_at=timezone.now())
    return True


@transaction.atomic
def _begin(user: User) -> list[Notice]:
    """What goes into the next mail, noted as begun; nothing where the person had many within the hour."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=user.pk)  # one mail at a time
    now = timezone.now()
    lately = Notice.objects.filter(user=user, mail_began_at__gt=now - timedelta(hours=1))
    if lately.values("mail_began_at").distinct().count() >= MAILS_AN_HOUR:
        return []
    due = Notice.objects.filter(user=user, way=Way.MAIL, mail_began_at=None, at__gt=now - PATIENCE).order_by("pk")
    rows = _visible(user, list(due[:AT_ONCE]))
    Notice.objects.filter(pk__in=[row.pk for row in rows]).update(mail_began_at=now)
    return rows


def _visible(user: User, rows: list[Notice]) -> list[Notice]:
    """Of jobs the person may see now: membership may have ended since. The others are told to nobody."""
    jobs = gate.allowing(Job.objects.lines().filter(pk__in={row.job_id for row in rows}), user, Permission.JOB_VIEW)
    seen = {job.pk: job for job in jobs}
    Notice.objects.filter(pk__in=[row.pk for row in rows if row.job_id not in seen]).update(way=Way.NONE)
    found = [row for row in rows if row.job_id in seen]
    for row in found:
        row.job = seen[row.job_id]
    return found


def _message(user: User, rows: Sequence[Notice]) -> EmailMessage:
    with translation.override(user.language or settings.LANGUAGE_CODE):
        facts = {"user": user, "notices": rows[:LISTED], "more": max(0, len(rows) - LISTED), "first": rows[0],
                 "count": len(rows), "address": settings.PUBLIC_URL}  # fmt: skip
        subject = " ".join(render_to_string("mail/notices_subject.txt", facts).split())
        return EmailMessage(subject, render_to_string("mail/notices.txt", facts), to=[user.email])

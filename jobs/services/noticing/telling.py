"""Tell what was noted: settle the way by each person's choice, and mail what is to be mailed, one mail a person.

That a mail begins is committed before it is sent: a worker that dies in between loses a mail, and nobody gets two.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from access import letters
from accounts.models import User
from jobs.models import Notice, Way
from jobs.services.noticing import choosing
from jobs.services.noticing.shown import visible

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
    for user in User.objects.filter(pk__in=_due().values("user"), is_active=True).exclude(email=""):
        if not _mail_one(user):
            return


def _due() -> QuerySet[Notice]:
    """What is to be mailed and was not begun, oldest first."""
    since = timezone.now() - PATIENCE
    return Notice.objects.filter(way=Way.MAIL, mail_began_at=None, at__gt=since).order_by("pk")


def _mail_one(user: User) -> bool:
    """False where the mail server does not take it: another time."""
    rows = _begin(user)
    if not rows:
        return True
    if not letters.sent([_message(user, rows)], "notices not mailed", user=user.pk):
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
    rows = _visible(user, list(_due().filter(user=user)[:AT_ONCE]))
    Notice.objects.filter(pk__in=[row.pk for row in rows]).update(mail_began_at=now)
    return rows


def _visible(user: User, rows: list[Notice]) -> list[Notice]:
    """What the person may see now; the others are told to nobody."""
    found = visible(user, rows)
    left = {row.pk for row in rows} - {row.pk for row in found}
    Notice.objects.filter(pk__in=left).update(way=Way.NONE)
    return found


def _message(user: User, rows: Sequence[Notice]) -> EmailMessage:
    facts = {"notices": rows[:LISTED], "more": max(0, len(rows) - LISTED), "first": rows[0], "count": len(rows)}
    return letters.to_person("notices", user, **facts)

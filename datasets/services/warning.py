"""What time does: permissions that end soon are told of, those that are over and agreements past their end closed."""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from access import letters
from access.permissions import Permission, codename
from access.roles import ROLE_GRANTS
from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets.models import Agreement, Grant
from datasets.services import agreements, rights
from projects.models import Membership

log = structlog.get_logger(__name__)
LEVELS = (30, 7, 1)  # days before the end
ANSWERING = sorted(role for role, held in ROLE_GRANTS.items() if codename(Permission.MEMBER_MANAGE) in held)


def look() -> int:
    """Everything that is due; how many rows changed. Repeatable."""
    return _close_agreements() + _close_grants() + _warn()


def _close_agreements() -> int:
    due = list(Agreement.objects.filter(ended_at=None, ends_on__lt=timezone.now().date()))
    for agreement in due:
        try:
            agreements.end(agreement=agreement, by=None)
        except agreements.Ended:  # by somebody, a moment ago
            log.info("agreement ended meanwhile", agreement=str(agreement.pk))
    return len(due)


def _close_grants() -> int:
    rows = Grant.objects.filter(revoked_at=None, expired_at=None, ends_on__lt=timezone.now().date())
    due = list(rows.select_related("dataset__project", "project", "user"))
    for grant in due:
        _close(grant)
    return len(due)


@transaction.atomic
def _close(grant: Grant) -> None:
    if not Grant.objects.filter(pk=grant.pk, expired_at=None).update(expired_at=timezone.now()):
        return
    rights.settle(grant.dataset)
    rights.tell(grant)
    trail.record(
        Action.DATASET_EXPIRED, about=grant.dataset, project=grant.dataset.project, until=grant.ends_on,
        for_project=grant.project.code if grant.project else None,
        for_person=trail.Login(grant.user.username) if grant.user else None,
    )  # fmt: skip


def _warn() -> int:
    told = 0
    for level in LEVELS:
        last = timezone.now().date() + timedelta(days=level)
        rows = Grant.objects.in_force().filter(ends_on__lte=last)
        for grant in rows.filter(Q(warned_days=None) | Q(warned_days__gt=level)).select_related(
            "dataset__project", "dataset__steward", "project", "user"
        ):
            if level == _level(grant):
                told += _tell(grant, level)
    return told


def _level(grant: Grant) -> int:
    """The lowest of the levels it has reached."""
    left = (grant.ends_on - timezone.now().date()).days
    return min((level for level in LEVELS if left <= level), default=0)


def _tell(grant: Grant, level: int) -> bool:
    """The level is noted after the mail went: one lost is sent at the next look."""
    if settings.MAIL_IS_ON and not _mail(grant):
        return False
    with transaction.atomic():
        Grant.objects.filter(pk=grant.pk).update(warned_days=level)
        trail.record(
            Action.DATASET_WARNED, about=grant.dataset, project=grant.dataset.project, until=grant.ends_on, days=level,
            for_project=grant.project.code if grant.project else None,
            for_person=trail.Login(grant.user.username) if grant.user else None,
        )  # fmt: skip
    return True


def people(grant: Grant) -> list[User]:
    """The steward, and whoever answers for those who use it."""
    found = [grant.dataset.steward, *([grant.user] if grant.user else [])]
    if grant.project_id:
        rows = Membership.objects.active().filter(project=grant.project_id, role__in=ANSWERING, user__is_active=True)
        found += [row.user for row in rows.select_related("user").order_by("user__username")]
    return list({user.pk: user for user in found}.values())


def _mail(grant: Grant) -> bool:
    messages = [letters.to_person("dataset", user, one=grant) for user in people(grant) if user.email]
    return letters.sent(messages, "warning not mailed", grant=str(grant.pk))

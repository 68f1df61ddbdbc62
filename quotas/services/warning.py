"""Telling those who can act that an allocation runs out: at 75, 90 and 100 percent used and committed, once each."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db import transaction
from django.db.models import F

from access import letters
from access.permissions import Permission, codename
from access.roles import ROLE_GRANTS
from accounts.models import User
from audit import trail
from audit.actions import Action
from projects.models import Membership, Project
from quotas.models import Allocation
from quotas.panels import Panel, panels

LEVELS = (75, 90, 100)
ACTING = sorted(role for role, held in ROLE_GRANTS.items() if codename(Permission.ALLOCATION_REQUEST) in held)


def warn() -> int:
    """Look at every allocation in force; how many passed a level they had not passed before."""
    raised = sum(_raise(panel) for panel in panels(Allocation.objects.current()))
    _mail_all()
    return raised


def reached(percent: int) -> int:
    """The highest of the levels that so much passes; 0 for none."""
    return max((level for level in LEVELS if percent >= level), default=0)


@transaction.atomic
def _raise(panel: Panel) -> bool:
    level = reached(panel.level)
    row = panel.allocation
    if not Allocation.objects.filter(pk=row.pk, warned_level__lt=level).update(warned_level=level):
        return False
    balance = panel.balance
    trail.record(
        Action.ALLOCATION_WARNED, about=row, project=row.project, level=level, percent=panel.level,
        used=balance.used, committed=balance.committed, limit=balance.limit,
    )  # fmt: skip
    return True


def _mail_all() -> None:
    """Whoever was not written to yet. The level is noted after the mail went: one lost is sent at the next look."""
    due = Allocation.objects.current().filter(warned_level__gt=F("mailed_level"))
    for panel in panels(due):
        if settings.MAIL_IS_ON and not _mail(panel):
            continue
        row = panel.allocation
        Allocation.objects.filter(pk=row.pk, mailed_level__lt=row.warned_level).update(mailed_level=row.warned_level)


def people(project: Project) -> Sequence[User]:
    """The project's PI and managers."""
    rows = Membership.objects.active().filter(project=project, role__in=ACTING, user__is_active=True)
    return [row.user for row in rows.select_related("user").order_by("user__username")]


def _mail(panel: Panel) -> bool:
    """One message a person, in their language; whether all went out."""
    written_to = [user for user in people(panel.allocation.project) if user.email]
    messages = [letters.to_person("allocation", user, panel=panel) for user in written_to]
    return letters.sent(messages, "warning not mailed", allocation=panel.allocation.pk)

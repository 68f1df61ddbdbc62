"""Who works together: a person's role in a project over an interval."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.permissions import Permission
from access.roles import Role
from projects.models.project import Project


class OnEnd(models.TextChoices):
    """What becomes of a person's jobs when the membership ends."""

    FINISH = "finish", _("let running jobs finish")
    HOLD = "hold", _("hold queued jobs")
    CANCEL = "cancel", _("cancel all jobs")


class MembershipQuerySet(models.QuerySet["Membership"]):
    """Reads of memberships."""

    def active(self, now: datetime | None = None) -> MembershipQuerySet:
        """In force at this moment, or now."""
        now = now or timezone.now()
        return self.filter(Q(ends_at=None) | Q(ends_at__gt=now), starts_at__lte=now)


class Membership(models.Model):
    """A person's role in a project over an interval [starts_at, ends_at); a change of role is a new row."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(_("role"), max_length=12, choices=Role.choices)
    starts_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField(null=True, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    why = models.CharField(max_length=300, blank=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    ended_why = models.CharField(max_length=300, blank=True)
    on_end = models.CharField(max_length=10, choices=OnEnd.choices, default=OnEnd.FINISH)

    gate_scope, gate_owner, gate_view = "project", "user", Permission.PROJECT_VIEW

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["project", "user"], condition=Q(ends_at=None), name="one_open_membership_per_person"
            ),
            models.CheckConstraint(
                condition=Q(ends_at=None) | Q(ends_at__gte=F("starts_at")), name="membership_ends_after_start"
            ),
        )
        indexes = (models.Index(fields=["user", "project"], name="membership_user"),)

    def __str__(self) -> str:
        return f"{self.user} · {self.project} · {self.role}"

"""A permission to use a dataset, and the request it came from."""

from __future__ import annotations

from datetime import date

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from datasets.models.dataset import Dataset
from datasets.models.words import Purpose
from projects.models import Project, Request

OUTLIVES = """
IF NEW.revoked_at IS NULL AND (TG_OP = 'INSERT' OR NEW.ends_on > OLD.ends_on) AND EXISTS (
    SELECT 1 FROM datasets_dataset d JOIN datasets_agreement a ON a.id = d.agreement_id
    WHERE d.id = NEW.dataset_id AND (a.ended_at IS NOT NULL OR a.ends_on < NEW.ends_on)
) THEN RAISE EXCEPTION 'a permission to use would outlive its agreement'; END IF;
RETURN NEW;
"""


class Access(models.TextChoices):
    """What may be done with the files."""

    READ = "read", _("read")
    WRITE = "write", _("read and write")


def one_holder(name: str) -> models.CheckConstraint:
    """A project or a person, never both or neither."""
    project, person = Q(project__isnull=False, user=None), Q(project=None, user__isnull=False)
    return models.CheckConstraint(condition=project | person, name=name)


class GrantRequest(Request):
    """Somebody asks for a permission, for a project or for themselves, and says what for."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="requests")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    purpose = models.CharField(_("purpose"), max_length=12, choices=Purpose.choices)
    access = models.CharField(_("access"), max_length=5, choices=Access.choices, default=Access.READ)
    starts_on = models.DateField(_("from"))
    ends_on = models.DateField(_("until"))

    class Meta:
        ordering = ("-asked_at",)
        constraints = (
            one_holder("request_is_for_one"),
            models.CheckConstraint(condition=Q(ends_on__gte=F("starts_on")), name="wish_ends_after_start"),
            models.CheckConstraint(
                condition=~Q(state="approved") | ~Q(asked_by=F("decided_by")), name="nobody_approves_their_own"
            ),
            models.UniqueConstraint(
                fields=["dataset", "project", "user"], condition=Q(state="open"), nulls_distinct=False,
                name="one_open_wish_each",
            ),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.dataset.code}: {self.holder}"

    @property
    def holder(self) -> str:
        """Whom it is for."""
        return str(self.project or (self.user.name if self.user else ""))


class GrantQuerySet(models.QuerySet["Grant"]):
    """Reads of permissions."""

    def in_force(self, today: date | Cast | None = None) -> GrantQuerySet:
        """Neither revoked nor outside their days (UTC)."""
        today = today or timezone.now().date()
        return self.filter(revoked_at=None, starts_on__lte=today, ends_on__gte=today)

    def of(self, *, project: object, user: object) -> GrantQuerySet:
        """Those that count for a person at work in a project: the project's and their own."""
        return self.filter(Q(project=project) | Q(user=user))


class Grant(models.Model):
    """A permission over [starts_on, ends_on], days in UTC. Its facts never change; its end may come sooner."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="grants")
    request = models.OneToOneField(GrantRequest, on_delete=models.PROTECT, null=True, blank=True, related_name="grant")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, blank=True, related_name="dataset_grants")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    purpose = models.CharField(_("purpose"), max_length=12, choices=Purpose.choices)
    access = models.CharField(_("access"), max_length=5, choices=Access.choices, default=Access.READ)
    starts_on = models.DateField(_("from"))
    ends_on = models.DateField(_("until"))
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    approved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    approved_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    revoked_why = models.CharField(_("why"), max_length=300, blank=True)
    warned_days = models.PositiveSmallIntegerField(
        null=True, blank=True
    )  # days before its end at which people were told last
    expired_at = models.DateTimeField(null=True, blank=True)  # when its end was written into the trail

    objects = GrantQuerySet.as_manager()

    class Meta:
        ordering = ("-approved_at",)
        constraints = (
            one_holder("permission_is_of_one"),
            models.CheckConstraint(condition=Q(ends_on__gte=F("starts_on")), name="permission_ends_after_start"),
            models.CheckConstraint(condition=~Q(asked_by=F("approved_by")), name="nobody_permits_themselves"),
        )
        indexes = (
            models.Index(fields=["project", "dataset"], name="grant_project", condition=Q(revoked_at=None)),
            models.Index(fields=["user", "dataset"], name="grant_user", condition=Q(revoked_at=None)),
        )
        triggers = (
            pgtrigger.Trigger(
                name="within_its_agreement",
                operation=pgtrigger.Insert | pgtrigger.Update,
                when=pgtrigger.Before,
                func=OUTLIVES,
            ),
            pgtrigger.Protect(
                name="permission_is_fixed",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange(
                    "dataset", "project", "user", "purpose", "access", "starts_on", "asked_by", "approved_by",
                    "approved_at",
                ),
            ),
            pgtrigger.Protect(
                name="revoked_for_good", operation=pgtrigger.Update,
                condition=pgtrigger.Q(
                    old__revoked_at__isnull=False, old__revoked_at__df=pgtrigger.F("new__revoked_at")
                ),
            ),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.dataset.code}: {self.holder}"

    @property
    def holder(self) -> str:
        """Whose it is."""
        return str(self.project or (self.user.name if self.user else ""))

    @property
    def is_in_force(self) -> bool:
        """Whether it counts today."""
        return self.revoked_at is None and self.starts_on <= timezone.now().date() <= self.ends_on

"""What belongs to those who read the trail: filters they keep, verifications they ask for, guests and their scope."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from audit.models.seal import GUARDS


class SavedFilter(models.Model):
    """A filter of the trail under a name, one person's own."""

    owner_id = models.BigIntegerField()
    name = models.CharField(_("name"), max_length=60)
    query = models.CharField(max_length=600)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=["owner_id", "name"], name="one_filter_of_a_name"),)

    def __str__(self) -> str:
        return self.name


class Verdict(models.TextChoices):
    """What came out."""

    OK = "ok", _("as it was sealed")
    WRONG = "wrong", _("something is wrong")
    NOTHING = "nothing", _("nothing to verify")
    FAILED = "failed", _("could not be done")


class Verification(models.Model):
    """One check of the trail in the database against its seals: asked for, worked at in parts, told."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    by_id = models.BigIntegerField()
    by_ref = models.UUIDField(null=True)
    asked_at = models.DateTimeField(default=timezone.now)
    worked_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    last = models.BigIntegerField(default=0)  # up to which record; the last checkpoint's when it began
    seq = models.BigIntegerField(default=0)  # how far it is
    chain = models.BinaryField(max_length=32, default=bytes)
    counts = models.JSONField(default=dict)  # events, removed, checkpoints, unknown_key
    verdict = models.CharField(max_length=10, choices=Verdict.choices, blank=True)
    wrong_seq = models.BigIntegerField(null=True)
    wrong = models.CharField(max_length=40, blank=True)  # audit.services.verifying.WORDS

    class Meta:
        indexes = (models.Index(fields=["-asked_at"], name="verification_newest"),)

    def __str__(self) -> str:
        return f"{self.asked_at:%Y-%m-%d %H:%M} {self.verdict}"


class GuestQuerySet(models.QuerySet["GuestAuditor"]):
    """Reads of guests."""

    def now(self) -> GuestQuerySet:
        """Whose time it is."""
        at = timezone.now()
        return self.filter(starts_at__lte=at, ends_at__gt=at, ended_at=None)


class GuestAuditor(models.Model):
    """Somebody who may read the events of some projects in a period, until a day. Only an early end changes a row."""

    user_id = models.BigIntegerField()
    user_ref = models.UUIDField(null=True)
    project_ids = ArrayField(models.BigIntegerField(), default=list)
    project_codes = ArrayField(models.CharField(max_length=40), default=list)
    dataset_ids = ArrayField(models.BigIntegerField(), default=list)  # besides: only events about these
    datasets = ArrayField(models.CharField(max_length=60), default=list)
    since = models.DateTimeField(null=True)
    until = models.DateTimeField(null=True)
    starts_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField()
    why = models.CharField(max_length=300)
    by_id = models.BigIntegerField(null=True)
    by_ref = models.UUIDField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_by_id = models.BigIntegerField(null=True)

    objects = GuestQuerySet.as_manager()

    class Meta:
        ordering = ("-starts_at",)
        indexes = (models.Index(fields=["user_id"], name="guest_user"),)
        constraints = (models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="guest_ends_after_start"),)
        triggers = (
            pgtrigger.Protect(
                name="scope_stays", operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange(exclude=["ended_at", "ended_by_id"]),
            ),
            pgtrigger.Protect(name="never_deleted", operation=pgtrigger.Delete),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"guest {self.user_id}"

    def is_in_force(self, now: datetime | None = None) -> bool:
        """Whether they may read now."""
        at = now or timezone.now()
        return self.ended_at is None and self.starts_at <= at < self.ends_at

    def events(self) -> Q:
        """What of the trail they may read."""
        found = Q(project_id__in=self.project_ids)
        if self.dataset_ids:
            found &= Q(subject_type="dataset", subject_id__in=[str(one) for one in self.dataset_ids])
        if self.since is not None:
            found &= Q(at__gte=self.since)
        return found & Q(at__lt=self.until) if self.until is not None else found

    def part(self) -> dict[str, Any]:
        """The same in plain values, for an export that says later what it covers. An empty list of projects is none."""
        said = {
            "guest": self.pk, "projects": self.project_ids, "project_codes": self.project_codes,
            "datasets": [str(one) for one in self.dataset_ids] or None, "dataset_codes": self.datasets or None,
            "since": self.since and self.since.isoformat(), "until": self.until and self.until.isoformat(),
        }  # fmt: skip
        return {name: value for name, value in said.items() if value is not None}


class Pseudonym(models.Model):
    """A person whose names beside the trail are to be replaced; the sealer does it, a while after it was asked."""

    person_id = models.BigIntegerField(unique=True)
    pseudonym = models.CharField(max_length=40, unique=True)
    asked_at = models.DateTimeField(default=timezone.now)
    by_id = models.BigIntegerField(null=True)
    why = models.CharField(max_length=300)
    done_at = models.DateTimeField(null=True)

    class Meta:
        triggers = (
            pgtrigger.Protect(
                name="only_done", operation=pgtrigger.Update, condition=pgtrigger.AnyChange(exclude=["done_at"])
            ),
            pgtrigger.Protect(name="never_deleted", operation=pgtrigger.Delete),
        )

    def __str__(self) -> str:
        return self.pseudonym


class RightsTable(models.Model):
    """What each role brought with it from `at` on: written by `manage.py setup_roles` when it changed."""

    at = models.DateTimeField(default=timezone.now)
    project_roles: Any = models.JSONField(default=dict)  # role -> codenames
    site_roles: Any = models.JSONField(default=dict)

    class Meta:
        ordering = ("at",)
        triggers = GUARDS

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M}"

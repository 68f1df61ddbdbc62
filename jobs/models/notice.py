"""Notices to a job's owner: what there is to tell, and what each person wants to be told, and how."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from jobs.models.job import Job


class Kind(models.TextChoices):
    """What is told of a job."""

    STARTED = "started", _("it starts")
    ENDED = "ended", _("it ends")
    FAILED = "failed", _("it fails")
    TIME = "time", _("80 % of its time is used")


class Way(models.TextChoices):
    """How somebody is told."""

    NONE = "none", _("not at all")
    BELL = "bell", _("here")
    MAIL = "mail", _("here and by mail")


class NoticeChoice(models.Model):
    """What a person wants, kind -> way: of all jobs where `job` is null, else of that one. What is missing is usual."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="+", null=True)
    ways = models.JSONField(default=dict)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["user", "job"], name="one_choice_of_notices", nulls_distinct=False),
        )

    def __str__(self) -> str:
        return f"{self.user} · {self.job or '*'}"


class Notice(models.Model):
    """One thing told once: written with what happened, then settled (`way`), then mailed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    at = models.DateTimeField(default=timezone.now)
    way = models.CharField(max_length=4, choices=Way.choices, blank=True)  # empty until a worker has looked
    read_at = models.DateTimeField(null=True)
    mail_began_at = models.DateTimeField(null=True)  # from here on it is not sent again
    mailed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["job", "kind"], name="one_notice_of_a_kind"),)
        indexes = (
            models.Index(fields=["user", "-id"], name="notice_shown", condition=Q(way__in=["bell", "mail"])),
            models.Index(fields=["id"], name="notice_due", condition=Q(way="") | Q(way="mail", mail_began_at=None)),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.job}"

"""What cluster administrators tell everybody, who uses a partition, or a project: in both languages, for a time."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from access.compiled import Fixed


class Tone(models.TextChoices):
    """How it is shown."""

    INFO = "info", _("information")
    WARN = "warn", _("warning")


class Announcement(models.Model):
    """One announcement. Neither partition nor project: the whole site, and the sign-in page too where it says so."""

    tone = models.CharField(_("kind"), max_length=6, choices=Tone.choices, default=Tone.INFO)
    text_en = models.CharField(_("in English"), max_length=300)
    text_pt = models.CharField(_("in Portuguese"), max_length=300)
    partition = models.CharField(_("queue"), max_length=60, blank=True)
    project_code = models.CharField(_("project"), max_length=31, blank=True)
    at_sign_in = models.BooleanField(_("on the sign-in page, too"), default=False)
    starts_at = models.DateTimeField(_("from"), default=timezone.now)
    ends_at = models.DateTimeField(_("until"))
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-starts_at",)
        constraints = (
            models.CheckConstraint(condition=Q(ends_at__gt=models.F("starts_at")), name="announcement_ends_later"),
            models.CheckConstraint(condition=Q(partition="") | Q(project_code=""), name="announcement_one_place"),
        )

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """In the reader's language."""
        return self.text_pt if (get_language() or "").startswith("pt") else self.text_en

    @property
    def place(self) -> str:
        """Where it is shown: "site", "queue gpu", "project visao"."""
        if self.partition:
            return f"queue {self.partition}"
        return f"project {self.project_code}" if self.project_code else "site"


class Dismissal(models.Model):
    """Somebody has read an announcement and does not want to see it again."""

    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="dismissals")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["announcement", "user"], name="one_dismissal"),)

    def __str__(self) -> str:
        return f"{self.announcement_id} {self.user_id}"


def shown_to(user: int, now: datetime) -> models.QuerySet[Announcement]:
    """What is in force and not put away by this person; wherever it belongs."""
    rows = Announcement.objects.filter(starts_at__lte=now, ends_at__gt=now, ended_at=None)
    return rows.exclude(dismissals__user=user)


AT_SIGN_IN = Fixed(lambda now: shown_to(0, now).filter(at_sign_in=True, partition="", project_code=""))

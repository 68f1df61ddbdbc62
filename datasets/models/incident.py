"""The register of security incidents with personal data, and the notices given of each."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from datasets import working_days
from datasets.models.dataset import Dataset

BRAZIL = ZoneInfo("America/Sao_Paulo")  # where the days of the deadline are counted
NOTICE_DAYS, DETAIL_DAYS = 3, 20  # working days: Resolution CD/ANPD 15/2024


class SecurityIncident(models.Model):
    """One incident: kept at least five years, also where nobody had to be told."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    title = models.CharField(_("title"), max_length=120)
    what = models.TextField(_("what happened"), max_length=8000)
    happened_at = models.DateTimeField(_("when it happened"), null=True, blank=True)
    known_at = models.DateTimeField(_("when it became known"))
    datasets = models.ManyToManyField(Dataset, blank=True, related_name="incidents", verbose_name=_("datasets"))
    subjects = models.TextField(_("whose data"), max_length=4000)
    people = models.PositiveIntegerField(_("how many people"), null=True, blank=True)
    risks = models.TextField(_("possible harm"), max_length=4000, blank=True)
    measures = models.TextField(_("measures"), max_length=8000, blank=True)
    opened_at = models.DateTimeField(default=timezone.now)
    opened_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-known_at",)
        constraints = (
            models.CheckConstraint(
                condition=Q(happened_at=None) | Q(happened_at__lte=F("known_at")), name="incident_known_after"
            ),
            models.CheckConstraint(condition=Q(closed_at=None) | ~Q(measures=""), name="incident_closed_with_measures"),
        )
        triggers = (pgtrigger.Protect(name="incidents_stay", operation=pgtrigger.Delete),)

    def __str__(self) -> str:
        return self.title

    @property
    def known_on(self) -> date:
        """The day it became known, in Brazil."""
        return self.known_at.astimezone(BRAZIL).date()

    @property
    def notice_due(self) -> date:
        """The last day to tell the authority and the people concerned."""
        return working_days.after(self.known_on, NOTICE_DAYS)

    @property
    def details_due(self) -> date:
        """The last day to complete what the notice said."""
        return working_days.after(self.known_on, DETAIL_DAYS)

    @property
    def days_left(self) -> int:
        """Working days left for the notice; below 0: late by so many."""
        return working_days.between(timezone.now().astimezone(BRAZIL).date(), self.notice_due)


class NoticeTo(models.TextChoices):
    """Who was told."""

    AUTHORITY = "anpd", _("the authority (ANPD)")
    SUBJECTS = "subjects", _("the people concerned")
    CONTROLLER = "controller", _("the controller")
    OTHER = "other", _("others")


class Notice(models.Model):
    """Somebody was told of an incident; never changed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    incident = models.ForeignKey(SecurityIncident, on_delete=models.PROTECT, related_name="notices")
    to = models.CharField(_("who was told"), max_length=12, choices=NoticeTo.choices)
    at = models.DateTimeField(_("when"))
    text = models.TextField(_("what was said"), max_length=8000)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ("at",)
        triggers = (pgtrigger.Protect(name="notice_is_fixed", operation=pgtrigger.Update | pgtrigger.Delete),)

    def __str__(self) -> str:
        return f"{self.incident} · {self.to}"

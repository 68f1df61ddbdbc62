"""Terms of use in their versions, and who accepted which."""

from __future__ import annotations

import hashlib

import pgtrigger
from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from datasets.models.dataset import Dataset


def digest_of(text: str) -> str:
    """SHA-256 of the text as it is kept."""
    return hashlib.sha256(text.encode()).hexdigest()


class Terms(models.Model):
    """One version of a dataset's terms of use; the one with the highest number is in force. Never changed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="terms")
    number = models.PositiveIntegerField(_("version"))
    text = models.TextField(_("terms of use"), max_length=20_000)
    digest = models.CharField(max_length=64)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-number",)
        constraints = (models.UniqueConstraint(fields=["dataset", "number"], name="one_terms_per_number"),)
        triggers = (pgtrigger.Protect(name="terms_are_fixed", operation=pgtrigger.Update | pgtrigger.Delete),)

    def __str__(self) -> str:
        return f"{self.dataset} · {self.number}"


class Acceptance(models.Model):
    """A person accepted this version; never changed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    terms = models.ForeignKey(Terms, on_delete=models.PROTECT, related_name="acceptances")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["terms", "user"], name="one_acceptance_per_person"),)
        triggers = (pgtrigger.Protect(name="acceptance_is_fixed", operation=pgtrigger.Update | pgtrigger.Delete),)

    def __str__(self) -> str:
        return f"{self.user} · {self.terms}"

"""What is kept of imports: the site's dictionary in versions, and scripts that are not asked for yet."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from jobs.models.job import Job
from projects.models import Project


class DictionaryVersion(models.Model):
    """All of the dictionary as it was from then on; a change is another version, and none is changed or taken out."""

    number = models.PositiveIntegerField(unique=True)
    entries = models.JSONField(default=list)  # each {"kind", "old", "new"}
    note = models.CharField(_("what changed"), max_length=300, blank=True)
    made_at = models.DateTimeField(default=timezone.now)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ("-number",)

    def __str__(self) -> str:
        return str(self.number)


class DraftState(models.TextChoices):
    """Whether it can be asked for as it is."""

    READY = "ready", _("ready")
    QUESTION = "question", _("one question")
    REFUSED = "refused", _("cannot be asked for")


class Draft(models.Model):
    """A script somebody brought: as it was, and what the form has of it. Its owner's alone."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(_("file"), max_length=200)
    text = models.TextField()  # as it came
    undone = models.JSONField(default=list)  # keys of entries of the dictionary that are not to be used
    state = models.CharField(max_length=10, choices=DraftState.choices)
    fields = models.JSONField(default=dict)
    findings = models.JSONField(default=list)  # each a Finding of jobs.services.importing
    made_at = models.DateTimeField(default=timezone.now)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, null=True, related_name="+")  # what became of it

    class Meta:
        indexes = (models.Index(fields=["owner", "-id"], name="draft_owner"),)

    def __str__(self) -> str:
        return self.name

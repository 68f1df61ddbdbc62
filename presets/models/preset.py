"""A preset: a ready-made request of the site or of a project. Each change is another version; none is ever changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pgtrigger
from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from access.permissions import Permission
from presets.rules import MODES, Rules, Shown, shown
from projects.models import Project

code_validator = RegexValidator(r"\A[a-z][a-z0-9-]{1,39}\Z", _("Use 2 to 40 lower-case letters, digits or -."))


class PresetQuerySet(QuerySet["Preset"]):
    """Which presets."""

    def offered_to(self, project: Project) -> PresetQuerySet:
        """The site's and the project's own, without the retired ones."""
        return self.filter(Q(project=None) | Q(project=project), retired_at=None)

    def with_newest(self) -> PresetQuerySet:
        """Each with `title`, `about`, `number` and `rules` of its newest version."""
        newest = PresetVersion.objects.filter(preset=OuterRef("pk")).order_by("-number")
        return self.annotate(
            title=Subquery(newest.values("title")[:1]),
            about=Subquery(newest.values("about")[:1]),
            number=Subquery(newest.values("number")[:1]),
            rules=Subquery(newest.values("rules")[:1]),
        )


class Preset(models.Model):
    """Its name is the code, behind that of its project and a slash where it has one."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, null=True, blank=True, related_name="presets", verbose_name=_("project")
    )
    code = models.CharField(_("code"), max_length=40, validators=[code_validator])
    is_delivered = models.BooleanField(default=False)  # came with the portal
    created_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)

    objects = PresetQuerySet.as_manager()
    # the portal's own rows are everybody's to see; to change them takes a role on the site
    gate_scope, gate_owner, gate_view = "project", "", Permission.PROJECT_VIEW

    class Meta:
        ordering = ("code",)
        constraints = (
            models.UniqueConstraint(fields=["project", "code"], name="one_preset_per_code", nulls_distinct=False),
        )
        triggers = (
            pgtrigger.Protect(
                name="preset_keeps_its_name",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange("code", "project"),
            ),
        )

    def __str__(self) -> str:
        return self.name

    @classmethod
    def gate_ways(cls, person: int, permission: Permission, now: datetime) -> Q:
        """Everybody who signs in sees the site's."""
        return Q(project=None) if permission == Permission.PROJECT_VIEW else Q()

    @property
    def name(self) -> str:
        """As a request names it, without the version."""
        return f"{self.project.code}/{self.code}" if self.project else self.code


class PresetVersion(models.Model):
    """What a preset says of each field, from one number on to the next."""

    preset = models.ForeignKey(Preset, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(_("title"), max_length=80)
    about = models.CharField(_("what it is for"), max_length=300, blank=True)
    rules = models.JSONField(default=dict)  # presets.rules
    made_at = models.DateTimeField(default=timezone.now)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ("-number",)
        constraints = (models.UniqueConstraint(fields=["preset", "number"], name="one_version_per_number"),)
        triggers = (pgtrigger.Protect(name="preset_version_is_fixed", operation=pgtrigger.Update | pgtrigger.Delete),)

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """As a request names it: "single-gpu@3"."""
        return f"{self.preset.name}@{self.number}"

    @property
    def script(self) -> str:
        """The script it brings, if any."""
        return str(self.rules.get("script", {}).get("value", ""))

    def rows(self) -> list[Shown]:
        """What it says of each field but the script, in words, in the order of the form."""
        return shown(self.rules)

    def values(self) -> dict[str, Any]:
        """What a form starts with."""
        return {field: rule["value"] for field, rule in self.rules.items() if rule.get("value") not in (None, "")}

    def fields(self, *modes: str) -> list[str]:
        """The fields of these modes."""
        return [field for field in Rules(self.rules) if self.rules[field]["mode"] in (modes or MODES)]

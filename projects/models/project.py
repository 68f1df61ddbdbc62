"""What is shared: a project (Slurm account, Unix group and folder as one) and the django-guardian grants on it."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from guardian.models import UserObjectPermissionBase

from access.permissions import Permission, model_permissions

code_validator = RegexValidator(r"\A[a-z][a-z0-9_-]{1,30}\Z", _("Use 2 to 31 lower-case letters, digits, _ or -."))
# Both stand in commands that somebody may copy and run, and in paths that Slurm expands.
group_validator = RegexValidator(
    r"\A[A-Za-z_][A-Za-z0-9_.-]{0,31}\Z", _("Use letters, digits, _, . or -; the first is a letter or _.")
)
folder_validator = RegexValidator(
    r"\A(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)+\Z",
    _("Give the whole path from /, in letters, digits, _, -, + and . without accents or spaces."),
)


class ProjectState(models.TextChoices):
    """A project takes work, or only shows what was."""

    ACTIVE = "active", _("active")
    ARCHIVED = "archived", _("archived")


class Classification(models.TextChoices):
    """How sensitive the project's data are; the least first."""

    PUBLIC = "public", _("public")
    INTERNAL = "internal", _("internal")
    CONFIDENTIAL = "confidential", _("confidential")
    PERSONAL = "personal", _("personal")
    SENSITIVE = "sensitive", _("sensitive personal")


class Project(models.Model):
    """One project: a Slurm account, a Unix group and a folder, shown as one thing.

    `change` is raised by whatever Slurm must hear of; the worker compares it with what it applied last.
    """

    code = models.CharField(_("code"), max_length=31, unique=True, validators=[code_validator])
    title = models.CharField(_("title"), max_length=120)
    organization = models.CharField(_("organization"), max_length=120, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=ProjectState.choices, default=ProjectState.ACTIVE)
    slurm_account = models.CharField(_("Slurm account"), max_length=31, unique=True, validators=[code_validator])
    unix_group = models.CharField(_("Unix group"), max_length=32, validators=[group_validator])
    folder = models.CharField(_("folder"), max_length=300, validators=[folder_validator])
    partitions = ArrayField(models.CharField(max_length=60), verbose_name=_("partitions"), default=list)
    classification = models.CharField(
        _("data classification"), max_length=12, choices=Classification.choices, default=Classification.INTERNAL
    )
    starts_on = models.DateField(_("from"), null=True, blank=True)
    ends_on = models.DateField(_("until"), null=True, blank=True)
    is_listed = models.BooleanField(_("can be found by everybody who signs in"), default=False)
    created_at = models.DateTimeField(default=timezone.now)
    archived_at = models.DateTimeField(null=True, blank=True)
    change = models.PositiveBigIntegerField(default=1)

    gate_scope, gate_owner, gate_view = "", "", Permission.PROJECT_VIEW

    class Meta:
        ordering = ("title",)
        permissions = model_permissions()  # type: ignore[assignment]
        constraints = (
            models.CheckConstraint(
                condition=Q(ends_on=None) | Q(starts_on=None) | Q(ends_on__gte=F("starts_on")),
                name="project_ends_after_start",
            ),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def takes_work(self) -> bool:
        """Whether new jobs may be asked for today (UTC)."""
        today = timezone.now().date()
        begun = self.starts_on is None or self.starts_on <= today
        return self.state == ProjectState.ACTIVE and begun and (self.ends_on is None or today <= self.ends_on)


class ProjectGrant(UserObjectPermissionBase):
    """A django-guardian grant on a project; written only by projects.services from a membership."""

    content_object = models.ForeignKey(Project, on_delete=models.CASCADE)

    class Meta(UserObjectPermissionBase.Meta):
        pass

"""An environment of a project's own: built by a job from a list of packages, its lock kept. One row a build."""

from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from access.permissions import Permission
from presets import building
from projects.models import Project

LONGEST = 64 * 1024  # bytes of a file
name_validator = RegexValidator(
    r"\A[a-z][a-z0-9_-]{1,30}\Z", _("Begin with a lower-case letter; then letters, digits, _ and -, 2 to 31 in all.")
)
python_validator = RegexValidator(r"\A3\.[0-9]{1,2}\Z", _("Say it as 3.11."))


class Kind(models.TextChoices):
    """What it is built from."""

    PIP = building.PIP, _("requirements.txt (pip)")
    CONDA = building.CONDA, _("environment.yml (conda)")


class EnvironmentState(models.TextChoices):
    """How a build stands."""

    BUILDING = "building", _("being built")
    READY = "ready", _("ready to use")
    FAILED = "failed", _("not built")
    RETIRED = "retired", _("retired")
    DELETED = "deleted", _("deleted")


class EnvironmentQuerySet(models.QuerySet["Environment"]):
    """Which builds."""

    def building(self) -> EnvironmentQuerySet:
        """Neither ready nor failed."""
        return self.filter(ready_at=None, failed_at=None)

    def there(self) -> EnvironmentQuerySet:
        """Those a job can use, retired ones among them; the newest first."""
        return self.filter(ready_at__isnull=False, deleted_at=None).order_by("-number")


class Environment(models.Model):
    """A request names it as "project/name@2". What was built is never changed: to build anew gives another number."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="environments")
    name = models.CharField(_("name"), max_length=31, validators=[name_validator])
    number = models.PositiveIntegerField()
    kind = models.CharField(_("built from"), max_length=8, choices=Kind)
    text = models.TextField(_("the file's text"), blank=True)
    python = models.CharField(_("version of Python"), max_length=8, blank=True, validators=[python_validator])
    job = models.UUIDField()  # that builds it; rows here know no jobs
    asked_at = models.DateTimeField(default=timezone.now)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    ready_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    why = models.CharField(max_length=40, blank=True)  # the job's state, where it is not built
    lock = models.TextField(blank=True)
    digest = models.CharField(max_length=64, blank=True)
    size = models.BigIntegerField(default=0)  # bytes on disk
    found_python = models.CharField(max_length=40, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = EnvironmentQuerySet.as_manager()
    gate_scope, gate_owner, gate_view = "project", "", Permission.PROJECT_VIEW

    class Meta:
        ordering = ("name", "-number")
        constraints = (models.UniqueConstraint(fields=["project", "name", "number"], name="one_environment_per_build"),)
        indexes = (
            models.Index(fields=["asked_at"], name="environment_building", condition=Q(ready_at=None, failed_at=None)),
        )
        triggers = (
            pgtrigger.Protect(
                name="environment_keeps_its_request",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange("project", "name", "number", "kind", "text", "python", "job", "by"),
            ),
            pgtrigger.Protect(
                name="environment_keeps_its_lock",
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition(
                    'OLD."ready_at" IS NOT NULL AND (OLD."ready_at", OLD."lock", OLD."digest", OLD."size",'
                    ' OLD."found_python") IS DISTINCT FROM (NEW."ready_at", NEW."lock", NEW."digest", NEW."size",'
                    ' NEW."found_python")'
                ),
            ),
            pgtrigger.Protect(name="environment_stays", operation=pgtrigger.Delete),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """As a request names it."""
        return f"{self.project.code}/{self.name}@{self.number}"

    @property
    def about(self) -> str:
        """What stands beside it where one is chosen."""
        return str(_("of the project"))

    @property
    def state(self) -> EnvironmentState:
        """What matters most of it."""
        if self.deleted_at:
            return EnvironmentState.DELETED
        if self.retired_at:
            return EnvironmentState.RETIRED
        if self.ready_at:
            return EnvironmentState.READY
        return EnvironmentState.FAILED if self.failed_at else EnvironmentState.BUILDING

    @property
    def folder(self) -> str:
        """From the project's folder on."""
        return building.folder_of(self.name, self.number)

    @property
    def path(self) -> str:
        """On the nodes."""
        return f"{self.project.folder.rstrip('/')}/{self.folder}"

    @property
    def line(self) -> str:
        """What is put into a script of shell to use it."""
        return building.line(self.title, self.path, self.kind)

    @property
    def python_found(self) -> str:
        """As a page shows it; "" where nothing is known of it."""
        version = self.found_python or self.python
        return f"Python {version}" if version else ""

    @property
    def packages(self) -> list[tuple[str, str]]:
        """Name and version of what is in it."""
        return building.packages(self.lock)

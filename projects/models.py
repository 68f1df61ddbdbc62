"""Who works together: a project, its members, and the django-guardian grants that follow from membership."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from guardian.models import UserObjectPermissionBase

from access.permissions import Permission, model_permissions
from access.roles import Role

code_validator = RegexValidator(r"\A[a-z][a-z0-9_-]{1,30}\Z", _("Use 2 to 31 lower-case letters, digits, _ or -."))


class ProjectState(models.TextChoices):
    """A project takes work, or only shows what was."""

    ACTIVE = "active", _("active")
    ARCHIVED = "archived", _("archived")


class Project(models.Model):
    """One project: a Slurm account, a Unix group and a folder, shown as one thing."""

    code = models.CharField(_("code"), max_length=31, unique=True, validators=[code_validator])
    title = models.CharField(_("title"), max_length=120)
    organization = models.CharField(_("organization"), max_length=120, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=ProjectState.choices, default=ProjectState.ACTIVE)
    slurm_account = models.CharField(_("Slurm account"), max_length=31, unique=True, validators=[code_validator])
    unix_group = models.CharField(_("Unix group"), max_length=32)
    folder = models.CharField(_("folder"), max_length=300)
    partitions = ArrayField(models.CharField(max_length=60), verbose_name=_("partitions"), default=list)
    created_at = models.DateTimeField(default=timezone.now)

    gate_scope, gate_owner, gate_view = "", "", Permission.PROJECT_VIEW

    class Meta:
        ordering = ("title",)
        permissions = model_permissions()  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.title

    @property
    def takes_work(self) -> bool:
        """Whether new jobs may be asked for."""
        return self.state == ProjectState.ACTIVE


class ProjectGrant(UserObjectPermissionBase):
    """A django-guardian grant on a project; written only by projects.services from a membership."""

    content_object = models.ForeignKey(Project, on_delete=models.CASCADE)

    class Meta(UserObjectPermissionBase.Meta):
        pass


class OnEnd(models.TextChoices):
    """What becomes of a person's jobs when the membership ends."""

    FINISH = "finish", _("let running jobs finish")
    HOLD = "hold", _("hold queued jobs")
    CANCEL = "cancel", _("cancel all jobs")


class MembershipQuerySet(models.QuerySet["Membership"]):
    """Reads of memberships."""

    def active(self) -> MembershipQuerySet:
        """In force now."""
        now = timezone.now()
        return self.filter(Q(ends_at=None) | Q(ends_at__gt=now), starts_at__lte=now)


class Membership(models.Model):
    """A person's role in a project over an interval [starts_at, ends_at); a change of role is a new row."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(_("role"), max_length=12, choices=Role.choices)
    starts_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField(null=True, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    why = models.CharField(max_length=300, blank=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    on_end = models.CharField(max_length=10, choices=OnEnd.choices, default=OnEnd.FINISH)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["project", "user"], condition=Q(ends_at=None), name="one_open_membership_per_person"
            ),
            models.CheckConstraint(
                condition=Q(ends_at=None) | Q(ends_at__gte=F("starts_at")), name="membership_ends_after_start"
            ),
        )
        indexes = (models.Index(fields=["user", "project"], name="membership_user"),)

    def __str__(self) -> str:
        return f"{self.user} · {self.project} · {self.role}"

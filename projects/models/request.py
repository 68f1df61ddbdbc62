"""What people ask for and others decide: a project of their own, or to join one."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from access.permissions import Permission
from access.roles import Role
from projects.models.project import Classification, Project, code_validator


class RequestState(models.TextChoices):
    """Where a request stands."""

    OPEN = "open", _("waiting for a decision")
    APPROVED = "approved", _("approved")
    REFUSED = "refused", _("refused")
    WITHDRAWN = "withdrawn", _("withdrawn")


class Request(models.Model):
    """What every request has: who asks and why, who decided and how."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    why = models.TextField(_("justification"), max_length=4000)
    state = models.CharField(max_length=10, choices=RequestState.choices, default=RequestState.OPEN)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    answer = models.TextField(_("answer"), max_length=4000, blank=True)

    class Meta:
        abstract = True

    @property
    def is_open(self) -> bool:
        """Whether a decision is still to be made."""
        return self.state == RequestState.OPEN


class ProjectRequest(Request):
    """Somebody asks for a project and would be its PI."""

    code = models.CharField(_("code"), max_length=31, validators=[code_validator])
    title = models.CharField(_("title"), max_length=120)
    organization = models.CharField(_("organization"), max_length=120, blank=True)
    classification = models.CharField(
        _("data classification"), max_length=12, choices=Classification.choices, default=Classification.INTERNAL
    )
    project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ("-asked_at",)

    def __str__(self) -> str:
        return self.title


class JoinRequest(Request):
    """Somebody asks to become a member."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="join_requests")
    role = models.CharField(_("role"), max_length=12, choices=Role.choices, default=Role.RESEARCHER)

    gate_scope, gate_owner, gate_view = "project", "", Permission.MEMBER_MANAGE

    class Meta:
        ordering = ("-asked_at",)
        constraints = (
            models.UniqueConstraint(
                fields=["project", "asked_by"], condition=Q(state="open"), name="one_open_join_request"
            ),
        )

    def __str__(self) -> str:
        return f"{self.asked_by} · {self.project}"

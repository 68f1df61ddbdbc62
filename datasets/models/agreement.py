"""A sharing agreement: between whom, over what time, for which purposes, and what is owed at its end."""

from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from access.permissions import Permission
from datasets.models.words import Purpose
from projects.models import Project

digest_validator = RegexValidator(r"\A[0-9a-f]{64}\Z", _("Give the SHA-256 digest: 64 digits and letters a to f."))
SHORTENED = """
IF NEW.ends_on < OLD.ends_on AND EXISTS (
    SELECT 1 FROM datasets_grant g JOIN datasets_dataset d ON d.id = g.dataset_id
    WHERE d.agreement_id = NEW.id AND g.revoked_at IS NULL AND g.ends_on > NEW.ends_on
) THEN RAISE EXCEPTION 'a permission to use would outlive its agreement'; END IF;
RETURN NEW;
"""


class Agreement(models.Model):
    """One agreement, which may govern several datasets; the document stays with its parties, its digest here."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="agreements", verbose_name=_("project"))
    title = models.CharField(_("title"), max_length=120)
    parties = models.TextField(_("parties"), max_length=2000)
    document = models.CharField(_("where the signed document is kept"), max_length=300)
    document_digest = models.CharField(
        _("SHA-256 digest of the document"), max_length=64, validators=[digest_validator]
    )  # fmt: skip
    starts_on = models.DateField(_("from"))
    ends_on = models.DateField(_("until"))
    purposes = ArrayField(models.CharField(max_length=12, choices=Purpose.choices), verbose_name=_("allowed purposes"))
    duties = models.TextField(_("duties at the end"), max_length=4000)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    settled_at = models.DateTimeField(null=True, blank=True)  # every duty of its end was done

    gate_scope, gate_owner, gate_view = "project", "", Permission.PROJECT_VIEW

    class Meta:
        ordering = ("-starts_on",)
        constraints = (
            models.CheckConstraint(condition=Q(ends_on__gte=F("starts_on")), name="agreement_ends_after_start"),
            models.CheckConstraint(
                condition=Q(settled_at=None) | Q(ended_at__isnull=False), name="agreement_settled_after_end"
            ),
            models.CheckConstraint(condition=Q(purposes__len__gt=0), name="agreement_names_purposes"),
        )
        triggers = (
            pgtrigger.Trigger(
                name="nothing_outlives_it", operation=pgtrigger.Update, when=pgtrigger.Before, func=SHORTENED
            ),
        )  # fmt: skip

    def __str__(self) -> str:
        return self.title

    @property
    def is_in_force(self) -> bool:
        """Whether it holds today (UTC)."""
        return self.ended_at is None and self.starts_on <= timezone.now().date() <= self.ends_on

    def purposes_said(self) -> list[str]:
        """The allowed purposes in words."""
        return [str(Purpose(one).label) for one in self.purposes]


class DutyKind(models.TextChoices):
    """What is to be done with a copy at the end."""

    RETURN = "return", _("return the data")
    DELETE = "delete", _("delete the data")


class Duty(models.Model):
    """One thing owed at the end of an agreement: by whom, about which dataset; done when somebody says how."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    agreement = models.ForeignKey(Agreement, on_delete=models.CASCADE, related_name="checklist")
    dataset = models.ForeignKey("datasets.Dataset", on_delete=models.PROTECT, related_name="+")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    kind = models.CharField(max_length=8, choices=DutyKind.choices, blank=True)
    how = models.TextField(_("what was done"), max_length=2000, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    done_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(done_at=None) | ~(Q(kind="") | Q(how="") | Q(done_by=None)), name="duty_done_says_how"
            ),
            models.UniqueConstraint(
                fields=["agreement", "dataset", "project", "user"], name="one_duty_each", nulls_distinct=False
            ),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.dataset}: {self.holder}"

    @property
    def holder(self) -> str:
        """Who owes it."""
        return str(self.project or (self.user.name if self.user else ""))

"""A dataset: whose it is, how sensitive, on which ground it is held, and who has a part in it of their own."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from guardian.models import UserObjectPermissionBase

from access import gate
from access.permissions import Permission, codename
from datasets.models.agreement import Agreement
from datasets.models.words import LegalBasis
from projects.models import Classification, Project

# no "_", so that each code has a variable name of its own: DATASET_<CODE>
code_validator = RegexValidator(r"\A[a-z][a-z0-9-]{1,30}\Z", _("Use 2 to 31 lower-case letters, digits or -."))
PERSONAL = (Classification.PERSONAL, Classification.SENSITIVE)


class DatasetState(models.TextChoices):
    """Only an approved one can be used."""

    DRAFT = "draft", _("draft")
    APPROVED = "approved", _("approved")
    RETIRED = "retired", _("retired")


class Transfer(models.TextChoices):
    """Whether the data cross a border (LGPD art. 33)."""

    NO = "no", _("no international transfer")
    YES = "yes", _("international transfer")


class Dataset(models.Model):
    """One body of data of a project; its versions lie on shared storage."""

    code = models.CharField(_("code"), max_length=31, unique=True, validators=[code_validator])
    name = models.CharField(_("name"), max_length=120)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="datasets", verbose_name=_("project"))
    steward = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", verbose_name=_("data steward")
    )
    description = models.TextField(_("description"), max_length=4000, blank=True)
    classification = models.CharField(
        _("data classification"), max_length=12, choices=Classification.choices, default=Classification.INTERNAL
    )
    licence = models.CharField(_("licence"), max_length=200, blank=True)
    retention = models.CharField(_("retention"), max_length=300, blank=True)
    is_listed = models.BooleanField(_("can be found by everybody who signs in"), default=False)
    downloads = models.BooleanField(_("outputs of jobs that use it may be downloaded"), default=True)
    agreement = models.ForeignKey(
        Agreement, on_delete=models.PROTECT, null=True, blank=True, related_name="datasets",
        verbose_name=_("sharing agreement"),
    )  # fmt: skip
    legal_basis = models.CharField(_("legal basis"), max_length=10, choices=LegalBasis.choices, blank=True)
    controller = models.CharField(_("controller"), max_length=200, blank=True)
    processor = models.CharField(_("processor"), max_length=200, blank=True)
    ethics = models.CharField(_("ethics approval"), max_length=200, blank=True)
    ethics_not_applicable = models.CharField(_("why no ethics approval is needed"), max_length=300, blank=True)
    transfer = models.CharField(_("international transfer"), max_length=4, choices=Transfer.choices, blank=True)
    transfer_details = models.CharField(_("to where, with which safeguards"), max_length=300, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=DatasetState.choices, default=DatasetState.DRAFT)
    created_at = models.DateTimeField(default=timezone.now)
    approved_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)

    gate_scope, gate_owner, gate_view = "", "", Permission.DATASET_FIND

    class Meta:
        ordering = ("name",)
        permissions = [
            (codename(p), p.replace("_", " ")) for p in (Permission.DATASET_VIEW, Permission.DATASET_STEWARD)
        ]
        constraints = (
            models.CheckConstraint(
                condition=~Q(state=DatasetState.APPROVED) | ~(Q(description="") | Q(licence="") | Q(retention="")),
                name="approved_dataset_is_described",
            ),
            models.CheckConstraint(
                condition=~Q(state=DatasetState.APPROVED)
                | ~Q(classification__in=PERSONAL)
                | (
                    ~(Q(legal_basis="") | Q(controller="") | Q(processor="") | Q(transfer=""))
                    & (~Q(ethics="") | ~Q(ethics_not_applicable=""))
                    & (Q(transfer=Transfer.NO) | ~Q(transfer_details=""))
                ),
                name="approved_personal_data_are_founded",
            ),
            models.CheckConstraint(
                condition=Q(ethics="") | Q(ethics_not_applicable=""), name="ethics_approval_or_none_needed"
            ),
        )

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """A legal basis of the article that the class calls for; ethics approval, or why there is none."""
        article = "11" if self.classification == Classification.SENSITIVE else "7"
        if self.is_personal and self.legal_basis and not self.legal_basis.startswith(f"{article}-"):
            raise ValidationError({"legal_basis": _("This class of data needs a legal basis of the other article.")})
        if self.ethics and self.ethics_not_applicable:
            raise ValidationError({"ethics_not_applicable": _("Either an approval, or why none is needed.")})

    @classmethod
    def gate_ways(cls, person: int, permission: Permission, now: datetime) -> Q:
        """Members of the owner project, and of one that may use it now, see it. Who ever had a permission still finds
        it, to ask again; a listed one is found by everybody."""
        from datasets.models.grant import Grant

        theirs = gate.scopes(Project, person, codename(Permission.PROJECT_VIEW), now)
        match permission:
            case Permission.DATASET_FIND:
                listed = Q(is_listed=True, state=DatasetState.APPROVED)
                had = Grant.objects.filter(Q(project__in=theirs) | Q(user=person)).values("dataset")
                return gate.allowed(cls, person, Permission.DATASET_VIEW, now) | listed | Q(pk__in=had)
            case Permission.DATASET_VIEW:
                day = Cast(Value(now, output_field=models.DateTimeField()), models.DateField())
                used = Grant.objects.in_force(day).filter(project__in=theirs).values("dataset")
                return Q(project__in=theirs) | Q(pk__in=used)
        return Q()

    @property
    def is_personal(self) -> bool:
        """Whether the LGPD asks for grounds, and outputs of its jobs for a permission of the reader."""
        return self.classification in PERSONAL

    def missing(self) -> list[str]:
        """The fields whose emptiness stands in the way of approval."""
        wanted = ["description", "licence", "retention"]
        if self.is_personal:
            wanted += ["legal_basis", "controller", "processor", "transfer"]
            wanted += ["transfer_details"] if self.transfer == Transfer.YES else []
        empty = [name for name in wanted if not str(getattr(self, name)).strip()]
        if self.is_personal and not (self.ethics.strip() or self.ethics_not_applicable.strip()):
            empty.append("ethics")
        return empty

    @property
    def variable(self) -> str:
        """The job's variable that says where it lies."""
        return f"DATASET_{self.code.upper().replace('-', '_')}"


class PartRole(models.TextChoices):
    """What a person has to do with a dataset by themselves, not by a project."""

    STEWARD = "steward", _("data steward")
    USER = "user", _("with a permission to use")


class Part(models.Model):
    """A person's own part in a dataset over [starts_at, ends_at): steward, or holder of a permission of their own."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    role = models.CharField(max_length=8, choices=PartRole.choices)
    starts_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField(null=True, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    why = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["dataset"], condition=Q(role=PartRole.STEWARD, ends_at=None), name="one_steward_per_dataset"
            ),
            models.CheckConstraint(
                condition=Q(ends_at=None) | Q(ends_at__gte=F("starts_at")), name="part_ends_after_start"
            ),
        )
        indexes = (models.Index(fields=["user", "dataset"], name="part_user"),)

    def __str__(self) -> str:
        return f"{self.user} · {self.dataset} · {self.role}"


class DatasetRight(UserObjectPermissionBase):
    """A django-guardian grant on a dataset; written only by datasets.services from the parts."""

    content_object = models.ForeignKey(Dataset, on_delete=models.CASCADE)

    class Meta(UserObjectPermissionBase.Meta):
        pass

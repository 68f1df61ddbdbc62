"""A software environment that the site has validated: modules to load, or a container image by its digest."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7

name_validator = RegexValidator(r"\A[a-z0-9][a-z0-9.+-]{0,39}\Z", _("Use lower-case letters, digits and . + -"))
version_validator = RegexValidator(r"\A[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}\Z", _("Use letters, digits and . _ + -"))
image_validator = RegexValidator(
    r"\A[a-z0-9][A-Za-z0-9./:_-]{0,200}@sha256:[0-9a-f]{64}\Z", _("Name the image by its digest: name@sha256:…")
)
modules_validator = RegexValidator(
    r"\A[A-Za-z0-9][A-Za-z0-9_.+/-]*(?: [A-Za-z0-9][A-Za-z0-9_.+/-]*)*\Z", _("Names of modules with blanks between.")
)


class Software(models.Model):
    """One environment in one version. Frameworks: a line each, as `PyTorch 2.5.1`."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=40, validators=[name_validator])
    version = models.CharField(_("version"), max_length=40, validators=[version_validator])
    about = models.CharField(_("what it is for"), max_length=300, blank=True)
    modules = models.CharField(_("modules"), max_length=500, blank=True, validators=[modules_validator])
    image = models.CharField(_("container image"), max_length=300, blank=True, validators=[image_validator])
    driver = models.CharField(_("driver, from version"), max_length=40, blank=True)
    cuda = models.CharField(_("CUDA"), max_length=40, blank=True)
    frameworks = models.TextField(_("frameworks"), max_length=1000, blank=True)
    validated_on = models.DateField(_("validated on"))
    retired_at = models.DateTimeField(null=True, blank=True)
    retired_why = models.CharField(_("why"), max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ("name", "-created_at")
        constraints = (
            models.UniqueConstraint(fields=["name", "version"], name="one_software_per_version"),
            models.CheckConstraint(
                condition=models.Q(modules="", image__gt="") | models.Q(modules__gt="", image=""),
                name="software_is_modules_or_image",
            ),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """As a request names it: "pytorch@2.5"."""
        return f"{self.name}@{self.version}"

    def clean(self) -> None:
        """Either modules or an image."""
        if bool(self.modules) == bool(self.image):
            raise ValidationError({"modules": _("Give either modules or a container image.")})

    @property
    def line(self) -> str:
        """What a script says to use it."""
        return f"module load {self.modules}" if self.modules else f"apptainer exec --nv docker://{self.image}"

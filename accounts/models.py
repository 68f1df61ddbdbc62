"""Who is asking: the person as the directory knows them, and their API tokens."""

from __future__ import annotations

import pgtrigger
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from access.roles import SiteRole


class Language(models.TextChoices):
    """The languages of the interface."""

    PT_BR = "pt-br", "Português (Brasil)"
    EN = "en", "English"


class User(AbstractUser):
    """A person, keyed on the directory's own stable id (entryUUID, objectGUID), never on what was typed.

    `username` is the directory's spelling of the login; a person who left frees the name, not the row.
    """

    directory_id = models.UUIDField(_("directory id"), unique=True, null=True, blank=True)
    display_name = models.CharField(_("name"), max_length=200, blank=True)
    uid_number = models.PositiveBigIntegerField(_("uid number"), null=True, blank=True)
    gid_number = models.PositiveBigIntegerField(_("gid number"), null=True, blank=True)
    site_role = models.CharField(_("site role"), max_length=10, choices=SiteRole.choices, blank=True, default="")
    directory_seen_at = models.DateTimeField(_("last seen in the directory"), null=True, blank=True)
    directory_missing_at = models.DateTimeField(null=True, blank=True)  # since when it has none, or a locked one
    language = models.CharField(_("language"), max_length=8, choices=Language.choices, blank=True)
    theme = models.CharField(_("theme"), max_length=5, blank=True, choices=[("light", _("light")), ("dark", _("dark"))])
    single_keys = models.BooleanField(_("single-key shortcuts"), default=True)
    session_epoch = models.PositiveIntegerField(default=0)  # raised by "end all my sessions"

    class Meta(AbstractUser.Meta):
        constraints = (
            models.UniqueConstraint(
                fields=["uid_number"], name="one_active_person_per_uid", condition=Q(is_active=True)
            ),
        )

    @property
    def name(self) -> str:
        """What to call the person on a page."""
        return self.display_name or self.username

    @property
    def initials(self) -> str:
        """Two letters for the little face."""
        words = self.name.split()
        return ((words[0][:1] + words[-1][:1]) if len(words) > 1 else self.name[:2]).upper()


class Standing(models.Model):
    """How a person stood over an interval [starts_at, ends_at): open or closed, with which role on the site."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="standings")
    is_open = models.BooleanField()
    site_role = models.CharField(max_length=10, choices=SiteRole.choices, blank=True)
    starts_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["user"], condition=Q(ends_at=None), name="one_standing_now"),
            models.CheckConstraint(
                condition=Q(ends_at=None) | Q(ends_at__gte=models.F("starts_at")), name="standing_ends_after_start"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} {self.site_role} {'open' if self.is_open else 'closed'}"


class SessionInfo(models.Model):
    """What a person sees of one of their sessions; the session itself is Django's row."""

    session_key = models.CharField(max_length=40, unique=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="session_infos")
    created_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)  # last act of the person, a minute or so late
    address = models.GenericIPAddressField(null=True)
    user_agent = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"{self.user} {self.created_at:%Y-%m-%d %H:%M}"


class TokenScope(models.TextChoices):
    """What a token is good for."""

    READ = "read", _("read")
    SUBMIT = "submit", _("submit and cancel jobs")
    AUDIT = "audit", _("read the audit trail")
    MANAGE = "manage", _("manage projects and their people")


class ApiToken(models.Model):
    """A personal token: only its hash is kept, the prefix names it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(_("name"), max_length=60)
    prefix = models.CharField(_("prefix"), max_length=16, unique=True)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(_("scopes"), default=list)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    expires_at = models.DateTimeField(_("expires"))
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)

    class Meta:
        indexes = (models.Index(fields=["user", "-created_at"], name="token_user"),)
        triggers = (
            pgtrigger.Protect(
                name="revoked_stays",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__revoked_at__isnull=False, new__revoked_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.prefix}…"  # goes into the trail, where what somebody called it does not belong

    @property
    def is_live(self) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and self.expires_at > timezone.now()

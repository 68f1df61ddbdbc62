"""The append-only trail: one row an event, ids and values, never a foreign key; people by reference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from access import gate
from access.ids import uuid7
from access.permissions import Permission
from audit.actions import Action, Channel, Outcome

# A body goes only where a sealed event of the sealer's has named it, and nothing holds it (audit_remove_bodies).
_MAY_GO = """
IF EXISTS (SELECT FROM public.audit_removedbody b JOIN public.audit_auditseal s ON s.seq = b.seq
      WHERE s.event_id = OLD.id) AND NOT public.audit_is_held(OLD) THEN
  RETURN OLD;
END IF;
RAISE EXCEPTION 'the audit trail is append-only';"""


# The sealer tells of what it alone does, and of nothing else.
_STAMP = """
NEW.db_role = current_user; NEW.at = coalesce(NEW.at, now());
IF current_user = 'seal' AND NEW.action NOT IN
  ('trail.bodies_removed', 'person.pseudonymised', 'trail.settings_changed') THEN
  RAISE EXCEPTION 'the sealer seals what others do';
END IF;
RETURN NEW;"""


class EventQuerySet(models.QuerySet["AuditEvent"]):
    """Reads of the trail."""

    def readable_by(self, user: gate.Person, project_ids: list[int]) -> EventQuerySet:
        """All for whoever may read the whole trail, else only these projects' events."""
        if gate.site_can(user, Permission.TRAIL_READ):
            return self
        return self.filter(project_id__in=project_ids)

    def about(self, subject_type: str, subject_id: object) -> EventQuerySet:
        """What happened to one thing."""
        return self.filter(subject_type=subject_type, subject_id=str(subject_id))

    def before(self, event_id: int | None) -> EventQuerySet:
        """The page that follows this id, newest first (keyset, no OFFSET)."""
        return (self.filter(pk__lt=event_id) if event_id else self).order_by("-pk")


class AuditEvent(models.Model):
    """One event. Never updated; its seal stands beside it, and stays where retention removes the body.

    `db_role` is set by a trigger to the database role that wrote the row, whatever the writer says.
    """

    id = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    at = models.DateTimeField(_("when"))
    action = models.CharField(_("action"), max_length=60)  # audit.actions.Action; the catalogue grows by itself
    outcome = models.CharField(_("outcome"), max_length=10, default=Outcome.DONE)
    actor_id = models.BigIntegerField(null=True)
    actor_ref = models.UUIDField(null=True)
    ran_as_ref = models.UUIDField(null=True)
    subject_type = models.CharField(max_length=40, blank=True)
    subject_id = models.CharField(max_length=64, blank=True)
    subject_ref = models.UUIDField(null=True)  # where the subject is a person
    subject_text = models.CharField(_("what"), max_length=200, blank=True)
    project_id = models.BigIntegerField(null=True)
    project_code = models.CharField(_("project"), max_length=40, blank=True)
    channel = models.CharField(_("through"), max_length=10)
    address_ref = models.UUIDField(null=True)
    correlation = models.CharField(_("correlation id"), max_length=64, blank=True)
    db_role = models.CharField(_("database role"), max_length=63, blank=True)
    detail = models.JSONField(_("detail"), default=dict)

    objects = EventQuerySet.as_manager()

    gate_scope, gate_owner, gate_view = "", "", Permission.TRAIL_READ
    names: dict[UUID, str] | None = None  # of audit.identities.name_all

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        indexes = (
            models.Index(fields=["actor_id", "-id"], name="audit_actor"),
            models.Index(fields=["project_id", "-id"], name="audit_project"),
            models.Index(fields=["subject_type", "subject_id", "-id"], name="audit_subject"),
            models.Index(fields=["action", "-id"], name="audit_action"),
            # both at once: otherwise the planner walks back through everything for what hardly ever happens there
            models.Index(fields=["project_id", "action", "-id"], name="audit_project_action"),
            models.Index(fields=["actor_id", "action", "-id"], name="audit_actor_action"),
            models.Index(fields=["-at"], name="audit_at"),
            models.Index(fields=["correlation", "id"], name="audit_correlation", condition=~Q(correlation="")),
            models.Index(fields=["address_ref", "-id"], name="audit_address", condition=Q(address_ref__isnull=False)),
            models.Index(fields=["-id"], name="audit_refused", condition=Q(outcome=Outcome.REFUSED)),
        )
        triggers = (
            pgtrigger.Trigger(
                name="stamp_role",
                operation=pgtrigger.Insert,
                when=pgtrigger.Before,
                func=_STAMP,
            ),
            pgtrigger.Protect(name="append_only", operation=pgtrigger.Update),
            pgtrigger.Trigger(
                name="only_named_as_removed", operation=pgtrigger.Delete, when=pgtrigger.Before, func=_MAY_GO
            ),
            pgtrigger.Trigger(
                name="no_truncate",
                level=pgtrigger.Statement,
                operation=pgtrigger.Truncate,
                when=pgtrigger.Before,
                func="RAISE EXCEPTION 'the audit trail is append-only';",
            ),
        )

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.action} {self.actor_id or ''}"

    def refs(self) -> Iterator[UUID]:
        """Everybody and every address this event refers to."""
        yield from filter(None, (self.actor_ref, self.ran_as_ref, self.subject_ref, self.address_ref))
        yield from _refs_in(self.detail)

    def _name(self, ref: UUID | None) -> str:
        from audit.identities import name_all

        if self.names is None:
            name_all([self])
        return (self.names or {}).get(ref, "") if ref else ""

    @property
    def actor_name(self) -> str:
        """The login of who did it; "" is the portal itself."""
        return self._name(self.actor_ref)

    @property
    def ran_as(self) -> str:
        """The login an outside system saw."""
        return self._name(self.ran_as_ref)

    @property
    def subject_name(self) -> str:
        """What, or whom, it was about."""
        return self._name(self.subject_ref) or self.subject_text

    @property
    def address(self) -> str | None:
        """Where the call came from."""
        return self._name(self.address_ref) or None

    @property
    def said(self) -> dict[str, Any]:
        """The detail, with people by name."""
        from audit.identities import name_all, spoken

        if self.names is None:
            name_all([self])
        return cast(dict[str, Any], spoken(self.detail, self.names or {}))

    @property
    def door(self) -> str:
        """The kind of door it came through, in words."""
        return _words(Channel, self.channel)

    def get_action_display(self) -> str:
        """In words. Django's own way translates the whole catalogue for every row."""
        return _words(Action, self.action)

    def get_outcome_display(self) -> str:
        """In words."""
        return _words(Outcome, self.outcome)


def _refs_in(value: Any) -> Iterator[UUID]:
    match value:
        case {"person": str(found), **rest} if not rest:
            yield UUID(found)
        case dict():
            for item in value.values():
                yield from _refs_in(item)
        case list():
            for item in value:
                yield from _refs_in(item)


def _words(kind: type[models.TextChoices], code: str) -> str:
    """A code's label; one that is not known any more stays as it is."""
    return _in(get_language() or "", kind, code)


@lru_cache(1000)
def _in(_language: str, kind: type[models.TextChoices], code: str) -> str:
    """A page says the same few words two hundred times."""
    known = kind._value2member_map_.get(code)
    return str(known.label) if known else code  # type: ignore[attr-defined]

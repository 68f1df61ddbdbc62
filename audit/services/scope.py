"""Whose eyes: what of the trail a person may read. All of it by a role on the site, or a guest auditor's part."""

from __future__ import annotations

import dataclasses
from typing import Any

from django.db.models import Q

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from audit.models import AuditEvent, EventQuerySet, Export, GuestAuditor
from audit.models.export import ExportQuerySet


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """`whole`: everything, with addresses; else the events that fit `guests`' parts."""

    whole: bool
    guests: tuple[GuestAuditor, ...] = ()

    def events(self) -> EventQuerySet:
        """What there is to read."""
        if self.whole:
            return AuditEvent.objects.all()
        found = Q(pk=None)
        for guest in self.guests:
            found |= guest.events()
        return AuditEvent.objects.filter(found)

    def parts(self) -> list[dict[str, Any]] | None:
        """For an export: None is everything."""
        return None if self.whole else [guest.part() for guest in self.guests]

    def exports(self, user: Any) -> ExportQuerySet:
        """Which exports there are to see: a guest's own, if all they were asked under is still in force."""
        if self.whole:
            return Export.objects.all()
        mine = Export.objects.filter(asked_by_id=user.pk, guests__len__gt=0)
        return mine.filter(guests__contained_by=[guest.pk for guest in self.guests])


def of(user: Any) -> Scope | None:
    """None: nothing of the trail as a whole (a project's own is another matter)."""
    if not user.is_authenticated or not user.is_active:
        return None
    if gate.site_can(user, Permission.TRAIL_READ):
        return Scope(whole=True)
    guests = tuple(GuestAuditor.objects.now().filter(user_id=user.pk))
    return Scope(whole=False, guests=guests) if guests else None


def readable_by(user: Any) -> Scope:
    """`of`, or NotFound: the trail is not there for others."""
    found = of(user)
    if found is None:
        raise NotFound(Permission.TRAIL_READ, "audit.auditevent", {})
    return found


def whole_for(user: Any) -> Scope:
    """For what a guest does not get: verification, retention, who could. Raises NotFound."""
    if not user.is_authenticated or not gate.site_can(user, Permission.TRAIL_READ):
        raise NotFound(Permission.TRAIL_READ, "audit.auditevent", {})
    return Scope(whole=True)

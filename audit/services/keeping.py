"""How long bodies are kept and what is held beyond that: decided by a cluster administrator, every change an event."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from audit import identities, trail
from audit.actions import Action
from audit.catalogue import RetentionClass
from audit.models import LegalHold, RetentionRule
from audit.retention import DEFAULTS, LEAST, NOTICE, is_shorter


class TooShort(Exception):
    """The law, or the house, asks for more days; the argument is how many."""


class NothingChanged(Exception):
    """It is so already."""


class NotHeld(Exception):
    """The hold is lifted, or over."""


@dataclasses.dataclass(frozen=True, slots=True)
class Keeping:
    """What holds for one class now, and what is to hold after it."""

    kind: RetentionClass
    days: int | None
    since: datetime | None = None
    next_days: int | None = None
    next_at: datetime | None = None


def keeping(now: datetime | None = None) -> list[Keeping]:
    """One a class, in the order of the classes."""
    now, rows = now or timezone.now(), list(RetentionRule.objects.order_by("starts_at", "id"))
    return [_of(kind, [row for row in rows if row.kind == kind], now) for kind in RetentionClass]


def _of(kind: RetentionClass, rows: list[RetentionRule], now: datetime) -> Keeping:
    current = [row for row in rows if row.starts_at <= now]
    later = [row for row in rows if row.starts_at > now]
    days, since = (current[-1].days, current[-1].starts_at) if current else (DEFAULTS[kind], None)
    coming = (later[0].days, later[0].starts_at) if later else (None, None)
    return Keeping(kind, days, since, *coming)


@transaction.atomic
def change_retention(*, kind: RetentionClass, days: int | None, by: Any, why: str) -> RetentionRule:
    """Keep bodies of a class for so many days (None: for ever); less than now counts NOTICE later.

    Raises TooShort, NothingChanged.
    """
    if days is not None and days < LEAST[kind]:
        raise TooShort(LEAST[kind])
    now = next(one for one in keeping() if one.kind == kind)
    if days == now.days and now.next_at is None:
        raise NothingChanged(kind)
    starts = timezone.now() + (NOTICE if is_shorter(days, now.days) else NOTICE * 0)
    row = RetentionRule.objects.create(
        kind=kind, days=days, starts_at=starts, by_id=getattr(by, "pk", None), why=why[:300]
    )
    told = {"kind": kind, "before": _said(now.days), "after": _said(days), "starts": starts, "why": why}
    trail.record(Action.RETENTION_CHANGED, by=by, about=row, **told)
    return row


def _said(days: int | None) -> int | str:
    return "for ever" if days is None else days


@transaction.atomic
def place_hold(
    *, reason: str, by: Any, person: Any = None, project: Any = None, dataset: str = "", dataset_id: int | None = None,
    since: datetime | None = None, until: datetime | None = None, ends_at: datetime | None = None,
) -> LegalHold:  # fmt: skip
    """From now on nothing that fits all of what is given loses its body. Raises ValidationError."""
    hold = LegalHold(
        reason=reason, since=since, until=until, ends_at=ends_at, dataset=dataset, dataset_id=dataset_id,
        placed_by_id=getattr(by, "pk", None), **_whose(person), **_where(project),
    )  # fmt: skip
    hold.full_clean()
    hold.save()
    trail.record(
        Action.HOLD_PLACED, by=by, about=hold, project=project, reason=reason, dataset=dataset or None, since=since,
        until=until, ends=ends_at, person=trail.Login(person.get_username()) if person is not None else None,
    )  # fmt: skip
    return hold


def _whose(person: Any) -> dict[str, Any]:
    if person is None:
        return {}
    return {
        "person_id": person.pk,
        "person_ref": identities.ref(identities.LOGIN, person.get_username(), person.pk),
    }


def _where(project: Any) -> dict[str, Any]:
    return {} if project is None else {"project_id": project.pk, "project_code": project.code}


@transaction.atomic
def lift_hold(*, hold: LegalHold, by: Any, why: str) -> LegalHold:
    """It covers nothing any more, NOTICE from now. Raises NotHeld."""
    row = LegalHold.objects.select_for_update().get(pk=hold.pk)
    if row.lifted_at is not None:
        raise NotHeld(row.pk)
    row.lifted_at, row.lifted_by_id, row.lifted_why = timezone.now(), getattr(by, "pk", None), why[:300]
    row.save(update_fields=["lifted_at", "lifted_by_id", "lifted_why"])
    trail.record(Action.HOLD_LIFTED, by=by, about=row, reason=row.reason, why=why)
    return row


def holds_on(person_id: int) -> int:
    """How many holds in force name this person: a reason not to take their name away."""
    return in_force().filter(person_id=person_id).count()


def in_force() -> Any:
    """Holds that cover something now."""
    now = timezone.now()
    lasting = Q(ends_at=None) | Q(ends_at__gt=now)
    return LegalHold.objects.filter(lasting & (Q(lifted_at=None) | Q(lifted_at__gt=now - NOTICE)))

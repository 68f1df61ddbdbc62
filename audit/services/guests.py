"""Guest auditors: somebody from outside reads the evidence of some projects in a period, until a day; nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from audit import identities, trail
from audit.actions import Action
from audit.models import GuestAuditor

LONGEST = timedelta(days=366)


class NotInTime(Exception):
    """A guest's time ends in the future, and within a year."""


class NothingToRead(Exception):
    """A guest reads the events of at least one project."""


class Ended(Exception):
    """The guest's time is over already."""


@transaction.atomic
def admit(
    *, user: Any, projects: Sequence[Any], ends_at: datetime, by: Any, why: str, datasets: Sequence[Any] = (),
    since: datetime | None = None, until: datetime | None = None,
) -> GuestAuditor:  # fmt: skip
    """Let a person read the events of these projects, from `since` to `until`, until `ends_at`; with `datasets`, only
    those about them. Raises NotInTime, NothingToRead."""
    now = timezone.now()
    if not now < ends_at <= now + LONGEST:
        raise NotInTime(ends_at)
    if not projects:
        raise NothingToRead
    row = GuestAuditor.objects.create(
        user_id=user.pk, user_ref=identities.ref(identities.LOGIN, user.get_username(), user.pk),
        project_ids=[one.pk for one in projects], project_codes=[one.code for one in projects],
        dataset_ids=[one.pk for one in datasets], datasets=[one.code for one in datasets], since=since, until=until,
        starts_at=now, ends_at=ends_at, why=why[:300], by_id=getattr(by, "pk", None),
        by_ref=identities.ref(identities.LOGIN, by.get_username(), by.pk) if by is not None else None,
    )  # fmt: skip
    trail.record(
        Action.GUEST_ADMITTED, by=by, about=user, projects=row.project_codes, datasets=row.datasets or None,
        since=since, until=until, ends=ends_at, why=why,
    )  # fmt: skip
    return row


@transaction.atomic
def end(*, guest: GuestAuditor, user: Any, by: Any, why: str = "") -> GuestAuditor:
    """The guest reads nothing any more. Raises Ended."""
    row = GuestAuditor.objects.select_for_update().get(pk=guest.pk)
    if not row.is_in_force():
        raise Ended(row.pk)
    row.ended_at, row.ended_by_id = timezone.now(), getattr(by, "pk", None)
    row.save(update_fields=["ended_at", "ended_by_id"])
    trail.record(Action.GUEST_ENDED, by=by, about=user, why=why)
    return row

"""What the trail does not see: said before every export, and measured where it can be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from audit import trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent

AWAY = timedelta(minutes=5)  # a look is due every 30 s at least
MOST = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Gap:
    """A time in which nobody followed Slurm; `until` None: nobody does now."""

    since: datetime
    until: datetime | None = None

    @property
    def minutes(self) -> int:
        """Its length, so far."""
        return round(((self.until or timezone.now()) - self.since).total_seconds() / 60)


# when each cluster was followed last: told by the room that knows them (AppConfig.ready)
Followed = Callable[[], Iterable[datetime]]
_followed: list[Followed] = []


def register(followed: Followed) -> None:
    """Called once."""
    _followed.append(followed)


def back_again(seen_at: datetime | None, *, about: Any, now: datetime | None = None) -> None:
    """Said by the follower before each look: where the last one is long ago, that is an event."""
    at = now or timezone.now()
    if seen_at is not None and at - seen_at > AWAY:
        trail.record(Action.FOLLOWER_AWAY, about=about, outcome=Outcome.FAILED, since=seen_at, until=at)


def gaps(since: datetime | None = None, until: datetime | None = None) -> Sequence[Gap]:
    """The latest ones that touch this time, newest first; before them one that lasts still."""
    rows = AuditEvent.objects.filter(action=Action.FOLLOWER_AWAY)
    if since:
        rows = rows.filter(at__gte=since)
    found = [*_open(), *(_gap(row.detail) for row in rows.order_by("-pk")[:MOST])]
    return [gap for gap in found if gap and (until is None or gap.since < until)]


def _open() -> list[Gap]:
    """Of clusters that nobody follows now: no event tells of it before somebody is back."""
    late = timezone.now() - AWAY
    return [Gap(seen) for followed in _followed for seen in followed() if seen < late]


def _gap(detail: dict[str, Any]) -> Gap | None:
    since, until = (parse_datetime(str(detail.get(name, ""))) for name in ("since", "until"))
    return Gap(since, until) if since and until else None

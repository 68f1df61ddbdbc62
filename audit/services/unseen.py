"""What the trail does not see: said before every export, and measured where it can be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.fields.json import KT
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from access.compiled import FixedValues
from audit import trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent, AuditSeal

# as evidence says it, the same in every language and at every time
WORDS = (
    "reads of files over ssh",
    "what an administrator does as root on a node",
    "data that a job read without declaring it",
    "what happened in Slurm while nobody followed it: events follower.away say from when to when",
)
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

    def plain(self) -> dict[str, str | None]:
        """For JSON; where nobody is back yet, it ends with null."""
        return {"since": self.since.isoformat(), "until": self.until.isoformat() if self.until else None}


# one row, (when it was followed last as text, NULL), a cluster nobody looked at since then: told by the room that
# knows them (AppConfig.ready)
Left = Callable[[datetime], "QuerySet[Any, tuple[str, None]]"]
_left: list[Left] = []


def register(left: Left) -> None:
    """Called once."""
    _left.append(left)


def back_again(seen_at: datetime | None, *, about: Any, now: datetime | None = None) -> None:
    """Said by the follower before each look: where the last one is long ago, that is an event."""
    at = now or timezone.now()
    if seen_at is not None and at - seen_at > AWAY:
        trail.record(Action.FOLLOWER_AWAY, about=about, outcome=Outcome.FAILED, since=seen_at, until=at)


def gaps(until: datetime | None = None) -> Sequence[Gap]:
    """The latest ones before a moment, newest first; before them one that lasts still."""
    found = [_gap(*row) for row in (_KNOWN.all(late=timezone.now() - AWAY) if _left else _told())]
    known = sorted((gap for gap in found if gap), key=lambda gap: (gap.until is None, gap.since), reverse=True)
    return [gap for gap in known if until is None or gap.since < until]


def sealed(since: datetime | None, last: int) -> list[Gap]:
    """Those that the trail tells of up to a record, newest first: the same whenever it is asked."""
    seal = AuditSeal.objects.filter(event_id=OuterRef("pk"), seq__lte=last)
    return [gap for gap in (_gap(*row) for row in _told(since, Exists(seal))) if gap]


def _told(since: datetime | None = None, *more: Exists) -> QuerySet[Any, tuple[Any, ...]]:
    """(from when, to when) as text, of the latest events."""
    rows = AuditEvent.objects.filter(*more, action=Action.FOLLOWER_AWAY)
    if since:
        rows = rows.filter(at__gte=since)
    return rows.order_by("-pk")[:MOST].values_list(KT("detail__since"), KT("detail__until"))


def _known(late: datetime) -> QuerySet[Any, tuple[Any, ...]]:
    """Those that events tell of, and those that last still: no event tells of one before somebody is back."""
    return _told().union(*(left(late) for left in _left), all=True)


_KNOWN = FixedValues(_known)  # every look at the trail asks it


def _gap(since: str | None, until: str | None) -> Gap | None:
    began, ended = (parse_datetime(text) if text else None for text in (since, until))
    return Gap(began, ended) if began and (ended or not until) else None

"""Searching ten million events: each filter is one an index knows, times become numbers, pages go on by keyset.

What is asked for becomes a shape (which fields, how many ways) and values. Each shape's statement over the whole trail
is written once (access.compiled): for Django that takes longer than the look into an index does for PostgreSQL.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db.models import BigIntegerField, Max, Min, Q, Subquery, Value
from django.db.models.functions import Coalesce

from access.compiled import Fixed
from access.numbers import whole
from audit import identities, things
from audit.models import AuditEvent, EventQuerySet

# numbers are given when a row is written, times a little before: how far the two orders may differ
APART = timedelta(minutes=10)
MOST_WAYS = 20  # looked up one by one in their index, the newest of each; more are looked up at once
Way = dict[str, Any]  # field -> value: all of them fit


@dataclasses.dataclass(frozen=True, slots=True)
class Search:
    """What the trail is narrowed by; empty is not asked."""

    who: str = ""  # did it, or had it done to them
    project: str = ""
    dataset: str = ""
    job: str = ""  # its id, or its number in Slurm
    address: str = ""
    action: str = ""
    outcome: str = ""
    correlation: str = ""
    since: datetime | None = None
    until: datetime | None = None  # not included

    def found(self, rows: EventQuerySet, *, before: int | None, most: int) -> list[AuditEvent]:
        """The newest `most` of the rows that fit and come before a number, with the names of all they speak of."""
        asked = list(self._asked())
        if any(not ways for ways in asked):
            return []
        plain = {"action": self.action, "outcome": self.outcome, "correlation": self.correlation, "pk__lt": before}
        facts = {name: value for name, value in plain.items() if value}
        shape, values = _shape(facts, asked, self._times(), most)
        if rows.query.has_filters() or sum(map(len, asked)) > MOST_WAYS:
            return identities.name_all(_newest(rows, shape, values))
        return identities.name_all(_statement(shape).all(**values))

    def _asked(self) -> Iterator[list[Way]]:
        """What must be looked up first, each as the ways in which a row may fit it."""
        if self.who:
            numbers = identities.numbers_of(self.who)
            done_to = [{"subject_type": "user", "subject_id": str(number)} for number in numbers]
            yield [*({"actor_id": number} for number in numbers), *done_to]
        if self.project:
            yield [{"project_id": key} for key in things.keys("project", self.project)]
        if self.dataset:
            keys = things.keys("dataset", self.dataset)
            yield [{"subject_type": "dataset", "subject_id": str(key)} for key in keys]
        if self.job:
            keys = [self.job] if whole(self.job, digits=len(self.job)) is None else things.keys("job", self.job)
            yield [{"subject_type": "job", "subject_id": str(key)} for key in keys]
        if self.address:
            yield [{"address_ref": ref} for ref in identities.refs_of(self.address)]

    def _times(self) -> dict[str, datetime]:
        """Each moment asked for, and what lies a little before and after it."""
        asked = {"since": self.since, "until": self.until}
        return {
            f"{name}{part}": at + apart
            for name, at in asked.items() if at
            for part, apart in (("", timedelta()), ("_early", -APART), ("_late", APART))
        }  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class _Shape:
    """Which fields are asked, and the names of their values, but for the times', which are always the same."""

    facts: tuple[tuple[str, str], ...]
    asked: tuple[tuple[tuple[tuple[str, str], ...], ...], ...]
    times: tuple[str, ...]
    most: int


def _shape(
    facts: dict[str, Any], asked: list[list[Way]], times: dict[str, datetime], most: int
) -> tuple[_Shape, dict[str, Any]]:
    """What is asked for without its values, and these by name."""
    values: dict[str, Any] = dict(times)

    def named(way: Way) -> tuple[tuple[str, str], ...]:
        fields = []
        for field, value in way.items():
            fields.append((field, f"v{len(values)}"))
            values[fields[-1][1]] = value
        return tuple(fields)

    ways = tuple(tuple(named(way) for way in one) for one in asked)
    return _Shape(named(facts), ways, tuple(times), most), values


@lru_cache(500)
def _statement(shape: _Shape) -> Fixed[AuditEvent]:
    """Over the whole trail; planned for the values of each time: some people have most events, others none."""
    return Fixed(lambda **values: _newest(AuditEvent.objects.all(), shape, values), kept=False)


def _newest(rows: EventQuerySet, shape: _Shape, values: dict[str, Any]) -> EventQuerySet:
    """The newest of each way are taken from its index and merged; all of a way would have to be sorted."""
    rows = rows.filter(_way(shape.facts, values), *(_between(name, values) for name in shape.times if name in _ENDS))
    split = next((ways for ways in shape.asked if 1 < len(ways) <= MOST_WAYS), None)
    for ways in shape.asked:
        if ways is not split:
            rows = rows.filter(_any([_way(way, values) for way in ways]))
    if split is None:
        return rows.order_by("-pk")[: shape.most]
    first, *others = (rows.filter(_way(way, values)).order_by("-pk")[: shape.most] for way in split)
    return first.union(*others).order_by("-pk")[: shape.most]


def _way(fields: tuple[tuple[str, str], ...], values: dict[str, Any]) -> Q:
    return Q(**{field: values[name] for field, name in fields})


def _any(ways: list[Q]) -> Q:
    found = Q()
    for way in ways:
        found |= way
    return found


_ENDS = ("since", "until")


def _between(name: str, values: dict[str, Any]) -> Q:
    """One end of a time, and the number it lies at: the list goes by number and need not look at what is outside."""
    at, early, late = (values[f"{name}{part}"] for part in ("", "_early", "_late"))
    near = AuditEvent.objects.filter(at__gte=early, at__lt=late)
    if name == "since":
        return Q(
            at__gte=at, pk__gte=_bound(near, Min("pk"), AuditEvent.objects.filter(at__gte=at).order_by("at"), 2**62)
        )
    return Q(at__lt=at, pk__lte=_bound(near, Max("pk"), AuditEvent.objects.filter(at__lt=at).order_by("-at"), 0))


def _bound(near: EventQuerySet, end: Min | Max, beyond: EventQuerySet, none: int) -> Coalesce:
    """The number of the first or last of those written near a moment, else of the next one by time."""
    found = near.order_by().values(one=Value(1)).annotate(n=end).values("n")
    return Coalesce(Subquery(found), Subquery(beyond.values("pk")[:1]), Value(none, BigIntegerField()))

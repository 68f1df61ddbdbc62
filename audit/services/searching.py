"""Searching ten million events: each filter is one an index knows, times become numbers, pages go on by keyset."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, Max, Min, Q, Subquery, Value
from django.db.models.functions import Coalesce

from access.numbers import whole
from audit import identities, things
from audit.models import AuditEvent, EventQuerySet, Identity

# numbers are given when a row is written, times a little before: how far the two orders may differ
APART = timedelta(minutes=10)
MOST_WAYS = 20  # looked up one by one in their index, the newest of each; more are looked up at once


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
        plain = {"action": self.action, "outcome": self.outcome, "correlation": self.correlation}
        rows = rows.filter(**{name: value for name, value in plain.items() if value})
        if self.since or self.until:
            rows = rows.filter(self._between())
        if before:
            rows = rows.filter(pk__lt=before)
        return identities.name_all(_newest(rows, list(self._asked()), most))

    def _asked(self) -> Iterator[list[Q]]:
        """What must be looked up first, each as the ways in which a row may fit it."""
        if self.who:
            numbers = identities.numbers_of(self.who)
            done_to = [Q(subject_type="user", subject_id=str(number)) for number in numbers]
            yield [*(Q(actor_id=number) for number in numbers), *done_to]
        if self.project:
            yield [Q(project_id=key) for key in things.keys("project", self.project)]
        if self.dataset:
            yield [Q(subject_type="dataset", subject_id=str(key)) for key in things.keys("dataset", self.dataset)]
        if self.job:
            keys = [self.job] if whole(self.job, digits=len(self.job)) is None else things.keys("job", self.job)
            yield [Q(subject_type="job", subject_id=str(key)) for key in keys]
        if self.address:
            refs = Identity.objects.filter(kind=identities.ADDRESS, value=self.address)
            yield [Q(address_ref=ref) for ref in refs.values_list("ref", flat=True).distinct()[:1000]]

    def _between(self) -> Q:
        """Times, and the numbers they lie between: the list goes by number and need not look at what is outside."""
        found: dict[str, Any] = {}
        if self.since:
            found |= {"at__gte": self.since, "pk__gte": _bound(self.since, "pk", {"at__gte": self.since}, "at", 2**62)}
        if self.until:
            found |= {"at__lt": self.until, "pk__lte": _bound(self.until, "-pk", {"at__lt": self.until}, "-at", 0)}
        return Q(**found)


def _bound(at: datetime, order: str, beyond: dict[str, Any], by: str, none: int) -> Coalesce:
    """The lowest number that may lie at or after a moment (ordered by "pk"), or the highest before it ("-pk"): among
    those written near it, else the next one by time."""
    rows = AuditEvent.objects
    near = rows.filter(at__gte=at - APART, at__lt=at + APART).order_by().values(one=Value(1))
    end = near.annotate(n=Min("pk") if order == "pk" else Max("pk")).values("n")
    return Coalesce(
        Subquery(end), Subquery(rows.filter(**beyond).order_by(by).values("pk")[:1]), Value(none, BigIntegerField())
    )


def _newest(rows: EventQuerySet, asked: list[list[Q]], most: int) -> list[AuditEvent]:
    """The newest of each way are taken from its index and merged; all of a way would have to be sorted."""
    if any(not ways for ways in asked):
        return []
    split = next((ways for ways in asked if 1 < len(ways) <= MOST_WAYS), None)
    for ways in asked:
        if ways is not split:
            rows = rows.filter(_any(ways))
    if split is None:
        return list(rows.order_by("-pk")[:most])
    first, *others = (rows.filter(way).order_by("-pk")[:most] for way in split)
    return list(first.union(*others).order_by("-pk")[:most])


def _any(ways: list[Q]) -> Q:
    found = Q()
    for way in ways:
        found |= way
    return found

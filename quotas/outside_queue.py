"""What a report of use says of GPUs used outside the queue: the whole site's total; who, to cluster administrators."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.utils.translation import gettext as _

from access import gate
from access.permissions import Permission
from accounts.models import User
from cluster.services import outside


@dataclasses.dataclass(frozen=True, slots=True)
class Person:
    """What one user used so: the login where it is of somebody we know."""

    uid: int | None
    login: str
    hours: float
    nodes: tuple[str, ...]

    @property
    def said(self) -> str:
        """What to call them; "?" where the node could not say whose it was."""
        return self.login or ("?" if self.uid is None else str(self.uid))


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """GPU-hours of the whole site in the report's time; `people` is None for who may not know them."""

    hours: float
    people: tuple[Person, ...] | None


def part(reader: User, first: date | None, last: date | None) -> Part | None:
    """Of these days (UTC), both counted; None where nobody measures it."""
    if not outside.is_measured():
        return None
    until = datetime.combine(last + timedelta(days=1), time.min, UTC) if last else None
    found = outside.totals(datetime.combine(first or date(2000, 1, 1), time.min, UTC), until)
    if not gate.site_can(reader, Permission.CLUSTER_OPERATE):
        return Part(found.hours, None)
    uids = [one.uid for one in found.people if one.uid is not None]
    known = dict(User.objects.filter(uid_number__in=uids).values_list("uid_number", "username")) if uids else {}
    rows = (Person(one.uid, known.get(one.uid, ""), one.hours, one.nodes) for one in found.people)
    return Part(found.hours, tuple(rows))


def head(found: Part | None) -> list[str]:
    """Of its table."""
    plain = [_("GPU-hours outside the queue")]
    return [_("user number"), _("login"), _("nodes"), *plain] if found and found.people is not None else plain


def cells(found: Part | None) -> Iterator[list[Any]]:
    """Its table: a row a person, else the total alone; no row where nobody measures."""
    if found is None:
        return
    if found.people is None:
        yield [round(found.hours, 2)]
        return
    for one in found.people:
        yield [one.uid, one.login, " ".join(one.nodes), round(one.hours, 2)]

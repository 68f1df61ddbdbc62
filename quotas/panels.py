"""Allocations as pages draw them: used, committed and free by type, at which pace, by whom, and one's own share.

All of it in one query however many they are: what each was used for comes along as plain values.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, JSONObject, NullIf
from django.utils import timezone

from access import gate
from access.compiled import Fixed
from access.permissions import Permission, codename
from access.roles import grants_of
from projects.models import Membership, Project
from quotas.models import Allocation, Hold, Share, Usage
from quotas.reads import AllocationLine
from quotas.reports import RECENT, Pace, paced
from quotas.services import Balance
from quotas.services.holding import STILL_HELD

_FOREVER = date(9999, 12, 31)


@dataclasses.dataclass(frozen=True, slots=True)
class TypeLine:
    """One GPU type of an allocation: GPU-minutes, how many at once (None: as many as there are), at which pace."""

    name: str
    balance: Balance
    at_once: int | None
    pace: Pace


@dataclasses.dataclass(frozen=True, slots=True)
class Person:
    """What somebody used of an allocation, and has committed: GPU-minutes. `name` "" where only the login is known."""

    login: str
    name: str
    used: int
    committed: int = 0

    @property
    def said(self) -> str:
        """What to call them."""
        return self.name or self.login

    @property
    def whole(self) -> int:
        """Used and committed together."""
        return self.used + self.committed


@dataclasses.dataclass(frozen=True, slots=True)
class Mine:
    """What the person who looks has of an allocation: their share (None: no limit) and what they used of it."""

    balance: Balance
    limits: dict[str, Any]
    jobs: int

    @property
    def is_limited(self) -> bool:
        """Whether there is a share at all."""
        return bool(self.limits)


@dataclasses.dataclass(frozen=True, slots=True)
class Panel(AllocationLine):
    """One allocation with everything a page says of it. `days`: (day, GPU-seconds) of its period, in order."""

    types: Sequence[TypeLine]
    people: Sequence[Person]
    pace: Pace
    mine: Mine
    may_ask: bool
    days: Sequence[tuple[date, int]] = ()

    @property
    def level(self) -> int:
        """How much is used and committed, in percent of the tightest limit in GPU-hours; 0 where there is none."""
        balances = [self.balance, *(one.balance for one in self.types)]
        return max((100 * (one.used + one.committed) // one.limit for one in balances if one.limit), default=0)

    @property
    def is_tight(self) -> bool:
        """Whether those who can act were told that it runs out."""
        return self.allocation.is_open and self.allocation.warned_level > 0


def of_person(user: gate.Person) -> list[Panel]:
    """The current allocations of the person's projects."""
    now = timezone.now()
    rows = _OF_PERSON.all(user=user.pk, now=now, today=now.date(), lately=_lately(now))
    return _drawn(rows, user)


def of_project(project: Project, user: gate.Person, **more: Any) -> list[Panel]:
    """All allocations of a project, those in force first, with their days; `more` are annotations."""
    now = timezone.now()
    rows = _of_project(frozenset(more.items())).all(project=project.pk, user=user.pk, now=now, lately=_lately(now))
    return sorted(_drawn(rows, user), key=lambda one: not one.allocation.is_open)


def panels(rows: QuerySet[Allocation], user: gate.Person = None, *, with_days: bool = False) -> list[Panel]:
    """These allocations, as this person sees them (None: as nobody in particular)."""
    now = timezone.now()
    return _drawn(_read(rows, user.pk if user else None, now, _lately(now), with_days=with_days), user)


def _drawn(rows: Iterable[Any], user: gate.Person) -> list[Panel]:
    site = bool(user) and gate.site_can(user, Permission.ALLOCATION_REQUEST)
    return [_panel(row, getattr(user, "username", ""), site=site) for row in rows]


def _lately(now: datetime) -> date:
    return now.date() - timedelta(days=RECENT)


def _read(
    rows: QuerySet[Allocation], user: int | None, now: datetime, lately: date, *, with_days: bool = False
) -> QuerySet[Allocation]:
    days = {"days": _days()} if with_days else {}
    known = _own(user, now) if user else {}
    return rows.select_related("project", "funding").annotate(uses=_uses(lately), held=_held(), **known, **days)


def _of_person(user: int, now: datetime, today: date, lately: date) -> QuerySet[Allocation]:
    mine = Membership.objects.active(now).filter(user=user).values("project")
    return _read(Allocation.objects.in_force(today).filter(project__in=mine), user, now, lately)


_OF_PERSON = Fixed(_of_person, kept=False)  # every home asks; grouped by expressions, which the server compares as text


@cache
def _of_project(more: frozenset[tuple[str, Any]]) -> Fixed[Allocation]:
    def build(project: int, user: int, now: datetime, lately: date) -> QuerySet[Allocation]:
        rows: Any = Allocation.objects.filter(project=project).annotate(**dict(more))
        return _read(rows, user, now, lately, with_days=True)

    return Fixed(build, kept=False)


def _of_period() -> QuerySet[Usage]:
    ends = Coalesce(OuterRef("ends_on"), Value(_FOREVER))
    return Usage.objects.filter(allocation=OuterRef("pk"), day__gte=OuterRef("starts_on"), day__lte=ends).order_by()


def _name(path: str) -> Coalesce:
    return Coalesce(NullIf(f"{path}display_name", Value("")), Value(""))


def _uses(since: date) -> ArraySubquery:
    """Seconds by person and type: all of the period, and of the last four weeks."""
    lately = Q(day__gte=since)
    rows = _of_period().annotate(name=_name("user__")).values("login", "name", "gpu_type")
    summed = rows.annotate(all=Sum("gpu_seconds"), lately=Coalesce(Sum("gpu_seconds", filter=lately), 0))
    facts = JSONObject(login="login", name="name", type="gpu_type", all="all", lately="lately")
    return ArraySubquery(summed.values(facts=facts))


def _held() -> ArraySubquery:
    """What jobs under way may still use, by person and type."""
    rows = Hold.objects.filter(allocation=OuterRef("pk"), released_at=None).order_by()
    grouped = rows.annotate(name=_name("user__")).values("user__username", "name", "gpu_type")
    summed = grouped.annotate(minutes=Sum(STILL_HELD), jobs=Count("pk"))
    facts = JSONObject(login="user__username", name="name", type="gpu_type", minutes="minutes", jobs="jobs")
    return ArraySubquery(summed.values(facts=facts))


def _days() -> ArraySubquery:
    rows = _of_period().values("day").annotate(sum=Sum("gpu_seconds")).order_by("day")
    return ArraySubquery(rows.values(facts=JSONObject(day="day", seconds="sum")))


def _own(user: int, now: datetime) -> dict[str, Any]:
    """The person's role in the project and their share."""
    role = Membership.objects.active(now).filter(project=OuterRef("project"), user=user).values("role")[:1]
    share = Share.objects.filter(allocation=OuterRef("pk"), user=user)
    limits = JSONObject(**{name: name for name in (*Share.LIMITS, *Share.BY_TYPE)})
    return {"own_role": Subquery(role), "own_share": Subquery(share.values(facts=limits)[:1])}


def _panel(row: Any, login: str, *, site: bool) -> Panel:
    balance = Balance(row.gpu_minutes, row.used_gpu_minutes, sum(one["minutes"] for one in row.held))
    lately = sum(one["lately"] for one in row.uses)
    return Panel(
        row, balance, _types(row), _people(row), paced(row, lately, free=balance.free), _mine(row, login),
        site or codename(Permission.ALLOCATION_REQUEST) in grants_of(getattr(row, "own_role", "") or ""),
        [(date.fromisoformat(one["day"]), one["seconds"]) for one in getattr(row, "days", ())],
    )  # fmt: skip


def _types(row: Any) -> list[TypeLine]:
    """Those that have a limit of their own; where one has, the others that were used too."""
    used, held = _minutes(row, "type")
    limited = {*row.gpu_minutes_by_type, *row.gpus_by_type}
    shown = sorted(limited | {name for name in used if name}) if limited else []
    lately = _summed(row.uses, "type", "lately", 1)
    limits = row.gpu_minutes_by_type
    return [_type(row, name, Balance(limits.get(name), used[name], held[name]), lately[name]) for name in shown]


def _type(row: Allocation, name: str, balance: Balance, lately: int) -> TypeLine:
    return TypeLine(name, balance, row.gpus_by_type.get(name), paced(row, lately, free=balance.free))


def _people(row: Any) -> list[Person]:
    """Who used or has committed something of it, most first."""
    used, held = _minutes(row, "login")
    names = {one["login"] or "": one["name"] for one in (*row.held, *row.uses)}
    people = [Person(login, names[login], used[login], held[login]) for login in names if login]
    return sorted(people, key=lambda one: (-one.used - one.committed, one.login))


def _mine(row: Any, login: str) -> Mine:
    used, held = _minutes(row, "login")
    jobs = sum(one["jobs"] for one in row.held if one["login"] == login)
    own = getattr(row, "own_share", None) or {}
    limits = {name: value for name, value in own.items() if value is not None and value != {}}
    return Mine(Balance(limits.get("gpu_minutes"), used[login], held[login]), limits, jobs)


def _minutes(row: Any, key: str) -> tuple[defaultdict[str, int], defaultdict[str, int]]:
    """GPU-minutes used and committed, by "login" or "type"."""
    return _summed(row.uses, key, "all", 60), _summed(row.held, key, "minutes", 1)


def _summed(rows: Iterable[dict[str, Any]], key: str, value: str, part: int) -> defaultdict[str, int]:
    sums: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        sums[row[key] or ""] += row[value]
    return defaultdict(int, {name: round(amount / part) for name, amount in sums.items()})

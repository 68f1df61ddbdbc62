"""What a refusal says: the limit, its value, what is used and by whom, when some is free, and who can raise it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from django.db.models import Sum
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from access.permissions import Permission, codename
from access.roles import ROLE_GRANTS, Role
from accounts.models import User
from projects.models import Membership
from quotas.models import Allocation, Hold

SHOWN = 3  # people named in a refusal
MANAGING = sorted(role for role, held in ROLE_GRANTS.items() if codename(Permission.MEMBER_MANAGE) in held)
# when the jobs behind these references must have ended, of those that run; quotas knows no jobs
Ends = Callable[[Sequence[str]], Mapping[str, datetime]]


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """A refusal in figures: GPU-minutes, minutes or counts as the limit has them.

    `people`: who holds most of it now. `frees_at`: the latest moment at which a running job must have ended.
    `raised_by`: "project" (PI and managers) or "site".
    """

    value: int | None
    asked: int | None
    used: int = 0
    committed: int = 0
    people: Sequence[tuple[str, int]] = ()
    frees_at: datetime | None = None
    period_ends: date | None = None
    raised_by: str = "site"


class OverAllocation(Exception):
    """The request does not fit; `limit` names which limit of the allocation stands in the way."""

    def __init__(self, limit: str, message: str, facts: Facts | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        self.facts = facts or Facts(None, None)
        self.place: int | None = None  # of a batch: which job is the first that does not fit

    def as_dict(self) -> dict[str, Any]:
        """The figures for the API."""
        facts = dataclasses.asdict(self.facts)
        days = {name: facts[name].isoformat() if facts[name] else None for name in ("frees_at", "period_ends")}
        people = [{"login": login, "amount": amount} for login, amount in self.facts.people]
        return facts | days | {"people": people}


def over(limit: str, message: str, allocation: Allocation, facts: Facts) -> OverAllocation:
    """The refusal, ending with who can do something about it."""
    return OverAllocation(limit, f"{message} {_cure(allocation, facts.raised_by)}", facts)


def _cure(allocation: Allocation, raised_by: str) -> str:
    if raised_by == "project":
        names = _people(allocation, MANAGING)
        words = _("The PI or a manager of the project can raise your share: %(names)s.")
        return words % {"names": names} if names else _("The PI or a manager of the project can raise your share.")
    names = _people(allocation, [Role.PI])
    words = _("The PI (%(names)s) can ask the cluster administrator for more.")
    return words % {"names": names} if names else _("The PI can ask the cluster administrator for more.")


def _people(allocation: Allocation, roles: Sequence[str]) -> str:
    rows = Membership.objects.active().filter(project=allocation.project_id, role__in=roles, user__is_active=True)
    found = rows.select_related("user").order_by("-role", "user__username")[:SHOWN]
    return ", ".join(row.user.name for row in found)


def holders(allocation: Allocation, amount: Sum) -> list[tuple[str, int]]:
    """The people who hold most now, e.g. [("ana", 720), ("davi", 180)]."""
    rows = allocation.holds.filter(released_at=None).values("user__username").annotate(n=amount).order_by("-n")
    return [(row["user__username"] or "–", int(row["n"] or 0)) for row in rows[:SHOWN]]


def named(people: Sequence[tuple[str, int]], part: int = 1) -> str:
    """The same in words, e.g. "ana 12, davi 3"."""
    return ", ".join(f"{login} {amount / part:.0f}" for login, amount in people) or _("nobody")


def frees_at(allocation: Allocation, ends: Ends | None, user: User | None = None) -> datetime | None:
    """When the first of the running jobs that hold some of it must have ended; None where none runs."""
    rows = Hold.objects.filter(allocation=allocation, released_at=None)
    rows = rows.filter(user=user) if user else rows
    known = ends(list(rows.values_list("reference", flat=True))) if ends else {}
    now = timezone.now()
    return min((end for end in known.values() if end > now), default=None)


def when_places(moment: datetime | None) -> str:
    """When somebody may submit again."""
    if moment is None:
        return _("A place is free when one of them ends.")
    words = _("A place is free when one of them ends, the first of those that run by %(time)s at the latest.")
    return words % {"time": _time(moment)}


def when_hours(allocation: Allocation, moment: datetime | None) -> str:
    """When there are hours again: what jobs leave unused, and a new period."""
    said = _("Hours are free again as jobs end early.")
    if moment is not None:
        words = _("Hours are free again as jobs end early; the first of those that run ends by %(time)s at the latest.")
        said = words % {"time": _time(moment)}
    if allocation.ends_on is None or allocation.ends_on < timezone.now().date():
        return said
    return said + " " + _("The period ends on %(day)s.") % {"day": date_format(allocation.ends_on, "SHORT_DATE_FORMAT")}


def _time(moment: datetime) -> str:
    return date_format(timezone.localtime(moment), "SHORT_DATETIME_FORMAT")

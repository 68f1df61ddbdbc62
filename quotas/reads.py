"""Allocations with what is committed of them, in one query; requests and funding sources along with their project."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, F, OuterRef, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, JSONObject, NullIf

from access import gate
from access.permissions import Permission
from accounts.models import User
from projects.models import Membership, Project, RequestState
from quotas.models import Allocation, AllocationRequest, FundingSource, Hold, Kind
from quotas.services import Balance
from quotas.services.holding import STILL_HELD
from quotas.services.wanted import SUBMITTERS

_ONE = gate.Listing(
    lambda project, code: Allocation.objects.filter(project__code=project, code=code).select_related(
        "project", "funding"
    ),
    most=1,
)


def allocation(person: gate.Person, permission: Permission, project: str, code: str) -> Allocation:
    """One by the codes of its project and its own. Raises NotFound, Refused."""
    return _ONE.fetch(person, permission, project=project, code=code)


@dataclasses.dataclass(frozen=True, slots=True)
class AllocationLine:
    """One allocation as a page draws it; hours are GPU-hours, percentages of the limit."""

    allocation: Allocation
    balance: Balance

    @property
    def used_hours(self) -> float:
        """Used so far."""
        return self.balance.used / 60

    @property
    def committed_hours(self) -> float:
        """Committed by jobs under way."""
        return self.balance.committed / 60

    @property
    def limit_hours(self) -> float | None:
        """All of it; None where there is no limit."""
        return None if self.balance.limit is None else self.balance.limit / 60

    @property
    def free_hours(self) -> float | None:
        """Left; None where there is no limit."""
        return None if self.balance.free is None else self.balance.free / 60

    @property
    def used_percent(self) -> float:
        """Part of the limit that is used, 0 to 100."""
        return _percent(self.balance.used, self.balance.limit)

    @property
    def committed_percent(self) -> float:
        """Part of the limit that is committed, at most what used leaves."""
        return min(100 - self.used_percent, _percent(self.balance.committed, self.balance.limit))


def _percent(part: int, whole: int | None) -> float:
    return round(min(100.0, 100 * part / whole), 1) if whole else 0.0


def _with_committed(rows: QuerySet[Allocation]) -> list[AllocationLine]:
    """By the index of open holds: those of jobs that are over are many, and count for nothing."""
    open_holds = Hold.objects.filter(allocation=OuterRef("pk"), released_at=None).order_by().values("allocation")
    committed = Subquery(open_holds.annotate(sum=Sum(STILL_HELD)).values("sum"))
    rows = rows.annotate(committed=Coalesce(committed, 0)).select_related("project")
    return [AllocationLine(row, Balance(row.gpu_minutes, row.used_gpu_minutes, row.committed)) for row in rows]


def of_person(user: gate.Person) -> list[AllocationLine]:
    """The current allocations of the person's projects."""
    mine = Membership.objects.active().filter(user=user).values("project")
    return _with_committed(Allocation.objects.current().filter(project__in=mine))


def of_project(project: Project) -> list[AllocationLine]:
    """All allocations of a project."""
    return _with_committed(Allocation.objects.filter(project=project))


def spendable(project: Project) -> list[AllocationLine]:
    """Those a job may name now."""
    return _with_committed(Allocation.objects.current().filter(project=project))


def spenders(allocation: Allocation) -> list[User]:
    """Who may spend it now, by name."""
    rows = Membership.objects.active().filter(project=allocation.project_id, role__in=SUBMITTERS)
    found = (row.user for row in rows.select_related("user"))
    return sorted(found, key=lambda user: (user.name.casefold(), user.pk))


ASKED = 10  # requests a project's page shows


def requests_of_project() -> ArraySubquery:
    """A project's requests as plain values, those that wait first, then the newest: they cost a page no query."""
    waits = Case(When(state=RequestState.OPEN, then=Value(0)), default=Value(1))
    rows = AllocationRequest.objects.filter(project=OuterRef("pk")).order_by(waits, "-asked_at")
    name = Coalesce(NullIf(F("asked_by__display_name"), Value("")), F("asked_by__username"))
    facts = JSONObject(
        pk="id", kind="kind", state="state", at="asked_at", name=name, title="title", allocation="allocation__title"
    )
    return ArraySubquery(rows.values(facts=facts)[:ASKED])


def asked(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, to be shown: those that wait for a decision first."""
    shown = [
        row | {
            "at": datetime.fromisoformat(row["at"]), "kind": Kind(row["kind"]).label,
            "is_open": row["state"] == RequestState.OPEN, "state": RequestState(row["state"]).label,
            "what": row["allocation"] or row["title"],
        }
        for row in rows
    ]  # fmt: skip
    return sorted(shown, key=lambda row: not row["is_open"])


def funding_of_project() -> ArraySubquery:
    """The funding sources of each project as plain values."""
    rows = FundingSource.objects.filter(project=OuterRef("pk")).order_by("agency", "number")
    facts = JSONObject(pk="id", agency="agency", number="number", starts_on="starts_on", ends_on="ends_on")
    return ArraySubquery(rows.values(facts=facts))


def sources(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, with their days as dates."""

    def day(text: str | None) -> date | None:
        return date.fromisoformat(text) if text else None

    return [row | {"starts_on": day(row["starts_on"]), "ends_on": day(row["ends_on"])} for row in rows]

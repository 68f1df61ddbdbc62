"""What allocations, shares, requests, use and differences look like over the API. GPU-minutes; null is no limit."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Field, Schema
from pydantic import BeforeValidator, StrictBool, StrictInt
from pydantic_core import PydanticCustomError

from projects.api_schemas import Asking, Text
from quotas.differing import Line as DifferenceLine
from quotas.models import Allocation, AllocationRequest, FundingSource, Kind, Share
from quotas.panels import Panel
from quotas.reads import AllocationLine
from quotas.reports import Part
from quotas.services.allocations import LIMITS


def _day(value: Any) -> Any:
    """A day as JSON writes it, and nothing that only could be read as one."""
    if isinstance(value, str) and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        raise PydanticCustomError("date_parsing", "not a day")
    if not isinstance(value, str | None):
        raise PydanticCustomError("date_type", "not a day")
    return value


MOST = 2**31 - 1
Day = Annotated[date, BeforeValidator(_day)]
Amount = Annotated[StrictInt, Field(ge=0, le=MOST)]
Limit = Amount | None
ByType = dict[Annotated[str, Field(pattern=r"^[a-z0-9_.-]{1,40}$")], Amount]
KindName = Literal[*Kind.values]  # type: ignore[valid-type]
Why = Annotated[Text, Field(max_length=300)]


class AllocationOut(Schema):
    """One allocation; `used` and `committed` as of `used_as_of`."""

    code: str
    title: str
    is_default: bool
    is_open: bool
    starts_on: date
    ends_on: date | None
    funding: int | None
    partitions: list[str]
    gpus_at_once: int | None
    gpus_by_type: dict[str, int]
    longest_minutes: int | None
    jobs_submitted: int | None
    jobs_running: int | None
    deny_on_limit: bool
    gpu_minutes: int | None
    gpu_minutes_by_type: dict[str, int]
    used: int
    committed: int
    free: int | None
    used_as_of: datetime | None


class TypeOut(Schema):
    """One GPU type of an allocation."""

    gpu_type: str
    gpu_minutes: int | None
    used: int
    committed: int
    at_once: int | None


class PersonOut(Schema):
    """What somebody used of an allocation."""

    login: str
    name: str
    used: int
    committed: int


class AllocationDetail(AllocationOut):
    """With its pace: GPU-minutes a day lately, and the day it is used up at that (null: it lasts)."""

    per_day: float
    lasts_until: date | None
    types: list[TypeOut]
    people: list[PersonOut]


class AllocationChange(Asking):
    """What is left out stays as it is; null takes a limit away."""

    title: Text = Field("", min_length=1, max_length=120)
    funding: Amount | None = Field(None, description="The number of a funding source of the project.")
    starts_on: Day = Field(None)
    ends_on: Day | None = None
    partitions: list[Text] = Field([], max_length=100, description="Empty: all of the project's.")
    gpus_at_once: Limit = None
    gpus_by_type: ByType = {}
    longest_minutes: Limit = None
    jobs_submitted: Limit = None
    jobs_running: Limit = None
    deny_on_limit: StrictBool = False
    gpu_minutes: Limit = None
    gpu_minutes_by_type: ByType = {}
    why: Why = ""


class NewAllocation(AllocationChange):
    """A new allocation."""

    code: Text = Field(max_length=31)
    title: Text = Field(min_length=1, max_length=120)
    starts_on: Day


class Closing(Asking):
    """Why it is closed."""

    why: Why = ""


class ShareOut(Schema):
    """What a member may use at most, on each queue."""

    login: str
    gpus_at_once: int | None
    gpu_minutes: int | None
    longest_minutes: int | None
    jobs_submitted: int | None
    jobs_running: int | None


class ShareIn(Asking):
    """The whole share of a member; all null takes it away."""

    login: Text = Field(max_length=150)
    gpus_at_once: Limit = None
    gpu_minutes: Limit = None
    longest_minutes: Limit = None
    jobs_submitted: Limit = None
    jobs_running: Limit = None


class FundingOut(Schema):
    """Who pays."""

    pk: int
    agency: str
    number: str
    starts_on: date
    ends_on: date | None
    acknowledgement: str


class FundingChange(Asking):
    """What is left out stays as it is."""

    agency: Text = Field("", min_length=1, max_length=80)
    number: Text = Field("", min_length=1, max_length=60)
    starts_on: Day = Field(None)
    ends_on: Day | None = None
    acknowledgement: Text = Field("", max_length=2000)


class FundingIn(FundingChange):
    """A new one."""

    agency: Text = Field(min_length=1, max_length=80)
    number: Text = Field(min_length=1, max_length=60)
    starts_on: Day


class PartOut(Schema):
    """One line of a report: hours, jobs."""

    gpu_hours: float
    cpu_hours: float
    jobs: int


class ByPerson(PartOut):
    """Of one person; `outside_gpu_hours` of jobs that came past the portal."""

    login: str
    name: str
    outside_gpu_hours: float


class ByMonth(PartOut):
    """Of one month (UTC) and GPU type; "" are jobs without one."""

    month: str
    gpu_type: str


class UsageOut(Schema):
    """What was used, in two tables."""

    people: list[ByPerson]
    months: list[ByMonth]
    as_of: datetime | None


class RequestIn(Asking):
    """What is asked for: `gpu_minutes` is all of it afterwards, not the difference."""

    kind: KindName
    why: Text = Field(min_length=1, max_length=4000)
    allocation: Text | None = Field(None, max_length=31, description="Its code; for a new one, null.")
    title: Text = Field("", max_length=120)
    funding: Amount | None = None
    gpus_at_once: Limit = None
    gpu_minutes: Limit = None
    starts_on: Day | None = None
    ends_on: Day | None = None


class CommentIn(Asking):
    """Something to say."""

    text: Text = Field(min_length=1, max_length=4000)


class DecisionIn(Asking):
    """`give`: the amounts asked for, or those said here. `refuse`: with words."""

    decision: Literal["give", "refuse"]
    answer: Text = Field("", max_length=4000)
    gpus_at_once: Amount = Field(0)
    gpu_minutes: Amount = Field(0)
    starts_on: Day = Field(None)
    ends_on: Day = Field(None)


class CommentOut(Schema):
    """Something somebody said."""

    login: str
    at: datetime
    text: str


class RequestOut(Schema):
    """A request and how it stands."""

    pk: UUID
    kind: str
    state: str
    allocation: str | None
    title: str
    funding: int | None
    gpus_at_once: int | None
    gpu_minutes: int | None
    starts_on: date | None
    ends_on: date | None
    why: str
    asked_by: str
    asked_at: datetime
    answer: str
    decided_by: str | None
    decided_at: datetime | None


class RequestDetail(RequestOut):
    """With all that was said about it."""

    comments: list[CommentOut]


class DifferenceOut(Schema):
    """One field in which Slurm is not as the portal says."""

    user: str
    partition: str
    qos: str
    field: str
    wanted: Any
    there: Any


class StandingOut(Schema):
    """A project whose picture in Slurm is not whole: applied, pending, failed, differs, observed."""

    code: str
    state: str
    at: datetime | None
    error: str
    can_take_over: bool
    differences: list[DifferenceOut]


class Resolution(Asking):
    """Put Slurm back to what the portal says, or take over what Slurm has."""

    act: Literal["put_back", "take_over"]


def allocation_out(line: AllocationLine) -> dict[str, Any]:
    """One allocation."""
    row, balance = line.allocation, line.balance
    plain = ("code", "title", "is_default", "is_open", "starts_on", "ends_on", "used_as_of", *LIMITS)
    return {name: getattr(row, name) for name in plain} | {
        "funding": row.funding_id, "used": balance.used, "committed": balance.committed, "free": balance.free,
    }  # fmt: skip


def detail_out(line: Panel) -> dict[str, Any]:
    """One allocation with its pace and people."""
    people = [
        {"login": one.login, "name": one.name, "used": one.used, "committed": one.committed} for one in line.people
    ]
    types = [
        {
            "gpu_type": one.name, "gpu_minutes": one.balance.limit, "used": one.balance.used,
            "committed": one.balance.committed, "at_once": one.at_once,
        }
        for one in line.types
    ]  # fmt: skip
    pace = {"per_day": line.pace.per_day, "lasts_until": line.pace.until}
    return allocation_out(line) | pace | {"types": types, "people": people}


def share_out(row: Share) -> dict[str, Any]:
    """One share."""
    return {"login": row.user.username} | {name: getattr(row, name) for name in Share.LIMITS}


def usage_out(people: list[Part], months: Any) -> dict[str, Any]:
    """Both tables."""

    def plain(one: Part) -> dict[str, Any]:
        return {"gpu_hours": one.gpu_hours, "cpu_hours": one.cpu_hours, "jobs": one.jobs}

    def person(one: Part) -> dict[str, Any]:
        return plain(one) | {"login": one.label, "name": one.name, "outside_gpu_hours": one.outside_hours}

    return {
        "people": [person(one) for one in people],
        "months": [plain(one) | {"month": f"{month:%Y-%m}", "gpu_type": kind} for month, kind, one in months],
        "as_of": max((one.as_of for one in people if one.as_of), default=None),
    }


def request_out(row: AllocationRequest) -> dict[str, Any]:
    """One request."""
    plain = ("pk", "kind", "state", "title", "gpus_at_once", "gpu_minutes", "starts_on", "ends_on", "why", "asked_at",
             "answer", "decided_at")  # fmt: skip
    return {name: getattr(row, name) for name in plain} | {
        "allocation": row.allocation.code if row.allocation else None, "funding": row.funding_id,
        "asked_by": row.asked_by.username, "decided_by": row.decided_by.username if row.decided_by else None,
    }  # fmt: skip


def standing_out(line: DifferenceLine) -> dict[str, Any]:
    """One project."""
    row, standing = line.project, line.standing
    found = row.enforcement.differences if hasattr(row, "enforcement") else []
    return {
        "code": row.code, "state": standing.state, "at": standing.at, "error": standing.error,
        "can_take_over": line.can_adopt, "differences": found,
    }  # fmt: skip


def funding_of(project_id: int, pk: int | None) -> FundingSource | None:
    """A funding source of the project. Raises FundingSource.DoesNotExist."""
    return None if pk is None else FundingSource.objects.get(project=project_id, pk=pk)


def spendable(project_id: int, code: str | None) -> Allocation | None:
    """An allocation of the project that is not closed. Raises Allocation.DoesNotExist."""
    return None if code is None else Allocation.objects.get(project=project_id, code=code, closed_at=None)

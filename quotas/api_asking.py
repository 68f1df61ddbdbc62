"""What requests, funding sources and use look like over the API. GPU-minutes; null is no limit."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Field, Schema

from access.typed import Day, Text
from projects.api_schemas import Asking
from quotas.api_schemas import UNSAID, Amount, ByType, KindName, Limit
from quotas.models import Allocation, AllocationRequest, FundingSource
from quotas.outside_queue import Part as Beyond
from quotas.reports import Part

NO_LIMIT = "Amounts to be limited no more, e.g. gpu_minutes, or of one GPU type gpus_by_type__a100."
Name = Annotated[Text, Field(max_length=60)]


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
    starts_on: Day = Field(UNSAID)
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


class OutsidePerson(Schema):
    """One user of GPUs outside the queue; `login` is empty where nobody we know has the number."""

    uid: int | None
    login: str
    hours: float
    nodes: list[str]


class OutsideQueueOut(Schema):
    """GPU-hours of the whole site that no Slurm job used; `people` is for cluster administrators, else null."""

    hours: float
    people: list[OutsidePerson] | None


class UsageOut(Schema):
    """What was used, in two tables; beside them what no job used meanwhile: null where nobody measures the GPUs."""

    people: list[ByPerson]
    months: list[ByMonth]
    as_of: datetime | None
    outside_queue: OutsideQueueOut | None


class RequestIn(Asking):
    """What is asked for: amounts are all of it afterwards, not the difference; null or empty is not asked for."""

    kind: KindName
    why: Text = Field(min_length=1, max_length=4000)
    allocation: Text | None = Field(None, max_length=31, description="Its code; for a new one, null.")
    title: Text = Field("", max_length=120)
    funding: Amount | None = None
    gpus_at_once: Limit = None
    gpus_by_type: ByType = {}
    gpu_minutes: Limit = None
    gpu_minutes_by_type: ByType = {}
    longest_minutes: Limit = None
    jobs_submitted: Limit = None
    jobs_running: Limit = None
    partitions: list[Text] = Field([], max_length=100, description="Empty: as it is; of a new one, all there are.")
    no_limit: list[Name] = Field([], max_length=100, description=NO_LIMIT)
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
    gpus_by_type: ByType = {}
    gpu_minutes: Amount = Field(0)
    gpu_minutes_by_type: ByType = {}
    longest_minutes: Amount = Field(0)
    jobs_submitted: Amount = Field(0)
    jobs_running: Amount = Field(0)
    partitions: list[Text] = Field([], max_length=100)
    no_limit: list[Name] = Field([], max_length=100, description=NO_LIMIT)
    starts_on: Day = Field(UNSAID)
    ends_on: Day = Field(UNSAID)


class CommentOut(Schema):
    """Something somebody said."""

    login: str
    at: datetime
    text: str


class AmountsOut(Schema):
    """Amounts of a request, or of the allocation it is about."""

    gpus_at_once: int | None
    gpus_by_type: dict[str, int]
    gpu_minutes: int | None
    gpu_minutes_by_type: dict[str, int]
    longest_minutes: int | None
    jobs_submitted: int | None
    jobs_running: int | None
    partitions: list[str]
    ends_on: date | None


class RequestOut(AmountsOut):
    """A request and how it stands."""

    pk: UUID
    kind: str
    state: str
    allocation: str | None
    title: str
    funding: int | None
    no_limit: list[str]
    starts_on: date | None
    why: str
    asked_by: str
    asked_at: datetime
    answer: str
    decided_by: str | None
    decided_at: datetime | None


class OwnRequestOut(RequestOut):
    """One request, in whichever project."""

    project: str


class RequestDetail(RequestOut):
    """With what its allocation gives at present (null: it is about a new one), and all that was said about it."""

    now: AmountsOut | None
    comments: list[CommentOut]


def usage_out(people: list[Part], months: Any, beyond: Beyond | None) -> dict[str, Any]:
    """The tables."""

    def plain(one: Part) -> dict[str, Any]:
        return {"gpu_hours": one.gpu_hours, "cpu_hours": one.cpu_hours, "jobs": one.jobs}

    def person(one: Part) -> dict[str, Any]:
        return plain(one) | {"login": one.label, "name": one.name, "outside_gpu_hours": one.outside_hours}

    return {
        "people": [person(one) for one in people],
        "months": [plain(one) | {"month": f"{month:%Y-%m}", "gpu_type": kind} for month, kind, one in months],
        "as_of": max((one.as_of for one in people if one.as_of), default=None),
        "outside_queue": beyond,
    }


def request_out(row: AllocationRequest) -> dict[str, Any]:
    """One request."""
    plain = ("pk", "kind", "state", "title", "no_limit", "starts_on", "why", "asked_at", "answer", "decided_at")
    return amounts_out(row) | {name: getattr(row, name) for name in plain} | {
        "allocation": row.allocation.code if row.allocation else None, "funding": row.funding_id,
        "asked_by": row.asked_by.username, "decided_by": row.decided_by.username if row.decided_by else None,
    }  # fmt: skip


def amounts_out(row: AllocationRequest | Allocation) -> dict[str, Any]:
    """What is asked for, or given."""
    return {name: getattr(row, name) for name in (*AllocationRequest.AMOUNTS, "ends_on")}


def funding_of(project_id: int, pk: int | None) -> FundingSource | None:
    """A funding source of the project. Raises FundingSource.DoesNotExist."""
    return None if pk is None else FundingSource.objects.get(project=project_id, pk=pk)


def spendable(project_id: int, code: str | None) -> Allocation | None:
    """An allocation of the project that is not closed. Raises Allocation.DoesNotExist."""
    return None if code is None else Allocation.objects.get(project=project_id, code=code, closed_at=None)

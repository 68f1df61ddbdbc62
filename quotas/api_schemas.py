"""What allocations, shares, requests, use and differences look like over the API. GPU-minutes; null is no limit."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal

from ninja import Field, Schema
from pydantic import StrictBool, StrictInt

from access.typed import Day, Text
from projects.api_schemas import Asking
from quotas.differing import Line as DifferenceLine
from quotas.models import Kind, Share
from quotas.panels import Panel
from quotas.reads import AllocationLine
from quotas.services.allocations import LIMITS
from quotas.services.rehearsing import Rehearsal

MOST = 2**31 - 1
UNSAID: Any = None  # of a field that may be left out and is never null
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
    starts_on: Day = Field(UNSAID)
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
    gpus_by_type: dict[str, int]
    gpu_minutes_by_type: dict[str, int]


class ShareIn(Asking):
    """The whole share of a member; all null takes it away."""

    login: Text = Field(max_length=150)
    gpus_at_once: Limit = None
    gpu_minutes: Limit = None
    longest_minutes: Limit = None
    jobs_submitted: Limit = None
    jobs_running: Limit = None
    gpus_by_type: ByType = {}
    gpu_minutes_by_type: ByType = {}


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


class StepOut(Schema):
    """One thing told to Slurm; each change is a field, before and after."""

    kind: str
    user: str
    partition: str
    qos: str
    removes: bool
    changes: list[tuple[str, Any, Any]]


class RehearsalOut(Schema):
    """One project of which the next comparison does or shows something; `cause`: portal or by_hand."""

    code: str
    cause: str
    can_take_over: bool
    told: list[StepOut]
    over_the_cap: list[StepOut]
    shown_only: list[StepOut]


class DryRunOut(Schema):
    """What the next comparison would do; `mode`: report, restore or observe."""

    mode: str
    removals_per_pass: int
    projects: list[RehearsalOut]


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
    return {"login": row.user.username} | Share.whole(row)


def standing_out(line: DifferenceLine) -> dict[str, Any]:
    """One project."""
    row, standing = line.project, line.standing
    found = row.enforcement.differences if hasattr(row, "enforcement") else []
    return {
        "code": row.code, "state": standing.state, "at": standing.at, "error": standing.error,
        "can_take_over": line.can_adopt, "differences": found,
    }  # fmt: skip


def rehearsal_out(one: Rehearsal) -> dict[str, Any]:
    """One project of a rehearsal."""
    return {
        "code": one.project.code, "cause": "portal" if one.is_ours else "by_hand", "can_take_over": one.can_adopt,
        "told": one.steps, "over_the_cap": one.waiting, "shown_only": one.shown,
    }  # fmt: skip

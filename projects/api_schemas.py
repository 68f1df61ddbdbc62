"""What projects, their people and requests look like over the API: as they are asked for, and as they are told."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

from ninja import Field, Schema
from pydantic import ConfigDict

from access.roles import Role
from access.typed import Moment, Text
from projects.models import Classification, JoinRequest, Membership, OnEnd, Project, ProjectRequest

RoleName = Literal[*Role.values]  # type: ignore[valid-type]
ClassName = Literal[*Classification.values]  # type: ignore[valid-type]
Until = Moment | None
_UNTIL = "The moment the membership ends by itself; null: it does not."
_WHY = "Kept with the membership and in the trail."


class Asking(Schema):
    """A body: what it does not know it does not take."""

    model_config = ConfigDict(extra="forbid")


class ProjectOut(Schema):
    """A project; `role` is the caller's own in it, "" for who sees it by a site role."""

    code: str
    title: str
    organization: str
    state: str
    role: str
    partitions: list[str]


class ProjectPage(Schema):
    """One page, by code; `next` is the cursor of the following page."""

    items: list[ProjectOut]
    next: str | None


class MemberOut(Schema):
    """Somebody in the project now."""

    login: str
    name: str
    role: str
    since: datetime
    until: datetime | None


class ProjectDetail(ProjectOut):
    """With its people and where its files lie."""

    slurm_account: str
    unix_group: str
    folder: str
    classification: str
    starts_on: date | None
    ends_on: date | None
    is_listed: bool
    members: list[MemberOut]


class MemberIn(Asking):
    """Somebody to include: `person` is an id that the search of the directory gave."""

    person: UUID
    role: RoleName = Role.RESEARCHER.value
    until: Until = Field(None, description=_UNTIL)
    why: Text = Field("", max_length=300, description=_WHY)


class MemberChange(Asking):
    """What is left out stays as it is."""

    role: RoleName | None = None
    until: Until = Field(None, description=_UNTIL)
    why: Text = Field("", max_length=300, description=_WHY)


class Removal(Schema):
    """The end of a membership, and what becomes of the person's jobs."""

    on_end: Literal[*OnEnd.values] = OnEnd.FINISH.value  # type: ignore[valid-type]
    why: Text = Field("", max_length=300)


class Changes(Asking):
    """What may be changed of a project; what is left out stays as it is."""

    title: Text | None = Field(None, min_length=1, max_length=120)
    organization: Text | None = Field(None, max_length=120)
    classification: ClassName | None = None
    starts_on: date | None = None
    ends_on: date | None = None
    partitions: list[Text] | None = Field(None, max_length=100)
    unix_group: Text | None = Field(None, max_length=32)
    folder: Text | None = Field(None, max_length=300)
    is_listed: bool | None = None


class NewProject(Asking):
    """A project and its PI; its code is also its Slurm account. `request` is the one that is answered with it."""

    code: Text = Field(max_length=31)
    title: Text = Field(min_length=1, max_length=120)
    pi: UUID
    organization: Text = Field("", max_length=120)
    classification: ClassName = Classification.INTERNAL.value
    starts_on: date | None = None
    ends_on: date | None = None
    partitions: list[Text] = Field(max_length=100)
    unix_group: Text = Field(max_length=32)
    folder: Text = Field(max_length=300)
    is_listed: bool = False
    request: UUID | None = None
    answer: Text = Field("", max_length=4000)


class Why(Asking):
    """A reason."""

    why: Text = Field("", max_length=300)


class Justification(Asking):
    """Why somebody asks."""

    why: Text = Field(min_length=1, max_length=4000)


class LetIn(Asking):
    """Yes, with this role."""

    role: RoleName = Role.RESEARCHER.value
    answer: Text = Field("", max_length=4000)


class Answer(Asking):
    """No, with words that whoever asked reads."""

    answer: Text = Field(min_length=1, max_length=4000)


class AskedProject(Justification):
    """A project somebody would be the PI of."""

    code: Text = Field(max_length=31)
    title: Text = Field(min_length=1, max_length=120)
    organization: Text = Field("", max_length=120)
    classification: ClassName = Classification.INTERNAL.value


class AskedOut(Schema):
    """A request; `kind` is join or project, `code` and `title` the project's."""

    id: UUID
    kind: str
    code: str
    title: str
    login: str
    name: str
    why: str
    state: str
    asked_at: datetime
    decided_at: datetime | None
    answer: str


class FoundPerson(Schema):
    """Somebody of the directory; `locked` ones cannot be included."""

    id: UUID
    login: str
    name: str
    email: str
    locked: bool


class ListedOut(Schema):
    """A project that may be found by people who look for one to join."""

    code: str
    title: str
    pis: list[str]
    asked: bool


def member_out(row: Membership) -> dict[str, Any]:
    """A membership as it is told."""
    user = row.user
    return {
        "login": user.username, "name": user.name, "role": row.role, "since": row.starts_at, "until": row.ends_at,
    }  # fmt: skip


def project_out(row: Project, role: str) -> dict[str, Any]:
    """A project as it is told."""
    return {
        "code": row.code,
        "title": row.title,
        "organization": row.organization,
        "state": row.state,
        "role": role,
        "partitions": row.partitions,
    }


def request_out(row: JoinRequest | ProjectRequest) -> dict[str, Any]:
    """A request as it is told."""
    of = row.project if isinstance(row, JoinRequest) else row
    return {
        "id": row.pk, "kind": "join" if isinstance(row, JoinRequest) else "project", "code": of.code, "title": of.title,
        "login": row.asked_by.username, "name": row.asked_by.name, "why": row.why, "state": row.state,
        "asked_at": row.asked_at, "decided_at": row.decided_at, "answer": row.answer,
    }  # fmt: skip

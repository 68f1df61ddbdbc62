"""The API of a project's environments: asked for, built by a job, named by requests, retired, deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, cast
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Router, Schema, Status

from access import gate
from access.permissions import Permission
from access.typed import Text
from accounts.models import User
from jobs.services import environments
from presets.models import Environment
from projects.models import Project

router = Router()
MOST = 500
_ROWS = Environment.objects.select_related("project", "by")


class EnvironmentIn(Schema):
    """What to build; `text` is the file's, `python` as 3.11 and with `pip` alone."""

    name: Text = Field(max_length=31, pattern=r"^[a-z][a-z0-9_-]{1,30}$")
    kind: Literal["pip", "conda"] = "pip"
    text: Text = Field("", max_length=64 * 1024)
    python: Text = Field("", max_length=8, pattern=r"^(3\.[0-9]{1,2})?$")


class EnvironmentOut(Schema):
    """One build. `name` is what a request's `software` says; `why`: the state its job ended in, where it failed."""

    id: UUID
    name: str
    state: Literal["building", "ready", "failed", "retired", "deleted"]
    kind: Literal["pip", "conda"]
    python: str = Field(description="The version found; until it is built, the one asked for.")
    folder: str = Field(description="From the project's folder on.")
    size: int = Field(description="Bytes on disk.")
    digest: str = Field(description="SHA-256 of the lock.")
    job: UUID
    login: str
    asked_at: datetime
    ready_at: datetime | None
    why: str


class EnvironmentWhole(EnvironmentOut):
    """With the file it was built from, and the lock."""

    text: str
    lock: str


class EnvironmentList(Schema):
    """By name, the newest build first."""

    items: list[EnvironmentOut]


def environment_out(row: Environment) -> dict[str, Any]:
    """`row` with its project and its person."""
    same = ("id", "kind", "folder", "size", "digest", "job", "asked_at", "ready_at", "why")
    return {name: getattr(row, name) for name in same} | {
        "name": row.title, "state": row.state.value, "python": row.found_python or row.python, "login": row.by.username,
    }  # fmt: skip


def _whole(row: Environment) -> dict[str, Any]:
    return environment_out(row) | {"text": row.text, "lock": row.lock}


def _fetch(request: HttpRequest, code: str, pk: UUID, permission: Permission) -> Environment:
    return gate.fetch(_ROWS, request.user, permission, project__code=code, pk=pk)


@router.get("/{code}/environments", response=EnvironmentList, operation_id="environments")
def listed(request: HttpRequest, code: str) -> dict[str, Any]:
    """All builds of the project, deleted ones among them."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_VIEW, code=code)
    rows = _ROWS.filter(project=project).defer("lock", "text")[:MOST]
    return {"items": [environment_out(row) for row in rows]}


@router.post("/{code}/environments", response={201: EnvironmentOut}, operation_id="build_environment")
def build(request: HttpRequest, code: str, body: EnvironmentIn) -> Status[dict[str, Any]]:
    """Ask for one: a job of the caller's builds it."""
    project = gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=code)
    return Status(201, environment_out(environments.build(project=project, by=_me(request), **body.dict())))


@router.get("/{code}/environments/{pk}", response=EnvironmentWhole, operation_id="environment")
def one(request: HttpRequest, code: str, pk: UUID) -> dict[str, Any]:
    """One build with its file and its lock."""
    return _whole(_fetch(request, code, pk, Permission.PROJECT_VIEW))


@router.post("/{code}/environments/{pk}/rebuild", response={201: EnvironmentOut}, operation_id="rebuild_environment")
def rebuild(request: HttpRequest, code: str, pk: UUID) -> Status[dict[str, Any]]:
    """The same file once more, under the next number."""
    row = _fetch(request, code, pk, Permission.JOB_SUBMIT)
    return Status(201, environment_out(environments.rebuild(environment=row, by=_me(request))))


@router.post("/{code}/environments/{pk}/retire", response={204: None}, operation_id="retire_environment")
def retire(request: HttpRequest, code: str, pk: UUID) -> Status[None]:
    """It is no longer offered, and who names it is warned."""
    row = _fetch(request, code, pk, Permission.PROJECT_VIEW)
    environments.retire(environment=row, by=_me(request))
    return Status(204, None)


@router.post("/{code}/environments/{pk}/offer", response={204: None}, operation_id="offer_environment")
def offer(request: HttpRequest, code: str, pk: UUID) -> Status[None]:
    """It is offered again."""
    row = _fetch(request, code, pk, Permission.PROJECT_VIEW)
    environments.offer_again(environment=row, by=_me(request))
    return Status(204, None)


@router.delete("/{code}/environments/{pk}", response={204: None}, operation_id="delete_environment")
def delete(request: HttpRequest, code: str, pk: UUID) -> Status[None]:
    """Its files, as the person they belong to; its lock stays known."""
    environments.delete(environment=_fetch(request, code, pk, Permission.JOB_SUBMIT), by=_me(request))
    return Status(204, None)


def _me(request: HttpRequest) -> User:
    return cast(User, request.user)

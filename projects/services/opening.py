"""A project's own life: opened, changed, archived, taken up again."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from access.roles import Role
from accounts.models import User
from audit import trail
from audit.actions import Action
from projects.models import Project, ProjectRequest, ProjectState
from projects.services.change import lock, touched
from projects.services.folders import check_folder
from projects.services.members import add_member
from projects.services.requests import grant_project

CHANGEABLE = (
    "title", "organization", "classification", "starts_on", "ends_on", "unix_group", "folder", "partitions",
    "is_listed",
)  # fmt: skip


@transaction.atomic
def open_project(*, by: User | None, **fields: Any) -> Project:
    """A new project; `fields` are Project's own. Raises ValidationError."""
    project = Project(**fields)
    project.full_clean()
    check_folder(project)
    project.save()
    touched(project)
    trail.record(
        Action.PROJECT_CREATED, by=by, about=project, project=project, account=project.slurm_account,
        unix_group=project.unix_group, folder=project.folder, partitions=project.partitions,
        classification=project.classification,
    )  # fmt: skip
    return project


@transaction.atomic
def open_for(
    *, pi: User, by: User | None, request: ProjectRequest | None = None, answer: str = "", **fields: Any
) -> Project:
    """A new project with its PI, and the answer to whoever asked for it. Raises ValidationError, Decided."""
    project = open_project(by=by, **fields)
    add_member(project=project, user=pi, role=Role.PI, by=by, why=request.why if request else "")
    if request is not None:
        grant_project(request=request, project=project, by=by, answer=answer)
    return project


@transaction.atomic
def change_project(*, project: Project, by: User | None, **fields: Any) -> Project:
    """Change what may be changed; code and Slurm account stay. Raises ValidationError."""
    row = lock(project)
    before = {name: getattr(row, name) for name in fields if name in CHANGEABLE}
    after = {name: fields[name] for name in before if fields[name] != before[name]}
    if not after:
        return row
    for name, value in after.items():
        setattr(row, name, value)
    row.full_clean()
    if after.keys() & {"folder", "unix_group"}:
        check_folder(row)
    row.save(update_fields=list(after))
    touched(row)
    trail.record(
        Action.PROJECT_CHANGED,
        by=by,
        about=row,
        project=row,
        before={name: before[name] for name in after},
        after=after,
    )
    return row


@transaction.atomic
def archive_project(*, project: Project, by: User | None, why: str = "") -> Project:
    """No new work from now on; whoever could read it still can. A second time does nothing."""
    return _move(project, ProjectState.ARCHIVED, Action.PROJECT_ARCHIVED, by, why)


@transaction.atomic
def reopen_project(*, project: Project, by: User | None, why: str = "") -> Project:
    """It takes work again. A second time does nothing."""
    return _move(project, ProjectState.ACTIVE, Action.PROJECT_REOPENED, by, why)


def _move(project: Project, state: ProjectState, action: Action, by: User | None, why: str) -> Project:
    row = lock(project)
    if row.state != state:
        row.state = state
        row.archived_at = timezone.now() if state == ProjectState.ARCHIVED else None
        row.save(update_fields=["state", "archived_at"])
        touched(row)
        trail.record(action, by=by, about=row, project=row, why=why)
    return row

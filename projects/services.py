"""What changes a project: opening one, adding a member, changing a role, removing. Grants follow the membership."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission as PermissionRow
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.utils import timezone

from access.roles import Role, grants_of
from accounts import hints
from accounts.models import User
from audit import trail
from audit.actions import Action
from projects.models import Membership, OnEnd, Project, ProjectGrant


class AlreadyMember(Exception):
    """The person has an open membership already."""


class LastPI(Exception):
    """A project keeps at least one PI."""


@transaction.atomic
def open_project(*, by: User | None, **fields: Any) -> Project:
    """A new project; `fields` are Project's own."""
    project = Project(**fields)
    project.full_clean()
    project.save()
    trail.record(Action.PROJECT_CREATED, by=by, about=project, project=project, account=project.slurm_account)
    return project


@transaction.atomic
def add_member(*, project: Project, user: User, role: str, by: User | None, why: str = "") -> Membership:
    """Make somebody a member from now on."""
    _lock(project)
    if Membership.objects.active().filter(project=project, user=user).exists():
        raise AlreadyMember(user.username)
    membership = Membership.objects.create(project=project, user=user, role=Role(role), by=by, why=why)
    _grant(project, user, role)
    trail.record(Action.MEMBER_ADDED, by=by, about=user, project=project, role=role, why=why)
    return membership


@transaction.atomic
def change_role(*, membership: Membership, role: str, by: User | None, why: str = "") -> Membership:
    """End the row and begin another, so that the interval of each role is kept."""
    project, user = membership.project, membership.user
    _lock(project)
    if membership.role == Role.PI and role != Role.PI:
        _keep_a_pi(project, membership)
    _end(membership, by=by, on_end=OnEnd.FINISH)
    renewed = Membership.objects.create(project=project, user=user, role=Role(role), by=by, why=why)
    _grant(project, user, role)
    hints.rights_changed(user.pk)
    trail.record(
        Action.MEMBER_ROLE_CHANGED, by=by, about=user, project=project, before=membership.role, after=role, why=why
    )
    return renewed


@transaction.atomic
def remove_member(*, membership: Membership, by: User | None, on_end: str = OnEnd.FINISH, why: str = "") -> None:
    """End a membership now; what becomes of the person's jobs is `on_end`."""
    project = membership.project
    _lock(project)
    if membership.role == Role.PI:
        _keep_a_pi(project, membership)
    _end(membership, by=by, on_end=OnEnd(on_end))
    ProjectGrant.objects.filter(content_object=project, user=membership.user).delete()
    hints.rights_changed(membership.user_id)
    trail.record(
        Action.MEMBER_REMOVED,
        by=by,
        about=membership.user,
        project=project,
        role=membership.role,
        on_end=on_end,
        why=why,
    )


def expected_grants(project: Project) -> set[tuple[int, str]]:
    """(user id, codename) pairs that the open memberships call for."""
    rows = Membership.objects.active().filter(project=project).values_list("user_id", "role")
    return {(user_id, name) for user_id, role in rows for name in grants_of(role)}


def held_grants(project: Project) -> set[tuple[int, str]]:
    """(user id, codename) pairs that django-guardian has."""
    rows = ProjectGrant.objects.filter(content_object=project)
    return set(rows.values_list("user_id", "permission__codename"))


def _lock(project: Project) -> None:
    Project.objects.select_for_update().get(pk=project.pk)


def _keep_a_pi(project: Project, leaving: Membership) -> None:
    others = Membership.objects.active().filter(project=project, role=Role.PI, user__is_active=True)
    if not others.exclude(pk=leaving.pk).exists():
        raise LastPI(project.code)


def _end(membership: Membership, *, by: User | None, on_end: str) -> None:
    membership.ends_at, membership.ended_by, membership.on_end = timezone.now(), by, on_end
    membership.save(update_fields=["ends_at", "ended_by", "on_end"])


def _grant(project: Project, user: User, role: str) -> None:
    wanted = grants_of(role)
    ProjectGrant.objects.filter(content_object=project, user=user).exclude(permission__codename__in=wanted).delete()
    kind = ContentType.objects.get_for_model(Project)
    rows = PermissionRow.objects.filter(content_type=kind, codename__in=wanted)
    ProjectGrant.objects.bulk_create(
        [ProjectGrant(content_object=project, user=user, permission=row) for row in rows], ignore_conflicts=True
    )

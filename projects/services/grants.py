"""The django-guardian grants that follow from membership; nobody else writes them."""

from __future__ import annotations

from django.contrib.auth.models import Permission as PermissionRow
from django.contrib.contenttypes.models import ContentType

from access.roles import grants_of
from accounts.models import User
from projects.models import Membership, Project, ProjectGrant


def expected_grants(project: Project) -> set[tuple[int, str]]:
    """(user id, codename) pairs that the open memberships call for."""
    rows = Membership.objects.active().filter(project=project).values_list("user_id", "role")
    return {(user_id, name) for user_id, role in rows for name in grants_of(role)}


def held_grants(project: Project) -> set[tuple[int, str]]:
    """(user id, codename) pairs that django-guardian has."""
    rows = ProjectGrant.objects.filter(content_object=project)
    return set(rows.values_list("user_id", "permission__codename"))


def give(project: Project, user: User, role: str) -> None:
    """Just what the role brings: what is missing is added, the rest taken away."""
    wanted = grants_of(role)
    ProjectGrant.objects.filter(content_object=project, user=user).exclude(permission__codename__in=wanted).delete()
    kind = ContentType.objects.get_for_model(Project)
    rows = PermissionRow.objects.filter(content_type=kind, codename__in=wanted)
    ProjectGrant.objects.bulk_create(
        [ProjectGrant(content_object=project, user=user, permission=row) for row in rows], ignore_conflicts=True
    )


def take(project: Project, user_id: int) -> None:
    """Everything the person held here."""
    ProjectGrant.objects.filter(content_object=project, user=user_id).delete()

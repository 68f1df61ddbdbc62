"""The gate gives what a membership and a site role bring, and nothing without either."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from access.roles import Role, SiteRole
from projects import services as projects
from projects.models import Membership, Project
from tests.factories import make_member, make_project, make_user

pytestmark = pytest.mark.django_db


def test_a_member_sees_the_project_and_a_stranger_does_not() -> None:
    project = make_project()
    member, stranger = make_member(project), make_user()
    assert gate.fetch(Project.objects, member, Permission.PROJECT_VIEW, code=project.code) == project
    with pytest.raises(NotFound):
        gate.fetch(Project.objects, stranger, Permission.PROJECT_VIEW, code=project.code)
    with pytest.raises(NotFound):
        gate.fetch(Project.objects, AnonymousUser(), Permission.PROJECT_VIEW, code=project.code)


def test_seen_but_not_theirs_to_do_is_refused() -> None:
    project = make_project()
    viewer = make_member(project, Role.VIEWER)
    with pytest.raises(Refused):
        gate.fetch(Project.objects, viewer, Permission.JOB_SUBMIT, code=project.code)


@pytest.mark.parametrize("role", Role.values)
def test_the_list_and_the_check_agree(role: str) -> None:
    project, other = make_project(), make_project()
    user = make_member(project, role)
    for permission in Permission:
        rows = set(gate.allowing(Project.objects.all(), user, permission))
        assert other not in rows
        assert (
            (project in rows)
            == gate.can(project, user, permission)
            == (permission in gate.permissions_on(project, user))
        )


def test_a_grant_without_a_membership_in_force_counts_for_nothing() -> None:
    project = make_project()
    user = make_member(project)
    Membership.objects.update(ends_at=timezone.now())
    assert not gate.can(project, user, Permission.PROJECT_VIEW)
    later = timezone.now() + timedelta(hours=1)
    Membership.objects.update(ends_at=None, starts_at=later)
    assert not gate.can(project, user, Permission.PROJECT_VIEW)


def test_a_person_who_left_sees_nothing() -> None:
    project = make_project()
    user = make_member(project, Role.PI)
    user.is_active = False
    assert not gate.can(project, user, Permission.PROJECT_VIEW)


def test_an_auditor_sees_every_project_and_changes_none() -> None:
    project, auditor = make_project(), make_user(site_role=SiteRole.AUDITOR)
    assert gate.can(project, auditor, Permission.PROJECT_VIEW)
    assert not gate.can(project, auditor, Permission.JOB_SUBMIT)
    assert not gate.can(project, auditor, Permission.LOG_READ)


def test_removal_takes_the_grants_along() -> None:
    project = make_project()
    pi, user = make_member(project, Role.PI), make_member(project)
    projects.remove_member(membership=user.memberships.get(), by=pi)
    assert projects.held_grants(project) == projects.expected_grants(project)
    assert not gate.can(project, user, Permission.PROJECT_VIEW)


def test_a_bad_key_is_like_an_absent_one() -> None:
    with pytest.raises(NotFound):
        gate.fetch(Project.objects, make_user(), Permission.PROJECT_VIEW, pk="no number")

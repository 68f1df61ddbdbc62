"""Only a PI or an administrator makes and unmakes a PI; a role and a last day change together or not at all."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from access import gate
from access.errors import Refused
from access.permissions import Permission
from access.roles import Role, SiteRole
from accounts.models import User
from projects import services as projects
from projects.models import JoinRequest, Membership, Project, RequestState
from tests.factories import make_member, make_project, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    made = make_project()
    make_member(made, Role.PI)
    return made


def row_of(user: User) -> Membership:
    return user.memberships.get(ends_at=None)


def test_a_manager_cannot_raise_themselves(project: Project) -> None:
    manager = make_member(project, Role.MANAGER)
    with pytest.raises(Refused):
        projects.change_role(membership=row_of(manager), role=Role.PI, by=manager)
    assert row_of(manager).role == Role.MANAGER
    assert not gate.can(project, manager, Permission.PROJECT_LEAD)


def test_a_manager_makes_no_pi_of_anybody_and_unmakes_none(project: Project) -> None:
    manager, second = make_member(project, Role.MANAGER), make_member(project, Role.PI)
    asked = projects.ask_to_join(project=project, by=make_user(), why="I work on it.")
    later = timezone.now() + timedelta(days=9)
    for act in (
        lambda: projects.add_member(project=project, user=make_user(), role=Role.PI, by=manager),
        lambda: projects.let_in(request=asked, role=Role.PI, by=manager),
        lambda: projects.change_role(membership=row_of(second), role=Role.VIEWER, by=manager),
        lambda: projects.set_expiry(membership=row_of(second), until=later, by=manager),
        lambda: projects.remove_member(membership=row_of(second), by=manager),
    ):
        with pytest.raises(Refused):
            act()
    asked.refresh_from_db()
    assert asked.is_open and row_of(second).role == Role.PI


@pytest.mark.parametrize("who", ["pi", "operator"])
def test_a_pi_and_an_operator_do(project: Project, who: str) -> None:
    by = make_member(project, Role.PI) if who == "pi" else make_user(site_role=SiteRole.OPERATOR)
    user = make_member(project)
    raised = projects.change_role(membership=row_of(user), role=Role.PI, by=by)
    assert gate.can(project, user, Permission.PROJECT_LEAD)
    projects.remove_member(membership=raised, by=by)
    assert not gate.can(project, user, Permission.PROJECT_VIEW)


def test_the_pi_of_another_project_counts_for_nothing_here(project: Project) -> None:
    stranger = make_member(make_project(), Role.PI)
    with pytest.raises(Refused):
        projects.add_member(project=project, user=make_user(), role=Role.PI, by=stranger)


def test_role_and_last_day_change_together_or_not_at_all(project: Project) -> None:
    pi, user = make_member(project, Role.PI), make_member(project)
    with pytest.raises(projects.PastExpiry):
        projects.change_member(membership=row_of(user), role=Role.VIEWER, until=timezone.now(), by=pi)
    assert row_of(user).role == Role.RESEARCHER
    later = timezone.now() + timedelta(days=3)
    projects.change_member(membership=row_of(user), role=Role.VIEWER, until=later, by=pi, why="guest")
    now = Membership.objects.active().get(user=user)
    assert (now.role, now.ends_at, now.why) == (Role.VIEWER, later, "guest")


def test_who_is_included_has_the_answer_to_what_they_asked(project: Project) -> None:
    pi, user = make_member(project, Role.PI), make_user()
    asked = projects.ask_to_join(project=project, by=user, why="I work on it.")
    projects.add_member(project=project, user=user, role=Role.VIEWER, by=pi)
    asked.refresh_from_db()
    assert (asked.state, asked.decided_by) == (RequestState.APPROVED, pi)


def test_a_request_is_taken_back_once(project: Project) -> None:
    user = make_user()
    asked = projects.ask_to_join(project=project, by=user, why="I work on it.")
    with pytest.raises(projects.AlreadyAsked):
        projects.ask_to_join(project=project, by=user, why="Again.")
    assert projects.withdraw(request=asked).state == RequestState.WITHDRAWN
    with pytest.raises(projects.Decided):
        projects.withdraw(request=asked)
    projects.ask_to_join(project=project, by=user, why="Once more.")
    assert JoinRequest.objects.filter(state=RequestState.OPEN).count() == 1


def test_a_project_is_opened_with_its_pi_and_the_answer_to_who_asked() -> None:
    operator, pi = make_user(site_role=SiteRole.OPERATOR), make_user()
    asked = projects.ask_project(by=pi, code="novo", title="Novo", why="It is new.")
    fields = {"code": "novo", "title": "Novo", "slurm_account": "novo", "unix_group": "novo", "folder": "/srv/novo"}
    project = projects.open_for(pi=pi, by=operator, request=asked, partitions=["gpu"], answer="Welcome.", **fields)
    asked.refresh_from_db()
    assert (asked.state, asked.project, asked.answer) == (RequestState.APPROVED, project, "Welcome.")
    assert gate.can(project, pi, Permission.PROJECT_LEAD)
    with pytest.raises(projects.Decided):
        projects.open_for(pi=pi, by=operator, request=asked, partitions=["gpu"],
                          **fields | {"code": "two", "slurm_account": "two"})  # fmt: skip
    assert not Project.objects.filter(code="two").exists()


@pytest.mark.parametrize(("field", "value"), [
    ("folder", "/srv/x; rm -rf /"), ("folder", "srv"), ("folder", "/srv/../etc"), ("folder", "/srv/$(id)"),
    ("unix_group", "a b"), ("unix_group", "-x"), ("unix_group", "a;b"),
])  # fmt: skip
def test_what_stands_in_commands_holds_nothing_a_shell_reads(field: str, value: str) -> None:
    from django.core.exceptions import ValidationError

    with pytest.raises(ValidationError):
        make_project(**{field: value})


def test_an_expired_membership_is_closed_by_the_task(project: Project) -> None:
    from projects.tasks import close_expired

    user = make_member(project)
    now = timezone.now()
    Membership.objects.filter(user=user).update(starts_at=now - timedelta(days=2), ends_at=now - timedelta(seconds=1))
    assert not gate.can(project, user, Permission.PROJECT_VIEW)
    close_expired()
    assert projects.held_grants(project) == projects.expected_grants(project)

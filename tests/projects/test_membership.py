"""Membership changes keep their history, their grants and at least one PI, and tell what is open."""

import threading

import pytest
from django.db import connection

from access.roles import Role
from accounts import hints
from audit.actions import Action
from audit.models import AuditEvent
from projects import services as projects
from projects.models import Membership
from tests.factories import make_member, make_project, make_user


@pytest.mark.django_db
def test_a_person_is_a_member_once() -> None:
    project = make_project()
    user = make_member(project)
    with pytest.raises(projects.AlreadyMember):
        projects.add_member(project=project, user=user, role=Role.VIEWER, by=None)


@pytest.mark.django_db
def test_a_change_of_role_keeps_both_intervals_and_the_grants_follow() -> None:
    project, pi = make_project(), make_user()
    user = make_member(project)
    projects.change_role(membership=user.memberships.get(), role=Role.VIEWER, by=pi)
    before, after = user.memberships.order_by("pk")
    assert before.ends_at is not None and before.ended_by == pi and after.ends_at is None
    assert projects.held_grants(project) == projects.expected_grants(project)
    event = AuditEvent.objects.get(action=Action.MEMBER_ROLE_CHANGED)
    assert (event.detail["before"], event.detail["after"]) == (Role.RESEARCHER, Role.VIEWER)


@pytest.mark.django_db
def test_each_interval_keeps_why_it_began_and_why_it_ended() -> None:
    project = make_project()
    user = make_member(project)
    projects.change_role(membership=user.memberships.get(), role=Role.VIEWER, by=None, why="thesis defended")
    projects.remove_member(membership=user.memberships.get(ends_at=None), by=None, why="left for Recife")
    rows = user.memberships.order_by("pk").values_list("why", "ended_why")
    assert list(rows) == [("", "thesis defended"), ("thesis defended", "left for Recife")]


@pytest.mark.django_db(transaction=True)
def test_who_loses_a_right_is_told_after_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(hints, "_send", told.append)
    user = make_member(make_project())
    projects.remove_member(membership=user.memberships.get(), by=None)
    assert told == [f"user-{user.pk}"]


@pytest.mark.django_db
def test_the_last_pi_stays() -> None:
    project = make_project()
    pi = make_member(project, Role.PI)
    with pytest.raises(projects.LastPI):
        projects.remove_member(membership=pi.memberships.get(), by=None)
    with pytest.raises(projects.LastPI):
        projects.change_role(membership=pi.memberships.get(), role=Role.VIEWER, by=None)


@pytest.mark.django_db(transaction=True)
def test_two_pis_who_remove_each_other_at_once_leave_one() -> None:
    project = make_project()
    first, second = make_member(project, Role.PI), make_member(project, Role.PI)
    failed: list[Exception] = []

    def remove(user: object) -> None:
        try:
            projects.remove_member(membership=Membership.objects.get(user=user), by=None)
        except projects.LastPI as error:
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=remove, args=(user,)) for user in (first, second)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(failed) == 1
    assert Membership.objects.active().filter(project=project, role=Role.PI).count() == 1

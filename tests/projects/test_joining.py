"""Finding a project, asking to join, and the answer: unlisted ones are like absent ones, and only its people answer."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from access.ids import uuid7
from access.roles import Role
from projects import services as projects
from projects.models import JoinRequest, Membership, Project, RequestState
from tests.conftest import Roles
from tests.factories import make_member, make_project, make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    made = make_project("aurora", title="Aurora", is_listed=True)
    make_member(made, Role.PI, display_name="Marina Demo")
    return made


def join(code: str) -> str:
    return reverse("projects:join", args=[code])


@pytest.mark.parametrize("words", ["", "auro", "Aurora", "marina"])
def test_a_listed_project_is_found_with_its_pi(project: Project, roles: Roles, words: str) -> None:
    make_project("boreal", title="Aurora boreal")
    client = signed_in(make_user())
    roles.use("web")
    text = client.get(reverse("projects:list"), {"q": words}).content.decode()
    assert "Aurora" in text and "Marina Demo" in text and join("aurora") in text
    assert "boreal" not in text and project.folder not in text


def test_only_the_part_is_sent_to_a_page_that_searches(project: Project) -> None:
    answer = signed_in(make_user()).get(reverse("projects:list"), {"q": "zzz"}, headers={"HX-Request": "true"})
    assert b"<html" not in answer.content and b"Aurora" not in answer.content


def test_own_and_archived_projects_are_not_offered(project: Project) -> None:
    member = signed_in(make_member(project))
    assert join("aurora") not in member.get(reverse("projects:list")).content.decode()
    projects.archive_project(project=project, by=None)
    assert join("aurora") not in signed_in(make_user()).get(reverse("projects:list")).content.decode()


def test_unlisted_archived_and_absent_answer_alike(project: Project) -> None:
    make_project("hidden")
    projects.archive_project(project=make_project("over", is_listed=True), by=None)
    client = signed_in(make_user())
    for method in (client.get, client.post):
        assert [method(join(code)).status_code for code in ("hidden", "over", "nowhere")] == [404] * 3
    assert JoinRequest.objects.count() == 0


def test_asked_once_and_the_answer_is_shown(project: Project, roles: Roles) -> None:
    user, pi = make_user(), make_member(project, Role.PI)
    client, theirs = signed_in(user), signed_in(pi)
    roles.use("web")
    assert client.post(join("aurora"), {"why": ""}).status_code == 422
    assert client.post(join("aurora"), {"why": "I segment hearts."}).status_code == 302
    again = client.post(join("aurora"), {"why": "Please."})
    assert again.status_code == 422 and JoinRequest.objects.count() == 1
    row = JoinRequest.objects.get()
    assert "I segment hearts." in theirs.get(reverse("projects:detail", args=["aurora"])).content.decode()
    refuse = reverse("projects:turn_away", args=["aurora", row.pk])
    assert theirs.post(refuse, {"answer": " "}).status_code == 302
    row.refresh_from_db()
    assert row.is_open
    theirs.post(refuse, {"answer": "Talk to me first."})
    assert "Talk to me first." in client.get(reverse("projects:list")).content.decode()


def test_let_in_with_a_role(project: Project, roles: Roles) -> None:
    user, manager = make_user(), signed_in(make_member(project, Role.MANAGER))
    row = projects.ask_to_join(project=project, by=user, why="I work on it.")
    roles.use("web")
    address = reverse("projects:let_in", args=["aurora", row.pk])
    assert manager.post(address, {"role": "king"}).status_code == 302
    assert manager.post(address, {"role": Role.PI}).status_code == 403
    assert not Membership.objects.filter(user=user).exists()
    assert manager.post(address, {"role": Role.VIEWER}).status_code == 302
    assert Membership.objects.get(user=user).role == Role.VIEWER
    told = manager.post(address, {"role": Role.VIEWER}, follow=True)
    assert told.status_code == 200 and Membership.objects.filter(user=user).count() == 1


def test_the_request_of_one_project_is_not_answered_from_another(project: Project) -> None:
    other = make_project("boreal")
    pi = signed_in(make_member(other, Role.PI))
    row = projects.ask_to_join(project=project, by=make_user(), why="I work on it.")
    codes = [pi.post(reverse("projects:let_in", args=[code, row.pk]), {"role": "viewer"}).status_code
             for code in ("aurora", "boreal", "nowhere")]  # fmt: skip
    assert codes == [404, 404, 404]


def test_taken_back_by_whoever_asked_alone(project: Project) -> None:
    user = make_user()
    row = projects.ask_to_join(project=project, by=user, why="I work on it.")
    address = reverse("ask:withdraw", args=[row.pk])
    assert signed_in(make_user()).post(address).status_code == 404
    assert signed_in(user).post(reverse("ask:withdraw", args=[uuid7()])).status_code == 404
    assert signed_in(user).post(address).status_code == 302
    row.refresh_from_db()
    assert row.state == RequestState.WITHDRAWN


def test_a_pi_lets_the_project_be_found_and_a_manager_does_not(project: Project) -> None:
    address = reverse("projects:listing", args=["aurora"])
    assert signed_in(make_member(project, Role.MANAGER)).post(address, {"listed": "0"}).status_code == 403
    assert signed_in(make_member(project, Role.PI)).post(address, {"listed": "0"}).status_code == 302
    project.refresh_from_db()
    assert not project.is_listed


def test_nothing_is_written_by_looking(project: Project) -> None:
    client: Client = signed_in(make_user())
    client.get(join("aurora"))
    client.get(reverse("projects:list"), {"q": "auro"})
    assert JoinRequest.objects.count() == 0 and Membership.objects.count() == 1


def test_home_is_told_who_waits_and_what_was_answered(project: Project, roles: Roles) -> None:
    user, manager, member = make_user(), make_member(project, Role.MANAGER), make_member(project)
    row = projects.ask_to_join(project=project, by=user, why="I work on it.")
    projects.turn_away(
        request=projects.ask_to_join(project=project, by=make_user(), why="Me too."), by=manager, answer="No."
    )
    part = {"HX-Request": "true"}
    roles.use("web")
    assert "aurora#requests" in signed_in(manager).get("/ask/", headers=part).content.decode()
    assert signed_in(member).get("/ask/", headers=part).status_code == 204
    assert str(row.pk) in signed_in(user).get("/ask/", headers=part).content.decode()
    assert "<html" in signed_in(member).get("/ask/").content.decode()

"""People and projects over the API: the same rules as on the pages, each problem naming its field."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from access.ids import uuid7
from access.roles import Role, SiteRole
from accounts.models import User
from projects import services as projects
from projects.models import Membership, OnEnd, Project
from tests.api import Caller, caller
from tests.conftest import Roles
from tests.factories import make_cluster, make_member, make_project, make_user
from tests.pages import Directory, directory

__all__ = ["directory"]
pytestmark = pytest.mark.django_db
MEMBERS = "/projects/aurora/members"


@pytest.fixture
def project() -> Project:
    return make_project("aurora")


@pytest.fixture
def pi(project: Project) -> User:
    return make_member(project, Role.PI, username="marina")


def said(answer: Any) -> tuple[int, str, set[str]]:
    body = answer.json()
    return answer.status_code, body["type"].rsplit(":", 1)[1], set(body.get("errors", ()))


def test_found_included_changed_and_removed(project: Project, pi: User, directory: Directory, roles: Roles) -> None:
    key, who = directory.add("bento"), caller(pi)
    roles.use("web")
    (found,) = who.get("/directory?q=bento").json()
    assert found == {
        "id": str(key),
        "login": "bento",
        "name": "Bento Demo",
        "email": "bento@x.example",
        "locked": False,
    }
    made = who.post(MEMBERS, {"person": found["id"], "role": "viewer", "why": "guest"})
    assert made.status_code == 201 and made.json()["role"] == "viewer"
    later = (timezone.now() + timedelta(days=1)).isoformat()
    changed = who.patch(f"{MEMBERS}/bento", {"until": later}).json()
    assert changed["role"] == "viewer" and changed["until"]
    assert who.patch(f"{MEMBERS}/bento", {"until": None, "role": "manager"}).json()["until"] is None
    assert [row["login"] for row in who.get(MEMBERS).json()] == ["bento", "marina"]
    assert who.delete(f"{MEMBERS}/bento?on_end=hold&why=left").status_code == 204
    assert Membership.objects.filter(user__username="bento").latest("pk").on_end == OnEnd.HOLD
    assert who.delete(f"{MEMBERS}/bento").status_code == 404


def test_each_problem_names_its_field(project: Project, pi: User, directory: Directory) -> None:
    who, key, locked = caller(pi), directory.add("bento"), directory.add("lia", locked=True)
    person = {"person": str(key)}
    assert said(who.post(MEMBERS, {"person": "bento"})) == (422, "invalid", {"person"})
    assert said(who.post(MEMBERS, person | {"role": "king"})) == (422, "invalid", {"role"})
    assert said(who.post(MEMBERS, person | {"admin": True})) == (422, "invalid", {"admin"})
    assert said(who.post(MEMBERS, person | {"until": "2020-01-01T00:00:00Z"})) == (422, "past-expiry", {"until"})
    assert said(who.post(MEMBERS, {"person": str(locked)})) == (422, "locked", {"person"})
    assert said(who.post(MEMBERS, {"person": str(uuid7())})) == (422, "no-such-person", {"person"})
    assert said(who.delete(f"{MEMBERS}/marina")) == (409, "last-pi", {"role"})
    assert said(who.get("/directory?q=b")) == (422, "too-short", {"q"})
    assert who.post(MEMBERS, person).status_code == 201
    assert said(who.post(MEMBERS, person)) == (409, "already-member", {"person"})
    directory.down = True
    down = who.post(MEMBERS, person)
    assert said(down) == (503, "directory-down", {"person"}) and down["Retry-After"]


def test_a_manager_cannot_raise_themselves(project: Project, pi: User, directory: Directory) -> None:
    manager = caller(make_member(project, Role.MANAGER, username="rafael"))
    answer = manager.patch(f"{MEMBERS}/rafael", {"role": "pi"})
    assert answer.status_code == 403 and answer.json()["permission"] == "project_lead"
    assert manager.post(MEMBERS, {"person": str(directory.add("bento")), "role": "pi"}).status_code == 403
    assert manager.delete(f"{MEMBERS}/marina").status_code == 403
    assert Membership.objects.get(user__username="rafael").role == Role.MANAGER


def test_one_leaves_by_oneself(project: Project, pi: User) -> None:
    bento = caller(make_member(project, Role.VIEWER, username="bento"))
    assert bento.delete(f"{MEMBERS}/marina").status_code == 403
    assert bento.delete(f"{MEMBERS}/bento").status_code == 204
    assert bento.get("/projects/aurora").status_code == 404


@pytest.mark.parametrize("scopes", [("read",), ("read", "submit", "audit")])
def test_a_token_without_the_scope_changes_nothing(
    project: Project, pi: User, directory: Directory, scopes: tuple[str, ...]
) -> None:
    who: Caller = caller(pi, scopes)
    for answer in (
        who.post(MEMBERS, {"person": str(directory.add("bento"))}), who.patch(f"{MEMBERS}/marina", {"role": "viewer"}),
        who.delete(f"{MEMBERS}/marina"), who.post("/projects", {}), who.post("/requests/projects", {}),
    ):  # fmt: skip
        assert answer.status_code == 403 and answer.json()["scope"] == "manage"
    assert who.get(MEMBERS).status_code == 200
    assert Membership.objects.count() == 1


def test_a_pi_lets_the_project_be_found_and_changes_nothing_else(project: Project, pi: User) -> None:
    who = caller(pi)
    assert who.patch("/projects/aurora", {"is_listed": True}).json()["is_listed"] is True
    assert who.patch("/projects/aurora", {"is_listed": True, "title": "Mine"}).status_code == 403


def test_asked_listed_and_answered(project: Project, pi: User, roles: Roles) -> None:
    asker, lead = caller(make_user()), caller(pi)
    roles.use("web")
    assert asker.post("/projects/aurora/joins", {"why": "Hearts."}).status_code == 404
    lead.patch("/projects/aurora", {"is_listed": True})
    assert [row["code"] for row in asker.get("/requests/joinable?q=auro").json()] == ["aurora"]
    made = asker.post("/projects/aurora/joins", {"why": "Hearts."})
    assert made.status_code == 201
    assert said(asker.post("/projects/aurora/joins", {"why": "Hearts."})) == (409, "already-asked", {"why"})
    (asked,) = lead.get("/projects/aurora/joins").json()
    answered = lead.post(f"/projects/aurora/joins/{asked['id']}/turn-away", {"answer": "Not now."})
    assert answered.json()["state"] == "refused"
    assert asker.get("/requests").json()[0]["answer"] == "Not now."
    assert said(lead.post(f"/projects/aurora/joins/{asked['id']}/let-in", {})) == (409, "decided", set())


def test_an_operator_opens_and_archives_over_the_api(directory: Directory, roles: Roles) -> None:
    make_cluster()
    make_project("velho")
    who = caller(make_user(site_role=SiteRole.OPERATOR))
    body = {"code": "novo", "title": "Novo", "pi": str(directory.add("bento")), "partitions": ["gpu"],
            "unix_group": "novo", "folder": "/srv/novo"}  # fmt: skip
    roles.use("web")
    assert said(who.post("/projects", body | {"code": "velho"})) == (422, "invalid", {"code"})
    assert said(who.post("/projects", body | {"partitions": ["moon"]})) == (422, "invalid", {"partitions"})
    assert said(who.post("/projects", body | {"folder": "x"})) == (422, "invalid", {"folder"})
    wrong = {"code": "velho", "partitions": ["moon"], "folder": "x"}
    assert said(who.post("/projects", body | wrong)) == (422, "invalid", {"code", "partitions", "folder"})
    assert said(who.post("/projects", body | {"starts_on": "2026-02-01", "ends_on": "2026-01-01"}))[0] == 422
    made = who.post("/projects", body)
    assert made.status_code == 201 and [one["role"] for one in made.json()["members"]] == ["pi"]
    assert said(who.patch("/projects/novo", {"title": None})) == (422, "invalid", {"title"})
    both = {"partitions": [], "folder": "x"}
    assert said(who.patch("/projects/novo", both)) == (422, "invalid", {"partitions", "folder"})
    assert who.post("/projects/novo/archive", {"why": "over"}).json()["state"] == "archived"
    assert who.post("/projects/novo/reopen", {}).json()["state"] == "active"


def test_a_request_is_taken_back_by_whoever_made_it(project: Project) -> None:
    user = make_user()
    row = projects.ask_project(by=user, code="novo", title="Novo", why="It is new.")
    assert caller(make_user()).delete(f"/requests/{row.pk}").status_code == 404
    assert caller(user).delete(f"/requests/{row.pk}").status_code == 204

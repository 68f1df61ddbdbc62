"""Who gets what over the API: every route × every kind of person. A route missing from the table fails the test."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.utils import timezone

from access.ids import uuid7
from accounts import admission, lookup
from audit.actions import Action, Outcome
from audit.models import AuditEvent
from portal.api import api
from projects import services
from projects.models import Membership
from quotas import services as quotas
from quotas.models import Allocation, Enforcement
from quotas.services import requests as wishes
from tests.api import PEOPLE, REQUEST, Caller, World, make_world
from tests.conftest import Roles
from tests.factories import make_member, make_user

pytestmark = pytest.mark.django_db


def row(text: str) -> dict[str, int]:
    """Eight numbers, one a person, in the order of PEOPLE."""
    return dict(zip(PEOPLE, map(int, text.split()), strict=True))


# route, method: nobody stranger viewer member manager pi operator auditor
TABLE: dict[tuple[str, str], dict[str, int]] = {
    ("/me", "get"): row("401 200 200 200 200 200 200 200"),
    ("/projects", "get"): row("401 200 200 200 200 200 200 200"),
    ("/projects/{code}", "get"): row("401 404 200 200 200 200 200 200"),
    ("/projects", "post"): row("401 403 403 403 403 403 201 403"),
    ("/projects/{code}", "patch"): row("401 404 403 403 403 403 200 403"),
    ("/projects/{code}/archive", "post"): row("401 404 403 403 403 403 200 403"),
    ("/projects/{code}/reopen", "post"): row("401 404 403 403 403 403 200 403"),
    ("/projects/{code}/members", "get"): row("401 404 200 200 200 200 200 200"),
    ("/projects/{code}/members", "post"): row("401 404 403 403 201 201 201 403"),
    ("/projects/{code}/members/{login}", "patch"): row("401 404 403 403 200 200 200 403"),
    ("/projects/{code}/members/{login}", "delete"): row("401 404 403 403 204 204 204 403"),
    ("/projects/{code}/joins", "get"): row("401 404 403 403 200 200 200 403"),
    ("/projects/{code}/joins", "post"): row("401 404 404 404 404 404 404 404"),
    ("/projects/{code}/joins/{join}/let-in", "post"): row("401 404 403 403 200 200 200 403"),
    ("/projects/{code}/joins/{join}/turn-away", "post"): row("401 404 403 403 200 200 200 403"),
    ("/requests", "get"): row("401 200 200 200 200 200 200 200"),
    ("/requests/joinable", "get"): row("401 200 200 200 200 200 200 200"),
    ("/requests/{asked}", "delete"): row("401 404 404 404 404 404 404 404"),
    ("/requests/projects", "get"): row("401 403 403 403 403 403 200 403"),
    ("/requests/projects", "post"): row("401 201 201 201 201 201 201 201"),
    ("/requests/projects/{asked}/refuse", "post"): row("401 403 403 403 403 403 200 403"),
    ("/directory", "get"): row("401 403 403 403 200 200 200 403"),
    ("/projects/{code}/allocations", "get"): row("401 404 200 200 200 200 200 200"),
    ("/projects/{code}/allocations", "post"): row("401 404 403 403 403 403 201 403"),
    ("/projects/{code}/allocations/{allocation}", "get"): row("401 404 200 200 200 200 200 200"),
    ("/projects/{code}/allocations/{allocation}", "patch"): row("401 404 403 403 403 403 200 403"),
    ("/projects/{code}/allocations/{allocation}/close", "post"): row("401 404 403 403 403 403 200 403"),
    ("/projects/{code}/allocations/{allocation}/default", "post"): row("401 404 403 403 200 200 200 403"),
    ("/projects/{code}/allocations/{allocation}/shares", "get"): row("401 404 200 200 200 200 200 200"),
    ("/projects/{code}/allocations/{allocation}/shares", "patch"): row("401 404 403 403 200 200 200 403"),
    ("/projects/{code}/usage", "get"): row("401 404 200 200 200 200 200 200"),
    ("/projects/{code}/funding", "get"): row("401 404 200 200 200 200 200 200"),
    ("/projects/{code}/funding", "post"): row("401 404 403 403 201 201 201 403"),
    ("/projects/{code}/funding/{source}", "patch"): row("401 404 403 403 200 200 200 403"),
    ("/projects/{code}/allocation-requests", "get"): row("401 404 403 403 200 200 200 200"),
    ("/projects/{code}/allocation-requests", "post"): row("401 404 403 403 201 201 403 403"),
    ("/projects/{code}/allocation-requests/{wish}", "get"): row("401 404 404 404 200 200 200 200"),
    ("/projects/{code}/allocation-requests/{wish}", "delete"): row("401 404 404 404 204 204 403 403"),
    ("/projects/{code}/allocation-requests/{wish}/comments", "post"): row("401 404 404 404 201 201 201 403"),
    ("/projects/{code}/allocation-requests/{wish}/decision", "post"): row("401 404 404 404 403 403 200 403"),
    ("/differences", "get"): row("401 403 403 403 403 403 200 403"),
    ("/differences/{code}", "post"): row("401 403 403 403 403 403 204 403"),
    ("/jobs", "get"): row("401 200 200 200 200 200 200 200"),
    ("/jobs", "post"): row("401 404 403 201 201 201 403 403"),
    ("/jobs/batch", "post"): row("401 404 403 201 201 201 403 403"),
    ("/jobs/{pk}", "get"): row("401 404 200 200 200 200 200 200"),
    ("/jobs/{pk}/log", "get"): row("401 404 200 200 200 200 200 403"),
    ("/jobs/{pk}/cancel", "post"): row("401 404 403 403 202 202 202 403"),
    ("/cluster", "get"): row("401 200 200 200 200 200 200 200"),
    ("/audit/events", "get"): row("401 403 403 403 200 200 200 200"),
}


PI, SOMEBODY = uuid7(), uuid7()  # of the directory
TODAY = timezone.now().date()
DIFFERENCE = {"user": "", "partition": "", "qos": "aurora-main", "field": "gpus_at_once", "wanted": 8, "there": 9}
PROJECT = {"title": "New", "pi": str(PI), "partitions": ["gpu"], "unix_group": "new", "folder": "/srv/new"}
BODIES: dict[tuple[str, str], Any] = {
    ("/projects/{code}", "patch"): {"title": "Another"},
    ("/projects/{code}/archive", "post"): {},
    ("/projects/{code}/reopen", "post"): {},
    ("/projects/{code}/members", "post"): {"person": str(SOMEBODY)},
    ("/projects/{code}/members/{login}", "patch"): {"role": "viewer"},
    ("/projects/{code}/joins", "post"): {"why": "I work on it."},
    ("/projects/{code}/joins/{join}/let-in", "post"): {"role": "viewer"},
    ("/projects/{code}/joins/{join}/turn-away", "post"): {"answer": "Not now."},
    ("/requests/projects/{asked}/refuse", "post"): {"answer": "No room."},
    ("/projects/{code}/allocations/{allocation}", "patch"): {"gpus_at_once": 4},
    ("/projects/{code}/allocations/{allocation}/close", "post"): {},
    ("/projects/{code}/allocations/{allocation}/default", "post"): {},
    ("/projects/{code}/allocations/{allocation}/shares", "patch"): [],
    ("/projects/{code}/allocations", "post"): {"code": "other", "title": "Other", "starts_on": "2026-01-01"},
    ("/projects/{code}/funding", "post"): {"agency": "FAP", "number": "2", "starts_on": "2026-01-01"},
    ("/projects/{code}/funding/{source}", "patch"): {"acknowledgement": "Thanks."},
    ("/projects/{code}/allocation-requests", "post"): {
        "kind": "more", "allocation": "main", "gpu_minutes": 90_000, "why": "For the paper.",
    },
    ("/projects/{code}/allocation-requests/{wish}/comments", "post"): {"text": "Until when?"},
    ("/projects/{code}/allocation-requests/{wish}/decision", "post"): {"decision": "give"},
    ("/differences/{code}", "post"): {"act": "put_back"},
}  # fmt: skip


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    known = {key: make_user(directory_id=key) for key in (PI, SOMEBODY)}
    monkeypatch.setattr(admission, "person_by_id", lambda key: known[key])
    monkeypatch.setattr(lookup, "search", lambda words: [])
    return make_world()


def places(world: World) -> dict[str, object]:
    """Fresh for each person: a member, somebody who asks to join, a request for a project."""
    asker = make_user()
    join = services.ask_to_join(project=world.project, by=asker, why="I work on it.")
    asked = services.ask_project(by=asker, code="novo", title="Novo", why="It is new.")
    Membership.objects.filter(user__directory_id=SOMEBODY).delete()
    number = uuid7().hex[-8:]
    source = quotas.add_funding(project=world.project, by=None, agency="FAP", number=number, starts_on=TODAY)
    allocation = world.job.allocation
    Allocation.objects.update(closed_at=None, gpu_minutes=60_000)
    wish = wishes.ask(
        project=world.project, kind="more", by=asker, why="For the paper.", allocation=allocation, gpu_minutes=70_000
    )
    Enforcement.objects.update_or_create(project=world.project, defaults={"differences": [DIFFERENCE]})
    return {
        "code": world.project.code, "pk": world.job.pk, "login": make_member(world.project).username, "join": join.pk,
        "asked": asked.pk, "allocation": "main", "source": source.pk, "wish": wish.pk,
    }  # fmt: skip


def ask(who: Caller, route: str, method: str, at: dict[str, object]) -> int:
    path = route.format(**at) + ("?q=ana" if route == "/directory" else "")
    body = BODIES.get((route, method))
    if route == "/jobs":
        body = REQUEST | {"project": at["code"]}
    if route == "/jobs/batch":
        body = {"jobs": [REQUEST | {"project": at["code"]}] * 2}
    if (route, method) in (("/projects", "post"), ("/requests/projects", "post")):
        code = f"new-{uuid7().hex[-8:]}"
        body = PROJECT | {"code": code} if route == "/projects" else {"code": code, "title": "New", "why": "It is new."}
    if (route, method) in (("/projects/{code}/allocations", "post"), ("/projects/{code}/funding", "post")):
        number = f"n{uuid7().hex[-8:]}"
        body = dict(BODIES[route, method], **{"number" if "funding" in route else "code": number})
    if method in ("get", "delete"):
        return getattr(who, method)(path).status_code
    return getattr(who, method)(path, body).status_code


@pytest.mark.parametrize(("route", "method"), TABLE)
def test_every_kind_of_person_gets_what_the_table_says(world: World, roles: Roles, route: str, method: str) -> None:
    callers = {name: world.caller(name) for name in PEOPLE}
    got = {}
    for name, who in callers.items():
        roles.use(None)
        at = places(world)
        roles.use("web")
        got[name] = ask(who, route, method, at)
    assert got == TABLE[route, method]


def test_every_route_stands_in_the_table() -> None:
    described = api.get_openapi_schema()["paths"]
    routes = {(path.removeprefix("/api/v1"), method) for path, methods in described.items() for method in methods}
    assert routes == {(re.sub(r"{(join|asked|source|wish)}", "{pk}", path), method) for path, method in TABLE}


def test_lists_hold_what_the_person_may_see_and_nothing_else(world: World, roles: Roles) -> None:
    callers = {name: world.caller(name) for name in PEOPLE}
    roles.use("web")
    for name, who in callers.items():
        if name == "nobody":
            continue
        codes = {item["code"] for item in who.get("/projects").json()["items"]}
        jobs = {item["id"] for item in who.get("/jobs").json()["items"]}
        everywhere = name in ("operator", "auditor")
        assert codes == ({"aurora", "boreal"} if everywhere else {"boreal"} if name == "stranger" else {"aurora"})
        assert jobs == (set() if name == "stranger" else {str(world.job.pk)})


@pytest.mark.parametrize(("route", "method"), [key for key in TABLE if "{" in key[0] and TABLE[key]["stranger"] == 404])
def test_not_yours_and_not_there_are_the_same_answer(world: World, roles: Roles, route: str, method: str) -> None:
    who = world.caller("stranger")
    roles.use("web")
    roles.use(None)
    at = places(world)
    roles.use("web")
    there = route.format(**at)
    absent = route.format(code="nowhere", login="nobody", allocation="none", source=2**40, **{
        name: uuid7() for name in ("pk", "join", "asked", "wish")
    })  # fmt: skip
    body = () if method in ("get", "delete") else (BODIES.get((route, method), {}),)
    answers = [getattr(who, method)(path, *body) for path in (there, absent)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert _same(answers[0].content) == _same(answers[1].content)
    assert set(answers[0].headers) == set(answers[1].headers)
    events = AuditEvent.objects.filter(action=Action.ACCESS_REFUSED, outcome=Outcome.REFUSED, channel="api")
    assert events.count() == 2
    assert set(events.values_list("correlation", flat=True)) == {answer["X-Request-ID"] for answer in answers}


def test_a_foreign_project_inside_a_request_is_like_one_that_is_not_there(world: World, roles: Roles) -> None:
    who = world.caller("stranger")
    roles.use("web")
    answers = [who.post("/jobs", REQUEST | {"project": code}) for code in ("aurora", "nowhere", "a\x00b", "x" * 200)]
    filters = [who.get(f"/jobs?project={code}") for code in ("aurora", "nowhere")]
    assert [answer.status_code for answer in answers] == [404, 404, 422, 404]
    assert _same(answers[0].content) == _same(answers[1].content) == _same(filters[0].content)
    assert _same(filters[0].content) == _same(filters[1].content)


def _same(body: bytes) -> bytes:
    problem = json.loads(body)
    assert re.fullmatch(r"[0-9a-f-]{36}", problem["request_id"])
    return body.replace(problem["request_id"].encode(), b"")

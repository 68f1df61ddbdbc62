"""Who gets what over the API: every route × every kind of person. A route missing from the table fails the test."""

from __future__ import annotations

import json
import re

import pytest

from access.ids import uuid7
from audit.actions import Action, Outcome
from audit.models import AuditEvent
from portal.api import api
from tests.api import PEOPLE, REQUEST, Caller, World, make_world
from tests.conftest import Roles

pytestmark = pytest.mark.django_db


def row(text: str) -> dict[str, int]:
    """Eight numbers, one a person, in the order of PEOPLE."""
    return dict(zip(PEOPLE, map(int, text.split()), strict=True))


# route, method: nobody stranger viewer member manager pi operator auditor
TABLE: dict[tuple[str, str], dict[str, int]] = {
    ("/me", "get"): row("401 200 200 200 200 200 200 200"),
    ("/projects", "get"): row("401 200 200 200 200 200 200 200"),
    ("/projects/{code}", "get"): row("401 404 200 200 200 200 200 200"),
    ("/projects/{code}/allocations", "get"): row("401 404 200 200 200 200 200 200"),
    ("/jobs", "get"): row("401 200 200 200 200 200 200 200"),
    ("/jobs", "post"): row("401 404 403 201 201 201 403 403"),
    ("/jobs/{pk}", "get"): row("401 404 200 200 200 200 200 200"),
    ("/jobs/{pk}/log", "get"): row("401 404 200 200 200 200 200 403"),
    ("/jobs/{pk}/cancel", "post"): row("401 404 403 403 202 202 202 403"),
    ("/cluster", "get"): row("401 200 200 200 200 200 200 200"),
    ("/audit/events", "get"): row("401 403 403 403 200 200 200 200"),
}


@pytest.fixture
def world() -> World:
    return make_world()


def ask(who: Caller, world: World, route: str, method: str) -> int:
    path = route.format(code=world.project.code, pk=world.job.pk)
    if method == "get":
        return who.get(path).status_code
    return who.post(path, REQUEST | {"project": world.project.code} if route == "/jobs" else None).status_code


@pytest.mark.parametrize(("route", "method"), TABLE)
def test_every_kind_of_person_gets_what_the_table_says(world: World, roles: Roles, route: str, method: str) -> None:
    callers = {name: world.caller(name) for name in PEOPLE}
    roles.use("web")
    assert {name: ask(who, world, route, method) for name, who in callers.items()} == TABLE[route, method]


def test_every_route_stands_in_the_table() -> None:
    described = api.get_openapi_schema()["paths"]
    routes = {(path.removeprefix("/api/v1"), method) for path, methods in described.items() for method in methods}
    assert routes == set(TABLE)


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


@pytest.mark.parametrize(("route", "method"), [key for key in TABLE if "{" in key[0]])
def test_not_yours_and_not_there_are_the_same_answer(world: World, roles: Roles, route: str, method: str) -> None:
    who = world.caller("stranger")
    roles.use("web")
    theirs = route.format(code=world.project.code, pk=world.job.pk)
    absent = route.format(code="nowhere", pk=uuid7())
    answers = [who.get(path) if method == "get" else who.post(path) for path in (theirs, absent)]
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

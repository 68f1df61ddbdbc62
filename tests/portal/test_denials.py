"""What is denied is recorded, and lists and filters show no more than the gate; who gets what is in tests/matrix."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from django.urls import reverse

from access.ids import uuid7
from audit.actions import Action, Outcome
from audit.models import AuditEvent
from tests.api import PEOPLE, REQUEST, World, make_world
from tests.conftest import Roles
from tests.pages import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_a_page_that_is_not_theirs_is_recorded_like_one_that_is_not_there(world: World, roles: Roles) -> None:
    client = signed_in(world.person("stranger"))
    roles.use("web")
    answers = [client.get(reverse("jobs:detail", args=[pk])) for pk in (world.job.pk, uuid7())]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert AuditEvent.objects.filter(action=Action.ACCESS_REFUSED, channel="web").count() == 2


@pytest.mark.parametrize(
    "of",
    [lambda world: f"/jobs/{world.job.pk}", lambda world: "/projects/aurora", lambda world: "/jobs?project=aurora"],
)
def test_a_call_that_is_refused_leaves_one_event_with_its_number(
    world: World, roles: Roles, of: Callable[[World], str]
) -> None:
    who = world.caller("stranger")
    roles.use("web")
    answer = who.get(of(world))
    assert answer.status_code == 404
    event = AuditEvent.objects.get(action=Action.ACCESS_REFUSED, outcome=Outcome.REFUSED, channel="api")
    assert event.correlation == answer["X-Request-ID"] == json.loads(answer.content)["request_id"]


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

"""GET /audit/events: the whole trail or a project's, filtered, paged without gap, and itself recorded."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from audit import trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent
from tests.api import World, make_world
from tests.conftest import Roles
from tests.factories import make_project, make_user


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def actions(answer: object) -> list[str]:
    return [item["action"] for item in answer.json()["items"]]  # type: ignore[attr-defined]


def test_an_auditor_reads_all_and_a_pi_only_the_projects_own(world: World, roles: Roles) -> None:
    auditor, pi = world.caller("auditor"), world.caller("pi")
    elsewhere = make_project("cobalto")
    trail.record(Action.JOB_STARTED, project=elsewhere, secret_of_cobalto=1)
    roles.use("web")
    everything = auditor.get("/audit/events?limit=200")
    projects = {item["project"] for item in everything.json()["items"]}
    assert projects == {"", "aurora", "cobalto"}
    own = pi.get("/audit/events?limit=200")
    assert {item["project"] for item in own.json()["items"]} == {"aurora"}
    assert b"secret_of_cobalto" not in own.content
    assert {item["address"] for item in own.json()["items"]} == {None}
    assert {item["db_role"] for item in own.json()["items"]} == {""}
    assert pi.get("/audit/events?project=cobalto").status_code == 404
    assert auditor.get("/audit/events?project=cobalto").status_code == 200
    assert auditor.get("/audit/events?project=none").status_code == 404


def test_a_member_may_not_read_even_the_projects_own(world: World, roles: Roles) -> None:
    member, stranger = world.caller("member"), world.caller("stranger")
    roles.use("web")
    assert member.get("/audit/events?project=aurora").status_code == 403
    assert stranger.get("/audit/events?project=aurora").status_code == 404


def test_each_read_is_one_event_with_its_filter(world: World, roles: Roles) -> None:
    auditor = world.caller("auditor")
    roles.use("web")
    before = AuditEvent.objects.count()
    auditor.get("/audit/events?project=aurora&limit=2")
    auditor.get("/audit/events?action=job.submitted")
    assert AuditEvent.objects.count() == before + 2
    first, second = AuditEvent.objects.filter(action=Action.TRAIL_READ).order_by("pk")
    assert (first.actor_id, first.project_code) == (world.person("auditor").pk, "aurora")
    assert first.detail["filter"] == {"project": "aurora", "limit": 2}
    assert (second.detail["filter"], second.detail["count"]) == ({"action": "job.submitted"}, 1)


def test_filters(world: World, roles: Roles) -> None:
    auditor, person = world.caller("auditor"), make_user("ana")
    now = timezone.now()
    trail.record(Action.JOB_STARTED, by=person, project=world.project)
    trail.record(Action.ACCESS_REFUSED, by=person, outcome=Outcome.REFUSED)
    roles.use("web")
    assert actions(auditor.get("/audit/events?actor=ana")) == ["access.refused", "job.started"]
    assert actions(auditor.get("/audit/events?actor=ana&outcome=refused")) == ["access.refused"]
    assert actions(auditor.get("/audit/events?actor=ana&action=job.started&project=aurora")) == ["job.started"]
    assert actions(auditor.get("/audit/events?actor=nobody-of-this-name")) == []
    later = (now + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    assert actions(auditor.get(f"/audit/events?since={later}")) == []
    assert "job.started" in actions(auditor.get(f"/audit/events?until={later}"))
    assert actions(auditor.get(f"/audit/events?actor=ana&until={now.isoformat().replace('+00:00', 'Z')}")) == []


@pytest.mark.parametrize(
    "query",
    ["action=no.such", "outcome=maybe", "since=yesterday", "until=2026-01-01T00:00:00", "cursor=0", "cursor=x",
     "limit=0", "actor=a%00b", "project=a%00", f"actor={'x' * 151}"],
)  # fmt: skip
def test_a_filter_that_is_none_is_named(world: World, roles: Roles, query: str) -> None:
    auditor = world.caller("auditor")
    roles.use("web")
    answer = auditor.get(f"/audit/events?{query}")
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [query.split("=")[0]])


def test_pages_hold_every_event_once_though_reading_makes_new_ones(world: World, roles: Roles) -> None:
    auditor = world.caller("auditor")
    roles.use("web")
    expected = [str(uid) for uid in AuditEvent.objects.order_by("-pk").values_list("uid", flat=True)]
    seen, cursor = [], ""
    while True:
        page = auditor.get(f"/audit/events?limit=3{cursor}").json()
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == expected

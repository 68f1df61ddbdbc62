"""POST /jobs/batch: all or none, wrong fields named with their place, one key for all, one hold over the sum."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Job
from jobs.services import batches
from quotas.models import Allocation, Hold, Share
from tests.api import REQUEST, World, caller, make_world
from tests.conftest import Roles
from tests.factories import make_allocation, make_member, make_project

ONE = REQUEST | {"project": "aurora"}


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def jobs(count: int, **changes: Any) -> dict[str, Any]:
    return {"jobs": [ONE | {"name": f"sweep {number}"} | changes for number in range(count)]}


def made() -> tuple[int, int, int]:
    return Job.objects.count(), Hold.objects.count(), AuditEvent.objects.filter(action=Action.JOB_SUBMITTED).count()


def test_all_are_made_in_their_order_each_with_its_event_and_its_hold(world: World, roles: Roles) -> None:
    who, before = caller(world.owner), made()
    roles.use("web")
    answer = who.post("/jobs/batch", jobs(5))
    assert answer.status_code == 201
    items = answer.json()["items"]
    assert [item["name"] for item in items] == [f"sweep {number}" for number in range(5)]
    assert made() == tuple(number + 5 for number in before)
    for item in items:
        assert who.get(f"/jobs/{item['id']}").json() == item
        event = AuditEvent.objects.about("job", item["id"]).get()
        assert (event.actor_id, event.detail["digest"]) == (world.owner.pk, item["digest"])
        assert Hold.objects.filter(reference=item["id"], user=world.owner).count() == 1


def test_the_same_job_alone_and_in_a_batch(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    alone = who.post("/jobs", ONE).json()
    [together] = who.post("/jobs/batch", {"jobs": [ONE]}).json()["items"]
    differ = ("id", "url", "created_at")
    assert {k: v for k, v in alone.items() if k not in differ} == {k: v for k, v in together.items() if k not in differ}


def test_many_cost_few_statements_more_than_one(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    cost = {}
    for count in (1, 50):
        with CaptureQueriesContext(connection) as seen:
            assert who.post("/jobs/batch", jobs(count)).status_code == 201
        cost[count] = len(seen)
    assert cost[50] <= cost[1]


def test_every_wrong_field_is_named_with_its_place_and_nothing_is_made(world: World, roles: Roles) -> None:
    who, before = caller(world.owner), made()
    roles.use("web")
    body = jobs(6)
    body["jobs"][1] |= {"name": "-x", "gpus": 99}
    body["jobs"][3] |= {"owner": 1}
    body["jobs"][4] |= {"project": 5}
    body["jobs"][5] |= {"allocation": "other"}
    answer = who.post("/jobs/batch", body)
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert set(answer.json()["errors"]) == {
        "jobs.1.name", "jobs.1.gpus", "jobs.3.owner", "jobs.4.project", "jobs.5.allocation",
    }  # fmt: skip
    assert made() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "jobs"), ({"jobs": []}, "jobs"), ({"jobs": 3}, "jobs"), ({"jobs": [ONE] * (batches.MOST + 1)}, "jobs"),
        ({"jobs": [ONE, 7]}, "jobs.1"), ({"jobs": [ONE], "more": 1}, "more"),
    ],
)  # fmt: skip
def test_a_batch_without_form(world: World, roles: Roles, body: dict[str, Any], field: str) -> None:
    who, before = caller(world.owner), made()
    roles.use("web")
    answer = who.post("/jobs/batch", body)
    assert (answer.status_code, list(answer.json()["errors"]), made()) == (422, [field], before)


def test_one_project_that_is_not_theirs_ends_the_batch(world: World, roles: Roles) -> None:
    who, before = caller(world.owner), made()
    seen_only = make_project("boreal-2")
    make_member(seen_only, Role.PI)
    roles.use("web")
    body = jobs(3)
    body["jobs"][2] |= {"project": "boreal-2"}
    foreign = who.post("/jobs/batch", body)
    body["jobs"][2] |= {"project": "none-such"}
    absent = who.post("/jobs/batch", body)
    assert (foreign.status_code, absent.status_code) == (404, 404)
    assert {k: v for k, v in foreign.json().items() if k != "request_id"} == {
        k: v for k, v in absent.json().items() if k != "request_id"
    }
    assert made() == before


def test_who_may_only_look_is_refused(world: World, roles: Roles) -> None:
    who, before = caller(make_member(world.project, Role.VIEWER)), made()
    roles.use("web")
    assert (who.post("/jobs/batch", jobs(2)).status_code, made()) == (403, before)


def test_one_key_stands_for_the_batch(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    first = who.post("/jobs/batch", jobs(3), idempotency_key="k").json()["items"]
    after = made()
    again = who.post("/jobs/batch", jobs(3), idempotency_key="k")
    assert (again.status_code, [item["id"] for item in again.json()["items"]]) == (201, [item["id"] for item in first])
    for other in (jobs(2), jobs(4), jobs(3, cpus=2)):
        refused = who.post("/jobs/batch", other, idempotency_key="k")
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:bancada:problem:key-reused")
    assert made() == after
    assert who.post("/jobs", ONE, idempotency_key="k").status_code == 201  # a single job's key is another


def test_an_allocation_with_room_for_some_takes_none(world: World, roles: Roles) -> None:
    who, before = caller(world.owner), made()
    room = Allocation.objects.get(project=world.project, code="main")
    under_way = room.holds.filter(released_at=None).count()
    Allocation.objects.filter(pk=room.pk).update(jobs_submitted=under_way + 2)
    roles.use("web")
    answer = who.post("/jobs/batch", jobs(3))
    assert (answer.status_code, answer.json()["limit"]) == (422, "jobs_submitted")
    assert list(answer.json()["errors"]) == ["jobs.0.allocation"] and made() == before
    mixed = {"jobs": [*jobs(2)["jobs"], ONE | {"cpus": 2, "time_limit_minutes": 30, "gpus": 0, "partition": "prep"}]}
    assert who.post("/jobs/batch", mixed).json()["limit"] == "jobs_submitted" and made() == before
    assert who.post("/jobs/batch", jobs(2)).status_code == 201


def test_gpu_hours_count_over_the_sum(world: World, roles: Roles) -> None:
    who, before = caller(world.owner), made()
    room = Allocation.objects.get(project=world.project, code="main")
    held = sum(room.holds.filter(released_at=None).values_list("gpu_minutes", flat=True))
    Allocation.objects.filter(pk=room.pk).update(gpu_minutes=held + room.used_gpu_minutes + 100)
    roles.use("web")
    wish = {"gpus": 1, "time_limit_minutes": 40}
    answer = who.post("/jobs/batch", jobs(3, **wish))
    assert (answer.status_code, answer.json()["limit"], made()) == (422, "gpu_minutes", before)
    assert who.post("/jobs/batch", jobs(2, **wish)).status_code == 201


def test_a_share_counts_over_the_sum(world: World, roles: Roles) -> None:
    who, before = caller(world.owner), made()
    room = Allocation.objects.get(project=world.project, code="main")
    Allocation.objects.filter(pk=room.pk).update(is_shared=True)
    mine = room.holds.filter(released_at=None, user=world.owner).count()
    Share.objects.create(allocation=room, user=world.owner, jobs_submitted=mine + 2)
    roles.use("web")
    assert (who.post("/jobs/batch", jobs(3)).status_code, made()) == (422, before)
    assert who.post("/jobs/batch", jobs(2)).status_code == 201


def test_a_batch_counts_for_the_pace_that_follows(world: World, roles: Roles, settings: Any) -> None:
    settings.SUBMISSIONS_PER_MINUTE = 5
    who = caller(world.owner)
    roles.use("web")
    assert who.post("/jobs/batch", jobs(8)).status_code == 201
    assert who.post("/jobs/batch", jobs(1)).status_code == who.post("/jobs", ONE).status_code == 429


def test_several_allocations_at_once(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    make_allocation(world.project, code="second", qos="second", is_default=False)
    roles.use("web")
    body = jobs(4)
    for place in (0, 2):
        body["jobs"][place] |= {"allocation": "second"}
    items = who.post("/jobs/batch", body).json()["items"]
    assert [item["allocation"] for item in items] == ["second", "main", "second", "main"]


@pytest.mark.django_db(transaction=True)
def test_the_same_batch_many_times_at_the_same_moment_is_one(world: World) -> None:
    said: list[Any] = []

    def ask() -> None:
        said.append(caller_.post("/jobs/batch", jobs(4), idempotency_key="once"))
        connections.close_all()

    caller_, before = caller(world.owner), made()
    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [answer.status_code for answer in said] == [201] * 5
    assert len({tuple(item["id"] for item in answer.json()["items"]) for answer in said}) == 1
    assert made() == tuple(number + 4 for number in before)

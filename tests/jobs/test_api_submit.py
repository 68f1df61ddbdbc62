"""POST /jobs: every wrong field named in the asker's language, one job a key, limits and pace with their own words."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, connections

from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Job
from projects.models import Project, ProjectState
from quotas.models import Allocation, Hold
from tests.api import REQUEST, Caller, World, caller, make_world
from tests.conftest import Roles
from tests.factories import make_member

BODY = REQUEST | {"project": "aurora"}


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_a_job_is_asked_for_and_told(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    wish = {"gpu_type": "a100", "nodes": 2, "cpus": 8, "memory_gb": 16, "time_limit_minutes": 90, "allocation": "main"}
    answer = who.post("/jobs", BODY | wish | {"environment": {"SEED": "7"}})
    job = Job.objects.get(pk=answer.json()["id"])
    assert answer.status_code == 201
    told = answer.json()
    assert {name: told[name] for name in wish} == wish
    assert (told["project"], told["owner"], told["state"], told["state_label"]) == (
        "aurora", world.owner.username, "handing", "handing to Slurm",
    )  # fmt: skip
    assert (told["slurm_job_id"], told["exit_code"], told["source"]) == (None, None, "portal")
    assert told["url"] == f"http://127.0.0.1:8000/jobs/{job.pk}"
    assert (job.environment, job.digest, job.memory_mb) == ({"SEED": "7"}, told["digest"], 16 * 1024)
    assert who.get(f"/jobs/{job.pk}").json() == told


def test_what_is_left_out_is_filled_in(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    told = who.post("/jobs", BODY).json()
    assert (told["gpu_type"], told["nodes"], told["cpus"], told["allocation"]) == ("a100", 1, 1, "main")
    assert (told["memory_gb"], told["time_limit_minutes"]) == (4, 60)


BAD: list[tuple[str, Any, str]] = [
    ("script", "echo\n", "first line"), ("script", "", "Write the script"), ("script", None, "Write the script"),
    ("script", "#!/bin/sh\n\x00", "NUL"), ("script", "#!/bin/sh\r\n", "DOS"), ("script", 7, "Write the script"),
    ("script", "#!/bin/sh\n" + "x" * 4 * 1024 * 1024, "4 MiB"), ("script", "#!/bin/sh\n\ud800", "UTF-8"),
    ("name", "two\nlines", "Begin with"), ("name", "\x1b[31mred", "Begin with"), ("name", "", "Begin with"),
    ("name", "x" * 65, "Begin with"), ("name", None, "Begin with"), ("name", "-x", "Begin with"),
    ("name", "a\x00", "Begin with"), ("name", ["x"], "Begin with"),
    ("gpus", 5, "At most 4"), ("gpus", 10**30, "At most 4"), ("gpus", -1, "At least 0"), ("gpus", "1", "whole number"),
    ("gpus", 1.5, "whole number"), ("gpus", True, "whole number"), ("gpus", None, "whole number"),
    ("nodes", 0, "At least 1"), ("nodes", 3, "At most 2"), ("cpus", 33, "At most 32"), ("cpus", {}, "whole number"),
    ("memory_gb", 126, "At most 125"), ("memory_gb", 0, "At least 1"),
    ("time_limit_minutes", 1441, "At most 1440"), ("time_limit_minutes", 10**12, "At most"),
    ("partition", "debug", "gpu, large, prep"), ("partition", None, "gpu, large, prep"), ("partition", 3, "gpu, large"),
    ("gpu_type", "h100", "a100"), ("gpu_type", 4, "text"), ("allocation", "other", "no such allocation"),
    ("allocation", "a\x00b", "text"), ("allocation", 1, "text"),
    ("environment", {"LD_PRELOAD": "x"}, "LD_PRELOAD"), ("environment", {"A": "1\n2"}, "one line"),
    ("environment", {"A": 1}, "text"), ("environment", ["A=1"], "not possible"), ("environment", {"A": "\ud800"}, "text"),
    ("project", None, "text"), ("project", 5, "text"), ("owner", 1, "no such field"), ("state", "x", "no such field"),
    ("__proto__", 1, "no such field"), ("slurm_job_id", 1, "no such field"),
]  # fmt: skip


def test_a_wrong_field_is_named_and_nothing_is_made(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    before = (Job.objects.count(), Hold.objects.count(), AuditEvent.objects.count())
    for field, value, said in BAD:
        answer = who.post("/jobs", BODY | {field: value})
        case = f"{field}={str(value)[:50]!r}: {answer.content[:300]!r}"
        assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json"), case
        errors = answer.json()["errors"]
        assert list(errors) == [field], case
        assert said in errors[field][0], case
    assert (Job.objects.count(), Hold.objects.count(), AuditEvent.objects.count()) == before


def test_all_wrong_fields_are_named_at_once(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    wrong = {"gpus": "2", "script": "x", "name": "\n", "partition": "?", "extra": 1, "allocation": "none"}
    assert set(who.post("/jobs", BODY | wrong).json()["errors"]) == set(wrong)
    assert set(who.post("/jobs", {}).json()["errors"]) == {"project", "name", "partition", "script"}


def test_the_messages_are_in_the_askers_language(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    english = who.post("/jobs", BODY | {"gpus": 9}).json()
    asked = {"Authorization": f"Bearer {who.secret}", "Accept-Language": "pt-BR,pt;q=0.9"}
    answer = who.client.post("/api/v1/jobs", BODY | {"gpus": 9}, content_type="application/json", headers=asked)
    assert answer["Content-Language"] == "pt-br"
    assert set(answer.json()["errors"]) == set(english["errors"]) == {"gpus"}


def test_a_body_that_is_no_request_is_refused(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    for body in ("[1]", "null", "{", '{"a":' * 100_000, "\xff", "NaN", '"text"', " "):
        raw = body.encode("latin-1")
        answer = who.client.post("/api/v1/jobs", raw, content_type="application/json", headers=who._headers({}))
        assert answer.status_code == 400, body[:20]
    assert who.post("/jobs").status_code == 415


LIMITS = [
    ({"gpus_at_once": 1}, {"gpus": 2}, "gpus", "gpus_at_once"),
    ({"longest_minutes": 60}, {"time_limit_minutes": 61}, "time_limit_minutes", "longest_minutes"),
    ({"gpu_minutes": 100}, {"gpus": 2}, "time_limit_minutes", "gpu_minutes"),
    ({"jobs_submitted": 1}, {}, "allocation", "jobs_submitted"),
]


@pytest.mark.parametrize(("limits", "wish", "field", "limit"), LIMITS)
def test_the_limit_that_stands_in_the_way_is_named(
    world: World, roles: Roles, limits: dict[str, int], wish: dict[str, int], field: str, limit: str
) -> None:
    Allocation.objects.update(**limits)
    who = caller(world.owner)
    roles.use("web")
    answer = who.post("/jobs", BODY | wish)
    assert (answer.status_code, answer.json()["limit"]) == (422, limit)
    assert list(answer.json()["errors"]) == [field]


def test_who_cannot_submit_now_is_told_why(world: World, roles: Roles) -> None:
    who, without_number = caller(world.owner), caller(make_member(world.project, uid_number=None))
    roles.use("web")
    answer = without_number.post("/jobs", BODY)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:bancada:problem:not-now")
    assert "user number" in answer.json()["detail"]
    roles.use(None)
    Project.objects.update(state=ProjectState.ARCHIVED)
    roles.use("web")
    assert "archived" in who.post("/jobs", BODY).json()["errors"]["project"][0]


def test_a_key_makes_one_job_and_another_request_under_it_is_refused(world: World, roles: Roles) -> None:
    who, other = caller(world.owner), world.caller("pi")
    roles.use("web")
    first, second = (who.post("/jobs", BODY, Idempotency_Key="k-1") for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    third = who.post("/jobs", BODY | {"gpus": 2}, Idempotency_Key="k-1")
    assert (third.status_code, list(third.json()["errors"])) == (409, ["Idempotency-Key"])
    assert other.post("/jobs", BODY, Idempotency_Key="k-1").json()["id"] != first.json()["id"]
    assert Job.objects.filter(idempotency_key="k-1").count() == 2


@pytest.mark.parametrize("key", ["k" * 101, "with space", "é"])
def test_a_key_that_is_none_is_refused(world: World, roles: Roles, key: str) -> None:
    who = caller(world.owner)
    roles.use("web")
    answer = who.post("/jobs", BODY, Idempotency_Key=key)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["Idempotency-Key"])


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_with_one_key_make_one_job_that_takes_the_last_of_the_allocation() -> None:
    world = make_world(gpu_minutes=240, jobs_submitted=2)
    secret, answers = caller(world.owner).secret, []
    ready = threading.Barrier(20)

    def ask() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET ROLE web")
            ready.wait()
            answers.append(Caller(secret).post("/jobs", BODY | {"gpus": 2}, Idempotency_Key="once"))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [201] * 20
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Job.objects.count() == Hold.objects.count() == 2
    assert AuditEvent.objects.filter(action=Action.JOB_SUBMITTED).count() == 2


def test_too_many_a_minute_wait_and_nobody_else_does(world: World, roles: Roles, settings: Any) -> None:
    settings.SUBMISSIONS_PER_MINUTE = 3
    Allocation.objects.update(gpu_minutes=None)
    fast, other = caller(world.owner), caller(make_member(world.project, Role.PI))
    roles.use("web")
    statuses = [fast.post("/jobs", BODY).status_code for _ in range(3)]  # the world's own job counts too
    assert statuses == [201, 201, 429]
    answer = fast.post("/jobs", BODY)
    assert 55 <= int(answer["Retry-After"]) <= 60
    assert other.post("/jobs", BODY).status_code == 201
    settings.SUBMISSIONS_PER_MINUTE = 0
    assert fast.post("/jobs", BODY).status_code == 201

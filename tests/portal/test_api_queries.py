"""What a GET costs: at most eight queries however long the list, and no write but the read that must be recorded."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Job
from jobs.services import reading
from logs.chunks import Chunk
from projects import services as projects
from tests.api import REQUEST, World, make_world
from tests.conftest import Roles
from tests.factories import make_project, make_user

MOST = 8
PATHS = [
    "/me", "/projects", "/projects/aurora", "/projects/aurora/allocations", "/jobs", "/jobs?project=aurora&state=open",
    "/jobs/{pk}", "/jobs/{pk}/log", "/cluster", "/audit/events", "/audit/events?project=aurora&actor=x",
]  # fmt: skip
RECORDED = ("/jobs/{pk}/log", "/audit/events")


class OneByte:
    """A log reader that has one byte."""

    def read(self, *_: object, **__: object) -> Chunk:
        return Chunk(b"x", 0, 1, "g", "open", 0.0)


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(reading, "reader", OneByte)
    world = make_world()
    world.accepted()
    plain = {"cluster": world.job.cluster, "owner_login": "x", "name": "more", "partition": "gpu", "digest": "d"}
    for _ in range(20):
        Job.objects.create(project=world.project, owner=world.owner, allocation=world.job.allocation, **plain)
        projects.add_member(project=world.project, user=make_user(), role="viewer", by=None)
    projects.add_member(project=make_project(), user=world.person("pi"), role="pi", by=None)
    return world


@pytest.mark.parametrize("who", ["pi", "operator"])
def test_a_get_asks_little_and_writes_nothing(world: World, roles: Roles, who: str) -> None:
    caller = world.caller(who)
    roles.use("web")
    caller.get("/me")  # notes the token's use, once a minute
    for path in PATHS:
        with CaptureQueriesContext(connection) as queries:
            answer = caller.get(path.format(pk=world.job.pk))
        asked = [query["sql"] for query in queries]
        new = [sql for sql in asked if sql.startswith('INSERT INTO "audit_identity"')]  # whom no event named before
        writes = [sql for sql in asked if not sql.startswith("SELECT") and sql not in new]
        assert answer.status_code == 200, path
        assert len(asked) <= MOST, (path, asked)
        assert len(writes) == int(path.startswith(RECORDED)), (path, writes)
        assert all(sql.startswith('INSERT INTO "audit_auditevent"') for sql in writes)


def test_a_polled_output_is_recorded_once_and_then_writes_nothing(world: World, roles: Roles) -> None:
    caller = world.caller("pi")
    roles.use("web")
    caller.get(f"/jobs/{world.job.pk}/log")
    with CaptureQueriesContext(connection) as queries:
        caller.get(f"/jobs/{world.job.pk}/log?offset=1")
    assert all(query["sql"].startswith("SELECT") for query in queries)


def test_scripts_stay_in_the_database_where_nobody_asks_for_them(world: World, roles: Roles) -> None:
    caller = world.caller("pi")
    roles.use("web")
    for path in ("/jobs", f"/jobs/{world.job.pk}", f"/jobs/{world.job.pk}/log"):
        with CaptureQueriesContext(connection) as queries:
            caller.get(path)
        assert not any('"jobs_job"."script"' in query["sql"] for query in queries), path
    assert REQUEST["script"] not in caller.get(f"/jobs/{world.job.pk}").content.decode()

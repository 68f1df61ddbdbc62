"""/healthz, /readyz and /metrics: what they say, to whom, and that they are quick whatever hangs."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from cluster.models import Cluster
from portal import metrics, readiness
from portal.readiness import Check, NotReady, Seen, look_at_all
from tests.api import make_world
from tests.conftest import Roles
from tests.factories import make_cluster

SECRETS = ("password", "postgres://", "redis://", "/srv/", "Traceback", ".sock")


def fresh(*checks: Check) -> dict[str, Seen]:
    return look_at_all([Check(check.name, check.look, check.keep) for check in checks])


def named(name: str) -> Check:
    return next(check for check in readiness.CHECKS if check.name == name)


def test_alive_asks_nobody(client: Client, db: None) -> None:
    with CaptureQueriesContext(connection) as queries:
        answer = client.get("/healthz")
    assert (answer.status_code, answer.content, len(queries)) == (200, b"ok\n", 0)
    assert client.post("/healthz").status_code == 405


def test_ready_says_each_thing_with_its_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise ConnectionError("redis://:password@/srv/x.sock")

    checks = (Check("a", lambda: None), Check("b", lambda: 3.25))
    monkeypatch.setattr(readiness, "CHECKS", checks)
    answer = client.get("/readyz")
    body = answer.json()
    assert (answer.status_code, body["ready"]) == (200, True)
    assert body["checks"]["b"]["age"] == 3.2
    assert set(body["checks"]["a"]) == {"ok", "ms", "seconds_ago"}
    monkeypatch.setattr(readiness, "CHECKS", (*checks, Check("c", fails)))
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    assert answer.json()["checks"]["c"]["said"] == "failed: ConnectionError"
    assert not any(word in answer.content.decode() for word in SECRETS)


def test_what_hangs_is_no_answer_within_the_deadline_and_holds_one_thread(client: Client) -> None:
    let_go, looks = threading.Event(), []

    def hangs() -> None:
        looks.append(1)
        let_go.wait(20)

    check = Check("hung", hangs)
    began = time.monotonic()
    first = look_at_all([check, Check("fine", lambda: None)])
    assert time.monotonic() - began < 15
    assert (first["hung"].said, first["fine"].ok) == ("no answer", True)
    look_at_all([check])
    assert len(looks) == 1
    let_go.set()
    time.sleep(0.05)
    assert look_at_all([check])["hung"].ok


def test_asking_often_costs_the_thing_itself_nothing() -> None:
    looks: list[int] = []
    check = Check("kept", lambda: looks.append(1), keep=5.0)
    for _ in range(50):
        look_at_all([check])
    assert len(looks) == 1
    assert named("directory").keep == 5.0


@pytest.mark.django_db(transaction=True)
def test_the_database_is_ready_when_it_answers_and_is_migrated(roles: Roles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_migrated", [])
    monkeypatch.setattr(readiness, "DEADLINE", 60)
    assert fresh(named("database"))["database"].ok
    monkeypatch.setattr(readiness, "_migrated", [])
    monkeypatch.setattr("django.db.migrations.executor.MigrationExecutor.migration_plan", lambda *_: ["one"])
    assert fresh(named("database"))["database"].said == "migrations are missing"


@pytest.mark.django_db(transaction=True)
def test_the_picture_of_the_cluster_has_an_age() -> None:
    assert fresh(named("cluster"))["cluster"].said == "never seen"
    make_cluster()
    seen = fresh(named("cluster"))["cluster"]
    assert seen.ok
    assert 0 <= (seen.age or 0) < 5
    Cluster.objects.update(jobs_seen_at=timezone.now() - timedelta(seconds=200))
    seen = fresh(named("cluster"))["cluster"]
    assert (seen.ok, seen.said, 199 < (seen.age or 0) < 210) == (False, "older than 90 s", True)


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where somebody listens and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_redis_that_is_gone_or_silent_is_said_to_be(settings: Any, silent: int) -> None:
    settings.HINTS_URL = ""
    assert fresh(named("hints"))["hints"].ok
    settings.HINTS_URL = f"redis://127.0.0.1:{silent}/0"
    assert not fresh(named("hints"))["hints"].ok
    settings.HINTS_URL = "unix:///nowhere/redis.sock"
    assert fresh(named("hints"))["hints"].said == "failed: ConnectionError"
    assert fresh(named("broker"))["broker"].ok  # in memory here


def test_the_directory_must_answer_with_a_good_certificate(settings: Any, silent: int) -> None:
    settings.AUTH_LDAP_SERVER_URI = ""
    assert fresh(named("directory"))["directory"].said == "not set up"
    settings.AUTH_LDAP_SERVER_URI = "ldap://127.0.0.1:1"
    settings.AUTH_LDAP_START_TLS = False
    assert fresh(named("directory"))["directory"].said == "not set up"
    settings.AUTH_LDAP_START_TLS = True
    assert fresh(named("directory"))["directory"].said == "no answer"
    settings.AUTH_LDAP_SERVER_URI = f"ldaps://127.0.0.1:{silent}"
    settings.LDAP_CA_FILE = ""
    assert fresh(named("directory"))["directory"].said == "no answer"


def test_the_log_reader_that_is_down_is_said_to_be(settings: Any) -> None:
    settings.READER_SOCKET = "/nowhere/reader.sock"
    readiness._reader.cache_clear()
    assert fresh(named("log_reader"))["log_reader"].said == "failed: ReaderDown"
    readiness._reader.cache_clear()


def test_a_check_may_say_why_and_how_old() -> None:
    def old() -> None:
        raise readiness._aged(NotReady("too old"), 7.0)

    seen = fresh(Check("x", old))["x"]
    assert (seen.ok, seen.said, seen.age) == (False, "too old", 7.0)


METRICS = [
    (None, {}, "127.0.0.1", 200), (None, {}, "::1", 200), (None, {}, "", 200), (None, {}, "192.0.2.1", 401),
    (None, {"X-Forwarded-For": "127.0.0.1"}, "127.0.0.1", 401), (None, {"Forwarded": "for=x"}, "", 401),
    ("t" * 32, {"X-Forwarded-For": "192.0.2.1", "Authorization": "Bearer " + "t" * 32}, "127.0.0.1", 200),
    ("t" * 32, {"X-Forwarded-For": "192.0.2.1", "Authorization": "Bearer " + "u" * 32}, "127.0.0.1", 401),
    (None, {"X-Forwarded-For": "192.0.2.1", "Authorization": "Bearer "}, "127.0.0.1", 401),
]  # fmt: skip


@pytest.mark.parametrize(("token", "headers", "peer", "status"), METRICS)
def test_metrics_are_for_this_host_or_for_who_holds_the_token(
    client: Client, db: None, settings: Any, token: str | None, headers: dict[str, str], peer: str, status: int
) -> None:
    settings.METRICS_TOKEN = token or ""
    assert client.get("/metrics", headers=headers, REMOTE_ADDR=peer).status_code == status


def _nothing_waits() -> None:
    """Bells that tests before this one left in the memory of this process are gone."""
    with current_app.connection_for_write() as link:
        for name in metrics.QUEUES:
            link.default_channel.queue_declare(name, durable=True)
            link.default_channel.queue_purge(name)


def test_metrics_tell_the_rows_and_the_requests(client: Client, db: None, roles: Roles) -> None:
    world = make_world()
    world.accepted()
    _nothing_waits()
    roles.use("web")
    client.get(f"/api/v1/jobs/{world.job.pk}")
    client.get(f"/api/v1/jobs/{world.job.pk}x")
    told = client.get("/metrics").content.decode()
    for line in (
        'bancada_open_jobs{state="handing"} 1.0', 'bancada_open_jobs{state="running"} 0.0',
        'bancada_handovers_last_hour{outcome="accepted"} 1.0', 'bancada_open_handovers{outcome="unknown"} 0.0',
        'bancada_open_intents{kind="cancel"} 0.0', 'bancada_queue_messages{queue="slurm"} 0.0',
    ):  # fmt: skip
        assert line in told
    assert re.search(r'bancada_request_seconds_count\{method="GET",route="api/v1/jobs/<\w+:pk>",status="4xx"\} ', told)
    assert float(re.search(r"^bancada_resident_bytes (\S+)$", told, re.MULTILINE)[1]) > 1e7
    assert re.search(r'bancada_picture_age_seconds\{picture="jobs"\} \d+\.', told)
    assert str(world.job.pk) not in told
    assert "unavailable" not in told


def test_a_metric_that_cannot_be_read_does_not_take_the_others_along(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Iterator[Any]:
        raise ConnectionError
        yield

    monkeypatch.setattr(metrics, "_queues", broken)
    told = client.get("/metrics").content.decode()
    assert 'bancada_metrics_unavailable{error="ConnectionError",metrics="broken"} 1.0' in told
    assert "bancada_open_jobs" in told

"""How one gets in: tokens with their scopes, sessions for reading; and the one shape of every error."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from accounts.models import ApiToken
from audit.actions import Action, Outcome
from audit.models import AuditEvent
from portal.problems import MEDIA_TYPE
from tests.api import REQUEST, Caller, World, caller, issue, make_world
from tests.conftest import Roles
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.mark.parametrize("secret", ["", "bnc_", "bnc_" + "x" * 43, "x" * 10_000, "bnc_é\x7f", "a b c"])
def test_a_token_that_is_none_is_refused(world: World, roles: Roles, secret: str) -> None:
    roles.use("web")
    answer = Caller(secret).client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 401
    assert answer["Content-Type"] == MEDIA_TYPE
    assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("why", ["expired", "revoked", "closed"])
def test_a_token_that_counts_no_more_is_refused_and_recorded_once(world: World, roles: Roles, why: str) -> None:
    past = timezone.now() - timedelta(seconds=1)
    fields = {"expired": {"expires_at": past}, "revoked": {"revoked_at": past}}.get(why, {})
    who = Caller(issue(world.owner, **fields))
    if why == "closed":
        world.owner.is_active = False
        world.owner.save()
    roles.use("web")
    assert [who.get("/me").status_code for _ in range(3)] == [401] * 3
    event = AuditEvent.objects.get(action=Action.TOKEN_REFUSED)
    assert (event.outcome, event.actor_id, event.channel) == (Outcome.REFUSED, None, "api")
    assert (event.detail["why"], event.said["owner"]) == (why, world.owner.username)


def test_a_bad_token_is_refused_even_beside_a_good_session(world: World, roles: Roles) -> None:
    client = _browser(world)
    roles.use("web")
    assert client.get("/api/v1/me").status_code == 200
    assert client.get("/api/v1/me", headers={"Authorization": "Bearer bnc_nonsense"}).status_code == 401


def test_a_session_reads_and_changes_nothing(world: World, roles: Roles) -> None:
    client = _browser(world)
    roles.use("web")
    assert client.get("/api/v1/jobs").json()["items"][0]["id"] == str(world.job.pk)
    assert client.get("/api/v1/me").json()["token"] is None
    body = REQUEST | {"project": "aurora"}
    assert client.post("/api/v1/jobs", body, content_type="application/json").status_code == 401
    assert client.post(f"/api/v1/jobs/{world.job.pk}/cancel").status_code == 401


SCOPES = [
    (("read",), "get", "/jobs", 200), (("read",), "post", "/jobs", 403), (("submit",), "post", "/jobs", 201),
    (("submit",), "get", "/jobs", 403), (("submit",), "get", "/cluster", 403), (("audit",), "get", "/me", 200),
    (("read", "submit"), "get", "/audit/events", 403), (("audit",), "get", "/audit/events", 200),
    (("audit",), "get", "/jobs", 403), (("read",), "post", "/jobs/{pk}/cancel", 403),
]  # fmt: skip


@pytest.mark.parametrize(("scopes", "method", "path", "status"), SCOPES)
def test_a_token_does_what_its_scopes_say(
    world: World, roles: Roles, scopes: tuple[str, ...], method: str, path: str, status: int
) -> None:
    who = caller(world.person("pi"), scopes)
    roles.use("web")
    path = path.format(pk=world.job.pk)
    answer = who.get(path) if method == "get" else who.post(path, REQUEST | {"project": "aurora"})
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["type"] == "urn:bancada:problem:scope"
        event = AuditEvent.objects.get(action=Action.TOKEN_REFUSED)
        assert (event.outcome, event.actor_id) == (Outcome.REFUSED, world.person("pi").pk)


def test_the_trail_names_the_token_that_was_used(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    prefix = ApiToken.objects.get().prefix
    roles.use("web")
    assert who.post("/jobs", REQUEST | {"project": "aurora"}).status_code == 201
    event = AuditEvent.objects.filter(action=Action.JOB_SUBMITTED).latest("pk")
    assert (event.channel, event.detail["token"], event.address) == ("api", prefix, "127.0.0.1")
    assert who.secret not in str(event.detail)
    session = _browser(world).get("/api/v1/audit/events")
    assert session.status_code == 403
    assert "token" not in AuditEvent.objects.latest("pk").detail


def test_no_secret_of_a_token_is_written_anywhere(
    world: World, roles: Roles, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    who, revoked = caller(world.owner), issue(world.owner, revoked_at=timezone.now())
    roles.use("web")
    caplog.set_level("DEBUG")
    who.get("/jobs")
    who.post("/jobs", {})
    Caller(revoked).get("/me")
    caller_without = caller(world.owner, ("read",))
    caller_without.get("/audit/events")
    monkeypatch.setattr("jobs.services.prepare", broken)
    assert who.post("/jobs", REQUEST | {"project": "aurora"}).status_code == 500
    written = caplog.text + str([event.detail for event in AuditEvent.objects.all()])
    for secret in (who.secret, revoked, caller_without.secret):
        assert secret not in written
        assert secret[-20:] not in written  # its own letters may hold an underscore


def test_errors_are_problems_whatever_made_them(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    answers = {
        404: who.get("/nothing/here"),
        405: who.client.put("/api/v1/jobs"),
        415: who.client.post("/api/v1/jobs", "x=1", content_type="text/plain", headers=who._headers({})),
        400: who.client.post("/api/v1/jobs", "{", content_type="application/json", headers=who._headers({})),
        422: who.get("/jobs?limit=1000"),
    }
    for status, answer in answers.items():
        assert (answer.status_code, answer["Content-Type"]) == (status, MEDIA_TYPE)
        assert answer.json()["status"] == status
        assert answer.json()["request_id"] == answer["X-Request-ID"]
    assert answers[405]["Allow"] in ("GET, POST", "POST, GET")
    assert answers[422].json()["errors"] == {"limit": ["At most 200."]}
    assert who.client.get("/api/").status_code == who.client.get("/api/v2/jobs").status_code == 404
    assert who.client.get("/api/v1/")["Content-Type"] == MEDIA_TYPE


def test_what_breaks_inside_is_a_problem_without_detail(
    world: World, roles: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr("jobs.services.prepare", broken)
    who = caller(world.owner)
    roles.use("web")
    answer = who.post("/jobs", REQUEST | {"project": "aurora"})
    assert (answer.status_code, answer["Content-Type"]) == (500, MEDIA_TYPE)
    assert b"secret words" not in answer.content


@pytest.mark.parametrize("where", ["accounts.services.tokens.known_token", "jobs.services.submit"])
def test_a_database_that_is_away_is_said_to_be(
    world: World, roles: Roles, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("connection to server at /srv/secret failed")

    who = caller(world.owner)
    roles.use("web")
    monkeypatch.setattr(where, away)
    answer = who.post("/jobs", REQUEST | {"project": "aurora"})
    assert (answer.status_code, answer["Content-Type"], answer["Retry-After"]) == (503, MEDIA_TYPE, "5")
    assert b"secret" not in answer.content


def test_too_large_a_body_is_not_even_read(world: World, roles: Roles) -> None:
    who = caller(world.owner)
    roles.use("web")
    body = b'{"script": "' + b"x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE + b'"}'
    answer = who.client.post("/api/v1/jobs", body, content_type="application/json", headers=who._headers({}))
    assert (answer.status_code, answer["Content-Type"]) == (413, MEDIA_TYPE)


def test_it_speaks_the_language_that_is_asked_for_else_the_persons_own(world: World, roles: Roles) -> None:
    person = make_user(language="en")
    who = Caller(issue(person))
    roles.use("web")
    bearer = {"Authorization": f"Bearer {who.secret}"}
    english = {"detail": "Not found"}.items()
    assert english <= who.client.get("/api/v1/projects/x", headers=bearer).json().items()
    asked = who.client.get("/api/v1/projects/x", headers=bearer | {"Accept-Language": "pt-BR"})
    assert asked["Content-Language"] == "pt-br"


def test_the_description_is_complete_and_needs_no_token(client: Client, roles: Roles) -> None:
    roles.use("web")
    described = client.get("/api/v1/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    assert set(described["components"]["securitySchemes"]) == {"Token", "Session"}
    for methods in described["paths"].values():
        for operation in methods.values():
            assert {"401", "403"} <= set(operation["responses"])
    assert client.get("/api/v1/docs").status_code == 404


def _browser(world: World) -> Client:
    client = Client()
    client.force_login(world.owner, backend="accounts.directory.backend.DirectoryBackend")
    session = client.session
    session["began"], session["epoch"] = time.time(), world.owner.session_epoch
    session.save()
    return client

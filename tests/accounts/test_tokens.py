"""Personal tokens: shown once, kept as a hash, limited, and dead as soon as anything says so."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from access.roles import SiteRole
from accounts import services
from accounts.models import ApiToken, TokenScope
from audit.actions import Action
from audit.models import AuditEvent
from tests.conftest import Roles
from tests.factories import make_user

pytestmark = pytest.mark.django_db
SHAPE = re.compile(r"bnc_[a-z0-9]{8}_[A-Za-z0-9_-]{43}")


@pytest.fixture(autouse=True)
def as_web(roles: Roles) -> None:
    """The page may do no more than its process may."""
    roles.use("web")


def issue(**fields: Any) -> tuple[ApiToken, str]:
    """A token of somebody."""
    user = fields.pop("user", None) or make_user()
    return services.issue_token(**{"user": user, "name": "script", "scopes": ["read"], "days": 30, "by": user} | fields)


def test_the_secret_is_kept_nowhere() -> None:
    token, secret = issue()
    assert SHAPE.fullmatch(secret) and secret.startswith(token.prefix)
    assert token.digest == hashlib.sha256(secret.encode()).hexdigest()
    row = str(ApiToken.objects.values().get()) + str(AuditEvent.objects.values().get())
    assert secret not in row and secret[13:] not in row
    event = AuditEvent.objects.get(action=Action.TOKEN_ISSUED)
    assert event.detail["scopes"] == ["read"] and event.subject_name.startswith(token.prefix)


def test_it_names_its_person() -> None:
    token, secret = issue(scopes=["submit", "read"])
    found = services.token_user(secret)
    assert found == token and found.user == token.user and found.scopes == ["read", "submit"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda secret: secret[:-1] + ("A" if secret[-1] != "A" else "B"),
        lambda secret: secret.upper(),
        lambda secret: secret[:12],
        lambda secret: secret + "x",
        lambda secret: "",
        lambda secret: "bnc_" + "é" * 40,
        lambda secret: "bnc_" + "x" * 10_000,
        lambda secret: secret[:6] + "\x00" + secret[7:],
        lambda secret: f" {secret}",
    ],
)
def test_anything_else_names_nobody(spoil: Any) -> None:
    _token, secret = issue()
    assert services.token_user(spoil(secret)) is None


def test_expired_revoked_or_closed() -> None:
    token, secret = issue()
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert services.token_user(secret) is None
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
    assert services.token_user(secret)
    services.revoke_token(token=token, by=token.user)
    services.revoke_token(token=token, by=token.user)
    assert services.token_user(secret) is None
    assert AuditEvent.objects.filter(action=Action.TOKEN_REVOKED).count() == 1
    other, secret = issue()
    type(other.user).objects.filter(pk=other.user.pk).update(is_active=False)
    assert services.token_user(secret) is None


def test_use_is_noted_once_a_minute() -> None:
    token, secret = issue()
    services.token_user(secret)
    token.refresh_from_db()
    assert token.last_used_at
    with CaptureQueriesContext(connection) as queries:
        services.token_user(secret)
    assert len(queries) == 1
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    services.token_user(secret)
    assert timezone.now() - ApiToken.objects.get().last_used_at < timedelta(seconds=30)  # type: ignore[operator]


@pytest.mark.parametrize("fields", [{"scopes": []}, {"scopes": ["root"]}, {"days": 0}, {"days": 366}])
def test_what_makes_no_token(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        issue(**fields)
    assert not ApiToken.objects.exists()


def test_twenty_are_enough() -> None:
    user = make_user()
    for _ in range(20):
        issue(user=user)
    with pytest.raises(services.TooManyTokens):
        issue(user=user)


@pytest.fixture
def person(client: Client) -> Any:
    """Somebody signed in at `client`."""

    def enter(**fields: Any) -> Any:
        user = make_user(**fields)
        client.force_login(user, backend=services.sessions.BACKEND)
        session = client.session
        session.update({"began": timezone.now().timestamp(), "epoch": user.session_epoch})
        session.save()
        return user

    return enter


def test_the_page_shows_it_once(client: Client, person: Any) -> None:
    person()
    url = reverse("accounts:tokens")
    page = client.post(url, {"name": "notebook", "scopes": ["read", "submit"], "days": "30"})
    shown = SHAPE.search(page.content.decode())
    assert shown and services.token_user(shown[0]) and "no-store" in page["Cache-Control"]
    assert not SHAPE.search(client.get(url).content.decode())


@pytest.mark.parametrize(
    "data",
    [
        {"name": "", "scopes": ["read"], "days": "30"},
        {"name": "x", "scopes": [], "days": "30"},
        {"name": "x", "scopes": ["root"], "days": "30"},
        {"name": "x", "scopes": ["audit"], "days": "30"},
        {"name": "x", "scopes": ["read"], "days": "3650"},
    ],
)
def test_the_page_refuses_with_the_field_named(client: Client, person: Any, data: dict[str, Any]) -> None:
    person()
    page = client.post(reverse("accounts:tokens"), data)
    assert page.context["form"].errors and not ApiToken.objects.exists()


def test_reading_the_trail_is_offered_to_whoever_may(client: Client, person: Any) -> None:
    person(site_role=SiteRole.AUDITOR)
    client.post(reverse("accounts:tokens"), {"name": "x", "scopes": ["audit"], "days": "7"})
    assert ApiToken.objects.get().scopes == [TokenScope.AUDIT]


def test_nobody_revokes_anothers(client: Client, person: Any) -> None:
    person()
    theirs, secret = issue()
    assert client.post(reverse("accounts:revoke_token", args=[theirs.pk])).status_code == 404
    assert AuditEvent.objects.filter(action=Action.ACCESS_REFUSED, detail__subject="accounts.apitoken").count() == 1
    assert services.token_user(secret)


def test_revoking_on_the_page(client: Client, person: Any) -> None:
    mine, secret = issue(user=person())
    assert client.get(reverse("accounts:revoke_token", args=[mine.pk])).status_code == 405
    assert client.post(reverse("accounts:revoke_token", args=[mine.pk])).status_code == 302
    assert services.token_user(secret) is None

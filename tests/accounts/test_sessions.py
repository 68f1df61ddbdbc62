"""Sessions end: by hand, all at once, unused, too old, with the person; and looking at a page writes nothing."""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts import activity, services
from accounts.forgetting import forget_ended
from accounts.forms import PreferencesForm
from accounts.middleware import person_of
from accounts.models import ApiToken, SessionInfo, User
from audit.actions import Action
from audit.models import AuditEvent
from tests.accounts.slapd import Slapd
from tests.accounts.test_sign_in import enter, signed_in
from tests.conftest import Roles

pytestmark = pytest.mark.django_db
HOUR = 3600


@pytest.fixture(autouse=True)
def as_web(roles: Roles) -> None:
    """The page may do no more than its process may."""
    roles.use("web")


@pytest.fixture
def ana(client: Client, directory: Slapd) -> User:
    """Signed in at `client`."""
    enter(client, "ana")
    return User.objects.get()


def key(client: Client) -> str:
    return client.cookies["session"].value


def test_signing_out_kills_a_copied_cookie(client: Client, ana: User) -> None:
    copied = Client()
    copied.cookies["session"] = key(client)
    assert signed_in(copied)
    assert client.post(reverse("accounts:sign_out"))["Location"] == reverse("accounts:sign_in")
    assert not signed_in(copied) and person_of(copied.cookies["session"].value) is None
    assert not SessionInfo.objects.exists()
    assert AuditEvent.objects.filter(action=Action.SIGNED_OUT, actor_id=ana.pk).count() == 1


def test_signing_out_is_no_link(client: Client, ana: User) -> None:
    assert client.get(reverse("accounts:sign_out")).status_code == 405 and signed_in(client)


def test_the_list_marks_this_one_and_ends_another(client: Client, ana: User) -> None:
    other = Client()
    enter(other, "ana", HTTP_USER_AGENT="Firefox elsewhere")
    page = client.get(reverse("accounts:sessions"))
    assert len(page.context["sessions"]) == 2 and b"Firefox elsewhere" in page.content
    info = SessionInfo.objects.get(session_key=key(other))
    client.post(reverse("accounts:end_session", args=[info.pk]))
    assert signed_in(client) and not signed_in(other)


def test_nobody_ends_anothers_session(client: Client, ana: User) -> None:
    stranger = Client()
    enter(stranger, "bruno")
    mine = SessionInfo.objects.get(user=ana)
    assert stranger.post(reverse("accounts:end_session", args=[mine.pk])).status_code == 404
    assert stranger.post(reverse("accounts:end_session", args=[10**6])).status_code == 404
    assert AuditEvent.objects.filter(action=Action.ACCESS_REFUSED, detail__subject="accounts.sessioninfo").count() == 2
    assert signed_in(client)


def test_ending_all_ends_all(client: Client, ana: User) -> None:
    clients = [client, Client(), Client()]
    for one in clients[1:]:
        enter(one, "ana")
    unknown = SessionInfo.objects.get(session_key=key(clients[2]))
    unknown.delete()  # a session we have no row of must end, too
    clients[1].post(reverse("accounts:end_sessions"))
    assert not any(signed_in(one) for one in clients)
    assert AuditEvent.objects.filter(action=Action.SESSIONS_ENDED).count() == 1
    enter(client, "ana")
    assert signed_in(client)


def test_sockets_are_told(client: Client, ana: User, django_capture_on_commit_callbacks: Any) -> None:
    with mock.patch("accounts.hints.get_channel_layer") as layer:
        layer.return_value.group_send = mock.AsyncMock()
        with django_capture_on_commit_callbacks(execute=True):
            services.end_all_sessions(user=ana, by=ana)
    layer.return_value.group_send.assert_awaited_with(f"user-{ana.pk}", {"type": "rights"})


def test_a_lost_hint_loses_nothing(client: Client, ana: User, django_capture_on_commit_callbacks: Any) -> None:
    lost = mock.patch("accounts.hints.get_channel_layer", side_effect=OSError("no redis"))
    with lost, django_capture_on_commit_callbacks(execute=True):
        services.end_all_sessions(user=ana, by=ana)
    assert not signed_in(client)


def test_unused_for_too_long(client: Client, ana: User) -> None:
    with time_machine.travel(time.time() + 8 * HOUR + 5):
        assert not signed_in(client) and person_of(key(client)) is None
    told = AuditEvent.objects.get(action=Action.SIGNED_OUT)
    assert told.detail["why"] == "not used for too long" and told.actor_id is None


def test_polling_is_no_act_of_the_person(client: Client, ana: User) -> None:
    start = time.time()
    for hours in (3, 6):
        with time_machine.travel(start + hours * HOUR):
            client.get(reverse("accounts:preferences"), HTTP_X_BANCADA_POLL="1")
    with time_machine.travel(start + 8 * HOUR + 5):
        assert not signed_in(client)


def test_acting_keeps_it_until_the_absolute_limit(client: Client, ana: User, settings: Any) -> None:
    settings.SESSION_ABSOLUTE_SECONDS, start = 24 * HOUR, time.time()
    for hours in (6, 12, 18):
        with time_machine.travel(start + hours * HOUR):
            assert signed_in(client), hours
    with time_machine.travel(start + 24 * HOUR + 5):
        assert not signed_in(client)


def test_another_process_knows_of_the_act(client: Client, ana: User) -> None:
    start = time.time()
    with time_machine.travel(start + 6 * HOUR):
        assert signed_in(client)
    activity._noted.clear()
    with time_machine.travel(start + 10 * HOUR):
        assert signed_in(client)


def test_a_session_of_somebody_closed(client: Client, ana: User) -> None:
    _token, secret = services.issue_token(user=ana, name="x", scopes=["read"], days=1, by=ana)
    services.deactivate(user=ana, by=None, why="left")
    assert not signed_in(client) and services.token_user(secret) is None
    assert not ApiToken.objects.filter(revoked_at=None).exists() and not Session.objects.exists()
    closed = AuditEvent.objects.get(action=Action.USER_CLOSED)
    assert closed.detail == {"why": "left", "sessions": 1, "tokens": 1}
    services.deactivate(user=ana, by=None, why="again")
    assert AuditEvent.objects.filter(action=Action.USER_CLOSED).count() == 1


@pytest.mark.parametrize("name", ["sessions", "tokens", "preferences"])
def test_looking_writes_nothing(client: Client, ana: User, name: str) -> None:
    client.get(reverse(f"accounts:{name}"))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(reverse(f"accounts:{name}")).status_code == 200
    sql = [query["sql"] for query in queries]
    assert [line for line in sql if not line.lstrip().upper().startswith("SELECT")] == []
    assert len(sql) <= 8


def test_what_is_over_is_forgotten(client: Client, ana: User, roles: Roles) -> None:
    enter(Client(), "bruno")
    SessionInfo.objects.filter(user=ana).update(seen_at="2026-01-01T00:00:00Z")
    roles.use("work")
    assert forget_ended() == 1
    assert [info.user.username for info in SessionInfo.objects.all()] == ["bruno"]
    assert not signed_in(client)


def test_preferences_are_kept_and_nothing_else(client: Client, ana: User) -> None:
    data = {"language": "en", "theme": "dark", "site_role": "operator", "username": "root", "is_superuser": "on"}
    assert client.post(reverse("accounts:preferences"), data).status_code == 302
    ana.refresh_from_db()
    assert (ana.language, ana.theme, ana.single_keys) == ("en", "dark", False)
    assert (ana.site_role, ana.username, ana.is_superuser) == ("", "ana", False)
    assert b'lang="en"' in client.get(reverse("accounts:preferences")).content


def test_preferences_undo_nothing_that_changed_meanwhile(client: Client, ana: User) -> None:
    """Between reading the person and writing the form, all sessions were ended and the person closed."""

    def meanwhile(form: PreferencesForm) -> bool:
        User.objects.filter(pk=ana.pk).update(session_epoch=7, is_active=False)
        return not form.errors

    with mock.patch.object(PreferencesForm, "is_valid", meanwhile):
        client.post(reverse("accounts:preferences"), {"language": "en", "theme": "dark"})
    ana.refresh_from_db()
    assert (ana.theme, ana.session_epoch, ana.is_active) == ("dark", 7, False)


@pytest.mark.parametrize("name", ["sessions", "tokens", "preferences"])
def test_these_pages_are_for_the_signed_in(client: Client, name: str) -> None:
    url = reverse(f"accounts:{name}")
    assert client.get(url)["Location"] == f"{reverse('accounts:sign_in')}?next={url}"

"""Wrong passwords: a lower limit for a login than for a source, and nobody is locked out by a stranger for long."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
import time_machine
from axes.models import AccessAttempt
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.address import source_address, source_network
from accounts.throttle import username
from audit.actions import Action
from audit.models import AuditEvent
from tests.accounts import people
from tests.accounts.slapd import Slapd
from tests.conftest import Roles

pytestmark = pytest.mark.django_db
FULL_WIDTH = "".join(chr(ord(letter) + 0xFEE0) for letter in "ana")


@pytest.fixture(autouse=True)
def as_web(roles: Roles, settings: Any) -> None:
    """Small limits, as the web process."""
    settings.SIGN_IN_LIMITS = {"pair": 3, "login": 5, "source": 8}
    roles.use("web")


def attempt(user: str = "ana", password: str = "wrong", source: str = "192.0.2.1") -> int:
    """Status of one attempt from a source, in a browser of its own."""
    data = {"username": user, "password": password}
    return Client().post(reverse("accounts:sign_in"), data, HTTP_X_FORWARDED_FOR=source).status_code


def right(source: str, user: str = "ana") -> int:
    """Status of an attempt with the right password."""
    return attempt(user, people.password(user), source)


def test_a_login_from_one_source(directory: Slapd) -> None:
    assert [attempt() for _ in range(4)] == [200, 200, 429, 429]
    assert right("192.0.2.1") == 429


def test_it_says_when_to_come_back(client: Client, directory: Slapd, settings: Any) -> None:
    for _ in range(3):
        answer = client.post(reverse("accounts:sign_in"), {"username": "ana", "password": "wrong"})
    assert answer.status_code == 429 and answer["Retry-After"] == str(settings.SIGN_IN_COOL_OFF_SECONDS)


def test_a_flood_from_one_source_locks_nobody_out_elsewhere(directory: Slapd) -> None:
    assert 429 in [attempt() for _ in range(6)]
    assert right("192.0.2.77") == 302


def test_once_locked_the_directory_is_asked_no_more(directory: Slapd) -> None:
    for _ in range(3):
        attempt()
    before = len(directory.binds())
    assert attempt() == 429 and len(directory.binds()) == before


def test_many_sources_against_one_login(directory: Slapd) -> None:
    assert right("192.0.2.50") == 302  # the person's own desk
    statuses = [attempt(source=f"198.51.100.{n}") for n in range(8)]
    assert statuses == [200, 200, 200, 200, 429, 429, 429, 429]
    assert right("203.0.113.9") == 429  # a place we never saw the person at
    assert right("192.0.2.50") == 302


def test_many_logins_from_one_source(directory: Slapd) -> None:
    statuses = [attempt(f"guess{n}") for n in range(10)]
    assert statuses[:7] == [200] * 7 and statuses[7:] == [429] * 3


def test_a_success_does_not_wash_off_a_spray(directory: Slapd) -> None:
    for n in range(6):
        attempt(f"guess{n}")
    assert right("192.0.2.1", "bruno") == 302
    assert [attempt(f"more{n}") for n in range(2)] == [200, 429]


def test_a_success_forgives_ones_own_mistakes(directory: Slapd) -> None:
    assert [attempt(), attempt(), right("192.0.2.1"), attempt(), attempt()] == [200, 200, 302, 200, 200]


def test_spellings_count_as_one(directory: Slapd) -> None:
    assert [attempt(typed) for typed in ("ana", "ANA", FULL_WIDTH)] == [200, 200, 429]
    assert {row.username for row in AccessAttempt.objects.all()} == {"ana"}


def test_a_spelling_only_the_directory_sees_through_counts_too(directory: Slapd, settings: Any) -> None:
    settings.LDAP_USER_FILTER = "(|(uid=%(user)s)(mail=%(user)s))"
    for _ in range(3):
        attempt("ana@unit.example")
    assert right("192.0.2.1") == 429


def test_it_ends_by_itself(directory: Slapd, settings: Any) -> None:
    for _ in range(3):
        attempt()
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=settings.SIGN_IN_COOL_OFF_SECONDS + 1)
    with time_machine.travel(later):
        assert right("192.0.2.1") == 302


def test_the_portal_is_no_way_to_lock_somebody_in_the_directory(own_directory: Slapd) -> None:
    own_directory.change(f"cn=default,{people.SUFFIX}", pwdMaxFailure="6")
    for n in range(14):
        attempt(source=f"198.51.100.{n}")
    lookup_state = own_directory.admin.search_s(f"uid=ana,{people.PEOPLE}", 0, attrlist=["pwdAccountLockedTime"])
    assert "pwdAccountLockedTime" not in lookup_state[0][1]


def test_a_flood_does_not_flood_the_trail_and_no_password_is_kept(directory: Slapd) -> None:
    for _ in range(12):
        attempt(password="canary-4711")
    events = AuditEvent.objects.filter(action=Action.SIGN_IN_REFUSED)
    assert [row.detail["reason"] for row in events.order_by("pk")] == ["wrong password"] * 3 + ["too many attempts"]
    kept = [str(vars(row)) for row in (*AccessAttempt.objects.all(), *events)]
    assert not any("canary-4711" in row or "csrfmiddlewaretoken=" in row for row in kept if "****" not in row)


def test_an_enormous_login_is_cut(directory: Slapd) -> None:
    assert attempt("x" * 100_000) == 200
    assert len(AccessAttempt.objects.get().username) == 150


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("6.6.6.6, 192.0.2.1", "192.0.2.1"),
        ("192.0.2.1, nonsense", None),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("", "127.0.0.1"),
    ],
)
def test_the_source_is_what_our_own_proxy_saw(forwarded: str, address: str | None) -> None:
    assert source_address({"HTTP_X_FORWARDED_FOR": forwarded, "REMOTE_ADDR": "127.0.0.1"}) == address


def test_a_whole_ipv6_network_is_one_source() -> None:
    one, two = ({"REMOTE_ADDR": f"2001:db8:1:2::{n}"} for n in (1, 2))
    assert source_network(one) == source_network(two) == "2001:db8:1:2::"
    assert source_network({"REMOTE_ADDR": "192.0.2.9"}) == "192.0.2.9"


def test_the_login_counted_without_a_directory() -> None:
    request = RequestFactory().post("/", {"username": " ÁNA "})
    assert username(request, None) == "ána"

"""Signing in by page, under the web process's database role, against a real slapd."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from access.roles import SiteRole
from accounts.models import SessionInfo, User
from audit.actions import Action
from audit.models import AuditEvent
from tests.accounts import people
from tests.accounts.slapd import Slapd
from tests.conftest import Roles
from tests.factories import make_user

pytestmark = pytest.mark.django_db
FULL_WIDTH = "".join(chr(ord(letter) + 0xFEE0) for letter in "ana")


@pytest.fixture(autouse=True)
def as_web(roles: Roles, settings: Any) -> None:
    """The page may do no more than its process may."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # local passwords count for nothing
    roles.use("web")


def enter(client: Client, user: str, password: str | None = None, **extra: Any) -> Any:
    """Post the form; extra: `next`, or headers."""
    data = {"username": user, "password": people.password(user) if password is None else password}
    if "next" in extra:
        data["next"] = extra.pop("next")
    return client.post(reverse("accounts:sign_in"), data, **extra)


def signed_in(client: Client) -> bool:
    """Whether the client's session is somebody's."""
    return client.get(reverse("accounts:preferences")).status_code == 200


def refusals() -> list[str]:
    """Reasons in the trail, oldest first."""
    rows = AuditEvent.objects.filter(action=Action.SIGN_IN_REFUSED).order_by("pk")
    return [row.detail["reason"] for row in rows]


def test_a_person_is_made_as_the_directory_has_them(client: Client, directory: Slapd) -> None:
    answer = enter(client, "ana", HTTP_USER_AGENT="Firefox\x1b[31m on a desk")
    assert (answer.status_code, answer["Location"]) == (302, "/")
    user = User.objects.get()
    assert (user.username, user.display_name, user.email) == ("ana", "Ana Demo", "ana@unit.example")
    assert user.uid_number == user.gid_number == people.uid("ana")
    assert user.directory_id and not user.has_usable_password() and not user.site_role
    info = SessionInfo.objects.get(user=user)
    assert info.session_key == client.session.session_key and info.address == "127.0.0.1"
    event = AuditEvent.objects.get(action=Action.SIGNED_IN)
    assert event.detail["directory_id"] == str(user.directory_id) and event.db_role == "web"
    assert AuditEvent.objects.filter(action=Action.USER_CREATED, subject_id=str(user.pk)).exists()


@pytest.mark.parametrize("typed", ["ANA", FULL_WIDTH, "ana\u00a0", " ana "])
def test_what_is_typed_makes_no_second_person(client: Client, directory: Slapd, typed: str) -> None:
    enter(client, "ana")
    enter(Client(), typed, people.password("ana"))
    assert [user.username for user in User.objects.all()] == ["ana"]
    assert SessionInfo.objects.count() == 2


def test_the_key_changes_and_an_old_session_ends(client: Client, directory: Slapd) -> None:
    client.get(reverse("accounts:sign_in"))
    enter(client, "ana")
    first = client.session.session_key
    enter(client, "bruno")
    assert client.session.session_key != first and not Session.objects.filter(session_key=first).exists()
    assert [info.user.username for info in SessionInfo.objects.all()] == ["bruno"]
    enter(client, "bruno")
    assert SessionInfo.objects.count() == 1


@pytest.mark.parametrize(
    ("user", "role"), [("ana", SiteRole.NONE), ("gabi", SiteRole.OPERATOR), ("hugo", SiteRole.AUDITOR)]
)
def test_site_roles_come_from_the_groups(client: Client, directory: Slapd, user: str, role: SiteRole) -> None:
    enter(client, user)
    assert User.objects.get().site_role == role
    recorded = AuditEvent.objects.filter(action=Action.ROLE_CHANGED)
    assert [row.detail for row in recorded] == ([{"before": "", "after": role}] if role else [])


def test_a_role_is_lost_with_the_group(client: Client, own_directory: Slapd) -> None:
    enter(client, "hugo")
    own_directory.change(f"cn=bancada-auditors,{people.GROUPS}", member=f"uid=ana,{people.PEOPLE}")
    enter(Client(), "hugo")
    assert User.objects.get().site_role == ""
    assert AuditEvent.objects.filter(action=Action.ROLE_CHANGED).latest("pk").detail == {
        "before": "auditor",
        "after": "",
    }


@pytest.mark.parametrize(
    ("user", "password", "reason"),
    [
        ("ana", "canary-4711", "wrong password"),
        ("nobody", "canary-4711", "no such person in the directory"),
        ("iara", people.password("iara"), "more than one person in the directory"),
        ("davi", people.password("davi"), "locked in the directory"),
        ("elisa", people.password("elisa"), "password expired"),
        ("ana", "   ", "empty, too long or not text"),
        ("ana", "x" * 1025, "empty, too long or not text"),
        ("a" * 151, "canary-4711", "empty, too long or not text"),
        ("a\x01na", "canary-4711", "empty, too long or not text"),
        ("ana)(uid=*", "canary-4711", "no such person in the directory"),
    ],
)
def test_all_refusals_look_alike_and_the_trail_knows(
    client: Client, directory: Slapd, user: str, password: str, reason: str
) -> None:
    client.cookies["django_language"] = "en"
    binds = len(directory.binds())
    answer = enter(client, user, password, HTTP_ACCEPT_LANGUAGE="en")
    assert answer.status_code == 200 and "Login or password is wrong." in answer.content.decode()
    assert not signed_in(client) and not User.objects.exists()
    assert refusals() == [reason]
    detail = str(AuditEvent.objects.get(action=Action.SIGN_IN_REFUSED).detail)
    assert password.strip() == "" or password not in detail
    if reason.startswith("empty"):
        assert len(directory.binds()) == binds


@pytest.mark.parametrize("data", [{"username": "", "password": "x"}, {"username": "ana", "password": ""}, {}])
def test_an_empty_field_asks_nobody(client: Client, directory: Slapd, data: dict[str, str]) -> None:
    before = len(directory.binds())
    assert client.post(reverse("accounts:sign_in"), data).status_code == 200
    assert len(directory.binds()) == before and not refusals()


@pytest.mark.parametrize("user", ["carla", "felipe"])
def test_a_password_to_be_changed_gives_no_session_and_a_next_step(
    client: Client, directory: Slapd, settings: Any, user: str
) -> None:
    settings.LDAP_PASSWORD_URL = "https://password.unit.example/"
    answer = enter(client, user)
    assert answer["Location"] == reverse("accounts:must_change")
    page = client.get(answer["Location"])
    assert page.status_code == 403 and "https://password.unit.example/" in page.content.decode()
    assert not signed_in(client) and not User.objects.exists() and not SessionInfo.objects.exists()
    assert refusals()[0] in ("password must be changed first", "password expired, grace sign-in")


def test_the_next_step_page_is_nobodys_by_itself(client: Client) -> None:
    assert client.get(reverse("accounts:must_change"))["Location"] == reverse("accounts:sign_in")


def test_a_login_that_came_back_as_another_person(client: Client, own_directory: Slapd) -> None:
    enter(client, "ana")
    old = User.objects.get()
    own_directory.delete(f"uid=ana,{people.PEOPLE}")
    own_directory.add(people.entry("ana", number=20777))
    other = Client()
    enter(other, "ana")
    old.refresh_from_db()
    new = User.objects.get(username="ana")
    assert new.pk != old.pk and new.uid_number == 20777 and new.directory_id != old.directory_id
    assert not old.is_active and old.username == f"ana+left-{old.pk}"
    assert signed_in(other) and not signed_in(client)


def test_a_uid_number_that_came_back_as_another_person(client: Client, own_directory: Slapd) -> None:
    enter(client, "ana")
    own_directory.delete(f"uid=ana,{people.PEOPLE}")
    own_directory.add(people.entry("zoe", number=people.uid("ana")))
    enter(Client(), "zoe")
    assert [user.username for user in User.objects.filter(is_active=True)] == ["zoe"]


def test_two_people_of_one_uid_number_are_not_both_let_in(client: Client, own_directory: Slapd) -> None:
    enter(client, "ana")
    own_directory.add(people.entry("zoe", number=people.uid("ana")))
    answer = enter(Client(), "zoe")
    assert answer["Location"] == reverse("accounts:must_change")
    assert refusals() == ["uid number or login belongs to somebody else"] and signed_in(client)


def test_a_person_renamed_while_another_takes_the_login(client: Client, own_directory: Slapd) -> None:
    enter(client, "ana")
    own_directory.admin.rename_s(f"uid=ana,{people.PEOPLE}", "uid=ana.silva", delold=True)
    own_directory.add(people.entry("ana", number=20778))
    enter(Client(), "ana")
    assert {user.username: user.uid_number for user in User.objects.all()} == {
        "ana.silva": people.uid("ana"),
        "ana": 20778,
    }
    assert signed_in(client)
    renamed = AuditEvent.objects.get(action=Action.USER_CHANGED)
    assert renamed.said == {"username": ["ana", "ana.silva"]}


def test_a_row_that_no_directory_vouches_for_does_not_lend_its_rights(
    client: Client, directory: Slapd, roles: Roles
) -> None:
    local = make_user("ana", site_role=SiteRole.OPERATOR)
    local.set_password("local-password-2026")
    local.save()
    assert enter(client, "ana", "local-password-2026").status_code == 200
    enter(client, "ana")
    local.refresh_from_db()
    assert not local.is_active and User.objects.get(username="ana").site_role == ""


def test_a_person_closed_by_an_administrator_stays_closed(client: Client, directory: Slapd) -> None:
    enter(client, "ana")
    User.objects.update(is_active=False)
    assert not signed_in(client)
    assert enter(client, "ana")["Location"] == reverse("accounts:must_change")
    assert refusals() == ["closed in the portal"]


@pytest.mark.parametrize(
    ("asked", "goes"),
    [
        ("/jobs/", "/jobs/"),
        ("http://testserver/jobs/", "http://testserver/jobs/"),
        *(
            (bad, "/")
            for bad in (
                "https://evil.example/",
                "//evil.example",
                "///evil.example",
                "/\\evil.example",
                "\\\\evil.example",
                "javascript:alert(1)",
                "http:evil.example",
                "ht\ntp://evil.example",
                "http://testserver@evil.example/",
                "data:text/html,x",
            )
        ),
    ],
)
def test_next_stays_on_this_site(client: Client, directory: Slapd, asked: str, goes: str) -> None:
    assert enter(client, "ana", next=asked)["Location"] == goes


def test_sign_in_is_guarded_against_forgery(directory: Slapd) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert enter(strict, "ana").status_code == 403 and not SessionInfo.objects.exists()


def test_no_way_in_but_the_directory(client: Client, directory: Slapd, roles: Roles) -> None:
    known = make_user("somebody", directory_id=uuid.uuid4())
    known.set_password("local-password-2026")
    known.save()
    enter(client, "somebody", "local-password-2026")
    assert not signed_in(client)


def test_the_directorys_warning_is_passed_on(client: Client, own_directory: Slapd) -> None:
    own_directory.change(f"cn=default,{people.SUFFIX}", pwdMaxAge="432000", pwdExpireWarning="864000")
    own_directory.change(f"uid=ana,{people.PEOPLE}", userPassword=people.password("ana"))
    own_directory.change(f"uid=ana,{people.PEOPLE}", pwdReset=None)  # set by the change, an administrator made it
    enter(client, "ana")
    shown = [str(message) for message in client.get(reverse("accounts:preferences")).context["messages"]]
    assert len(shown) == 1 and ("4" in shown[0] or "5" in shown[0])


def test_the_next_step_is_forgotten_after_signing_in(client: Client, directory: Slapd) -> None:
    enter(client, "carla")
    enter(client, "ana")
    assert "next_step" not in client.session

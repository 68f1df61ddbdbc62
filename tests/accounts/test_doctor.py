"""`manage.py doctor` says what is wrong and what to do, and why a person would be refused; `issue_token`."""

from __future__ import annotations

import dataclasses
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from access.roles import Role, SiteRole
from accounts import services
from accounts.admission import person_by_login
from accounts.models import ApiToken, User
from audit.actions import Action
from audit.models import AuditEvent
from cluster import slurm_door
from cluster.models import Cluster
from projects import services as projects
from tests.accounts.certificates import Authority
from tests.accounts.slapd import Slapd
from tests.accounts.test_sign_in import enter
from tests.conftest import Roles
from tests.factories import make_allocation, make_cluster, make_project, make_user

pytestmark = pytest.mark.django_db
Findings = dict[str, dict[str, str]]


@pytest.fixture(autouse=True)
def as_web(roles: Roles, settings: Any) -> None:
    """The doctor asks as the process it is run as."""
    settings.CLUSTER_NAME = "cluster"
    roles.use("web")


def doctor(*words: str) -> tuple[Findings, int]:
    """The findings by name (the last of each), and the exit status."""
    out, status = io.StringIO(), 0
    try:
        call_command("doctor", "--json", *words, stdout=out)
    except SystemExit as error:
        status = int(error.code or 0)
    return {row["name"]: row for row in json.loads(out.getvalue())}, status


def test_the_directory_is_well(directory: Slapd) -> None:
    found, _status = doctor()
    for name in ("settings", "versions", "PostgreSQL", "migrations", "database rights", "clock"):
        assert found[name]["state"] == "ok", found[name]
    for name in ("directory server", "directory search", "site groups"):
        assert found[name]["state"] == "ok", found[name]


def test_what_belongs_to_another_process_is_not_called_broken(directory: Slapd, roles: Roles) -> None:
    found, _status = doctor()
    assert {found[name]["state"] for name in ("signer", "Slurm", "ticket key")} == {"not here"}
    roles.use("slurm")
    found, _status = doctor()
    assert found["Slurm"]["state"] == found["shares"]["state"] == "ok"  # the fake
    assert found["signer"]["state"] == found["ticket key"]["state"] == "not ok"
    assert found["log reader"]["state"] == "not here"


def test_a_partition_whose_billing_counts_cpus_is_named(roles: Roles, monkeypatch: pytest.MonkeyPatch) -> None:
    roles.use("slurm")
    gateway = slurm_door.gateway()
    first, *others = gateway.partitions()
    counted = dataclasses.replace(first, billing={"cpu": 1.0, "gres/gpu": 1.0})
    monkeypatch.setattr(type(gateway), "partitions", lambda _self: [counted, *others])
    found, _status = doctor()
    assert found["shares"]["state"] == "not ok" and first.name in found["shares"]["said"], found["shares"]
    assert "TRESBillingWeights=GRES/gpu=1" in found["shares"]["fix"]


@pytest.mark.parametrize(
    ("change", "name", "fix"),
    [
        ({"AUTH_LDAP_BIND_PASSWORD": "wrong"}, "directory search", "LDAP_BIND_PASSWORD"),
        ({"LDAP_USER_BASE": "ou=none,dc=unit,dc=example"}, "directory search", "LDAP_USER_BASE"),
        ({"LDAP_ID_ATTRIBUTE": "objectGUID"}, "directory search", "LDAP_ID_ATTRIBUTE"),
        ({"LDAP_OPERATOR_GROUPS": ["nobody-here"]}, "site groups", "LDAP_OPERATOR_GROUPS"),
        ({"AUTH_LDAP_START_TLS": False}, "directory server", "LDAP_START_TLS"),
        ({"AUTH_LDAP_SERVER_URI": ""}, "directory server", "LDAP_URL"),
        ({"HINTS_URL": "unix:///nonexistent/hints.sock"}, "hints", "BANCADA_HINTS_URL"),
        ({"CELERY_BROKER_URL": "redis+socket:///nonexistent/broker.sock"}, "broker", "BANCADA_BROKER_URL"),
        ({"READER_SOCKET": "/nonexistent/reader.sock"}, "log reader", "BANCADA_READER_SOCKET"),
        ({"FILES_SOCKET": "/nonexistent/files.sock"}, "files", "BANCADA_FILES_SOCKET"),
    ],
)
def test_it_says_what_to_do(directory: Slapd, settings: Any, change: dict[str, Any], name: str, fix: str) -> None:
    for setting, value in change.items():
        setattr(settings, setting, value)
    found, status = doctor()
    assert (found[name]["state"], status) == ("not ok", 1) and fix in found[name]["fix"]


def test_it_names_a_bad_certificate(authority: Authority, tmp_path: Any, point_at: Any) -> None:
    slapd = Slapd(tmp_path / "old", authority.issue("doctor-old", starts=-30, ends=-1))
    slapd.start()
    try:
        point_at(slapd.url)
        assert "certificate has expired" in doctor()[0]["directory server"]["said"]
    finally:
        slapd.stop()


def test_the_picture_of_the_cluster(directory: Slapd, roles: Roles) -> None:
    assert "follow_slurm" in doctor()[0]["cluster picture"]["fix"]
    roles.use(None)
    make_cluster()
    roles.use("web")
    assert doctor()[0]["cluster picture"]["state"] == "ok"
    roles.use(None)
    Cluster.objects.update(jobs_seen_at=timezone.now() - timedelta(hours=1))
    roles.use("web")
    assert doctor()[0]["cluster picture"]["state"] == "not ok"


def test_for_people(directory: Slapd, capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", stdout=out)
    assert "→" in out.getvalue() and "to look at" in out.getvalue()


@pytest.mark.parametrize(
    ("user", "name", "says"),
    [
        ("nobody", "directory", "no such person"),
        ("iara", "directory", "more than one person"),
        ("davi", "locked", "administrator of the directory"),
        ("carla", "password", "must be changed"),
        ("ana", "projects", "member of none"),
        ("ana", "system", "does not know ana"),
    ],
)
def test_why_a_person_would_be_refused(directory: Slapd, user: str, name: str, says: str) -> None:
    found, status = doctor("--user", user)
    assert (found[name]["state"], status) == ("not ok", 1) and says in found[name]["said"]


def test_a_member_with_an_allocation(directory: Slapd, roles: Roles, monkeypatch: pytest.MonkeyPatch) -> None:
    roles.use(None)
    ana = person_by_login("ana")
    make_allocation(make_project("aurora", members={ana: Role.RESEARCHER}))
    projects.add_member(project=make_project("boreal"), user=ana, role=Role.VIEWER, by=None)
    roles.use("web")
    system = type("Row", (), {"pw_uid": ana.uid_number})
    monkeypatch.setattr("portal.doctor.person.pwd.getpwnam", lambda login: system)
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", "--user", "ana", stdout=out)
    text = out.getvalue()
    assert "aurora: researcher" in text and "boreal: viewer, without a current allocation" in text
    assert "1 to look at" in text
    monkeypatch.setattr("portal.doctor.person.pwd.getpwnam", lambda login: type("Row", (), {"pw_uid": 0}))
    assert doctor("--user", "ana")[0]["user number"]["state"] == "not ok"


@pytest.mark.parametrize("role", ["web", "work", "slurm"])
def test_each_process_may_ask_about_a_person(directory: Slapd, roles: Roles, role: str) -> None:
    roles.use(None)
    make_project("aurora", members={person_by_login("ana"): Role.RESEARCHER})
    roles.use(role)
    found, _status = doctor("--user", "ana")
    assert found["portal"]["state"] == "ok" and ("association" in found) == (role == "slurm")


def test_the_portals_own_reasons(client: Client, directory: Slapd, roles: Roles, settings: Any) -> None:
    settings.SIGN_IN_LIMITS = {"pair": 2, "login": 5, "source": 8}
    enter(client, "gabi")
    for _ in range(2):
        enter(Client(), "gabi", "wrong")
    User.objects.update(site_role=SiteRole.NONE, is_active=False)
    found, _status = doctor("--user", "gabi")
    assert found["portal"]["state"] == found["attempts"]["state"] == found["site role"]["state"] == "not ok"
    assert "wrong password" in found["lately"]["said"]


def test_a_login_that_somebody_else_has(directory: Slapd) -> None:
    make_user("ana")
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", "--user", "ana", stdout=out)
    assert "has this login in the portal" in out.getvalue()


def test_a_token_for_a_script(directory: Slapd) -> None:
    person_by_login("ana")
    out = io.StringIO()
    call_command("issue_token", "ana", "--scopes", "read, submit", "--days", "3", "--name", "night", stdout=out)
    token = services.token_user(out.getvalue().strip())
    assert token and (token.name, token.scopes, token.user.username) == ("night", ["read", "submit"], "ana")
    event = AuditEvent.objects.get(action=Action.TOKEN_ISSUED)
    assert event.channel == "command" and event.said["owner"] == "ana"


@pytest.mark.parametrize(
    "words", [["nobody"], ["ana", "--scopes", "root"], ["ana", "--days", "0"], ["ana", "--scopes", ","]]
)
def test_no_token(directory: Slapd, words: list[str]) -> None:
    person_by_login("ana")
    with pytest.raises(CommandError):
        call_command("issue_token", *words)
    assert not ApiToken.objects.exists()

"""A person's name taken away: from the account at once, from beside the trail by the sealer; the trail proves as before."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import call_command, get_commands
from django.core.management.base import CommandError
from django.db import DatabaseError, connection, transaction

from access.ids import uuid7
from access.roles import Role, SiteRole
from accounts.models import ApiToken, User
from accounts.services import issue_token
from audit import context, trail
from audit.actions import Action
from audit.models import AuditEvent, Identity, Pseudonym
from audit.services import exporting, keeping, pseudonyms
from audit.services.sealing import Sealer
from client.bancada import verify
from portal.commanding import ELSEWHERE
from projects import services as projects
from projects.models import Membership
from tests.api import make_world
from tests.conftest import Roles
from tests.factories import make_member, make_project, make_user
from tests.pages import signed_in
from tests.test_style import ROOT

KEY = Ed25519PrivateKey.generate()


@pytest.fixture
def ana(transactional_db: None, settings: Any) -> Iterator[User]:
    """Somebody who did much and left."""
    settings.PSEUDONYM_AFTER_HOURS = 0
    project = make_project("visao")
    ana = make_member(project, Role.RESEARCHER, username="ana", email="ana@x.example", directory_id=uuid7())
    issue_token(user=ana, name="ana's laptop", scopes=["read"], days=1, by=ana)
    with context.coming_from("web", address="192.0.2.7"):
        trail.record(Action.LOG_READ, by=ana, about=project, project=project, ran_as="ana")
    trail.record(Action.JOB_ENDED, project=project, ran_as="ana")
    projects.remove_member(membership=Membership.objects.get(user=ana), by=None)
    yield ana
    Roles().use(None)


def words() -> str:
    """All that the tables hold of people and of the trail, as one text."""
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        said = []
        for table in (
            "accounts_user",
            "accounts_apitoken",
            "accounts_sessioninfo",
            "audit_identity",
            "audit_auditevent",
        ):
            cursor.execute(f"SELECT row_to_json(t)::text FROM {table} t")
            said += [row[0] for row in cursor.fetchall()]
    return "\n".join(said)


def exported() -> list[str]:
    Roles().use(None)
    return b"".join(exporting.export(exporting.Wanted())).decode().splitlines(keepends=True)


def test_the_name_is_gone_and_the_trail_verifies_as_before(ana: User) -> None:
    Roles().use("seal")
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY)
    before = [
        json.loads(line)["chain"] for line in exported() if '"chain"' in line and '"seq"' in line and '"event"' in line
    ]
    Roles().use("web")
    row = pseudonyms.ask(person=ana, by=None, why="asked for")
    assert (
        User.objects.get(pk=ana.pk).username == row.pseudonym and not ApiToken.objects.filter(revoked_at=None).exists()
    )
    Roles().use("seal")
    assert pseudonyms.carry_out() == 1 and pseudonyms.carry_out() == 0
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY)
    said = words()
    for gone in ('"ana"', "ana@x.example", "Ana Demo", "192.0.2.7", "ana's laptop"):
        assert gone not in said, gone
    report = verify.verify(exported(), [KEY.public_key()])
    assert report.events == AuditEvent.objects.count()
    assert [
        json.loads(line)["chain"] for line in exported() if '"chain"' in line and '"seq"' in line and '"event"' in line
    ][: len(before)] == before
    read = AuditEvent.objects.get(action=Action.LOG_READ)
    assert (read.actor_name, read.ran_as, read.address) == (row.pseudonym, row.pseudonym, None)
    done = AuditEvent.objects.get(action=Action.PSEUDONYM_GIVEN)
    assert (done.db_role, done.detail["pseudonym"]) == ("seal", row.pseudonym)


def test_it_waits_before_it_is_for_ever(ana: User, settings: Any) -> None:
    settings.PSEUDONYM_AFTER_HOURS = 24
    Roles().use("web")
    pseudonyms.ask(person=ana, by=None, why="asked for")
    Roles().use("seal")
    assert pseudonyms.carry_out() == 0 and Identity.objects.filter(value="ana").exists()


def test_a_login_that_somebody_else_has_now_stays_theirs(ana: User) -> None:
    User.objects.filter(pk=ana.pk).update(username="ana+left")
    ana.refresh_from_db()
    other = make_user("ana")
    trail.record(Action.SIGNED_IN, by=other, about=other, ran_as="ana")
    Roles().use("web")
    pseudonyms.ask(person=ana, by=None, why="asked for")
    Roles().use("seal")
    pseudonyms.carry_out()
    event = AuditEvent.objects.filter(action=Action.SIGNED_IN).latest("pk")
    assert (event.actor_name, event.ran_as) == ("ana", "ana")


def test_nobody_is_made_nameless_while_they_are_somebody(ana: User) -> None:
    projects.add_member(project=make_project("clima"), user=ana, role=Role.VIEWER, by=None)
    with pytest.raises(pseudonyms.Hindered, match="clima"):
        pseudonyms.ask(person=ana, by=None, why="x")
    hold = keeping.place_hold(reason="court", by=None, person=ana)
    projects.remove_member(membership=Membership.objects.active().get(user=ana), by=None)
    with pytest.raises(pseudonyms.Hindered):
        pseudonyms.ask(person=ana, by=None, why="x")
    assert hold.person_id == ana.pk and User.objects.get(pk=ana.pk).username == "ana"


@pytest.mark.django_db
def test_nor_while_a_job_of_theirs_runs() -> None:
    world = make_world()
    Membership.objects.filter(user=world.owner).update(ends_at="2026-01-01T00:00:00Z", starts_at="2025-01-01T00:00:00Z")
    assert len(pseudonyms.reasons(world.owner)) == 1


def test_a_hold_placed_after_asking_keeps_the_names(ana: User) -> None:
    Roles().use("web")
    pseudonyms.ask(person=ana, by=None, why="x")
    with pytest.raises(pseudonyms.Done):
        pseudonyms.ask(person=User.objects.get(pk=ana.pk), by=None, why="x")
    keeping.place_hold(reason="court", by=None, person=User.objects.get(pk=ana.pk))
    Roles().use("seal")
    assert pseudonyms.carry_out() == 0


@pytest.mark.parametrize("role", ["web", "work", "slurm"])
@pytest.mark.parametrize("sql", ["UPDATE audit_identity SET value = 'x'", "UPDATE audit_pseudonym SET done_at = now()",
                                 "UPDATE audit_pseudonym SET asked_at = now() - interval '9 days'", "DELETE FROM audit_pseudonym"])  # fmt: skip
def test_a_stolen_process_takes_no_name(ana: User, role: str, sql: str) -> None:
    Roles().use("web")
    pseudonyms.ask(person=ana, by=None, why="x")
    Roles().use(role)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def test_an_administrator_does_it_on_the_page_with_the_login_typed_again(ana: User) -> None:
    operator = signed_in(make_user("otto", site_role=SiteRole.OPERATOR, language="en"))
    Roles().use("web")
    where = "/audit/people/ana/pseudonymise"
    assert operator.get(where).status_code == 200
    for asked in ({"login": "an", "why": "asked"}, {"login": "ana", "why": " "}):
        assert operator.post(where, asked).status_code == 422
    assert operator.post(where, {"login": "ana", "why": "asked"}).status_code == 302
    assert operator.get(where).status_code == 404
    assert AuditEvent.objects.get(action=Action.PSEUDONYM_ASKED).actor_name == "otto"


def test_both_commands(ana: User) -> None:
    out = io.StringIO()
    call_command("person_report", "ana", stdout=out)
    assert json.loads(out.getvalue())["login"] == "ana"
    out = io.StringIO()
    call_command("person_report", "ana", "--html", stdout=out)
    assert "<table" in out.getvalue() and "visao" in out.getvalue()
    with pytest.raises(CommandError, match="nobody"):
        call_command("person_report", "none")
    call_command("pseudonymise", "ana", "--why", "asked", "--yes", stdout=io.StringIO())
    with pytest.raises(CommandError, match="nobody"):
        call_command("pseudonymise", "ana", "--why", "asked", "--yes")
    assert Pseudonym.objects.count() == 1
    assert AuditEvent.objects.filter(action=Action.PERSON_REPORTED).count() == 2


def test_every_command_leaves_a_line_or_says_why_not() -> None:
    ours = {path.stem for path in ROOT.glob("*/management/commands/*.py") if path.stem != "__init__"}
    assert ours & set(ELSEWHERE) == {"seal", "follow_slurm", "doctor", "limits", "event_catalogue"}
    assert set(ELSEWHERE) - {"help", "version"} <= set(get_commands()), "an exception for what there is not"

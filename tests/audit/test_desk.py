"""The auditor's desk: the search, an event's page, filters, seals, verification, retention, holds, guests, people."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import connection
from django.test import Client
from django.utils import timezone, translation

from access.roles import Role, SiteRole
from accounts.models import User
from audit import context, trail
from audit.actions import Action
from audit.models import AuditEvent, GuestAuditor, LegalHold, SavedFilter, Verification
from audit.services import guests, keeping, proofs, verifying
from audit.services.sealing import Sealer
from projects.models import Project
from tests.conftest import Roles
from tests.factories import make_member, make_project, make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db
KEY = Ed25519PrivateKey.generate()


@pytest.fixture
def project() -> Project:
    return make_project("visao")


@pytest.fixture
def auditor(project: Project, roles: Roles) -> Client:
    with translation.override("en"):
        client = signed_in(make_user("olga", site_role=SiteRole.AUDITOR, language="en"))
    return client


@pytest.fixture
def operator() -> Client:
    return signed_in(make_user("otto", site_role=SiteRole.OPERATOR, language="en"))


def shown(client: Client, **asked: str) -> list[str]:
    """The actions on the page, newest first, without what looking at it makes."""
    return [row.action for row in client.get("/audit/", asked).context["events"] if row.action != Action.TRAIL_READ]


def test_search_by_everything(auditor: Client, project: Project) -> None:
    ana, davi = make_user("ana"), make_user("davi")
    with context.coming_from("web", address="192.0.2.7", correlation="one-call"):
        trail.record(Action.LOG_READ, by=ana, about=project, project=project, offset=0)
        trail.record(Action.MEMBER_ADDED, by=davi, about=ana, project=project)
    with context.coming_from("web", address="192.0.2.8"):
        trail.record(Action.SIGNED_IN, by=davi, about=davi)
    assert shown(auditor, who="ana")[:2] == ["member.added", "log.read"]
    assert shown(auditor, who="davi")[:2] == ["session.opened", "member.added"]
    assert shown(auditor, address="192.0.2.7") == ["member.added", "log.read"]
    assert shown(auditor, address="192.0.2.9") == shown(auditor, who="nobody") == shown(auditor, project="none") == []
    assert shown(auditor, project="visao")[:2] == ["member.added", "log.read"]
    assert shown(auditor, correlation="one-call") == ["member.added", "log.read"]
    assert shown(auditor, who="davi", address="192.0.2.8") == ["session.opened"]
    tomorrow, today = (timezone.localdate() + timedelta(days=n) for n in (1, 0))
    assert "log.read" in shown(auditor, since=str(today), until=str(today))
    assert shown(auditor, job="²") == [] and shown(auditor, before="²") == shown(auditor)
    assert auditor.get("/audit/seals?before=²").status_code == 200
    assert shown(auditor, since=str(tomorrow)) == [] and shown(auditor, until=str(today - timedelta(days=1))) == []


def test_an_event_has_a_page_with_its_seal_and_what_happened_with_it(
    auditor: Client, project: Project, roles: Roles
) -> None:
    ana = make_user("ana")
    with context.coming_from("web", address="192.0.2.7"):
        first = trail.record(Action.LOG_READ, by=ana, about=project, project=project, offset=17)
        trail.record(Action.LOG_DOWNLOADED, by=ana, about=project, project=project)
    page = auditor.get(f"/audit/events/{first.uid}")
    assert b"It is not sealed yet" in page.content and b"192.0.2.7" in page.content
    assert [one.action for one in page.context["near"]] == ["log.downloaded"]
    roles.use("seal")
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY)
    roles.use("web")
    page = auditor.get(f"/audit/events/{first.uid}")
    assert page.context["event"].seq and b"signed" in page.content
    assert auditor.get("/audit/events/00000000-0000-7000-8000-000000000000").status_code == 404
    assert AuditEvent.objects.filter(action=Action.TRAIL_READ, detail__filter__event=str(first.uid)).count() == 2


def test_filters_are_kept_under_a_name_and_belong_to_one_person(auditor: Client, operator: Client) -> None:
    auditor.post("/audit/filters", {"name": "reads", "query": "action=log.read&before=9&evil=1"})
    row = SavedFilter.objects.get()
    assert (row.name, row.query) == ("reads", "action=log.read")
    auditor.post("/audit/filters", {"name": "reads", "query": "who=ana"})
    assert SavedFilter.objects.get().query == "who=ana"
    assert b"reads" in auditor.get("/audit/").content and b"reads" not in operator.get("/audit/").content
    assert operator.post(f"/audit/filters/{row.pk}/forget").status_code == 404
    assert auditor.post(f"/audit/filters/{row.pk}/forget").status_code == 302
    assert not SavedFilter.objects.exists()


@pytest.fixture
def keys(tmp_path: Path, settings: Any) -> None:
    pem = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "seal.pub.pem").write_bytes(pem)
    settings.SEAL_PUBLIC_KEYS = [str(tmp_path / "seal.pub.pem")]
    proofs.public_keys.cache_clear()


def sealed(roles: Roles) -> None:
    roles.use("seal")
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY)
    roles.use("web")


def test_verification_says_what_it_found_and_is_an_event(auditor: Client, roles: Roles, keys: None) -> None:
    sealed(roles)
    assert auditor.post("/audit/verify").status_code == 302
    assert b"Being verified" in auditor.get("/audit/verify").content
    roles.use("work")
    assert verifying.work() > 0 and verifying.work() == 0
    roles.use("web")
    page = auditor.get("/audit/verify").content.decode()
    assert "are as they were sealed" in page and "bancada-verify" in page
    event = AuditEvent.objects.get(action=Action.TRAIL_VERIFIED)
    assert (event.actor_name, event.outcome) == ("olga", "done")


def test_verification_names_the_first_wrong_record(auditor: Client, roles: Roles, keys: None, project: Project) -> None:
    for _ in range(3):
        trail.record(Action.LOG_READ, project=project)
    sealed(roles)
    roles.use(None)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE audit_auditevent DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE audit_auditevent SET outcome = 'failed' WHERE id = (SELECT event_id FROM audit_auditseal WHERE seq = 2)"
        )
    roles.use("web")
    auditor.post("/audit/verify")
    roles.use("work")
    verifying.work()
    row = Verification.objects.get()
    assert (row.verdict, row.wrong_seq, row.wrong) == ("wrong", 2, "changed")
    roles.use("web")
    assert b"Record 2 is wrong" in auditor.get("/audit/verify").content


def test_nothing_sealed_is_nothing_verified(auditor: Client, roles: Roles, keys: None) -> None:
    roles.use("web")
    auditor.post("/audit/verify")
    roles.use("work")
    verifying.work()
    assert Verification.objects.get().verdict == "nothing"


def test_the_seals_page_shows_what_was_signed(auditor: Client, roles: Roles, keys: None) -> None:
    assert b"Nothing is sealed yet" in auditor.get("/audit/seals").content
    sealed(roles)
    assert KEY and b"Chain" in auditor.get("/audit/seals").content


def test_retention_is_changed_by_an_administrator_alone(auditor: Client, operator: Client, roles: Roles) -> None:
    roles.use("web")
    asked = {"kind": "access", "days": "400", "why": "a claim"}
    assert auditor.get("/audit/retention").status_code == 200
    assert auditor.post("/audit/retention", asked).status_code == 403
    assert operator.post("/audit/retention", asked | {"days": "100"}).status_code == 422
    assert operator.post("/audit/retention", asked).status_code == 302
    assert AuditEvent.objects.get(action=Action.RETENTION_CHANGED).detail["after"] == 400
    assert next(one for one in keeping.keeping() if one.kind == "access").days == 400


def test_a_hold_is_placed_and_lifted_on_its_page(
    auditor: Client, operator: Client, project: Project, roles: Roles
) -> None:
    make_user("ana")
    roles.use("web")
    asked = {"reason": "court 12", "person": "ana", "project": "visao"}
    assert auditor.post("/audit/holds", asked).status_code == 403
    assert operator.post("/audit/holds", asked | {"person": "nobody"}).status_code == 422
    assert operator.post("/audit/holds", asked).status_code == 302
    assert b"court 12" in auditor.get("/audit/holds").content
    row = LegalHold.objects.get()
    assert operator.post(f"/audit/holds/{row.pk}/lift", {"why": "settled"}).status_code == 302
    assert set(AuditEvent.objects.filter(action__startswith="hold.").values_list("action", flat=True)) == {
        "hold.placed",
        "hold.lifted",
    }


def test_a_guest_reads_their_part_until_their_day_and_nothing_else(
    operator: Client, project: Project, roles: Roles
) -> None:
    guest, other = make_user("gina", language="en"), make_project("outro")
    ana = make_member(project, Role.RESEARCHER, username="ana")
    with context.coming_from("web", address="192.0.2.77"):
        inside = trail.record(Action.LOG_READ, by=ana, about=project, project=project)
    outside = trail.record(Action.LOG_READ, by=ana, about=other, project=other)
    roles.use("web")
    client = signed_in(guest)
    assert client.get("/audit/").status_code == 404
    day = str(timezone.localdate() + timedelta(days=5))
    asked = {"user": "gina", "projects": "visao", "ends_at": day, "why": "ethics committee"}
    assert operator.post("/audit/guests", asked | {"projects": "visao, none"}).status_code == 422
    assert operator.post("/audit/guests", asked).status_code == 302
    page = client.get("/audit/")
    assert {row.project_code for row in page.context["events"]} == {"visao"}
    assert b"192.0.2.77" not in page.content and b"guest auditor" in page.content
    assert client.get("/audit/", {"address": "192.0.2.77", "project": "outro"}).context["events"] == []
    assert client.get(f"/audit/events/{inside.uid}").status_code == 200
    assert b"192.0.2.77" not in client.get(f"/audit/events/{inside.uid}").content
    assert client.get(f"/audit/events/{outside.uid}").status_code == 404
    for path in ("seals", "verify", "retention", "holds", "guests", "people", "access?at=2026-03-12", "people/ana"):
        assert client.get(f"/audit/{path}").status_code == 404, path
    assert AuditEvent.objects.filter(action=Action.TRAIL_READ, actor_id=guest.pk).count() == 4
    row = GuestAuditor.objects.get()
    assert operator.post(f"/audit/guests/{row.pk}/end").status_code == 302
    assert client.get("/audit/").status_code == 404


def test_a_guests_time_ends_by_itself_and_their_scope_is_what_was_given(project: Project, time_machine: Any) -> None:
    guest = make_user("gina")
    now = timezone.now()
    row = guests.admit(user=guest, projects=[project], ends_at=now + timedelta(days=2), by=None, why="x", until=now)
    assert row.events().deconstruct() != ()
    client = signed_in(guest)
    trail.record(Action.LOG_READ, project=project)
    assert {event.at < now for event in client.get("/audit/").context["events"]} <= {True}
    time_machine.move_to(now + timedelta(days=2, minutes=1))
    assert signed_in(guest).get("/audit/").status_code == 404
    with pytest.raises(guests.Ended):
        guests.end(guest=row, user=guest, by=None)
    with pytest.raises(guests.NotInTime):
        guests.admit(user=guest, projects=[project], ends_at=now, by=None, why="x")


def test_what_is_held_on_a_person(auditor: Client, project: Project, roles: Roles) -> None:
    ana = make_member(project, Role.RESEARCHER, username="ana")
    trail.record(Action.LOG_READ, by=ana, about=project, project=project)
    roles.use("web")
    assert auditor.get("/audit/people", {"login": "nobody"}).status_code == 422
    assert auditor.get("/audit/people", {"login": "ana"}).url == "/audit/people/ana"
    page = auditor.get("/audit/people/ana").content.decode()
    assert "projects_membership" in page and "Ana Demo" in page and "audit_identity" in page
    said = json.loads(auditor.get("/audit/people/ana?form=json").content)
    by_place = {one["where"]: one["rows"] for one in said["sections"]}
    assert by_place["projects_membership"][0]["project"] == "visao"
    assert {row["class"] for row in by_place["audit_auditevent"]} >= {"access", "governance"}
    assert AuditEvent.objects.filter(action=Action.PERSON_REPORTED).count() == 2


def test_somebody_with_a_membership_keeps_their_name(operator: Client, project: Project, roles: Roles) -> None:
    make_member(project, Role.RESEARCHER, username="ana")
    roles.use("web")
    page = operator.post("/audit/people/ana/pseudonymise", {"login": "ana", "why": "asked"})
    assert page.status_code == 422 and User.objects.filter(username="ana").exists()

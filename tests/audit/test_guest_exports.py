"""A guest auditor's exports: every event of the scope, not one outside of it, in every form; seen by the guest alone."""

from __future__ import annotations

import itertools
import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from access.roles import Role, SiteRole
from accounts.models import User
from audit import context, trail
from audit.actions import Action
from audit.models import AuditEvent, AuditSeal, Checkpoint, Export, GuestAuditor
from audit.models.export import Form, State
from audit.services import exporting, guests, scope
from audit.services.exports import asking, making, signing
from audit.services.sealing import Sealer
from audit.services.wanted import Wanted
from client.bancada import bundles, verify
from projects.models import Project
from tests.api import make_world
from tests.audit.exporting import KEY
from tests.conftest import Roles
from tests.factories import make_project, make_user
from tests.pages import signed_in

NOW = timezone.now().replace(microsecond=0)
AGES = [0, 3, 10, 40]  # days
FORMS = [Form.JSONL, Form.CSV, Form.OCSF, Form.ECS]


class Set:
    """Two projects, two datasets, events of several days in each pair of them and outside, all sealed."""

    def __init__(self) -> None:
        self.davi, self.ana = make_user("davi"), make_user("ana")
        self.one, self.two = make_project("visao", members={self.ana: Role.PI}), make_project("outro")
        self.data = [_Thing(7001, "imagens"), _Thing(7002, "vozes")]
        self.events = list(self._events())
        self.seal()

    def _events(self) -> Any:
        subjects = [None, *self.data, self.one]
        for project, about, age in itertools.product([None, self.one, self.two], subjects, AGES):
            with context.coming_from("web", address="192.0.2.7"):
                event = trail.event(Action.LOG_READ, by=self.davi, project=project)
            event.at = NOW - timedelta(days=age)
            if isinstance(about, _Thing):
                event.subject_type, event.subject_id, event.subject_text = "dataset", str(about.pk), about.code
            event.save()
            yield event

    def seal(self) -> Checkpoint:
        """What there is."""
        sealer = Sealer.where_it_stands()
        sealer.seal()
        return sealer.checkpoint(KEY)

    def admit(self, user: User, projects: list[Project], **more: Any) -> GuestAuditor:
        """For a week."""
        return guests.admit(
            user=user,
            projects=projects,
            by=None,
            why="A funder asks.",
            ends_at=timezone.now() + timedelta(days=7),
            **more,
        )


class _Thing:
    def __init__(self, pk: int, code: str) -> None:
        self.pk, self.code = pk, code


@pytest.fixture
def there(db: None, settings: Any, tmp_path: Path) -> Set:
    settings.EXPORTS_FOLDER = str(tmp_path / "exports")
    return Set()


@pytest.fixture
def guest(there: Set) -> User:
    return make_user("visita")


def taken(client: Client, form: str, **fields: str) -> bytes:
    """A small export as it comes."""
    answer = client.post(reverse("audit:new_export"), {"form": form} | fields)
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content)  # type: ignore[attr-defined]


def uids(data: bytes) -> set[str]:
    """Which of the events are in it, whatever the form."""
    return {str(uid) for uid in AuditEvent.objects.values_list("uid", flat=True) if str(uid).encode() in data}


SCOPES: list[dict[str, Any]] = [
    {}, {"datasets": [0]}, {"since": 5}, {"until": 5}, {"since": 15, "until": 2}, {"datasets": [1], "since": 5},
    {"datasets": [0, 1], "until": 1},
]  # fmt: skip


def given(there: Set, said: dict[str, Any]) -> dict[str, Any]:
    """As `guests.admit` takes it."""
    days = {name: NOW - timedelta(days=said[name]) for name in ("since", "until") if name in said}
    return days | ({"datasets": [there.data[n] for n in said["datasets"]]} if "datasets" in said else {})


@pytest.mark.parametrize("said", SCOPES)
def test_every_event_of_the_scope_and_none_outside_in_every_form(
    there: Set, guest: User, said: dict[str, Any], roles: Roles
) -> None:
    row = there.admit(guest, [there.one], **given(there, said))
    mine = {str(uid) for uid in AuditEvent.objects.filter(row.events()).values_list("uid", flat=True)}
    sealed = {
        str(uid)
        for uid in AuditEvent.objects.filter(pk__in=[one.pk for one in there.events]).values_list("uid", flat=True)
    }
    client = signed_in(guest)
    roles.use("web")
    for form in FORMS:
        data = taken(client, form)
        assert uids(data) & sealed == mine & sealed and not uids(data) - mine
        assert b"192.0.2.7" not in data and b"outro" not in data


def test_two_scopes_are_read_together_and_a_filter_narrows_them(there: Set, guest: User) -> None:
    there.admit(guest, [there.one], datasets=[there.data[0]])
    there.admit(guest, [there.two], since=NOW - timedelta(days=5))
    may = scope.readable_by(guest)
    mine = {str(uid) for uid in may.events().values_list("uid", flat=True)}
    client = signed_in(guest)
    assert uids(taken(client, "jsonl")) == uids(taken(client, "csv")) == mine
    narrowed = taken(client, "jsonl", project="outro")
    assert uids(narrowed) == {
        str(uid) for uid in may.events().filter(project_id=there.two.pk).values_list("uid", flat=True)
    }
    assert uids(taken(client, "jsonl", project="nowhere")) == set() == uids(taken(client, "csv", who="nobody"))


def test_the_evidence_verifies_as_a_filtered_export_and_says_of_whose_scope(there: Set, guest: User) -> None:
    there.admit(guest, [there.one], datasets=[there.data[0]], since=NOW - timedelta(days=15))
    data = taken(signed_in(guest), "jsonl")
    report = verify.verify(data.decode().splitlines(keepends=True), [KEY.public_key()])
    assert (report.events, report.digests_only) == (3, AuditSeal.objects.count() - 3)
    said = "\n".join(report.lines())
    assert "guest auditor's scope" in said and "visao" in said and "imagens" in said
    tampered = data.replace(b'"action":"log.read"', b'"action":"log.lost"', 1)
    with pytest.raises(verify.Bad):
        verify.verify(tampered.decode().splitlines(keepends=True), [KEY.public_key()])


def test_a_bundle_names_the_scope_in_its_manifest_and_verifies(
    transactional_db: None, there: Set, guest: User, monkeypatch: pytest.MonkeyPatch, roles: Roles
) -> None:
    there.admit(guest, [there.one], until=NOW - timedelta(days=1))
    client = signed_in(guest)
    roles.use("web")
    answer = client.post(reverse("audit:new_export"), {"form": "bundle"})
    row = Export.objects.get()
    assert answer.headers["Location"] == reverse("audit:export", args=[row.pk])
    roles.use("work")
    with context.coming_from("task"):
        making.work()
    roles.use("seal")
    there.seal()
    assert signing.sign_waiting(KEY) == 1
    roles.use("work")
    with context.coming_from("task"):
        making.work()
    roles.use("web")
    fetched = client.get(reverse("audit:download", args=[row.pk]))
    path = Path(row.path.parent / "fetched.zip")
    path.write_bytes(b"".join(fetched.streaming_content))  # type: ignore[attr-defined]
    report = bundles.check(path, [KEY.public_key()])
    assert report.events == 12 and "guest auditor's scope" in "\n".join(report.lines())
    with zipfile.ZipFile(path) as archive:
        said = json.loads(archive.read("manifest.json"))
    [part] = said["scope"]
    assert part["project_codes"] == ["visao"] and part["until"] and said["filter"]["scope"] == said["scope"]
    assert said["exporter"]["sign_in"] == "visita"


def test_each_step_of_it_is_an_event(there: Set, guest: User) -> None:
    there.admit(guest, [there.one])
    data = taken(signed_in(guest), "csv")
    asked, told = (AuditEvent.objects.get(action=name) for name in (Action.EXPORT_ASKED, Action.TRAIL_EXPORTED))
    assert asked.actor_id == told.actor_id == guest.pk
    assert asked.detail["filter"]["scope"][0]["project_codes"] == ["visao"]
    assert told.detail["count"] == data.count(b'"log.read"') + data.count(b'"member.') + data.count(b'"project.')


def finished(monkeypatch: pytest.MonkeyPatch, by: User) -> Export:
    """A guest's, made by the worker."""
    monkeypatch.setattr(asking, "AT_ONCE", 0)
    wanted = Wanted(scope=scope.readable_by(by).parts())
    row = asking.ask(form=Form.JSONL, wanted=wanted, by=by, whole=False)
    with context.coming_from("task"):
        making.work()
    row.refresh_from_db()
    assert row.state == State.READY
    return row


def status(client: Client, row: Export) -> list[int]:
    """Of its page and its file."""
    return [client.get(reverse(name, args=[row.pk])).status_code for name in ("audit:export", "audit:download")]


def test_the_list_shows_a_guest_the_own_ones_and_the_auditor_all(
    there: Set, guest: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, auditor = make_user("outra"), make_user("kenia", site_role=SiteRole.AUDITOR)
    there.admit(guest, [there.one])
    there.admit(other, [there.one])
    mine, theirs = finished(monkeypatch, guest), finished(monkeypatch, other)
    whole = asking.ask(form=Form.JSONL, wanted=Wanted(), by=auditor, whole=True)
    client = signed_in(guest)
    listed = client.get(reverse("audit:exports")).content.decode()
    assert str(mine.pk) in listed and str(theirs.pk) not in listed and str(whole.pk) not in listed
    assert status(client, mine) == [200, 200] and status(client, theirs) == status(client, whole) == [404, 404]
    assert status(signed_in(auditor), mine) == [200, 200]


def test_with_the_guests_time_their_files_are_gone_also_under_another_scope(
    there: Set, guest: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, client = there.admit(guest, [there.one]), signed_in(guest)
    made = finished(monkeypatch, guest)
    guests.end(guest=row, user=guest, by=None)
    assert status(client, made) == [404, 404] and client.get(reverse("audit:exports")).status_code == 404
    there.admit(guest, [there.two])
    assert (
        status(client, made) == [404, 404] and str(made.pk) not in client.get(reverse("audit:exports")).content.decode()
    )


def test_an_auditor_who_became_a_guest_keeps_nothing_of_then(there: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    person = make_user("kenia", site_role=SiteRole.AUDITOR)
    monkeypatch.setattr(asking, "AT_ONCE", 0)
    row = asking.ask(form=Form.JSONL, wanted=Wanted(), by=person, whole=True)
    with context.coming_from("task"):
        making.work()
    User.objects.filter(pk=person.pk).update(site_role=SiteRole.NONE)
    there.admit(person, [there.one])
    assert status(signed_in(person), row) == [404, 404]


def test_the_page_offers_it_says_the_scope_and_has_no_field_for_an_address(there: Set, guest: User) -> None:
    there.admit(guest, [there.one], datasets=[there.data[1]])
    client = signed_in(guest)
    english = {"Accept-Language": "en"}
    page = client.get(reverse("audit:list"), headers=english).content.decode()
    assert reverse("audit:new_export") in page and reverse("audit:exports") in page
    assert reverse("audit:verify") not in page and "over ssh" in page
    assert 'name="address"' not in client.get(reverse("audit:new_export")).content.decode()
    taken(client, "csv")
    shown = client.get(reverse("audit:export", args=[Export.objects.get().pk]), headers=english).content.decode()
    assert "scope: visao, vozes" in shown
    much = client.get(reverse("audit:new_export") + "?form=csv", headers={"HX-Request": "true"})
    assert much.context["number"] == len(AGES) and much.context["counted"]


def test_what_retention_removed_is_a_digest_and_its_event_is_not_told(there: Set, guest: User) -> None:
    """The event that names removed bodies is outside of every scope; their digests prove the chain all the same."""
    there.admit(guest, [there.one])
    with context.coming_from("command"):
        trail.record(Action.BODIES_REMOVED, kind="access", records=["1-2"], count=2)
    last = there.seal()
    wanted = Wanted(scope=scope.readable_by(guest).parts())
    data = b"".join(exporting.export(wanted, checkpoint=last, whole=False))
    assert b"bodies_removed" not in data and b'"removed"' not in data
    assert verify.verify(data.decode().splitlines(keepends=True), [KEY.public_key()]).events > 12


def test_over_the_api_a_guest_has_the_scope_and_the_own_exports(settings: Any, tmp_path: Path, db: None) -> None:
    settings.EXPORTS_FOLDER = str(tmp_path)
    world = make_world()
    stranger, there = world.caller("stranger"), Set()
    assert stranger.post("/audit/exports", {"form": "csv"}).status_code == 403
    there.admit(world.person("stranger"), [there.one], datasets=[there.data[0]])
    asked = stranger.post("/audit/exports", {"form": "csv"})
    assert asked.status_code == 202 and asked.json()["filter"]["scope"][0]["project_codes"] == ["visao"]
    with context.coming_from("task"):
        making.work()
    said = stranger.get(f"/audit/exports/{asked.json()['id']}").json()
    assert (said["state"], said["count"]) == ("ready", len(AGES))
    assert [one["id"] for one in stranger.get("/audit/exports").json()] == [said["id"]]
    assert stranger.get(said["download"].removeprefix("/api/v1")).status_code == 200
    assert stranger.post("/audit/exports", {"form": "csv", "project": "visao"}).status_code == 404

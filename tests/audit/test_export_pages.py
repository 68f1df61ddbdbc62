"""The pages and the API of exports: asked for, watched, fetched in parts; by whom, and with what the trail does not see."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from access.roles import Role, SiteRole
from audit import context
from audit.actions import Action
from audit.models import AuditEvent, Export
from audit.models.export import Form, State
from audit.services import unseen
from audit.services.exports import asking, making
from audit.services.wanted import Wanted
from client.bancada import verify
from cluster.models import Cluster
from tests.api import World, make_world
from tests.audit.exporting import KEY, fill
from tests.conftest import Roles
from tests.factories import make_cluster, make_project, make_user
from tests.pages import signed_in


@pytest.fixture
def place(db: None, settings: Any, tmp_path: Path) -> Any:
    settings.EXPORTS_FOLDER = str(tmp_path)
    auditor = make_user("kenia", site_role=SiteRole.AUDITOR)
    pi = make_user("ana")
    project = make_project("visao", members={pi: Role.PI})
    fill(make_user("davi"), project)
    return auditor, pi, project


def finished(by: Any, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Export:
    monkeypatch.setattr(asking, "AT_ONCE", 0)
    row = asking.ask(form=Form.JSONL, wanted=Wanted(), by=by, **{"whole": True} | more)
    with context.coming_from("task"):
        making.work()
    row.refresh_from_db()
    return row


def test_what_is_seen_is_what_is_exported(place: Any, roles: Roles) -> None:
    client = signed_in(place[0])
    roles.use("web")
    page = client.get(reverse("audit:list") + "?action=log.read&since=2026-01-01").content.decode()
    address = reverse("audit:new_export") + "?since=2026-01-01&amp;action=log.read"
    assert any(
        part in page for part in (address, reverse("audit:new_export") + "?action=log.read&amp;since=2026-01-01")
    )
    form = client.get(reverse("audit:new_export") + "?action=log.read&since=2026-01-01")
    assert form.context["form"].initial["action"] == "log.read"
    answer = client.post(reverse("audit:new_export"), {"form": "jsonl", "action": "log.read", "since": "2026-01-01"})
    data = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert answer["Content-Disposition"].startswith('attachment; filename="bancada-trail-1-')
    report = verify.verify(data.decode().splitlines(keepends=True), [KEY.public_key()])
    assert report.events == 15
    event = AuditEvent.objects.get(action=Action.TRAIL_EXPORTED)
    assert event.detail["digest"] == hashlib.sha256(data).hexdigest() and event.db_role == "web"


def test_a_part_of_the_form_says_how_much_it_will_be(place: Any, roles: Roles) -> None:
    client = signed_in(place[0])
    roles.use("web")
    before = AuditEvent.objects.count()
    said = client.get(reverse("audit:new_export") + "?form=csv&action=log.read", headers={"HX-Request": "true"})
    assert "15 " in said.content.decode() and "<html" not in said.content.decode()
    assert AuditEvent.objects.count() == before


def test_the_page_says_the_filter_in_words(place: Any) -> None:
    client = signed_in(place[0])
    fields = {"form": "csv", "who": "davi", "since": "2026-01-01", "action": "log.read", "address": "192.0.2.7"}
    answer = client.post(reverse("audit:new_export"), fields)
    assert b"".join(answer.streaming_content).count(b'"log.read"') == 15  # type: ignore[attr-defined]
    page = client.get(reverse("audit:export", args=[Export.objects.get().pk])).content.decode()
    assert ": davi" in page and ": 2026-01-01 00:00" in page and ": log.read" in page


@pytest.mark.parametrize("fields", [{"form": "pdf"}, {"form": "csv", "since": "x"}, {"form": "csv", "action": "no.such"},
                                    {"form": "csv", "since": "2026-03-02", "until": "2026-03-01"}])  # fmt: skip
def test_what_cannot_be_is_said_beside_its_field(place: Any, fields: dict[str, str], roles: Roles) -> None:
    client = signed_in(place[0])
    roles.use("web")
    answer = client.post(reverse("audit:new_export"), fields)
    assert answer.status_code == 422 and "field--bad" in answer.content.decode()
    assert not Export.objects.exists()


def test_a_large_one_is_watched_and_fetched(place: Any, monkeypatch: pytest.MonkeyPatch, roles: Roles) -> None:
    client = signed_in(place[0])
    monkeypatch.setattr(asking, "AT_ONCE", 0)
    roles.use("web")
    answer = client.post(reverse("audit:new_export"), {"form": "jsonl"})
    row = Export.objects.get()
    assert answer.headers["Location"] == reverse("audit:export", args=[row.pk])
    page = client.get(answer.headers["Location"]).content.decode()
    assert 'hx-trigger="every 2s"' in page
    part = client.get(answer.headers["Location"], headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part and "<progress" in part
    assert client.get(reverse("audit:download", args=[row.pk])).status_code == 404
    roles.use("work")
    with context.coming_from("task"):
        making.work()
    roles.use("web")
    page = client.get(answer.headers["Location"]).content.decode()
    row.refresh_from_db()
    assert row.digest in page and "every 2s" not in page
    fetched = client.get(reverse("audit:download", args=[row.pk]))
    assert hashlib.sha256(b"".join(fetched.streaming_content)).hexdigest() == row.digest  # type: ignore[attr-defined]
    assert AuditEvent.objects.get(action=Action.EXPORT_FETCHED).detail["digest"] == row.digest
    listed = client.get(reverse("audit:exports")).content.decode()
    assert str(row.pk) in listed


def test_a_download_goes_on_where_it_broke_off(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, row = signed_in(place[0]), finished(place[0], monkeypatch)
    whole, address = row.path.read_bytes(), reverse("audit:download", args=[row.pk])

    def got(**headers: str) -> tuple[int, bytes, Any]:
        answer = client.get(address, headers=headers)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
        return answer.status_code, body, answer

    status, first, answer = got(Range="bytes=0-99")
    assert (status, first, answer["Content-Range"]) == (206, whole[:100], f"bytes 0-99/{len(whole)}")
    status, rest, _answer = got(**{"Range": "bytes=100-", "If-Range": answer["ETag"]})
    assert (status, first + rest) == (206, whole)
    assert got(**{"Range": "bytes=100-", "If-Range": '"another"'})[:2] == (200, whole)
    assert got(Range="bytes=-7")[:2] == (206, whole[-7:])
    status, _body, answer = got(Range=f"bytes={len(whole)}-")
    assert (status, answer["Content-Range"]) == (416, f"bytes */{len(whole)}")
    assert got(Range="bytes=5-2")[0] == 416 and got(Range="lines=1-2")[:2] == (200, whole)
    assert got(**{"If-None-Match": f'"{row.digest}"'})[0] == 304
    assert got(Range="bytes=0-999999999999")[:2] == (206, whole)
    events = AuditEvent.objects.filter(action=Action.EXPORT_FETCHED).order_by("pk")
    assert [event.detail["first_byte"] for event in events][:3] == [0, 100, 0]


def test_a_pi_exports_the_projects_own_and_sees_no_address(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    auditor, pi, project = place
    client = signed_in(pi)
    assert client.get(reverse("audit:exports")).status_code == 404
    assert client.get(reverse("audit:new_export")).status_code == 404
    page = client.get(reverse("projects:trail", args=["visao"])).content.decode()
    assert reverse("projects:trail_new_export", args=["visao"]) in page
    answer = client.post(reverse("projects:trail_new_export", args=["visao"]), {"form": "csv", "address": "192.0.2.7"})
    data = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert "192.0.2.7" not in data and data.count('"log.read"') == 6
    mine = Export.objects.get()
    assert (mine.project_id, mine.whole) == (project.pk, False)
    whole = finished(auditor, monkeypatch, project=project)
    site = finished(auditor, monkeypatch)
    assert client.get(reverse("projects:trail_export", args=["visao", mine.pk])).status_code == 200
    for row in (whole, site):
        assert client.get(reverse("projects:trail_export", args=["visao", row.pk])).status_code == 404
        assert client.get(reverse("projects:trail_download", args=["visao", row.pk])).status_code == 404
    assert str(whole.pk) not in client.get(reverse("projects:trail_exports", args=["visao"])).content.decode()


def test_who_lost_the_role_fetches_nothing_more(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    auditor, _pi, _project = place
    row, client = finished(auditor, monkeypatch), signed_in(auditor)
    auditor.site_role = SiteRole.NONE
    auditor.save()
    assert client.get(reverse("audit:download", args=[row.pk])).status_code == 404


def test_hours_without_a_follower_are_events_and_are_said(place: Any) -> None:
    now = timezone.now()
    unseen.back_again(None, about=place[2])
    unseen.back_again(now - timedelta(minutes=4), about=place[2], now=now)
    assert not unseen.gaps()
    unseen.back_again(now - timedelta(hours=2), about=place[2], now=now)
    [gap] = unseen.gaps()
    assert gap.minutes == 120
    client = signed_in(place[0])
    for name in ("audit:exports", "audit:new_export", "audit:list"):
        page = client.get(reverse(name)).content.decode()
        assert "120 minutes" in page or "120 minutos" in page
    assert unseen.gaps(until=now - timedelta(hours=3)) == []


def test_that_nobody_follows_now_is_said_before_anybody_is_back(place: Any) -> None:
    now, client = timezone.now(), signed_in(place[0])
    cluster = make_cluster()
    for ago, words in ((timedelta(minutes=2), 0), (timedelta(minutes=90), 1)):
        Cluster.objects.filter(pk=cluster.pk).update(jobs_seen_at=now - ago)
        assert [gap.until for gap in unseen.gaps()] == [None] * words
        for name in ("audit:exports", "audit:new_export", "audit:list"):
            page = client.get(reverse(name), headers={"Accept-Language": "en"}).content.decode()
            assert page.count("still now") == words and page.count("90 minutes") == words
    unseen.back_again(now - timedelta(minutes=90), about=cluster, now=now)
    Cluster.objects.filter(pk=cluster.pk).update(jobs_seen_at=now)
    [gap] = unseen.gaps()
    assert gap.until == now and gap.minutes == 90


@pytest.fixture
def world(db: None, settings: Any, tmp_path: Path) -> World:
    settings.EXPORTS_FOLDER = str(tmp_path)
    return make_world()


def test_over_the_api_it_is_asked_for_watched_and_fetched(world: World, roles: Roles) -> None:
    auditor = world.caller("auditor")
    fill(world.person("member"), world.project)
    roles.use("web")
    asked = auditor.post("/audit/exports", {"form": "csv", "action": "log.read"})
    assert asked.status_code == 202, asked.content
    pk = asked.json()["id"]
    assert asked.json()["download"] is None
    roles.use("work")
    with context.coming_from("task"):
        making.work()
    roles.use("web")
    said = auditor.get(f"/audit/exports/{pk}").json()
    assert (said["state"], said["count"], said["percent"]) == ("ready", 15, 100)
    fetched = auditor.get(said["download"].removeprefix("/api/v1"))
    body = b"".join(fetched.streaming_content)
    assert hashlib.sha256(body).hexdigest() == said["digest"] and fetched["ETag"] == f'"{said["digest"]}"'
    assert [one["id"] for one in auditor.get("/audit/exports").json()] == [pk]


def test_over_the_api_a_pi_has_the_projects_own_and_a_member_nothing(world: World, roles: Roles) -> None:
    fill(world.person("member"), world.project)
    pi, member, stranger = world.caller("pi"), world.caller("member"), world.caller("stranger")
    roles.use("web")
    assert pi.post("/audit/exports", {"form": "csv"}).status_code == 403
    asked = pi.post("/audit/exports", {"form": "csv", "project": "aurora"})
    assert asked.status_code == 202
    assert Export.objects.get().project_code == "aurora"
    assert pi.get("/audit/exports").status_code == 403
    assert len(pi.get("/audit/exports?project=aurora").json()) == 1
    assert member.post("/audit/exports", {"form": "csv", "project": "aurora"}).status_code == 403
    assert stranger.post("/audit/exports", {"form": "csv", "project": "aurora"}).status_code == 404


def test_over_the_api_too_many_and_too_early_are_said(world: World, roles: Roles) -> None:
    auditor = world.caller("auditor")
    roles.use("web")
    assert auditor.post("/audit/exports", {"form": "csv"}).status_code == 409
    roles.use(None)
    fill(world.person("member"), world.project)
    roles.use("web")
    codes = [auditor.post("/audit/exports", {"form": "csv"}).status_code for _ in range(asking.MOST_OPEN + 1)]
    assert codes == [202] * asking.MOST_OPEN + [409]


def test_pages_ask_little_and_write_nothing(
    place: Any, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    row, client = finished(place[0], monkeypatch), signed_in(place[0])
    client.get(reverse("audit:exports"))
    for address in (reverse("audit:exports"), reverse("audit:export", args=[row.pk]), reverse("audit:new_export")):
        before = AuditEvent.objects.count()
        with django_assert_max_num_queries(8):
            assert client.get(address).status_code == 200
        assert AuditEvent.objects.count() == before


def test_it_says_that_nothing_is_sealed(db: None, settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_FOLDER = str(tmp_path)
    client: Client = signed_in(make_user("kenia", site_role=SiteRole.AUDITOR))
    assert client.get(reverse("audit:exports")).status_code == 200
    assert client.get(reverse("audit:new_export")).status_code == 200
    assert client.post(reverse("audit:new_export"), {"form": "csv"}).status_code == 422
    assert not Export.objects.filter(state=State.WAITING).exists()

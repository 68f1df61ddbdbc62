"""Nodes out of service and back, windows, announcements: who may, what is recorded, what Slurm is told, who sees it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import override_settings
from django.utils import timezone

from access.roles import SiteRole
from accounts.models import User
from audit.actions import Action
from audit.models import AuditEvent
from cluster import slurm_door
from cluster.models import Announcement, Change, Maintenance, Node, NodeChange, OutsideUse
from cluster.services import announcing, operating, outside
from slurm import fake
from slurm.contract import Unreachable
from tests.factories import make_member, make_project, make_user
from tests.jobs.conftest import Bench
from tests.jobs.test_gpu_pages import browser, gpu, run
from tests.jobs.test_taking_out import rows


@pytest.fixture
def operator(db: None) -> User:
    return make_user(site_role=SiteRole.OPERATOR, email="op@bancada.example")


@pytest.fixture
def nodes(cluster: fake.Cluster) -> Any:
    slurm_door.nodes.cache_clear()
    yield cluster
    slurm_door.nodes.cache_clear()


def events(action: Action) -> Any:
    return AuditEvent.objects.filter(action=action).order_by("pk")


def test_a_node_is_drained_with_a_reason_and_the_jobs_on_it(bench: Bench, nodes: fake.Cluster, operator: User) -> None:
    run(bench)
    page = browser(operator).get("/cluster/nodes/gpu01").content.decode()
    assert "1 job that runs there goes on" in page
    done = browser(operator).post("/cluster/nodes/gpu01/drain", {"reason": "fan of GPU 3; rm -rf / $(id)"})
    assert done.status_code == 302
    assert events(Action.NODE_CHANGE_ASKED).get().detail["jobs"] == [77]
    operating.carry_out()
    assert nodes.nodes["gpu01"].state == "DRAIN"
    assert events(Action.NODE_CHANGED).get().outcome == "done"
    assert NodeChange.objects.get().done_at is not None


def test_a_reason_is_needed_and_one_thing_at_a_time(bench: Bench, operator: User) -> None:
    client = browser(operator)
    assert client.post("/cluster/nodes/gpu01/drain", {"reason": " "}).status_code == 422
    assert client.post("/cluster/nodes/gpu01/drain", {"reason": "disk"}).status_code == 302
    again = client.post("/cluster/nodes/gpu01/drain", {"reason": "disk"})
    assert again.status_code == 422 and b"is not done yet" in again.content
    assert client.post("/cluster/nodes/nowhere/drain", {"reason": "disk"}).status_code == 404
    assert client.post("/cluster/nodes/gpu01/explode", {"reason": "disk"}).status_code == 404


def test_back_into_service(bench: Bench, nodes: fake.Cluster, operator: User) -> None:
    nodes.nodes["gpu01"].state = "DRAIN"
    Node.objects.filter(name="gpu01").update(states=["IDLE", "DRAIN"])
    assert b"Put back into service" in browser(operator).get("/cluster/nodes/gpu01").content
    browser(operator).post("/cluster/nodes/gpu01/resume", {})
    operating.carry_out()
    assert nodes.nodes["gpu01"].state == "IDLE"


def test_what_slurm_refuses_is_told_and_what_it_did_not_hear_is_tried_again(
    bench: Bench, nodes: fake.Cluster, operator: User
) -> None:
    gone = Node.objects.create(cluster=bench.cluster, name="gone01")
    operating.change_node(node=gone, change=Change.DRAIN, reason="x", jobs=[], by=operator)
    operating.carry_out()
    assert "Invalid node name" in NodeChange.objects.get().words
    assert events(Action.NODE_CHANGED).get().outcome == "refused"

    class Away:
        def drain(self, *_: str) -> None:
            raise Unreachable("away")

    NodeChange.objects.all().delete()
    operating.change_node(node=gone, change=Change.DRAIN, reason="x", jobs=[], by=operator)
    operating.carry_out(Away())  # type: ignore[arg-type]
    row = NodeChange.objects.get()
    assert row.done_at is None and row.next_try_at > timezone.now()


@pytest.mark.parametrize(
    "path", ["nodes/gpu01/drain", "nodes/gpu01/resume", "windows", "announcements", "windows/1/cancel"]
)
def test_nobody_else_does_any_of_it(bench: Bench, path: str) -> None:
    for person in (bench.user, make_user(site_role=SiteRole.AUDITOR)):
        assert browser(person).post(f"/cluster/{path}", {"reason": "x"}).status_code == 404
    assert browser(bench.user).get("/cluster/operate").status_code == 404
    assert not NodeChange.objects.exists()


def window(**changes: Any) -> dict[str, Any]:
    now = timezone.localtime()
    return {
        "window-starts_at": f"{now + timedelta(hours=5):%Y-%m-%dT%H:%M}",
        "window-ends_at": f"{now + timedelta(hours=9):%Y-%m-%dT%H:%M}",
        "window-node_names": ["gpu01"], "window-reason_en": "New firmware", "window-reason_pt": "Novo firmware",
    } | changes  # fmt: skip


@override_settings(MAIL_IS_ON=True)
def test_a_window_is_one_act(
    bench: Bench, nodes: fake.Cluster, operator: User, django_capture_on_commit_callbacks: Any
) -> None:
    User.objects.filter(pk=bench.user.pk).update(email="member@bancada.example", language="en")
    run(bench)
    client = browser(operator)
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post("/cluster/windows", window()).status_code == 302
    assert [letter.to for letter in mail.outbox] == [["member@bancada.example"]]
    assert "New firmware" in mail.outbox[0].body and "Maintenance of the cluster" in mail.outbox[0].subject
    operating.carry_out()
    row = Maintenance.objects.get()
    assert row.in_slurm and nodes.windows[row.name][0] == ("gpu01",)
    page = browser(bench.user).get("/cluster/").content.decode()
    assert "New firmware" in page and "gpu01. Jobs that would not end before it" in page
    assert client.post(f"/cluster/windows/{row.pk}/cancel").status_code == 302
    operating.carry_out()
    assert nodes.windows == {} and Maintenance.objects.get().in_slurm is False
    assert "New firmware" not in browser(bench.user).get("/cluster/").content.decode()
    assert [e.detail["change"] for e in events(Action.MAINTENANCE_CHANGED)] == ["made", "removed"]


def test_a_window_must_end_after_it_begins(bench: Bench, operator: User) -> None:
    wrong = window(**{"window-ends_at": "2020-01-01T00:00"})
    page = browser(operator).post("/cluster/windows", wrong)
    assert page.status_code == 422 and b"The end must come after the beginning" in page.content
    assert not Maintenance.objects.exists()


def announcement(operator: User, **changes: Any) -> Announcement:
    now = timezone.now()
    facts = {
        "tone": "info", "text_en": "The archive is slow.", "text_pt": "O arquivo está lento.",
        "starts_at": now - timedelta(minutes=1), "ends_at": now + timedelta(days=1),
    } | changes  # fmt: skip
    return announcing.publish(by=operator, **facts)


def test_an_announcement_is_for_its_place(bench: Bench, operator: User) -> None:
    announcement(operator, project_code=bench.project.code)
    announcement(operator, partition="prep", text_en="Prep is slow.")
    beside = make_member(make_project(partitions=["large"]))
    page = browser(bench.user).get("/jobs/").content.decode()
    assert "The archive is slow." in page and "Prep is slow." in page
    page = browser(beside).get("/jobs/").content.decode()
    assert "The archive is slow." not in page and "Prep is slow." not in page


def test_in_both_languages_and_put_away_for_oneself(bench: Bench, operator: User) -> None:
    row = announcement(operator)
    client = browser(bench.user)
    assert b"The archive is slow." in client.get("/jobs/").content
    assert client.post(f"/cluster/announcements/{row.pk}/dismiss", HTTP_HX_REQUEST="true").status_code == 204
    assert b"The archive is slow." not in client.get("/jobs/").content
    other = make_member(bench.project)
    User.objects.filter(pk=other.pk).update(language="pt-br")
    from tests.pages import signed_in

    assert "O arquivo está lento." in signed_in(User.objects.get(pk=other.pk)).get("/jobs/").content.decode()


def test_only_what_is_meant_for_strangers_stands_at_the_sign_in(bench: Bench, operator: User, client: Any) -> None:
    announcement(operator, text_en="For members.", text_pt="Para membros.")
    announcement(operator, at_sign_in=True, text_en="Closed on Friday.", text_pt="Fechado na sexta.")
    page = client.get("/", follow=True, HTTP_ACCEPT_LANGUAGE="en").content.decode()
    assert "Closed on Friday." in page and "For members." not in page


def test_it_is_written_and_ended_on_a_page(bench: Bench, operator: User) -> None:
    now = timezone.localtime()
    client = browser(operator)
    facts = {
        "news-tone": "warn", "news-text_en": "Slow <b>disk</b>", "news-text_pt": "Disco lento", "news-partition": "",
        "news-project_code": "", "news-starts_at": f"{now - timedelta(minutes=2):%Y-%m-%dT%H:%M}",
        "news-ends_at": f"{now + timedelta(days=1):%Y-%m-%dT%H:%M}",
    }  # fmt: skip
    assert client.post("/cluster/announcements", facts).status_code == 302
    assert "Slow &lt;b&gt;disk" in browser(bench.user).get("/jobs/").content.decode()
    client.post(f"/cluster/announcements/{Announcement.objects.get().pk}/end")
    assert "Slow" not in browser(bench.user).get("/jobs/").content.decode()
    assert events(Action.ANNOUNCED).count() == events(Action.ANNOUNCEMENT_ENDED).count() == 1
    both = facts | {"news-partition": "gpu", "news-project_code": bench.project.code, "news-at_sign_in": "on"}
    assert client.post("/cluster/announcements", both).status_code == 422


def test_gpus_as_boxes_within_what_one_may_see(bench: Bench) -> None:
    run(bench)
    Node.objects.filter(name="gpu01").update(gpus_allocated=3)
    gpu(bench, 0)
    gpu(bench, 1, temperature=91)
    gpu(bench, 2, slurm_jobs=[99])
    gpu(bench, 3, slurm_jobs=[], strangers=[{"pid": 4242, "uid": 20999, "mib": 9000}])
    page = browser(bench.user).get("/cluster/").content.decode()
    assert "gpu01: GPU 0: yours, 97 %; GPU 1: yours, hot or slowed, 97 %; GPU 2: of others, 97 %; " in page
    assert "GPU 3: in use outside the queue, 97 %" in page and "1 GPU in use outside the queue" in page
    assert "0 free" in page
    stranger = browser(make_user()).get("/cluster/").content.decode()
    assert "GPU 0: of others" in stranger and "yours" not in stranger.split("aria-label")[1].split(">")[0]
    for path in ("/cluster/", "/cluster/nodes/gpu01"):
        assert "4242" not in browser(bench.user).get(path).content.decode()


def test_administrators_see_who_uses_a_gpu_outside(bench: Bench, operator: User) -> None:
    User.objects.filter(pk=bench.user.pk).update(uid_number=20999)
    gpu(bench, 3, slurm_jobs=[], strangers=[{"pid": 4242, "uid": 20999, "mib": 9000}, {"pid": 1, "uid": 7, "mib": 5}])
    page = browser(operator).get("/cluster/nodes/gpu01").content.decode()
    assert f"process 4242 of {bench.user.username}, 9000 MiB" in page and "process 1 of 7, 5 MiB" in page


def test_gpus_of_a_node_and_their_use_outside_the_queue_are_taken_away(bench: Bench, operator: User) -> None:
    now = timezone.now()
    gpu(bench, 1, model="=1+1", throttled=["power", "thermal"])
    seen = {"began_at": now - timedelta(hours=2), "seen_at": now, "ended_at": now}
    OutsideUse.objects.create(cluster=bench.cluster, node_name="gpu01", index=3, uid=4242, **seen)
    assert "nodes/gpu01/gpus.csv" in browser(bench.user).get("/cluster/nodes/gpu01").text
    [_head, line] = rows(browser(bench.user), "/cluster/nodes/gpu01/gpus.csv")
    assert line.startswith("1,'=1+1,ok,97.0,30720.0,40960.0,310.0,64.0,,power; thermal,")
    assert "/cluster/outside.csv" in browser(operator).get("/cluster/operate").text
    assert rows(browser(operator), "/cluster/outside.csv")[1:] == ["4242,,gpu01,2.0"]
    assert events(Action.REPORT_READ).get().detail["table"] == "outside"
    assert browser(bench.user).get("/cluster/outside.csv").status_code == 404


def test_a_card_held_down_says_by_what_and_its_cap_of_power(bench: Bench) -> None:
    gpu(bench, 1, power_limit_watts=400.0, throttled=["power", "thermal"])
    page = browser(bench.user).get("/cluster/nodes/gpu01").text
    assert "310 of 400 W" in page and "slowed by power, heat" in page
    assert "GPU 1: of others, hot or slowed" in browser(bench.user).get("/cluster/").text


def test_a_lost_card_is_not_free(bench: Bench) -> None:
    gpu(bench, 0, state="lost", slurm_jobs=[], utilization=None)
    assert "GPU 0: out of service, failing" in browser(bench.user).get("/cluster/").content.decode()


@override_settings(MAIL_IS_ON=True)
def test_use_outside_the_queue_is_told_once_after_five_minutes(bench: Bench, operator: User) -> None:
    now = timezone.now()
    facts = {"cluster": bench.cluster, "node_name": "gpu01", "most_mib": 9000.0}
    OutsideUse.objects.create(index=0, uid=7, began_at=now - timedelta(minutes=4), seen_at=now, **facts)
    assert outside.tell() == 0
    OutsideUse.objects.create(index=1, uid=7, began_at=now - timedelta(minutes=6), seen_at=now, **facts)
    assert outside.tell() == 1
    assert outside.tell() == 0
    assert events(Action.GPU_OUTSIDE).get().detail["uid"] == 7
    assert len(mail.outbox) == 1 and "GPU 1" in mail.outbox[0].body


def test_reasons_of_nodes_are_grouped_with_their_age(bench: Bench, operator: User) -> None:
    since = timezone.now() - timedelta(hours=3)
    Node.objects.filter(name__in=["gpu01", "gpu02"]).update(states=["DOWN"], reason="no power", reason_since=since)
    page = browser(operator).get("/cluster/").content.decode()
    assert page.count("<strong>no power</strong>") == 1 and "3 h ago" in page
    assert "no power" not in browser(bench.user).get("/cluster/").content.decode()


def test_totals_of_use_outside_the_queue(bench: Bench, operator: User) -> None:
    User.objects.filter(pk=bench.user.pk).update(uid_number=20999)
    now = timezone.now()
    facts = {"cluster": bench.cluster, "node_name": "gpu01", "seen_at": now}
    OutsideUse.objects.create(index=0, uid=20999, began_at=now - timedelta(hours=3), ended_at=now, **facts)
    OutsideUse.objects.create(index=1, uid=20999, began_at=now - timedelta(hours=1), **facts)
    OutsideUse.objects.create(index=2, uid=None, began_at=now - timedelta(days=40), **facts)
    first, second = outside.totals(now - timedelta(days=30)), outside.totals(now - timedelta(hours=1))
    assert [(one.uid, round(one.hours)) for one in first.people] == [(None, 720), (20999, 4)]
    assert second.hours == sum(one.hours for one in second.people) == pytest.approx(3)
    page = browser(operator).get("/cluster/operate").content.decode()
    assert bench.user.username in page and "4.00" in page

"""Requests carry every amount of an allocation: only what differs is kept, and the decision gives just that."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.utils import translation

from access.roles import Role, SiteRole
from cluster.models import Partition
from projects.models import Project
from quotas import asking, panels, wishes
from quotas import services as quotas
from quotas.models import Allocation, AllocationRequest, Kind
from quotas.services import requests
from tests.api import Caller, issue
from tests.factories import make_allocation, make_cluster, make_member, make_project, make_user
from tests.pages import signed_in
from tests.quotas.test_panels import used

pytestmark = pytest.mark.django_db
EN = {"Accept-Language": "en"}
GIVEN: dict[str, Any] = {
    "gpu_minutes": 6000, "gpus_at_once": 8, "longest_minutes": 720, "jobs_submitted": 50, "jobs_running": 10,
    "gpus_by_type": {"a100": 4, "h100": 2}, "gpu_minutes_by_type": {"a100": 3000}, "partitions": ["gpu"],
}  # fmt: skip


@pytest.fixture
def project(db: None) -> Project:
    cluster = make_cluster()
    Partition.objects.filter(cluster=cluster, name="gpu").update(gpu_types={"a100": 4, "h100": 2})
    return make_project("aurora", partitions=["gpu", "prep"])


@pytest.fixture
def allocation(project: Project) -> Allocation:
    return make_allocation(project, **GIVEN)


def ask(project: Project, allocation: Allocation, **fields: Any) -> AllocationRequest:
    by = make_member(project, Role.PI)
    return requests.ask(project=project, kind=Kind.MORE, by=by, why="Larger models.", allocation=allocation, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"longest_minutes": 1440}, {"jobs_submitted": 51}, {"jobs_running": 11}, {"gpus_by_type": {"h100": 3}},
        {"gpu_minutes_by_type": {"a100": 3001}}, {"partitions": ["gpu", "prep"]},
    ],
)  # fmt: skip
def test_each_amount_can_be_asked_for_and_is_given(
    project: Project, allocation: Allocation, fields: dict[str, Any]
) -> None:
    asked = ask(project, allocation, **fields)
    requests.approve(request=asked, by=make_user(site_role=SiteRole.OPERATOR))
    allocation.refresh_from_db()
    expected = GIVEN | fields
    for name in ("gpus_by_type", "gpu_minutes_by_type"):
        expected[name] = GIVEN[name] | fields.get(name, {})
    assert {name: getattr(allocation, name) for name in GIVEN} == expected


def test_what_there_is_already_is_not_kept_as_asked_for(project: Project, allocation: Allocation) -> None:
    """Between the question and the answer somebody raised another limit: the answer does not lower it again."""
    asked = ask(project, allocation, **GIVEN | {"gpu_minutes": 9000})
    assert [line.field for line in wishes.asked(asked)] == ["gpu_minutes"]
    quotas.change_allocation(allocation=allocation, by=None, gpus_at_once=16, gpus_by_type={"a100": 8})
    requests.approve(request=asked, by=make_user(site_role=SiteRole.OPERATOR))
    allocation.refresh_from_db()
    assert (allocation.gpu_minutes, allocation.gpus_at_once, allocation.gpus_by_type) == (9000, 16, {"a100": 8})


def test_a_queue_the_project_does_not_have_is_refused(project: Project, allocation: Allocation) -> None:
    with pytest.raises(requests.ValidationError) as refused:
        ask(project, allocation, partitions=["secret"])
    assert set(refused.value.message_dict) == {"partitions"}


def test_the_form_is_filled_with_what_was_measured_of_each_type(project: Project, allocation: Allocation) -> None:
    used(allocation, make_member(project), 48, days_ago=1)
    with translation.override("en"):
        [line] = panels.panels(Allocation.objects.all())
        values = asking.initial([line], "main", "more")
    assert "A100: 48 of 50 GPU·h, lately" in values["why"] and values["why"].count("At this rate it lasts until") == 2
    assert values["gpu_minutes"] > 6000 and values["gpu_minutes_by_type__a100"] > 3000


def test_the_operator_sees_both_and_gives_another(project: Project, allocation: Allocation) -> None:
    leader = signed_in(make_member(project, Role.PI))
    page = leader.get("/projects/aurora/new-request?allocation=main&kind=more", headers=EN).content.decode()
    assert "Each is all of it afterwards." in page and "longest run <b>12 h</b>" in page
    data = {"kind": "more", "allocation": "main", "why": "Longer runs.", "longest_minutes": "24", "partitions": "gpu",
            "gpus_by_type__a100": "6", "gpu_minutes": "100"}  # fmt: skip
    assert leader.post("/projects/aurora/new-request", data, headers=EN).status_code == 302
    asked = AllocationRequest.objects.get()
    assert (asked.longest_minutes, asked.gpus_by_type, asked.gpu_minutes, asked.partitions) == (
        1440,
        {"a100": 6},
        None,
        [],
    )

    admin, where = signed_in(make_user(site_role=SiteRole.OPERATOR)), f"/projects/aurora/allocation-requests/{asked.pk}"
    shown = admin.get(where, headers=EN).content.decode()
    for words in ("now 12 h, asked 24 h", "now 4, asked 6", "now 100, no other asked for"):
        assert words in shown
    assert "A100: GPUs at once" in admin.get("/operate/requests", headers=EN).content.decode()
    give = {"act": "give", "longest_minutes": "18", "gpus_by_type__a100": "6", "jobs_running": "12"}
    look = admin.post(f"{where}/decide", give, headers=EN)
    confirm = look.content.decode().split('name="confirm" value="')[1].split('"')[0]
    admin.post(f"{where}/decide", give | {"confirm": confirm}, headers=EN)
    allocation.refresh_from_db()
    assert (allocation.longest_minutes, allocation.jobs_running, allocation.gpu_minutes) == (1080, 12, 6000)
    assert allocation.gpus_by_type == {"a100": 6, "h100": 2}
    table = b"".join(admin.get("/operate/requests.csv", headers=EN)).decode()  # type: ignore[arg-type]
    [row] = csv.DictReader(io.StringIO(table.lstrip("\ufeff")))
    assert (row["longest run"], row["GPUs at once, by type"]) == ("24.0", "a100=6")


def test_the_same_by_the_api(project: Project, allocation: Allocation) -> None:
    leader, admin = Caller(issue(make_member(project, Role.PI))), Caller(issue(make_user(site_role=SiteRole.OPERATOR)))
    body = {
        "kind": "more",
        "allocation": "main",
        "why": "More.",
        "jobs_running": 20,
        "gpu_minutes_by_type": {"a100": 4000},
    }
    made = leader.post("/projects/aurora/allocation-requests", body).json()
    assert made["jobs_running"] == 20 and made["now"]["jobs_running"] == 10 and made["now"]["ends_on"]
    where = f"/projects/aurora/allocation-requests/{made['pk']}/decision"
    given = admin.post(where, {"decision": "give", "jobs_running": 15, "longest_minutes": 800})
    assert given.status_code == 200 and given.json()["state"] == "approved"
    allocation.refresh_from_db()
    assert (allocation.jobs_running, allocation.longest_minutes) == (15, 800)
    assert allocation.gpu_minutes_by_type == {"a100": 4000}


def test_no_limit_can_be_asked_for_and_is_given(project: Project, allocation: Allocation) -> None:
    """Of what is limited now: the rest is not asked for, and what somebody else changed meanwhile stays."""
    names = ["gpu_minutes", "gpus_by_type__a100", "longest_minutes"]
    asked = ask(project, allocation, no_limit=names, jobs_running=20)
    quotas.change_allocation(allocation=allocation, by=None, gpus_by_type={"a100": 5, "h100": 3})
    requests.approve(request=asked, by=make_user(site_role=SiteRole.OPERATOR))
    allocation.refresh_from_db()
    assert (allocation.gpu_minutes, allocation.longest_minutes, allocation.gpus_by_type) == (None, None, {"h100": 3})
    assert (allocation.jobs_running, allocation.gpus_at_once) == (20, 8)


def test_the_operator_may_give_an_amount_where_none_was_asked_for(project: Project, allocation: Allocation) -> None:
    asked = ask(project, allocation, no_limit=["gpu_minutes", "jobs_running"])
    requests.approve(request=asked, by=make_user(site_role=SiteRole.OPERATOR), gpu_minutes=9000)
    allocation.refresh_from_db()
    assert (allocation.gpu_minutes, allocation.jobs_running) == (9000, None)


@pytest.mark.parametrize(
    "fields", [{"no_limit": ["partitions"]}, {"no_limit": ["gpu_minutes"], "gpu_minutes": 9000}, {"no_limit": []}]
)
def test_no_limit_of_what_there_is_not_or_beside_an_amount_is_refused(
    project: Project, allocation: Allocation, fields: dict[str, Any]
) -> None:
    with pytest.raises(requests.ValidationError) as refused:
        ask(project, allocation, **fields)
    assert set(refused.value.message_dict) <= {"no_limit", "gpu_minutes"}


def test_no_limit_by_form_decision_page_and_table(project: Project, allocation: Allocation) -> None:
    leader, where = signed_in(make_member(project, Role.PI)), "/projects/aurora/new-request"
    page = leader.get(f"{where}?allocation=main&kind=more", headers=EN).content.decode()
    assert 'name="no_limit" value="gpu_minutes"' in page and 'value="gpu_minutes_by_type__a100"' in page
    wish = {
        "kind": "more",
        "allocation": "main",
        "why": "All of it.",
        "no_limit": ["gpu_minutes", "gpus_by_type__a100"],
    }
    [suggested] = re.findall(r'name="gpu_minutes" value="(\d+)"', page)  # what stands there already is nobody's wish
    assert leader.post(where, wish | {"gpu_minutes": suggested}, headers=EN).status_code == 302
    AllocationRequest.objects.all().delete()
    both = leader.post(where, wish | {"gpu_minutes": "200"}, headers=EN)
    assert both.status_code == 422 and "Name an amount, or no limit of it, not both." in both.content.decode()
    assert leader.post(where, wish, headers=EN).status_code == 302
    asked = AllocationRequest.objects.get()
    admin, shown = signed_in(make_user(site_role=SiteRole.OPERATOR)), f"/projects/aurora/allocation-requests/{asked.pk}"
    words = admin.get(shown, headers=EN).content.decode()
    assert "now 100, asked no limit" in words and "now 4, asked no limit" in words
    table = b"".join(admin.get("/operate/requests.csv", headers=EN)).decode()  # type: ignore[arg-type]
    [row] = csv.DictReader(io.StringIO(table.lstrip("\ufeff")))
    assert (row["GPU-hours"], row["GPUs at once, by type"]) == ("no limit", "a100=no limit")
    give = {"act": "give", "no_limit": ["gpu_minutes"]}
    look = admin.post(f"{shown}/decide", give, headers=EN).content.decode()
    confirm = look.split('name="confirm" value="')[1].split('"')[0]
    admin.post(f"{shown}/decide", give | {"confirm": confirm}, headers=EN)
    allocation.refresh_from_db()
    assert (allocation.gpu_minutes, allocation.gpus_by_type) == (None, GIVEN["gpus_by_type"])


def test_no_limit_by_the_api(project: Project, allocation: Allocation) -> None:
    leader, admin = Caller(issue(make_member(project, Role.PI))), Caller(issue(make_user(site_role=SiteRole.OPERATOR)))
    body = {"kind": "more", "allocation": "main", "why": "All.", "no_limit": ["jobs_running"]}
    made = leader.post("/projects/aurora/allocation-requests", body).json()
    assert made["no_limit"] == ["jobs_running"]
    where = f"/projects/aurora/allocation-requests/{made['pk']}/decision"
    assert admin.post(where, {"decision": "give", "no_limit": ["nonsense"]}).status_code == 422
    assert admin.post(where, {"decision": "give"}).status_code == 200
    allocation.refresh_from_db()
    assert (allocation.jobs_running, allocation.gpu_minutes) == (None, 6000)

"""Whoever asks sees where each request stands, on a page of their own; a project's page shows those that wait first."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.roles import Role, SiteRole
from projects import services as projects
from projects.models import Membership
from quotas.models import AllocationRequest
from quotas.services import requests
from tests.factories import make_allocation, make_cluster, make_member, make_project, make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db
ENGLISH = {"Accept-Language": "en"}
PART = ENGLISH | {"HX-Request": "true"}


def test_all_kinds_stand_on_one_page_with_where_each_stands() -> None:
    make_cluster()
    own, other = make_project("aurora", partitions=["gpu"]), make_project("boreal", title="Boreal", is_listed=True)
    allocation, pi = make_allocation(own, title="Main hours"), make_member(own, Role.PI)
    more = requests.ask(project=own, kind="more", by=pi, why="For hearts.", allocation=allocation, gpu_minutes=10**6)
    new = requests.ask(
        project=own, kind="new", by=pi, why="Lungs.", title="Lung hours", starts_on=timezone.now().date()
    )
    requests.refuse(request=new, by=make_user(), answer="Not this year.")
    join = projects.ask_to_join(project=other, by=pi, why="I know them.")
    projects.withdraw(request=projects.ask_project(by=pi, code="lungs", title="Lungs", why="A project."))
    client = signed_in(pi)
    with CaptureQueriesContext(connection) as asked:
        text = client.get("/ask/", headers=ENGLISH).content.decode()
    assert len([one for one in asked if one["sql"].startswith(("SELECT", "(SELECT"))]) <= 8
    waiting, answered = text.split("Answered", 1)
    assert "More of Main hours" in waiting and "a cluster administrator decides" in waiting and "For hearts." in waiting
    assert "To join Boreal" in waiting and "the PI or a manager answers" in waiting and str(join.pk) in waiting
    assert f"/projects/aurora/allocation-requests/{more.pk}" in waiting
    assert "A new allocation: Lung hours" in answered and "Not this year." in answered and "refused" in answered
    assert "A project: Lungs" in answered and "withdrawn" in answered
    part = client.get("/ask/", headers=PART).content.decode()  # home: what waits, or was answered lately
    assert "More of Main hours" in part and "Not this year." in part and "Lungs</strong>" not in part
    assert 'href="/ask/"' in part and 'href="/ask/"' in client.get("/projects/", headers=ENGLISH).content.decode()


def test_who_may_not_read_a_projects_requests_any_more_does_not_here_either() -> None:
    project = make_project("aurora")
    allocation, gone, pi = make_allocation(project), make_member(project, Role.MANAGER), make_member(project, Role.PI)
    fields: dict[str, Any] = {"project": project, "kind": "more", "allocation": allocation, "gpu_minutes": 10**6}
    row = requests.ask(by=gone, why="More.", **fields)
    client = signed_in(gone)
    [told] = client.get("/api/v1/requests/allocations").json()
    assert (told["project"], told["state"], told["pk"]) == ("aurora", "open", str(row.pk))
    assert signed_in(pi).get("/api/v1/requests/allocations").json() == []
    projects.remove_member(membership=Membership.objects.get(user=gone), by=pi)
    assert client.get("/api/v1/requests/allocations").json() == []
    assert "More of" not in client.get("/ask/", headers=ENGLISH).content.decode()


def test_a_projects_page_shows_what_waits_before_what_is_decided() -> None:
    project = make_project("aurora")
    pi, titles = make_member(project, Role.PI), [f"Wish {n}" for n in range(12)]
    for title in titles:
        requests.ask(project=project, kind="new", by=pi, why="Why.", title=title, starts_on=timezone.now().date())
    AllocationRequest.objects.exclude(title="Wish 0").update(state="refused", decided_at=timezone.now())
    text = signed_in(pi).get("/projects/aurora", headers=ENGLISH).content.decode()
    assert text.index("Wish 0") < text.index("Wish 11") and "Wish 1<" not in text


def test_an_operator_reads_over_the_api_what_waits_in_all_projects_the_oldest_first() -> None:
    operator = signed_in(make_user(site_role=SiteRole.OPERATOR))
    for code in ("aurora", "boreal"):
        project = make_project(code)
        pi = make_member(project, Role.PI)
        fields: dict[str, Any] = {"project": project, "kind": "new", "by": pi, "starts_on": timezone.now().date()}
        requests.ask(title="Waits", why="More.", **fields)
        requests.withdraw(request=requests.ask(title="Over", why="More.", **fields), by=pi)
    told = operator.get("/api/v1/requests/allocations/open").json()
    assert [(row["project"], row["title"]) for row in told] == [("aurora", "Waits"), ("boreal", "Waits")]
    assert signed_in(pi).get("/api/v1/requests/allocations/open").status_code == 403

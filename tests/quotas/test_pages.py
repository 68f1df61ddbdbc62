"""The pages of allocations: what they say, what they refuse and with which words, and that looking changes nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urljoin

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.roles import Role, SiteRole
from accounts.models import User
from audit.actions import Action
from audit.models import AuditEvent
from jobs import services as jobs
from projects import services as projects
from projects.models import Membership, Project
from quotas import services as quotas
from quotas.models import Allocation, AllocationRequest, Enforcement, FundingSource, Share
from quotas.services import requests
from tests.factories import make_allocation, make_cluster, make_member, make_project, make_user
from tests.pages import signed_in
from tests.quotas.test_panels import used

pytestmark = pytest.mark.django_db
TODAY = timezone.now().date()


class Page:
    """Somebody at a browser that speaks English."""

    def __init__(self, user: User) -> None:
        self.client: Client = signed_in(user)

    def get(self, where: str) -> Any:
        return self.client.get(where, headers={"Accept-Language": "en"})

    def post(self, where: str, **data: Any) -> Any:
        return self.client.post(where, data, headers={"Accept-Language": "en"})


@pytest.fixture
def project(db: None) -> Iterator[Project]:
    make_cluster()
    yield make_project("aurora", partitions=["gpu", "prep"])


@pytest.fixture
def allocation(project: Project) -> Allocation:
    return make_allocation(project, gpu_minutes=600 * 60)


def pi(project: Project) -> Page:
    return Page(make_member(project, Role.PI))


def operator() -> Page:
    return Page(make_user(site_role=SiteRole.OPERATOR))


def fingerprint(page: Any) -> str:
    found = re.search(r'name="confirm" value="(\w+)"', page.content.decode())
    assert found
    return found.group(1)


def test_shares_are_looked_at_before_they_are_set(project: Project, allocation: Allocation) -> None:
    davi = make_member(project, username="davi")
    page, where = pi(project), "/projects/aurora/allocations/main/shares"
    data = {f"u{davi.pk}-gpus_at_once": "2", f"u{davi.pk}-gpu_minutes": "12.5"}
    events = AuditEvent.objects.count()
    shown = page.post(where, **data)
    text = shown.content.decode()
    assert shown.status_code == 200 and "davi may submit jobs for the project." in text
    assert "on the queues gpu, prep" in text and "<b>12.5</b>" in text
    assert not Share.objects.exists() and AuditEvent.objects.count() == events
    done = page.post(where, **data, confirm=fingerprint(shown))
    assert done.status_code == 302
    assert Share.objects.values_list("user__username", "gpus_at_once", "gpu_minutes").get() == ("davi", 2, 750)


def test_what_changed_since_the_look_is_shown_again(project: Project, allocation: Allocation) -> None:
    davi = make_member(project)
    page, where = pi(project), "/projects/aurora/allocations/main/shares"
    data = {f"u{davi.pk}-gpus_at_once": "2"}
    first = fingerprint(page.post(where, **data))
    make_member(project)  # Slurm would now hear of one more
    again = page.post(where, **data, confirm=first)
    assert b"Something changed since you looked" in again.content and not Share.objects.exists()
    back = page.post(where, **data, edit="1")
    assert back.status_code == 200 and f'name="u{davi.pk}-gpus_at_once" value="2"' in back.content.decode()


def test_a_share_that_cannot_be_is_refused_beside_its_field(project: Project, allocation: Allocation) -> None:
    davi = make_member(project)
    answer = pi(project).post("/projects/aurora/allocations/main/shares", **{f"u{davi.pk}-gpus_at_once": "9"})
    assert answer.status_code == 422 and b"The allocation gives 8." in answer.content
    answer = pi(project).post("/projects/aurora/allocations/main/shares", **{f"u{davi.pk}-gpu_minutes": "-1"})
    assert answer.status_code == 422 and b"greater than or equal to 0" in answer.content


def test_thirty_members_a_page(project: Project, allocation: Allocation) -> None:
    for _ in range(31):
        make_member(project)
    page = pi(project)
    first = page.get("/projects/aurora/allocations/main/shares").content.decode()
    last = page.get("/projects/aurora/allocations/main/shares?page=99").content.decode()
    assert (first.count('-jobs_running"'), last.count('-jobs_running"')) != (0, 0)
    assert first.count('class="person"') == 30 and last.count('class="person"') == 2


FIELDS = {"title": "Second", "code": "second", "starts_on": f"{TODAY}", "gpu_minutes": "100", "gpus_at_once": "4"}


def test_an_allocation_is_created_changed_and_closed(project: Project, allocation: Allocation) -> None:
    page = operator()
    shown = page.post("/projects/aurora/new-allocation", **FIELDS, gpus_by_type__a100="2")
    assert "becomes known to Slurm" in shown.content.decode() and not Allocation.objects.filter(code="second").exists()
    page.post("/projects/aurora/new-allocation", **FIELDS, gpus_by_type__a100="2", confirm=fingerprint(shown))
    made = Allocation.objects.get(code="second")
    assert (made.gpu_minutes, made.gpus_by_type, made.partitions) == (6000, {"a100": 2}, [])

    where, data = "/projects/aurora/allocations/second/change", FIELDS | {"gpu_minutes": "", "partitions": "prep"}
    shown = page.post(where, **data)
    assert shown.status_code == 200
    page.post(where, **data, confirm=fingerprint(shown))
    made.refresh_from_db()
    assert (made.gpu_minutes, made.partitions, made.gpus_by_type) == (None, ["prep"], {})

    shown = page.post("/projects/aurora/allocations/second/close", why="over")
    page.post("/projects/aurora/allocations/second/close", why="over", confirm=fingerprint(shown))
    made.refresh_from_db()
    assert made.closed_at is not None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"code": "main"}, "already exists"), ({"code": "Não"}, "lower-case"), ({"title": ""}, "required"),
        ({"ends_on": f"{TODAY - timedelta(days=1)}"}, "The last day comes before the first."), ({"gpu_minutes": "x"}, "Enter a number"),
        ({"partitions": "secret"}, "not one of the available choices"), ({"funding": "99"}, "not one of the available"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(project: Project, allocation: Allocation, change: dict[str, str], words: str) -> None:
    answer = operator().post("/projects/aurora/new-allocation", **FIELDS | change)
    assert answer.status_code == 422 and words in answer.content.decode()


def test_the_default_is_another(project: Project, allocation: Allocation) -> None:
    quotas.create_allocation(project=project, by=None, code="second", title="Second", starts_on=TODAY, qos="")
    page, where = pi(project), "/projects/aurora/allocations/second/default"
    page.post(where, confirm=fingerprint(page.post(where, x="1")))
    assert Allocation.objects.get(is_default=True).code == "second"


def test_funding_is_added_and_corrected_once_per_number(project: Project) -> None:
    page = pi(project)
    data = {"agency": "FAP", "number": "1", "starts_on": f"{TODAY}"}
    assert page.post("/projects/aurora/new-funding", **data).status_code == 302
    again = page.post("/projects/aurora/new-funding", **data)
    assert again.status_code == 422 and b"one_funding_source_per_number" not in again.content
    source = FundingSource.objects.get()
    page.post(f"/projects/aurora/funding/{source.pk}", **data | {"acknowledgement": "Thanks to FAP."})
    source.refresh_from_db()
    assert source.acknowledgement == "Thanks to FAP."


def test_a_request_goes_its_way(project: Project, allocation: Allocation) -> None:
    davi = make_member(project)
    used(allocation, davi, 290, days_ago=1)
    leader, admin = pi(project), operator()
    form = leader.get("/projects/aurora/new-request?allocation=main").content.decode()
    assert "290 of 600 GPU·h were used since" in form and "At this rate it lasts until" in form
    data = {"kind": "more", "allocation": "main", "gpu_minutes": "500", "why": "For the paper."}
    less = leader.post("/projects/aurora/new-request", **data)
    assert less.status_code == 422 and b"Ask for more than the allocation gives now." in less.content
    assert leader.post("/projects/aurora/new-request", **data | {"gpu_minutes": "900"}).status_code == 302
    where = f"/projects/aurora/allocation-requests/{AllocationRequest.objects.get().pk}"
    assert admin.post(f"{where}/comment", text="Until when?").status_code == 302
    silent = admin.post(f"{where}/decide", act="refuse", answer=" ")
    assert silent.status_code == 422 and b"Write a few words" in silent.content
    shown = admin.post(f"{where}/decide", act="give", gpu_minutes="800", answer="A part.")
    assert b"<b>800</b>" in shown.content
    admin.post(f"{where}/decide", act="give", gpu_minutes="800", answer="A part.", confirm=fingerprint(shown))
    allocation.refresh_from_db()
    assert allocation.gpu_minutes == 800 * 60
    told = leader.get(where).content.decode()
    assert "Until when?" in told and "A part." in told and "Decide" not in told
    assert leader.post(f"{where}/withdraw").status_code == 302
    assert AllocationRequest.objects.get().state == "approved"
    assert leader.get("/operate/requests.csv").status_code == 404
    rows = b"".join(admin.get("/operate/requests.csv").streaming_content).decode().splitlines()
    assert len(rows) == 2 and "more of an allocation" in rows[1] and "A part." in rows[1] and ",900.0," in rows[1]


def test_reports_and_their_csv(project: Project, allocation: Allocation) -> None:
    source = quotas.add_funding(
        project=project, by=None, agency="FAP", number="1", starts_on=TODAY - timedelta(days=20),
        acknowledgement="Thanks to FAP.",
    )  # fmt: skip
    quotas.change_allocation(allocation=allocation, by=None, funding=source)
    davi = make_member(project, username="davi", display_name="=cmd|' /C calc'!A0")
    used(allocation, davi, 3, days_ago=2)
    used(allocation, davi, 7, days_ago=25)  # before the funding began
    page = Page(make_member(project, Role.VIEWER))
    text = page.get(f"/projects/aurora/funding/{source.pk}/report").content.decode()
    assert "Thanks to FAP." in text and re.search(r"<dd>3\s", text)
    assert re.search(r"use seen \d{4}-\d\d-\d\d", text)  # on paper nothing is so many seconds ago
    rows = b"".join(page.get(f"/projects/aurora/funding/{source.pk}/people.csv").streaming_content).decode()
    assert rows.splitlines()[1].startswith("davi,'=cmd|") and rows.splitlines()[1].endswith(",3.0,12.0,1,0.0")
    for where in ("allocations/main/people.csv", "allocations/main/months.csv", "months/2026-1/people.csv"):
        assert page.get(f"/projects/aurora/{where}").status_code == 200
    assert AuditEvent.objects.filter(action=Action.REPORT_READ).count() == 4
    for where in ("allocations/main/secret.csv", "months/2026-13", "months/1999-1", "months/9999-1"):
        assert page.get(f"/projects/aurora/{where}").status_code == 404


def test_the_shares_of_all_members_are_taken_away_whatever_page_is_looked_at(
    project: Project, allocation: Allocation
) -> None:
    members = [make_member(project) for _ in range(31)]
    quotas.set_share(allocation=allocation, user=members[30], by=None, gpu_minutes=90 * 60)
    make_member(project, Role.VIEWER)  # spends nothing
    leader = pi(project)
    assert "allocations/main/shares.csv" in leader.get("/projects/aurora/allocations/main/shares").content.decode()
    rows = b"".join(leader.get("/projects/aurora/allocations/main/shares.csv").streaming_content).decode().splitlines()
    assert len(rows) == 1 + 31 + 1 and [line for line in rows if line.startswith(f"{members[30].username},")] == [
        f"{members[30].username},{members[30].name},0.0,0.0,,90.0,,,,,"
    ]


def test_every_table_on_a_page_of_projects_can_be_taken_away(project: Project, allocation: Allocation) -> None:
    source = quotas.add_funding(project=project, by=None, agency="FAP", number="1", starts_on=TODAY)
    quotas.change_allocation(allocation=allocation, by=None, funding=source)
    davi, gone, leader = make_member(project, username="davi"), make_member(project), pi(project)
    used(allocation, davi, 3)
    projects.remove_member(membership=Membership.objects.get(user=gone), by=None)
    jobs_of(project, davi)
    line = {"user": "", "partition": "", "qos": allocation.qos, "field": "gpus_at_once", "wanted": 8, "there": 16}
    Enforcement.objects.create(project=project, differences=[line], change_applied=10**6)
    here = ["", "/aurora", "/aurora/people", "/aurora/people/davi", "/aurora/allocations/main",
            "/aurora/allocations/main/shares", f"/aurora/funding/{source.pk}/report",
            f"/aurora/months/{TODAY.year}-{TODAY.month}"]  # fmt: skip
    places = [(leader, f"/projects{page}" if page else "/projects/") for page in here]
    admin = operator()
    for who, where in [*places, (admin, "/operate/projects"), (admin, "/operate/differences")]:
        text = who.get(where).content.decode()
        links = [html.unescape(one) for one in re.findall(r'href="([^"]+\.csv[^"]*)"', text)]
        assert len(links) == text.count("<table") > 0, where
        for link in links:
            answer = who.get(urljoin(where, link))
            assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8"), link


def jobs_of(project: Project, user: User) -> None:
    raw = {"name": "treino", "partition": "gpu", "gpus": 1, "script": "#!/bin/bash\ntrue\n"}
    spec, spent = jobs.prepare(raw, project=project)
    jobs.submit(project=project, spec=spec, allocation=spent, by=user)


def test_what_another_hand_changed_is_put_back_or_taken_over(project: Project, allocation: Allocation) -> None:
    line = {"user": "", "partition": "", "qos": allocation.qos, "field": "gpus_at_once", "wanted": 8, "there": 16}
    row = Enforcement.objects.create(project=project, differences=[line], change_applied=10**6)
    page = operator()
    text = page.get("/operate/differences").content.decode()
    assert "Allocation “Main”" in text and "changed by hand in Slurm" in text and "<b>16</b>" in text
    assert "Changed in Slurm by another hand" in pi(project).get("/projects/aurora").content.decode()
    rows = b"".join(page.get("/operate/differences.csv").streaming_content).decode()
    assert "GPUs at once,8,16" in rows
    page.post("/operate/differences/aurora", act="adopt")
    allocation.refresh_from_db()
    assert allocation.gpus_at_once == 16
    Enforcement.objects.filter(pk=row.pk).update(differences=[])
    page.post("/operate/differences/aurora", act="restore")
    assert b"There is no such difference any more." in page.get("/operate/differences").content


def test_a_failure_says_what_slurm_said(project: Project, allocation: Allocation) -> None:
    Enforcement.objects.create(project=project, error="slurmdbd: no answer")
    text = pi(project).get("/projects/aurora").content.decode()
    assert "Slurm could not be told" in text and "slurmdbd: no answer" in text


def test_who_can_act_is_told_that_it_runs_out(project: Project, allocation: Allocation) -> None:
    Allocation.objects.update(warned_level=90, used_gpu_minutes=560 * 60)
    leader, member = pi(project), Page(make_member(project))
    assert b"93% of Main is used or committed" in leader.get("/").content
    assert b"Ask for more" not in member.get("/").content and b"93% used or committed" in member.get("/").content


def test_pages_with_everything_on_them_ask_eight_times_at_most(project: Project, allocation: Allocation) -> None:
    source = quotas.add_funding(project=project, by=None, agency="FAP", number="1", starts_on=TODAY)
    leader = make_member(project, Role.PI)
    quotas.change_allocation(allocation=allocation, by=None, funding=source)
    for n in range(6):
        member = make_member(project)
        used(allocation, member, n + 1)
        quotas.set_share(allocation=allocation, user=member, by=None, gpu_minutes=600)
        make_allocation(project, code=f"extra{n}", qos=f"extra{n}", is_default=False)
    wish = requests.ask(project=project, kind="more", by=leader, why="More.", allocation=allocation, gpu_minutes=10**6)
    requests.comment(request=wish, by=leader, text="Please.")
    Enforcement.objects.create(project=project)
    pages = [
        "", "/allocations/main", "/allocations/main/shares", f"/funding/{source.pk}/report", f"/funding/{source.pk}",
        f"/months/{TODAY.year}-{TODAY.month}", "/new-request", f"/allocation-requests/{wish.pk}",
    ]  # fmt: skip
    found = {}
    for who in (Page(leader), operator()):
        for where in [f"/projects/aurora{page}" for page in pages] + [
            "/operate/differences",
            "/operate/dry-run",
        ]:
            with CaptureQueriesContext(connection) as asked:
                status = who.get(where).status_code
            sent = [query["sql"] for query in asked if query["sql"].startswith(("SELECT", "(SELECT"))]
            if status == 200:
                found[where] = max(len(sent), found.get(where, 0))
    # a rehearsal asks all that the worker's own pass asks, five times whatever the number of projects
    most = dict.fromkeys(found, 8) | {"/operate/dry-run": 9}
    assert len(found) == 10 and {where: n for where, n in found.items() if n > most[where]} == {}


def test_a_waiting_job_that_a_share_would_stop_is_named(project: Project, allocation: Allocation) -> None:
    davi = make_member(project)
    raw = {"name": "treino-longo", "partition": "gpu", "gpus": 4, "script": "#!/bin/bash\ntrue\n"}
    spec, spent = jobs.prepare(raw, project=project)
    jobs.submit(project=project, spec=spec, allocation=spent, by=davi)
    page, where = pi(project), "/projects/aurora/allocations/main/shares"
    text = page.post(where, **{f"u{davi.pk}-gpus_at_once": "2"}).content.decode()
    assert "treino-longo" in text and "It asks for more GPUs at once." in text

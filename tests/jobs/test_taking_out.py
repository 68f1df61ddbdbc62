"""Tables as CSV hold what the person may see, by the filters of the page, and leave an event."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from projects import services as projects
from projects.models import Membership
from tests.factories import make_member, make_project
from tests.jobs.conftest import Bench
from tests.pages import signed_in

pytestmark = pytest.mark.django_db


def rows(client: Client, where: str) -> list[str]:
    answer = client.get(where)
    assert answer.status_code == 200, where
    return b"".join(answer.streaming_content).decode().splitlines()


def test_the_list_of_jobs_as_it_is_filtered(bench: Bench) -> None:
    job, stranger = bench.submit(), make_member(make_project(), Role.PI)
    colleague = make_member(bench.project, Role.VIEWER)
    where = reverse("jobs:csv")
    [_head, line] = rows(signed_in(bench.user), where)
    assert f",{job.name}," in line and bench.user.username in line
    assert len(rows(signed_in(colleague), where)) == 1, "own ones by default"
    assert len(rows(signed_in(colleague), f"{where}?whose=all&state=open")) == 2
    assert len(rows(signed_in(colleague), f"{where}?whose=all&state=failed")) == 1
    assert len(rows(signed_in(stranger), f"{where}?whose=all")) == 1
    event = AuditEvent.objects.filter(action=Action.REPORT_READ).first()
    assert event is not None and event.detail["table"] == "jobs"


def test_a_projects_people_as_the_reader_sees_them(bench: Bench) -> None:
    """A manager has everybody who ever was there, and why; who only reads the page has what stands on it."""
    pi, gone = make_member(bench.project, Role.PI), make_member(bench.project, Role.VIEWER)
    for row in Membership.objects.filter(user=gone):
        projects.remove_member(membership=row, by=pi, why="ended with the thesis")
    where = reverse("projects:people_csv", args=[bench.project.code])
    found = rows(signed_in(pi), where)
    assert len(found) == 4 and any(bench.user.username in line for line in found)
    assert [line.split(",")[0] for line in rows(signed_in(pi), f"{where}?person={gone.username}")[1:]] == [
        gone.username
    ]
    shown = rows(signed_in(bench.user), where)
    assert len(shown) == 3 and "thesis" in str(found) and "thesis" not in str(shown) + shown[0]
    assert len(rows(signed_in(bench.user), f"{where}?person={gone.username}")) == 1
    assert signed_in(make_member(make_project(), Role.PI)).get(where).status_code == 404


def test_my_projects(bench: Bench) -> None:
    make_project("elsewhere")
    [_head, line] = rows(signed_in(bench.user), reverse("projects:csv"))
    assert line.startswith(f"{bench.project.code},")

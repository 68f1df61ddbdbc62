"""Archiving stops new work and keeps everything readable to exactly those who could read it."""

from __future__ import annotations

import pytest
from django.utils import timezone

from access.roles import Role, SiteRole
from accounts.models import User
from projects import services as projects
from tests.api import caller
from tests.factories import make_member, make_project, make_user
from tests.jobs.conftest import Bench
from tests.pages import signed_in

pytestmark = pytest.mark.django_db
NOW = timezone.now()
PAGES = (
    "/projects/{code}", "/projects/{code}/people", "/projects/{code}/people.csv", "/projects/{code}/trail",
    "/projects/{code}/allocations/main", "/projects/{code}/allocations/main/people.csv",
    f"/projects/{{code}}/months/{NOW.year}-{NOW.month}", "/jobs/{job}", "/jobs/{job}/why", "/jobs/?whose=all&project={code}",
    "/api/v1/projects/{code}", "/api/v1/projects/{code}/allocations", "/api/v1/projects/{code}/members",
    "/api/v1/projects/{code}/usage", "/api/v1/jobs/{job}", "/api/v1/projects/{code}/allocation-requests",
)  # fmt: skip


def test_who_could_read_it_still_can_and_nobody_else(bench: Bench) -> None:
    job, code = bench.submit(), bench.project.code
    people: list[User] = [make_member(bench.project, role) for role in Role]
    people += [
        make_member(make_project(), Role.PI),
        make_user(),
        *(make_user(site_role=role) for role in SiteRole if role),
    ]
    places = [page.format(code=code, job=job.pk) for page in PAGES]

    def seen() -> list[list[int]]:
        return [[signed_in(who).get(place).status_code for place in places] for who in people]

    before = seen()
    assert all(200 in row for row in before[: len(Role)]) and any(404 in row for row in before)
    projects.archive_project(project=bench.project, by=None)
    assert seen() == before
    page = signed_in(bench.user).get(f"/projects/{code}", headers={"Accept-Language": "en"}).content.decode()
    assert "what it did stays to be read, new jobs are not taken" in page
    asked = {"project": code, "name": "late", "partition": "gpu", "gpus": 1, "script": "#!/bin/sh\ntrue\n"}
    assert "archived" in str(caller(bench.user).post("/jobs", asked).json()["errors"]["project"])

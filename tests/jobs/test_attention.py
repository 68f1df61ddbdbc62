"""Home tells a cluster administrator what waits for them, and nobody else."""

from __future__ import annotations

import pytest
from django.urls import reverse

from access.roles import Role, SiteRole
from audit import trail
from audit.actions import Action, Outcome
from projects.models import Project
from quotas.models import Enforcement
from quotas.services import requests
from tests.factories import make_allocation, make_member, make_project, make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_project()


def test_nothing_waits(project: Project) -> None:
    Enforcement.objects.create(project=project, change_applied=10**6)
    assert signed_in(make_user(site_role=SiteRole.OPERATOR)).get(reverse("operate:attention")).status_code == 204


def test_requests_differences_what_is_absent_and_alarms(project: Project) -> None:
    allocation, pi = make_allocation(project, gpu_minutes=600), make_member(project, Role.PI)
    requests.ask(project=project, kind="more", by=pi, why="More.", allocation=allocation, gpu_minutes=1200)
    Enforcement.objects.create(project=project, error="no", ticks={"files": {"ok": False}})
    trail.record(Action.DIRECTORY_ALARM, outcome=Outcome.FAILED, missing=9, everybody=12, people=[])
    page = signed_in(make_user(site_role=SiteRole.OPERATOR, language="en"))
    said = page.get(reverse("operate:attention")).content.decode()
    for words in ("1 request waits", "1 project is not in Slurm", "Something of 1 project is absent", "misses many"):
        assert words in said
    assert reverse("operate:attention") in page.get("/").content.decode()
    others = signed_in(pi)
    assert others.get(reverse("operate:attention")).status_code == 404
    assert reverse("operate:attention") not in others.get("/").content.decode()

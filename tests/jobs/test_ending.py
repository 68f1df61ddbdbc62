"""A job refused for want of room says when the first running one must have ended, by the API too."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Job
from jobs.services.ending import ends
from quotas.models import Allocation
from tests.api import REQUEST, World, caller, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_only_what_runs_with_a_limit_has_an_end(world: World) -> None:
    began, name = timezone.now() - timedelta(minutes=10), str(world.job.pk)
    Job.objects.filter(pk=name).update(started_at=None)
    assert ends([name]) == {}
    Job.objects.filter(pk=name).update(started_at=began, ended_at=None, time_limit_minutes=30)
    assert ends([name]) == {name: began + timedelta(minutes=30)}
    Job.objects.filter(pk=name).update(ended_at=began)
    assert ends([name]) == {}


def test_the_api_gives_the_figures_of_the_limit(world: World) -> None:
    began = timezone.now() - timedelta(minutes=10)
    Job.objects.filter(pk=world.job.pk).update(started_at=began, ended_at=None, time_limit_minutes=60)
    room = Allocation.objects.get(project=world.project, code="main")
    Allocation.objects.filter(pk=room.pk).update(jobs_submitted=1)
    refused = caller(world.owner).post("/jobs", REQUEST | {"project": world.project.code})
    over = refused.json()["over"]
    assert (refused.status_code, refused.json()["limit"], over["value"], over["asked"]) == (422, "jobs_submitted", 1, 1)
    assert over["people"] == [{"login": world.owner.username, "amount": 1}]
    assert over["frees_at"] == (began + timedelta(minutes=60)).isoformat() and over["raised_by"] == "site"

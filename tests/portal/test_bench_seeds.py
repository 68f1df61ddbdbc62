"""What the benchmarks fill the database with still fits its tables."""

from __future__ import annotations

import pytest
from django.db import connection

from audit.models import AuditEvent
from jobs.models import Job, Run
from projects.models import Membership, Project
from quotas.models import Allocation
from tests.bench import lists_inside, peers, seed
from tests.conftest import Roles

pytestmark = pytest.mark.django_db


def test_projects_of_the_overview_come_and_go(roles: Roles) -> None:
    roles.use(None)
    with connection.cursor() as cursor:
        cursor.execute(peers._FILL, {"count": 5, "members": 3})
        assert Project.objects.filter(organization="Bench").count() == 5
        assert Membership.objects.filter(project__organization="Bench").count() == 15
        cursor.execute(peers._EMPTY)
    assert not Project.objects.filter(organization="Bench").exists() and not Allocation.objects.exists()


def test_years_of_jobs_and_events_fit(roles: Roles) -> None:
    roles.use(None)
    lists_inside._people()
    with connection.cursor() as cursor:
        for statement in seed.statements(40, 120):
            cursor.execute(statement)
    assert Job.objects.count() == Run.objects.count() == 40
    assert AuditEvent.objects.filter(subject_text__startswith="seed-").count() == 120

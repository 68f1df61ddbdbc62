"""Events of a job: for who may read its project's trail, recorded as a read; the owner sees their own and the portal's."""

from __future__ import annotations

import pytest
from django.test import Client

from access.roles import Role, SiteRole
from accounts.models import User
from audit import trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent
from jobs.models import Job
from tests.browser.bench import session
from tests.factories import make_member, make_user
from tests.jobs.conftest import Bench

READ = {"action": Action.TRAIL_READ}


def page(client: Client, person: User, job: Job, tab: str = "events") -> tuple[int, str]:
    from django.conf import settings

    client.cookies[settings.SESSION_COOKIE_NAME] = session(person)
    answer = client.get(f"/jobs/{job.pk}?tab={tab}")
    return answer.status_code, answer.content.decode()


@pytest.fixture
def job(bench: Bench) -> Job:
    job = bench.submit()
    trail.record(Action.LOG_READ, by=make_user("reader-demo"), about=job, project=bench.project)
    trail.record(Action.JOB_ACCEPTED, about=job, project=bench.project)
    return job


@pytest.mark.parametrize("who", [Role.PI, Role.MANAGER, SiteRole.OPERATOR, SiteRole.AUDITOR])
def test_who_answers_for_the_project_sees_all_and_that_is_recorded(
    bench: Bench, job: Job, client: Client, who: str
) -> None:
    person = make_user(site_role=who) if who in SiteRole.values else make_member(bench.project, who)
    status, shown = page(client, person, job)
    assert status == 200 and "reader-demo" in shown
    read = AuditEvent.objects.get(**READ)
    assert (read.actor_id, read.subject_id, read.project_id) == (person.pk, str(job.pk), bench.project.pk)


def test_the_owner_sees_what_they_and_the_portal_did(bench: Bench, job: Job, client: Client) -> None:
    status, shown = page(client, bench.user, job)
    assert status == 200 and bench.user.username in shown and "reader-demo" not in shown
    assert AuditEvent.objects.about("job", job.pk).filter(action=Action.JOB_ACCEPTED).exists()
    assert not AuditEvent.objects.filter(**READ).exists()


@pytest.mark.parametrize("role", [Role.RESEARCHER, Role.VIEWER])
def test_another_member_sees_the_job_and_not_its_events(bench: Bench, job: Job, client: Client, role: str) -> None:
    person = make_member(bench.project, role)
    status, shown = page(client, person, job, "request")
    assert status == 200 and "tab=events" not in shown
    status, shown = page(client, person, job)
    assert status == 403 and "reader-demo" not in shown
    assert AuditEvent.objects.get(action=Action.ACCESS_REFUSED).outcome == Outcome.REFUSED

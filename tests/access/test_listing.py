"""A list of one shape gives to each person what the gate gives them, at every moment."""

from __future__ import annotations

import pytest
from django.utils import timezone

from access import gate
from access.compiled import Fixed
from access.errors import NotFound, Refused
from access.permissions import Permission
from access.roles import Role, SiteRole
from cluster.models import Cluster
from jobs.models import Job
from projects.models import Membership, Project
from tests.factories import make_cluster, make_member, make_project, make_user

pytestmark = pytest.mark.django_db


def make_job(project: Project) -> Job:
    cluster = Cluster.objects.first() or make_cluster()
    plain = {"owner_login": "x", "name": "n", "partition": "gpu", "digest": "d"}
    return Job.objects.create(cluster=cluster, project=project, owner=make_user(), **plain)


ALL = gate.Listing(lambda: Job.objects.order_by("-pk"), most=50)
ONE = gate.Listing(lambda pk: Job.objects.filter(pk=pk), most=1)


def test_each_sees_their_own_and_no_longer_than_they_may() -> None:
    here, there = make_project(), make_project()
    member, stranger = make_member(here, Role.VIEWER), make_member(there, Role.VIEWER)
    jobs = {project: make_job(project) for project in (here, there)}
    assert ALL.allowing(member, Permission.JOB_VIEW) == [jobs[here]]
    assert ALL.allowing(stranger, Permission.JOB_VIEW) == [jobs[there]]
    assert ONE.allowing(member, Permission.JOB_VIEW, pk=jobs[there].pk) == []
    Membership.objects.filter(user=member).update(ends_at=timezone.now())
    assert ALL.allowing(member, Permission.JOB_VIEW) == []


def test_a_role_on_the_site_sees_all_and_a_closed_account_nothing() -> None:
    job = make_job(make_project())
    auditor = make_user(site_role=SiteRole.AUDITOR)
    assert ALL.allowing(auditor, Permission.JOB_VIEW) == [job]
    auditor.is_active = False
    assert ALL.allowing(auditor, Permission.JOB_VIEW) == []


def test_what_is_not_theirs_is_not_there() -> None:
    job = make_job(make_project())
    with pytest.raises(NotFound) as denied:
        ONE.fetch(make_user(), Permission.JOB_VIEW, pk=job.pk)
    assert denied.value.key == {"pk": job.pk}
    assert ONE.fetch(make_user(site_role=SiteRole.OPERATOR), Permission.JOB_VIEW, pk=job.pk) == job


def test_what_is_theirs_to_see_and_not_to_do_is_refused_by_its_key_alone() -> None:
    job, beside = make_job(make_project()), {"name": "n"}
    named = gate.Listing(lambda pk, name: Job.objects.filter(pk=pk, name=name), most=1)
    viewer = make_member(job.project, Role.VIEWER)
    assert named.fetch(viewer, Permission.JOB_VIEW, beside, pk=job.pk) == job
    with pytest.raises(Refused) as denied:
        named.fetch(viewer, Permission.JOB_CANCEL, beside, pk=job.pk)
    assert (denied.value.key, denied.value.subject) == ({"pk": job.pk}, "jobs.job")
    with pytest.raises(NotFound):
        named.fetch(viewer, Permission.JOB_VIEW, {"name": "another"}, pk=job.pk)


@pytest.mark.parametrize("code", ["a\x00b", "\ud800"])
def test_what_cannot_be_written_is_the_key_of_nothing(code: str) -> None:
    project = make_project()
    scoped = gate.Scoped(lambda code: Project.objects.filter(code=code))
    listed = gate.Listing(lambda code: Project.objects.filter(code=code), most=1)
    for person in (make_member(project), make_user(site_role=SiteRole.OPERATOR)):
        for ask in (lambda *a, **k: gate.fetch(Project.objects, *a, **k), scoped.fetch, listed.fetch):
            with pytest.raises(NotFound):
                ask(person, Permission.PROJECT_VIEW, code=code)


def test_a_moment_written_into_a_statement_is_an_error() -> None:
    with pytest.raises(ValueError, match="moment"):
        Fixed(lambda code: Project.objects.filter(code=code, created_at__lt=timezone.now())).all(code="a")


@pytest.mark.parametrize("role", list(Role))
def test_rights_to_a_row_are_what_the_gate_says_of_each(role: Role) -> None:
    project = make_project()
    person = make_member(project, role)
    theirs, others = make_job(project), make_job(project)
    theirs.owner = person
    theirs.save()
    for job in (theirs, others):
        rights = gate.rights_to(Job.objects.select_related("project").get(pk=job.pk), person)
        for permission in (Permission.JOB_VIEW, Permission.JOB_CANCEL, Permission.LOG_READ, Permission.TRAIL_READ):
            assert (permission in rights) == gate.can(job, person, permission), permission
    Membership.objects.filter(user=person).update(ends_at=timezone.now())
    assert not gate.rights_to(theirs, person)


@pytest.mark.parametrize("role", list(Role))
def test_a_page_of_a_project_learns_all_rights_with_its_row(role: Role) -> None:
    scoped = gate.Scoped(lambda code: Project.objects.filter(code=code))
    project = make_project()
    person = make_member(project, role)
    row, rights = scoped.fetch(person, Permission.PROJECT_VIEW, code=project.code)
    assert row == project and rights == gate.permissions_on(project, person)
    for permission in (Permission.MEMBER_MANAGE, Permission.TRAIL_READ):
        if gate.can(project, person, permission):
            assert scoped.fetch(person, permission, code=project.code)[0] == project
        else:
            with pytest.raises(Refused):
                scoped.fetch(person, permission, code=project.code)
    Membership.objects.filter(user=person).update(ends_at=timezone.now())
    for nobody in (person, make_user()):
        with pytest.raises(NotFound):
            scoped.fetch(nobody, Permission.PROJECT_VIEW, code=project.code)

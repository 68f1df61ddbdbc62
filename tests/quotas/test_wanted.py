"""What Slurm should hold, by our rows: who may submit where, under which QOS, with which share."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from access.roles import Role
from projects import services as projects
from projects.models import Project
from quotas import services as quotas
from quotas.services.wanted import digest, wanted
from slurm.books import Association, Books, Key, Limits
from slurm.plan import differences
from tests.factories import make_allocation, make_member, make_project


def books(project: Project) -> Books:
    return wanted([Project.objects.get(pk=project.pk)])


def people(project: Project) -> dict[Key, Association]:
    """Whose associations are wanted; not the account's own row."""
    return {key: row for key, row in books(project).associations.items() if row.user}


def test_a_member_has_one_association_per_partition_with_exactly_the_allocations_there(project: Project) -> None:
    main = make_allocation(project, partitions=["gpu"])
    extra = make_allocation(project, code="extra", qos="x-extra", is_default=False)
    user = make_member(project)
    rows = books(project).associations
    assert rows[project.code, user.username, "gpu"].qos == {main.qos, extra.qos}
    assert rows[project.code, user.username, "gpu"].default_qos == main.qos
    assert rows[project.code, user.username, "prep"].qos == {extra.qos}
    assert rows[project.code, user.username, "prep"].default_qos == extra.qos


def test_the_accounts_own_row_limits_nobody_and_a_hand_that_stopped_it_is_seen(project: Project) -> None:
    own = (project.slurm_account, "", "")
    assert books(project).associations[own] == Association(project.slurm_account)
    stopped = Association(project.slurm_account, qos=frozenset({"normal"}), limits=Limits(jobs_submitted=0))
    there = dataclasses.replace(books(project), associations={own: stopped})
    [line] = differences(books(project), there)
    assert (line.account, line.user, line.field, line.wanted, line.there) == (*own[:2], "jobs_submitted", None, 0)


def test_who_may_not_submit_has_none(project: Project) -> None:
    make_allocation(project)
    make_member(project, Role.VIEWER)
    gone = make_member(project)
    projects.remove_member(membership=gone.memberships.get(), by=None)
    make_member(project, is_active=False)
    make_member(project, uid_number=None)
    expired = make_member(project)
    expired.memberships.update(ends_at=timezone.now())
    assert people(project) == {}
    assert books(project).governed == {project.slurm_account}


@pytest.mark.parametrize(
    "fields", [{"closed_at": timezone.now()}, {"ends_on": timezone.now().date() - timedelta(days=1)}]
)
def test_an_allocation_that_is_over_is_closed_and_gives_no_queue(project: Project, fields: dict[str, Any]) -> None:
    over = make_allocation(project, starts_on=timezone.now().date() - timedelta(days=10), **fields)
    make_member(project)
    assert books(project).qos[over.qos].is_closed
    assert people(project) == {}


def test_an_archived_project_is_closed_whole(project: Project) -> None:
    allocation = make_allocation(project)
    make_member(project)
    projects.archive_project(project=project, by=None)
    assert books(project).qos[allocation.qos].is_closed and people(project) == {}


@pytest.mark.parametrize(
    ("first", "last", "open_"), [(-9, -1, False), (1, 9, False), (-9, 0, True), (0, 9, True), (None, None, True)]
)
def test_a_project_is_open_within_its_dates_and_closed_whole_outside_them(
    project: Project, first: int | None, last: int | None, open_: bool
) -> None:
    """In Slurm too: every QOS closed, nobody with a queue; the last day counts."""
    allocation = make_allocation(project)
    user = make_member(project)
    today = timezone.now().date()
    days = {"starts_on": first, "ends_on": last}
    dates = {name: None if n is None else today + timedelta(days=n) for name, n in days.items()}
    projects.change_project(project=project, by=None, **dates)
    fresh = Project.objects.get(pk=project.pk)
    assert (fresh.takes_work, not books(fresh).qos[allocation.qos].is_closed) == (open_, open_)
    assert set(people(fresh)) == (
        {(project.code, user.username, queue) for queue in ("gpu", "prep")} if open_ else set()
    )


def test_a_period_that_has_not_begun_is_not_there_yet(project: Project) -> None:
    make_allocation(project, starts_on=timezone.now().date() + timedelta(days=1))
    assert books(project).qos == {}


def test_a_share_holds_where_every_allocation_there_sets_it(project: Project) -> None:
    main = make_allocation(project)
    extra = make_allocation(project, code="extra", qos="x-extra", is_default=False, partitions=["prep"])
    user = make_member(project)
    quotas.set_share(allocation=main, user=user, by=None, gpus_at_once=2, longest_minutes=60)
    limits = books(project).associations[project.code, user.username, "gpu"].limits
    assert (limits.gpus_at_once, limits.longest_minutes, limits.gpu_minutes) == (2, 60, None)
    assert books(project).associations[project.code, user.username, "prep"].limits.gpus_at_once is None
    quotas.set_share(allocation=extra, user=user, by=None, gpus_at_once=3, longest_minutes=30)
    limits = books(project).associations[project.code, user.username, "prep"].limits
    assert (limits.gpus_at_once, limits.longest_minutes) == (5, 60)


def test_a_share_of_hours_counts_on_from_what_was_used_before_the_period(project: Project) -> None:
    today = timezone.now().date()
    old = make_allocation(project, starts_on=today - timedelta(days=60), ends_on=today - timedelta(days=31))
    new = make_allocation(project, code="new", qos="x-new", is_default=False, starts_on=today - timedelta(days=30))
    user = make_member(project)
    start = timezone.now() - timedelta(days=40)
    for allocation, began in ((old, start), (new, timezone.now() - timedelta(hours=2))):
        run = quotas.RunFacts(
            run=allocation.code, job=allocation.code, project_id=project.pk, allocation_id=allocation.pk,
            user_id=user.pk, login=user.username, is_outside=False, partition="gpu", started_at=began,
            ended_at=began + timedelta(hours=1), gpus=1, gpu_types={"a100": 1}, cpus=1,
        )  # fmt: skip
        quotas.book([run], now=timezone.now())
    quotas.set_share(allocation=new, user=user, by=None, gpu_minutes=600)
    rows = books(project).associations
    assert rows[project.code, user.username, "gpu"].limits.gpu_minutes == 660
    assert rows[project.code, user.username, "prep"].limits.gpu_minutes == 600


def test_the_number_of_queries_does_not_grow_with_the_projects(
    db: None, django_assert_num_queries: Any, django_assert_max_num_queries: Any
) -> None:
    several = [make_project() for _ in range(5)]
    for project in several:
        allocation = make_allocation(project)
        quotas.set_share(allocation=allocation, user=make_member(project), by=None, gpu_minutes=10)
    with django_assert_num_queries(4):
        wanted(several[:1])
    with django_assert_num_queries(4):
        wanted(several)


def test_the_digest_says_whether_anything_is_another(project: Project) -> None:
    allocation = make_allocation(project)
    before = digest(books(project))
    assert digest(books(project)) == before
    quotas.change_allocation(allocation=allocation, by=None, gpus_at_once=3)
    assert digest(books(project)) != before

"""What somebody leaves behind ends, is held or goes on, as the end of the membership said."""

from __future__ import annotations

from typing import Any

import pytest

from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Intent, IntentKind, Job
from jobs.services import handing, intents, left_behind
from jobs.states import State
from projects import services as projects
from projects.models import OnEnd
from slurm import fake
from tests.factories import make_member
from tests.jobs.conftest import Bench


def leave(bench: Bench, on_end: str) -> int:
    pi = make_member(bench.project, Role.PI)
    projects.remove_member(membership=bench.user.memberships.get(ends_at=None), by=pi, on_end=on_end)
    return left_behind.follow_memberships(bench.cluster)


def waiting(bench: Bench, cluster: fake.Cluster) -> Job:
    cluster.is_scheduling = False
    job = bench.submit()
    handing.hand_over()
    job.refresh_from_db()
    assert job.state == State.WAITING
    return job


def test_cancel_all_ends_what_waits_and_says_why(bench: Bench, cluster: fake.Cluster) -> None:
    job = waiting(bench, cluster)
    assert leave(bench, OnEnd.CANCEL) == 1
    assert left_behind.follow_memberships(bench.cluster) == 0
    assert intents.carry_out() == 1
    job.refresh_from_db()
    assert job.state == State.CANCELLED
    event = AuditEvent.objects.get(action=Action.JOB_CANCEL_ASKED)
    assert event.detail["why"] == "its owner has left the project"


def test_hold_keeps_what_waits_from_starting_and_lets_what_runs_finish(bench: Bench, cluster: fake.Cluster) -> None:
    running = bench.submit()
    handing.hand_over()
    cluster.tick()
    job = waiting(bench, cluster)
    Job.objects.filter(pk=running.pk).update(state=State.RUNNING)
    assert leave(bench, OnEnd.HOLD) == 1
    intents.carry_out()
    record = cluster.gateway().job(job.slurm_job_id or 0)
    assert record is not None and record.reason == "JobHeldAdmin"
    job.refresh_from_db()
    assert job.state == State.HELD
    assert Intent.objects.filter(kind=IntentKind.HOLD).count() == 1
    assert left_behind.follow_memberships(bench.cluster) == 0


def test_finish_touches_nothing(bench: Bench, cluster: fake.Cluster) -> None:
    waiting(bench, cluster)
    assert leave(bench, OnEnd.FINISH) == 0
    assert not Intent.objects.filter(kind__in=[IntentKind.CANCEL, IntentKind.HOLD]).exists()


def test_who_is_a_member_again_keeps_the_jobs(bench: Bench, cluster: fake.Cluster) -> None:
    waiting(bench, cluster)
    pi = make_member(bench.project, Role.PI)
    projects.remove_member(membership=bench.user.memberships.get(ends_at=None), by=pi, on_end=OnEnd.CANCEL)
    projects.add_member(project=bench.project, user=bench.user, role=Role.RESEARCHER, by=pi)
    assert left_behind.follow_memberships(bench.cluster) == 0


@pytest.mark.parametrize("on_end", [OnEnd.CANCEL, OnEnd.HOLD])
def test_the_follower_may_write_these_intents(bench: Bench, cluster: fake.Cluster, roles: Any, on_end: str) -> None:
    waiting(bench, cluster)
    pi = make_member(bench.project, Role.PI)
    projects.remove_member(membership=bench.user.memberships.get(ends_at=None), by=pi, on_end=on_end)
    roles.use("slurm")
    assert left_behind.follow_memberships(bench.cluster) == 1

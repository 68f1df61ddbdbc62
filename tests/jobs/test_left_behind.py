"""What somebody leaves behind ends, is held or goes on, as the end of the membership said."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

import pytest
from django.utils import timezone

from access.roles import Role
from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Intent, IntentKind, Job, Phase
from jobs.services import discovery, handing, intents, left_behind
from jobs.states import State
from projects import services as projects
from projects.models import OnEnd
from slurm import fake
from tests.factories import make_member
from tests.jobs.conftest import Bench
from tests.jobs.test_strangers import by_ssh


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


def test_that_a_job_is_held_is_told_before_whoever_dies_between_and_once(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = waiting(bench, cluster)
    leave(bench, OnEnd.HOLD)
    with monkeypatch.context() as patch:
        patch.setattr(type(cluster.accounts()), "hold_any", mock.Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            intents.carry_out()
    told = AuditEvent.objects.filter(action=Action.JOB_HELD)
    assert told.get().subject_id == str(job.pk)
    Intent.objects.update(next_try_at=timezone.now())
    assert intents.carry_out() == 1
    record = cluster.gateway().job(job.slurm_job_id or 0)
    assert record is not None and record.reason == "JobHeldAdmin" and told.count() == 1


def test_a_job_that_began_before_it_was_held_is_told_as_such(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(bench, cluster)
    leave(bench, OnEnd.HOLD)
    Intent.objects.filter(kind=IntentKind.HOLD).update(detail={"told": True})
    with monkeypatch.context() as patch:
        patch.setattr(intents, "same_job", lambda _handover: None)
        assert intents.carry_out() == 1
    assert AuditEvent.objects.get(action=Action.JOB_HELD).outcome == "failed"


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


def tasks(bench: Bench, cluster: fake.Cluster) -> list[Job]:
    """Two tasks of an array typed into a shell, as the follower takes them in."""
    bench.submit()
    Job.objects.update(phase=Phase.HANDING)
    number = by_ssh(bench, cluster)
    record = cluster.gateway().job(number)
    assert record is not None
    found = [discovery.Stranger(bench.project, dataclasses.replace(record, array_task=task)) for task in range(2)]
    discovery.take_in(bench.cluster, found)
    return list(Job.objects.filter(slurm_job_id=number))


def test_an_array_from_a_shell_ends_whole_where_all_its_tasks_shall(bench: Bench, cluster: fake.Cluster) -> None:
    first, _second = tasks(bench, cluster)
    assert leave(bench, OnEnd.CANCEL) >= 2
    intents.carry_out()
    assert cluster.every_job[-1].is_over
    results = set(Intent.objects.filter(job__slurm_job_id=first.slurm_job_id).values_list("result", flat=True))
    assert "asked Slurm to end the array" in results


def test_one_task_alone_takes_no_other_with_it(bench: Bench, cluster: fake.Cluster) -> None:
    first, _second = tasks(bench, cluster)
    Job.objects.filter(pk=first.pk).update(cancel_asked_at=timezone.now())
    Intent.objects.create(job=first, kind=IntentKind.CANCEL)
    intents.carry_out()
    assert not cluster.every_job[-1].is_over

"""An array asked for here: one submission, each task's runs kept, the job an honest summary, every hour booked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Handover, Intent, IntentKind, Job, Phase, Run
from jobs.services import arrays, following, handing, intents
from jobs.states import State
from quotas.models import Hold
from slurm import fake
from tests.jobs.conftest import Bench


def look(cluster: fake.Cluster, bench: Bench) -> None:
    bench.cluster.refresh_from_db()
    following.look_at_jobs(cluster.gateway(), bench.cluster)


def started(bench: Bench, cluster: fake.Cluster, **changes: Any) -> Job:
    """An array of four tasks on one GPU each, two at once, of which the first two run."""
    job = bench.submit(**({"array": "1-4%2", "gpus": 1, "name": "sweep"} | changes))
    handing.hand_over()
    cluster.tick()
    look(cluster, bench)
    job.refresh_from_db()
    return job


def test_it_is_submitted_once_and_followed_as_one_job(bench: Bench, cluster: fake.Cluster) -> None:
    job = started(bench, cluster)
    handover = job.handovers.get()
    assert (handover.array_task, handover.slurm_job_id) == (None, cluster.every_job[0].job_id)
    assert handover.stdout_path == f"{bench.project.folder}/logs/{job.pk}-{job.slurm_job_id}_%a.out"
    assert [one.array_task for one in cluster.every_job] == [1, 2, 3, 4]
    assert (job.state, job.allocated_gpus) == (State.RUNNING, 2)
    assert job.task_counts == {"total": 4, "running": 2, "waiting": 2}
    assert sorted(Run.objects.values_list("array_task", flat=True)) == [1, 2]
    assert Job.objects.count() == Handover.objects.count() == 1


def test_every_task_keeps_its_end_and_all_hours_are_booked(bench: Bench, cluster: fake.Cluster) -> None:
    job = started(bench, cluster)
    number = job.slurm_job_id or 0
    cluster.turn(minutes=10)
    cluster.finish(number, task=1)
    cluster.finish(number, task=2, exit_code=3)
    look(cluster, bench)
    job.refresh_from_db()
    assert job.task_counts == {"total": 4, "running": 2, "completed": 1, "failed": 1} and job.is_open
    bench.allocation.refresh_from_db()
    assert bench.allocation.used_gpu_minutes == pytest.approx(20, abs=1)
    assert Hold.objects.get().released_at is None
    cluster.turn(minutes=5)
    for task in (3, 4):
        cluster.finish(number, task=task)
    look(cluster, bench)
    job.refresh_from_db()
    assert (job.phase, job.state, job.exit_code) == (Phase.ENDED, State.FAILED, 3)
    assert job.task_counts == {"total": 4, "completed": 3, "failed": 1}
    assert {run.array_task: run.exit_code for run in arrays.last_runs(job.pk)} == {1: 0, 2: 3, 3: 0, 4: 0}
    bench.allocation.refresh_from_db()
    assert bench.allocation.used_gpu_minutes == pytest.approx(30, abs=1)
    assert Hold.objects.get().released_at is not None
    change = job.change
    look(cluster, bench)
    job.refresh_from_db()
    assert job.change == change


def test_a_requeued_task_runs_again_under_its_own_number(bench: Bench, cluster: fake.Cluster) -> None:
    job = started(bench, cluster)
    number = job.slurm_job_id or 0
    cluster.turn(minutes=1)
    cluster.requeue(number, task=1)
    look(cluster, bench)
    cluster.turn(minutes=3)
    look(cluster, bench)
    for task in (1, 2, 3, 4):
        cluster.turn(seconds=1)
        if any(one.is_running and one.array_task == task for one in cluster.every_job):
            cluster.finish(number, task=task)
            look(cluster, bench)
    look(cluster, bench)
    assert Job.objects.count() == 1
    runs = Run.objects.filter(array_task=1).order_by("restart_count")
    assert [run.restart_count for run in runs] == [0, 1]
    assert runs[0].ended_at is not None and runs[0].slurm_states == ["REQUEUED"]


def test_cancelled_it_ends_as_a_whole_and_what_never_started_says_so(bench: Bench, cluster: fake.Cluster) -> None:
    job = started(bench, cluster)
    cluster.finish(job.slurm_job_id or 0, task=1)
    cluster.tick()
    Intent.objects.create(job=job, kind=IntentKind.CANCEL, asked_by=bench.user)
    assert intents.carry_out() == 1
    look(cluster, bench)
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.ENDED, State.CANCELLED)
    assert job.task_counts == {"total": 4, "completed": 1, "cancelled": 3}
    assert Run.objects.get(array_task=4).started_at is None


def test_what_slurmctld_forgot_is_told_by_the_accounting(bench: Bench, cluster: fake.Cluster) -> None:
    job = started(bench, cluster)
    number = job.slurm_job_id or 0
    for tasks in ((1, 2), (3, 4)):
        cluster.turn(minutes=1)
        for task in tasks:
            cluster.finish(number, task=task)
    cluster.turn(minutes=30)
    assert not cluster.present()
    Handover.objects.update(accepted_at=timezone.now() - timedelta(minutes=1))
    look(cluster, bench)
    job.refresh_from_db()
    assert (job.phase, job.state) == (Phase.ENDED, State.COMPLETED)
    assert job.task_counts == {"total": 4, "completed": 4}


def test_a_task_nobody_knows_is_not_waited_for(bench: Bench, cluster: fake.Cluster) -> None:
    job = started(bench, cluster)
    cluster.finish(job.slurm_job_id or 0, task=1)
    look(cluster, bench)
    for one in cluster.every_job[1:]:
        one.is_lost = True
    cluster.every_job[1:] = []
    Handover.objects.update(accepted_at=timezone.now() - timedelta(minutes=5))
    look(cluster, bench)
    Handover.objects.update(looked_at=timezone.now() - timedelta(minutes=5))
    type(bench.cluster).objects.update(answering_since=timezone.now() - timedelta(minutes=5))
    look(cluster, bench)
    look(cluster, bench)
    job.refresh_from_db()
    assert job.task_counts == {"total": 4, "completed": 1, "unknown": 3} and job.phase == Phase.ENDED


def test_its_tasks_are_nobodys_work_from_outside(bench: Bench, cluster: fake.Cluster) -> None:
    """Seen by the bulk read a moment before it is written down here."""
    bench.submit(array="1-4%2", gpus=1)
    records = []
    gateway = cluster.gateway()
    submitted = handing.record_accepted
    try:
        handing.record_accepted = lambda attempts: (records.extend(gateway.jobs()), submitted(attempts))[1]
        handing.hand_over()
    finally:
        handing.record_accepted = submitted
    following.discovery.meet(gateway, bench.cluster, records)
    assert records and Job.objects.count() == 1 and not Intent.objects.exists()


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ([State.RUNNING, State.FAILED], State.RUNNING), ([State.WAITING, State.FAILED], State.WAITING),
        ([State.COMPLETED, None], State.WAITING), ([State.COMPLETED], State.COMPLETED),
        ([State.COMPLETED, State.TIMEOUT], State.TIMEOUT), ([State.CANCELLED, State.TIMEOUT], State.FAILED),
        ([State.COMPLETED, State.CANCELLED], State.CANCELLED), ([], State.WAITING),
    ],
)  # fmt: skip
def test_the_summary(states: list[State | None], word: State) -> None:
    assert arrays.summary(states) == word

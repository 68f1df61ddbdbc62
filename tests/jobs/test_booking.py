"""What jobs used is booked from their runs: under way, at the end, requeued, and from outside the portal."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F, Sum

from jobs.models import Job, Run
from jobs.services import booking, following, handing
from quotas.models import Usage
from slurm import fake
from tests.jobs.conftest import Bench
from tests.jobs.test_strangers import by_ssh


def seconds(job: Job) -> int:
    return Usage.objects.filter(job=str(job.pk)).aggregate(sum=Sum("gpu_seconds"))["sum"] or 0


def test_a_job_is_booked_while_it_runs_and_once_when_it_ends(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    cluster.tick()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    Run.objects.update(started_at=F("started_at") - timedelta(minutes=10))
    booking.book_under_way(bench.cluster)
    assert Usage.objects.get(job=str(job.pk)).gpu_type == "a100"
    cluster.turn(minutes=61)
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    job.refresh_from_db()
    assert job.ended_at is not None and job.started_at is not None
    lasted = round((job.ended_at - job.started_at).total_seconds())
    assert seconds(job) == 2 * lasted > 0
    bench.allocation.refresh_from_db()
    assert bench.allocation.used_gpu_minutes == round(2 * lasted / 60)
    assert not bench.allocation.holds.filter(released_at=None).exists()


def test_a_job_from_outside_spends_the_allocation_of_its_qos_and_is_marked(bench: Bench, cluster: fake.Cluster) -> None:
    job_id = by_ssh(bench, cluster)
    cluster.gateway().release(job_id, as_user=bench.user.username)
    cluster.tick()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    Run.objects.update(started_at=F("started_at") - timedelta(minutes=10))
    booking.book_under_way(bench.cluster)
    job = Job.objects.get(slurm_job_id=job_id)
    assert job.is_outside and job.allocation == bench.allocation
    row = Usage.objects.get(job=str(job.pk))
    assert row.is_outside and row.allocation == bench.allocation and row.user == bench.user

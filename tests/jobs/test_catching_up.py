"""What ran outside the portal while nobody looked is found in Slurm's accounting, once, with all it used."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Handover, HandoverOutcome, Job, Run
from jobs.services import catching_up
from jobs.services.loop import Follower
from jobs.states import Phase
from quotas.models import Usage
from slurm import fake
from slurm.contract import Unreachable
from tests.jobs.conftest import Bench
from tests.jobs.test_strangers import by_ssh, look


@pytest.fixture(autouse=True)
def _one_request(cluster: fake.Cluster, bench: Bench) -> None:
    """Of the portal's own, so that there is something to copy."""
    bench.submit()
    Job.objects.update(phase=Phase.HANDING)


def ran(bench: Bench, cluster: fake.Cluster, *, minutes: float = 10, **changes: Any) -> int:
    """A job from outside that ran so long and was forgotten by slurmctld."""
    number = by_ssh(bench, cluster, **changes)
    cluster.gateway().release(number, as_user=bench.user.username)
    cluster.tick()
    cluster.turn(minutes=minutes)
    cluster.finish(number)
    cluster.turn(minutes=6)
    assert number not in {record.job_id for record in cluster.gateway().jobs()}
    return number


def test_a_job_that_came_and_went_is_found_once_with_what_it_used(bench: Bench, cluster: fake.Cluster) -> None:
    number = ran(bench, cluster, gpus=1, gpu_type="a100")
    look(cluster, bench)
    assert not Job.objects.filter(slurm_job_id=number).exists()
    assert catching_up.catch_up(cluster.gateway(), bench.cluster) == 1
    job = Job.objects.get(slurm_job_id=number)
    assert (job.is_outside, job.phase, job.owner, job.project) == (True, Phase.ENDED, bench.user, bench.project)
    assert sum(Usage.objects.filter(job=str(job.pk)).values_list("gpu_seconds", flat=True)) == pytest.approx(600, abs=2)
    assert catching_up.catch_up(cluster.gateway(), bench.cluster) == 0
    assert bench.cluster.accounting_seen_at is not None


def test_a_short_job_first_seen_when_it_was_over_is_booked_too(bench: Bench, cluster: fake.Cluster) -> None:
    number = by_ssh(bench, cluster, gpus=1, gpu_type="a100")
    cluster.gateway().release(number, as_user=bench.user.username)
    cluster.tick()
    cluster.turn(seconds=30)
    cluster.finish(number)
    look(cluster, bench)
    job = Job.objects.get(slurm_job_id=number)
    assert job.phase == Phase.ENDED and Usage.objects.get(job=str(job.pk)).gpu_seconds == pytest.approx(30, abs=2)


def test_what_is_under_way_or_never_ran_is_left_to_the_other_looks(bench: Bench, cluster: fake.Cluster) -> None:
    running = by_ssh(bench, cluster)
    cluster.gateway().release(running, as_user=bench.user.username)
    cancelled = by_ssh(bench, cluster)
    cluster.gateway().cancel(cancelled, as_user=bench.user.username)
    assert catching_up.catch_up(cluster.gateway(), bench.cluster) == 0


def test_while_an_own_attempt_has_no_outcome_its_job_is_not_taken_for_another(
    bench: Bench, cluster: fake.Cluster
) -> None:
    Handover.objects.create(
        job=Job.objects.get(), cluster=bench.cluster, outcome=HandoverOutcome.UNKNOWN,
        began_at=timezone.now() - timedelta(minutes=1),
    )  # fmt: skip
    number = ran(bench, cluster)
    assert catching_up.catch_up(cluster.gateway(), bench.cluster) == 0
    Handover.objects.update(outcome=HandoverOutcome.REFUSED)
    assert catching_up.catch_up(cluster.gateway(), bench.cluster) == 1
    assert Job.objects.filter(slurm_job_id=number).exists()


def test_each_run_of_a_requeued_job_counts(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = ran(bench, cluster, gpus=1, gpu_type="a100")
    [last] = [row for row in cluster.gateway().accounting(since=timezone.now() - timedelta(days=1))
              if row.job_id == number and row.start_time]  # fmt: skip
    earlier = dataclasses.replace(
        last, states=frozenset({"NODE_FAIL"}), submit_time=last.submit_time - timedelta(hours=1),
        start_time=last.start_time - timedelta(hours=1), end_time=last.start_time - timedelta(minutes=55),
    )  # fmt: skip
    last = dataclasses.replace(last, restart_count=1)
    monkeypatch.setattr(type(cluster.gateway()), "accounting", lambda *_, **__: [last, earlier])
    assert catching_up.catch_up(cluster.gateway(), bench.cluster) == 1
    runs = Run.objects.filter(handover__slurm_job_id=number).order_by("restart_count")
    assert [run.restart_count for run in runs] == [0, 1] and all(run.ended_at for run in runs)
    assert sum(Usage.objects.values_list("gpu_seconds", flat=True)) == pytest.approx(900, abs=3)


def test_an_accounting_that_is_away_does_not_make_the_picture_old(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise Unreachable("slurmdbd is away")

    monkeypatch.setattr(catching_up, "catch_up", gone)
    Follower(cluster.gateway()).step()
    bench.cluster.refresh_from_db()
    assert bench.cluster.answering_since is not None and bench.cluster.last_error == ""


def test_it_is_a_part_of_the_rhythm(bench: Bench, cluster: fake.Cluster) -> None:
    number = ran(bench, cluster)
    Follower(cluster.gateway()).step()
    assert Job.objects.get(slurm_job_id=number).is_outside

"""After the end: what was used is measured, the output looked into, and the page tells both."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Handover, Job, Report, Run
from jobs.services import afterwards, following, handing, reading
from jobs.services.afterwards import looking, measuring
from logs.client import ReaderDown
from slurm import fake
from tests.jobs.conftest import Bench
from tests.jobs.log_door import Door
from tests.pages import signed_in

EN = {"Accept-Language": "en"}
LOG = b"epoch 1\nTraceback (most recent call last):\n  File x\nModuleNotFoundError: No module named 'torch'\n"


def ended(bench: Bench, cluster: fake.Cluster, **how: object) -> Job:
    job = bench.submit()
    handing.hand_over()
    cluster.tick()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    fake_job = cluster.every_job[-1]
    fake_job.cpu_seconds, fake_job.peak_memory_mb = 100.0, 1024.0
    cluster.finish(fake_job.job_id, **how)  # type: ignore[arg-type]
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    Handover.objects.update(ticket="signed")
    job.refresh_from_db()
    return job


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    door = Door(stdout=LOG)
    monkeypatch.setattr(reading, "reader", lambda: door)
    return door


def test_a_failed_output_is_looked_into_once(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    job = ended(bench, cluster, exit_code=1)
    assert looking.look_back() == 1
    report = Report.objects.get(job=job)
    assert [(one["key"], one["stream"], one["line"]) for one in report.findings] == [("module_missing", "stdout", 4)]
    assert report.traceback == {"stream": "stdout", "line": 2, "offset": 8}
    assert report.log_state == "open" and report.read_at
    assert looking.look_back() == 0


def test_errors_with_a_file_of_their_own_come_first(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    door.files = {"stdout": b"x\nKilled\n", "stderr": b"python3: No such file or directory\n"}
    ended(bench, cluster, exit_code=1)
    looking.look_back()
    assert [one["stream"] for one in Report.objects.get().findings] == ["stderr", "stdout"]


def test_of_a_job_that_worked_nothing_is_looked_for(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    ended(bench, cluster)
    assert looking.look_back() == 1
    assert Report.objects.get().findings == []


def test_without_the_log_reader_it_waits_a_day_and_no_more(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    job = ended(bench, cluster, exit_code=1)
    door.trouble = ReaderDown("away")
    assert looking.look_back() == 0
    Report.objects.update(due_at=timezone.now() - timedelta(days=2))
    assert looking.look_back() == 1
    assert Report.objects.get(job=job).log_state == "failed"


def test_a_job_that_ended_again_is_looked_into_again(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    job = ended(bench, cluster, exit_code=1)
    looking.look_back()
    afterwards.due([job])
    assert Report.objects.get(job=job).read_at is None


def test_what_a_run_used_is_kept_with_it(bench: Bench, cluster: fake.Cluster) -> None:
    ended(bench, cluster)
    assert measuring.measure(cluster.gateway(), bench.cluster) == 0  # a moment too early
    Run.objects.update(ended_at=timezone.now() - timedelta(seconds=20))
    assert measuring.measure(cluster.gateway(), bench.cluster) == 1
    run = Run.objects.get()
    assert (run.cpu_seconds, run.peak_memory_mb) == (100, 1024) and run.measured_at
    assert measuring.measure(cluster.gateway(), bench.cluster) == 0


def test_what_is_not_measured_is_asked_for_again_for_two_minutes(bench: Bench, cluster: fake.Cluster) -> None:
    ended(bench, cluster)
    cluster.every_job[-1].peak_memory_mb = None
    Run.objects.update(ended_at=timezone.now() - timedelta(seconds=20))
    assert measuring.measure(cluster.gateway(), bench.cluster) == 0
    Run.objects.update(ended_at=timezone.now() - timedelta(minutes=3))
    assert measuring.measure(cluster.gateway(), bench.cluster) == 1
    assert Run.objects.get().peak_memory_mb is None


def test_the_page_tells_it(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    job = ended(bench, cluster, exit_code=1)
    looking.look_back()
    Run.objects.update(
        started_at=timezone.now() - timedelta(minutes=50), ended_at=timezone.now() - timedelta(minutes=1)
    )
    measuring.measure(cluster.gateway(), bench.cluster)
    client = signed_in(bench.user)
    page = client.get(job.get_absolute_url(), headers=EN).content.decode()
    assert "A Python package is not installed" in page and "#L4" in page
    assert "First traceback, line 2" in page
    assert "49 min of 1 h" in page
    assert "No module named" in client.get(f"{job.get_absolute_url()}/after", headers=EN).content.decode()


def test_what_the_output_shows_is_for_who_may_read_it(bench: Bench, cluster: fake.Cluster, door: Door) -> None:
    job = ended(bench, cluster, exit_code=1)
    looking.look_back()
    story = afterwards.story(job, list(Run.objects.all()), may_read=False)
    assert story is not None and story.findings == [] and story.traceback == {} and story.use is not None

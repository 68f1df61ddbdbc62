"""What is kept of a job's nodes at its end, and how its use stands beside its person's last jobs of the same name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from access.roles import Role
from cluster.metrics.charts import Where
from cluster.metrics.host_sums import host_sums
from cluster.metrics.prometheus import Away, Prometheus
from jobs.models import GpuSummary, Handover, Job, Run, TaskSummary
from jobs.services.gpus import keeping, reporting
from jobs.shares import Shares, beside
from tests.cluster.conftest import NOW, START, prometheus  # noqa: F401 - the real one
from tests.factories import make_member, make_user
from tests.jobs.conftest import Bench
from tests.jobs.test_gpu_pages import at, browser, ended, known  # noqa: F401 - fixtures
from tests.jobs.test_gpu_use import card
from tests.pages import signed_in

WHERE = Where(77, ("gpu01",), START, NOW)


def measured(bench: Bench, cpu_share: float | None, memory: float | None, **summary: Any) -> Job:
    """A job of an hour with 8 CPUs and 8 GB; what Slurm's accounting and the summary say of it."""
    job = ended(bench)
    Job.objects.filter(pk=job.pk).update(memory_mb=8192)
    row = Handover.objects.create(job=job, cluster=bench.cluster, slurm_job_id=1000 + Job.objects.count(), uid=1)
    Run.objects.create(
        handover=row, cpus=8, started_at=job.started_at, ended_at=job.ended_at, peak_memory_mb=memory,
        cpu_seconds=None if cpu_share is None else 8 * 3600 * cpu_share,
    )  # fmt: skip
    if summary:
        GpuSummary.objects.create(job=job, seconds=3600, gpus=2, **summary)
    return Job.objects.get(pk=job.pk)


def test_sums_of_a_whole_run_on_each_node(prometheus: Prometheus) -> None:  # noqa: F811
    assert host_sums(WHERE, prometheus) == {"gpu01": {
        "cpu": pytest.approx(4, abs=0.1), "cpu_most": 4.0, "job_memory": 2048, "job_memory_most": 2048, "pressure_cpu": 25, "pressure_cpu_most": 25,
        "received": pytest.approx(3 * 3600, rel=0.02),
    }}  # fmt: skip


def test_of_another_job_or_node_nothing_of_this_one(prometheus: Prometheus) -> None:  # noqa: F811
    assert host_sums(Where(78, ("gpu01",), START, NOW), prometheus)["gpu01"]["cpu"] == pytest.approx(1, abs=0.05)
    assert host_sums(Where(77, ("gpu02",), START, NOW), prometheus) == {}
    assert host_sums(Where(77, (), START, NOW), prometheus) == {}
    with pytest.raises(Away):
        host_sums(WHERE, Prometheus("http://127.0.0.1:1", 0.3))


@override_settings(METRICS_NAMES="dcgm")
def test_node_exporter_tells_nothing_of_jobs(prometheus: Prometheus) -> None:  # noqa: F811
    assert host_sums(WHERE, prometheus) == {}


def test_it_is_kept_shown_and_told_when_the_series_are_gone(bench: Bench, known: str) -> None:  # noqa: F811
    job = ended(bench, started_at=at(START), ended_at=at(NOW))
    assert keeping.keep_summaries() == 1
    with override_settings(PROMETHEUS_URL=""):
        page = browser(bench.user).get(f"/jobs/{job.pk}?tab=gpus").text
        told = browser(bench.user).get(f"/api/v1/jobs/{job.pk}/gpus/summary").json()
    report = page[page.index('id="node-report"') :]
    for term, value in (("CPUs in use", "4.0"), ("Memory without file cache", "2 GB"), ("Waited for CPUs", "25 %"),
                        ("Received from the network, whole node", "10.5 GB")):  # fmt: skip
        assert f'<th scope="row">{term}</th><td class="num">{value}' in report
    assert told["nodes"]["gpu01"]["cpu_most"] == 4.0 and len(told["cards"]) == 2


def test_what_has_no_gpus_has_it_too(bench: Bench, known: str) -> None:  # noqa: F811
    job = ended(bench, started_at=at(START), ended_at=at(NOW), gpus=0, gpu_type="", allocated_gpus=0)
    assert keeping.keep_summaries() == 1 and keeping.keep_summaries() == 0
    kept = job.gpu_summary
    assert (kept.gpus, kept.cards, kept.active_share) == (0, [], None) and kept.hosts["gpu01"]["cpu_most"] == 4.0
    page = browser(bench.user).get(f"/jobs/{job.pk}?tab=gpus").text
    assert 'id="node-report"' in page and 'id="gpu-report"' not in page
    assert browser(bench.user).get(f"/jobs/{job.pk}").status_code == 200


def test_all_four_measures_beside_the_last_jobs_of_the_name(bench: Bench) -> None:
    earlier: list[dict[str, Any]] = [
        {"active_share": 0.9, "cards": [card(0, memory=4096)]}, {"active_share": 0.7, "cards": [card(0, memory=12288)]},
    ]  # fmt: skip
    measured(bench, 0.6, 4096, **earlier[0])
    measured(bench, 0.8, 2048, **earlier[1])
    job = measured(bench, 0.25, 8192, active_share=0.485, cards=[card(0), card(1, most=0, mean=0, active_share=0)])
    page = browser(bench.user).get(f"/jobs/{job.pk}?tab=gpus").text
    for term, own, usual in (("GPU-hours active", 48, 80), ("GPU memory, fullest", 73, 20), ("CPUs busy", 25, 70),
                             ("Memory, peak", 100, 38)):  # fmt: skip
        row = f'<th scope="row">{term}</th><td class="num">{own} %</td><td class="num">{usual} %</td><td class="num">2</td>'
        assert row in page, term
    assert "Ask for 1 next time" in page
    told = browser(bench.user).get(f"/api/v1/jobs/{job.pk}/gpus/summary").json()["compared"]
    assert [one["measure"] for one in told] == ["active", "gpu_memory", "cpus", "memory"]
    assert told[2] == {"measure": "cpus", "own": 0.25, "usual": pytest.approx(0.7), "jobs": 2}


def test_at_most_ten_of_the_same_person_and_name(bench: Bench) -> None:
    other = make_member(bench.project, Role.RESEARCHER)
    for number in range(14):
        job = measured(bench, 0.1 if number < 3 else 0.5, None, active_share=None)
        if number == 12:
            Job.objects.filter(pk=job.pk).update(name="another")
        if number == 13:
            Job.objects.filter(pk=job.pk).update(owner=other)
    (row,) = reporting.compared(measured(bench, 0.9, None, active_share=None))
    assert (row.key, row.jobs) == ("cpus", 10) and row.usual == pytest.approx(0.46)


def test_what_the_accounting_does_not_know_is_read_from_the_nodes(bench: Bench) -> None:
    hosts = {"gpu01": {"cpu": 3.0, "job_memory_most": 2048}, "gpu02": {"cpu": 1.0, "job_memory_most": 4096}}
    job = measured(bench, None, None, active_share=None, hosts=hosts)
    (own, *_) = map(reporting.shares_of, reporting.NAMED.all(owner=job.owner_id, name=job.name, upto=job.pk))
    assert own == Shares(None, None, 0.5, 0.5)


def test_one_earlier_job_is_not_usual_and_what_was_not_measured_is_not_compared() -> None:
    assert list(beside(Shares(active=0.4), [Shares(active=0.9)])) == []
    assert list(beside(Shares(cpus=0.4), [Shares(active=0.9), Shares(active=0.8)])) == []
    (row,) = beside(Shares(active=0.4, cpus=0.5), [Shares(active=0.9), Shares(active=0.7), Shares()])
    assert (row.own, row.usual, row.jobs) == (0.4, pytest.approx(0.8), 2)


def test_a_stranger_gets_none_of_it(bench: Bench) -> None:
    job = measured(bench, 0.5, 10, active_share=0.5, hosts={"gpu01": {"cpu": 1.0}})
    client = signed_in(make_user())
    assert client.get(f"/api/v1/jobs/{job.pk}/gpus/summary").status_code == 404
    assert client.get(f"/jobs/{job.pk}?tab=gpus").status_code == 404


def test_the_oldest_wait_first_and_who_ran_nowhere_waits_for_nothing(bench: Bench, known: str) -> None:  # noqa: F811
    late = timezone.now() - timedelta(minutes=5)
    ended(bench, node_list="", started_at=late, ended_at=late)
    assert keeping.keep_summaries() == 0


def test_a_task_of_an_array_has_its_own_and_the_array_none(bench: Bench, known: str) -> None:  # noqa: F811
    """Its nodes know it by a number of its own."""
    job = ended(bench, started_at=at(START), ended_at=at(NOW), slurm_job_id=70, array="1-2")
    row = Handover.objects.create(job=job, cluster=bench.cluster, slurm_job_id=70, uid=1)
    facts: dict[str, Any] = {"node_list": "gpu01", "gpus": 2, "started_at": at(START), "ended_at": at(NOW)}
    run = Run.objects.create(handover=row, array_task=1, own_id=77, **facts)
    Run.objects.create(handover=row, array_task=2, own_id=None, **facts)
    assert keeping.keep_summaries() == 1 and keeping.keep_summaries() == 0
    assert not GpuSummary.objects.exists() and len(run.summary.cards) == 2
    with override_settings(PROMETHEUS_URL=""):
        client = browser(bench.user)
        told = client.get(f"/api/v1/jobs/{job.pk}/gpus/summary?task=1").json()
        none = client.get(f"/api/v1/jobs/{job.pk}/gpus/summary?task=2").json()
        assert client.get(f"/api/v1/jobs/{job.pk}/gpus/summary").json()["kept"] is False
        page = client.get(f"/jobs/{job.pk}?tab=gpus").text
    assert "<gpu-chart" not in page
    assert told["kept"] and told["gpu_hours"] == 2 and told["active_hours"] == pytest.approx(1.5, abs=0.1)
    assert told["nodes"]["gpu01"]["cpu_most"] == 4.0 and told["compared"] == [] and none["kept"] is False
    assert "What each of its tasks uses stands on the page of that task." in page


def test_the_page_of_a_task_has_its_report(bench: Bench) -> None:
    job = bench.submit(gpus=1, array="1-2")
    Job.objects.filter(pk=job.pk).update(started_at=timezone.now() - timedelta(hours=2), task_counts={"total": 2})
    row = Handover.objects.create(job=job, cluster=bench.cluster, slurm_job_id=70, uid=1, outcome="accepted")
    times = {"started_at": timezone.now() - timedelta(hours=2), "ended_at": timezone.now() - timedelta(hours=1)}
    run = Run.objects.create(handover=row, array_task=1, own_id=77, node_list="gpu01", gpus=1, **times)
    TaskSummary.objects.create(
        run=run, seconds=3600, gpus=1, cards=[card(0, active_share=0.3)], hosts={"gpu01": {"cpu": 1.5, "cpu_most": 2.0}}
    )  # fmt: skip
    page = browser(bench.user).get(f"/jobs/{job.pk}/tasks/1").text
    assert "did nothing 70 % of the time" in page and '<th scope="row">CPUs in use</th><td class="num">1.5</td>' in page
    assert 'id="job-usual"' not in page

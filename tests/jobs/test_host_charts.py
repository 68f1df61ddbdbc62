"""What a job uses of its nodes beside the GPUs, from a real Prometheus: its own, absent where nothing measured it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client, override_settings

from cluster.metrics import host_names, hosts
from cluster.metrics.charts import Where
from jobs.models import Handover, Job, Run
from tests.cluster.conftest import NOW, START, prometheus  # noqa: F401 - the real one
from tests.factories import make_user
from tests.jobs.conftest import Bench
from tests.jobs.test_gpu_pages import at, browser, ended, known, quiet, run  # noqa: F401 - fixtures
from tests.pages import signed_in

MEASURED = ["cpu", "job_memory", "pressure_cpu", "received"]


def usage(client: Client, job: Job, query: str = "?points=100") -> dict[str, Any]:
    return client.get(f"/api/v1/jobs/{job.pk}/usage{query}").json()


def values(told: dict[str, Any], name: str) -> list[float]:
    """The middle of the run, where every rate has what it needs."""
    bands = next(one for one in told["readings"] if one["name"] == name)["bands"]
    assert len(bands) == 1
    return [one for one in bands[0]["low"][5:-5] if one is not None]


@pytest.fixture
def job(bench: Bench, known: str) -> Job:  # noqa: F811
    return ended(bench, started_at=at(START), ended_at=at(NOW))


def test_its_own_readings_a_line_a_node_and_what_is_not_measured(bench: Bench, job: Job) -> None:
    told = usage(browser(bench.user), job)
    assert told["state"] == "ok" and told["cards"] == [{"node": "gpu01", "gpu": ""}]
    assert [one["name"] for one in told["readings"]] == MEASURED
    assert set(values(told, "cpu")) == {4.0} and set(values(told, "job_memory")) == {2048.0}
    assert set(values(told, "pressure_cpu")) == {25.0} and set(values(told, "received")) == {3.0}
    assert set(told["missing"]) == {*host_names.OF_JOB, *host_names.OF_NODE} - set(MEASURED)
    assert {one["name"]: one["unit"] for one in told["readings"]}["cpu"] == "CPU"


def test_a_task_goes_by_the_number_its_nodes_know(bench: Bench, job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(slurm_job_id=70)
    row = Handover.objects.create(job=job, cluster=bench.cluster, slurm_job_id=70, uid=1)
    facts: dict[str, Any] = {"node_list": "gpu01", "started_at": at(START), "ended_at": at(NOW)}
    Run.objects.create(handover=row, array_task=1, own_id=77, **facts)
    client = browser(bench.user)
    assert set(values(usage(client, job, "?task=1&points=100"), "cpu")) == {4.0}
    assert usage(client, job, "?task=2")["state"] == "none"
    assert [one["name"] for one in usage(client, job)["readings"]] == ["received"]  # the whole node's


def test_what_has_no_gpus_has_them_too_and_its_page_shows_them(bench: Bench, job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(allocated_gpus=0)
    page = browser(bench.user).get(f"/jobs/{job.pk}?tab=gpus").text
    assert f'data-url="/api/v1/jobs/{job.pk}/usage"' in page and 'data-of="nodes"' in page


def test_a_stranger_sees_none_of_it(job: Job) -> None:
    assert signed_in(make_user()).get(f"/api/v1/jobs/{job.pk}/usage").status_code == 404


@pytest.mark.usefixtures("quiet")
def test_without_prometheus_it_says_so(bench: Bench) -> None:
    assert usage(browser(bench.user), run(bench))["state"] == "away"


@pytest.mark.parametrize("node", ['gpu01"} or vector(1)', "gpu01|gpu02", "", "gpu01\\n"])
def test_no_word_of_a_job_reaches_the_question(node: str) -> None:
    with pytest.raises(ValueError):
        hosts.expression(host_names.OURS[0], Where(77, (node,), 0, 1), 10)


def test_node_exporter_is_asked_for_whole_nodes_only() -> None:
    with override_settings(METRICS_NAMES="dcgm"):
        asked = host_names.BY_NAMES["dcgm"]
    assert {name for one in asked for name in one.readings.values()} == set(host_names.OF_NODE)
    for one in asked:
        words = hosts.expression(one, Where(77, ("gpu01",), 0, 1), 60)
        assert "slurm_job" not in words and 'node=~"gpu01"' in words

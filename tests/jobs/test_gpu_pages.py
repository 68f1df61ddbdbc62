"""A job's GPUs on its page and in the API: who sees them, what is recorded, what is said when nothing answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client, override_settings
from django.utils import timezone

from access.roles import Role, SiteRole
from accounts.models import User
from audit.actions import Action
from audit.models import AuditEvent
from cluster.metrics import prometheus as door
from cluster.metrics.prometheus import Prometheus
from cluster.models import Gpu
from jobs.models import GpuSummary, Handover, Job, Phase, Run
from jobs.services.gpus import keeping, showing
from jobs.states import State
from tests.cluster.conftest import NOW, START, prometheus  # noqa: F401 - the real one
from tests.factories import make_member, make_user
from tests.jobs.conftest import Bench
from tests.jobs.test_gpu_use import card
from tests.jobs.test_taking_out import rows
from tests.pages import signed_in


def browser(user: User) -> Client:
    """Of somebody who reads English."""
    User.objects.filter(pk=user.pk).update(language="en")
    return signed_in(User.objects.get(pk=user.pk))


def run(bench: Bench, **changes: Any) -> Job:
    """A job that runs (or ran) as number 77 on gpu01."""
    job = bench.submit(gpus=2, **({"array": changes.pop("array")} if "array" in changes else {}))
    now = timezone.now()
    fields: dict[str, Any] = {
        "slurm_job_id": 77, "node_list": "gpu01", "phase": Phase.ACCEPTED, "state": State.RUNNING,
        "started_at": now - timedelta(hours=1), "allocated_gpus": 2, "change": 2,
    } | changes  # fmt: skip
    Job.objects.filter(pk=job.pk).update(phase=Phase.HANDING)
    Job.objects.filter(pk=job.pk).update(**fields)
    if fields["phase"] == Phase.ACCEPTED and "ended_at" in fields:
        Job.objects.filter(pk=job.pk).update(phase=Phase.ENDED)
    return Job.objects.get(pk=job.pk)


def ended(bench: Bench, **changes: Any) -> Job:
    times = {"started_at": timezone.now() - timedelta(hours=2), "ended_at": timezone.now() - timedelta(hours=1)}
    return run(bench, **(times | {"state": State.COMPLETED} | changes))


def gpu(bench: Bench, index: int, **changes: Any) -> Gpu:
    fields: dict[str, Any] = {
        "state": "ok", "utilization": 97.0, "memory_mib": 30720, "memory_total_mib": 40960, "power_watts": 310,
        "temperature": 64, "slurm_jobs": [77], "recent": [90] * 60, "seen_at": timezone.now(),
    } | changes  # fmt: skip
    return Gpu.objects.create(cluster=bench.cluster, node_name="gpu01", index=index, **fields)


@pytest.fixture
def quiet() -> Any:
    """No Prometheus at all."""
    with override_settings(PROMETHEUS_URL=""):
        door.prometheus.cache_clear()
        yield
    door.prometheus.cache_clear()


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, prometheus: Prometheus) -> Any:  # noqa: F811
    """The site's Prometheus is the one of known readings."""
    url = str(prometheus._client.base_url).removesuffix("/api/v1/")
    with override_settings(PROMETHEUS_URL=url):
        door.prometheus.cache_clear()
        showing._known_cards.cache_clear()
        showing._shared.cache_clear()
        yield url
    door.prometheus.cache_clear()


def test_a_running_jobs_cards_are_drawn_from_the_picture(bench: Bench) -> None:
    job = run(bench)
    gpu(bench, 0)
    gpu(bench, 1, utilization=0.0, idle_since=timezone.now() - timedelta(minutes=22), recent=[80] * 5 + [0] * 55)
    gpu(bench, 2, slurm_jobs=[78])
    page = browser(bench.user).get(f"/jobs/{job.pk}").content.decode()
    assert "GPU 0: 97 %, 30.0 of 40 GB, 310 W, 64 °C" in page
    assert "idle for 22 min" in page and "1 idle" in page
    assert "GPU 2" not in page


def test_a_card_idle_for_a_moment_is_not_called_idle(bench: Bench) -> None:
    job = run(bench)
    gpu(bench, 0, utilization=0.0, idle_since=timezone.now() - timedelta(minutes=2))
    assert "idle for" not in browser(bench.user).get(f"/jobs/{job.pk}").content.decode()


@pytest.mark.usefixtures("quiet")
def test_without_metrics_the_page_is_whole_and_charts_say_so(bench: Bench) -> None:
    job = run(bench)
    client = browser(bench.user)
    page = client.get(f"/jobs/{job.pk}?tab=gpus")
    assert page.status_code == 200 and b"<gpu-chart" in page.content
    assert b"No readings yet" in page.content
    assert client.get(f"/api/v1/jobs/{job.pk}/gpus").json()["state"] == "away"


def test_charts_of_a_job_that_is_over(bench: Bench, known: str) -> None:
    job = ended(bench, started_at=at(START), ended_at=at(NOW))
    found = browser(bench.user).get(f"/api/v1/jobs/{job.pk}/gpus?points=100").json()
    assert found["state"] == "ok" and [one["gpu"] for one in found["cards"]] == ["0", "1"]
    assert [one["name"] for one in found["readings"]] == ["utilization", "memory", "power", "temperature"]
    for reading in found["readings"]:
        for band in reading["bands"]:
            assert len(band["low"]) == found["steps"] <= 50


HOSTILE = ('x"} or vector(1) #', "77", '{__name__=~".+"}', "a\\nb", "<script>alert(1)</script>")


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_job_is_called_reaches_no_question(bench: Bench, known: str, name: str) -> None:
    job = ended(bench, started_at=at(START), ended_at=at(NOW), name=name, alias=name, note=name)
    client = browser(bench.user)
    found = client.get(f"/api/v1/jobs/{job.pk}/gpus?points=100").json()
    assert [(one["node"], one["gpu"]) for one in found["cards"]] == [("gpu01", "0"), ("gpu01", "1")]
    cpu = client.get(f"/api/v1/jobs/{job.pk}/usage?points=100").json()["readings"][0]
    assert cpu["name"] == "cpu" and max(value for value in cpu["bands"][0]["low"] if value is not None) <= 4
    assert keeping.keep_summaries() == 1 and len(GpuSummary.objects.get(job=job).cards) == 2


def test_charts_of_a_task_go_by_the_number_its_nodes_know(bench: Bench, known: str) -> None:
    job = ended(bench, started_at=at(START), ended_at=at(NOW), slurm_job_id=70)
    row = Handover.objects.create(job=job, cluster=bench.cluster, slurm_job_id=70, uid=1)
    facts: dict[str, Any] = {"node_list": "gpu01", "gpus": 2, "started_at": at(START), "ended_at": at(NOW)}
    Run.objects.create(handover=row, array_task=1, own_id=77, **facts)
    Run.objects.create(handover=row, array_task=2, own_id=None, **facts)
    client = browser(bench.user)
    found = client.get(f"/api/v1/jobs/{job.pk}/gpus?task=1&points=100").json()
    assert found["state"] == "ok" and [one["gpu"] for one in found["cards"]] == ["0", "1"]
    assert client.get(f"/api/v1/jobs/{job.pk}/gpus?task=2").json()["state"] == "none"
    assert client.get(f"/api/v1/jobs/{job.pk}/gpus?task=3").json()["state"] == "none"


def test_the_cards_of_a_task_that_runs(bench: Bench) -> None:
    job = run(bench, slurm_job_id=70)
    row = Handover.objects.create(job=job, cluster=bench.cluster, slurm_job_id=70, uid=1)
    task = Run.objects.create(handover=row, array_task=1, own_id=77, node_list="gpu01", gpus=1)
    gpu(bench, 0)
    gpu(bench, 1, slurm_jobs=[70])
    assert [line.name for line in showing.running(job, task)] == ["0"]


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_stranger_sees_none_of_it(bench: Bench, known: str) -> None:
    job = ended(bench, started_at=at(START), ended_at=at(NOW))
    client = signed_in(make_user())
    for path in (f"/jobs/{job.pk}?tab=gpus", f"/jobs/{job.pk}/gpus", f"/jobs/{job.pk}/moment?at=1"):
        assert client.get(path).status_code == 404
    for path in ("gpus", "gpus/summary"):
        assert client.get(f"/api/v1/jobs/{job.pk}/{path}").status_code == 404


def test_what_others_look_at_is_recorded_once_an_hour(bench: Bench, known: str) -> None:
    job = ended(bench, started_at=at(START), ended_at=at(NOW))
    for person in (bench.user, make_member(bench.project, Role.PI), make_user(site_role=SiteRole.OPERATOR)):
        client = signed_in(person)
        for _ in range(2):
            assert client.get(f"/api/v1/jobs/{job.pk}/gpus").status_code == 200
    events = AuditEvent.objects.filter(action=Action.METRICS_READ)
    assert events.count() == 2 and not events.filter(actor_id=bench.user.pk).exists()


def test_the_report_that_others_read_without_scripts_is_recorded_too(bench: Bench) -> None:
    job = ended(bench)
    GpuSummary.objects.create(job=job, seconds=3600, gpus=1, cards=[card(0)], active_share=0.9)
    leader = make_member(bench.project, Role.PI)
    for person in (bench.user, leader, leader):
        assert signed_in(person).get(f"/jobs/{job.pk}?tab=gpus").status_code == 200
    assert AuditEvent.objects.get(action=Action.METRICS_READ).actor_id == leader.pk


def test_a_summary_is_kept_once(bench: Bench, known: str) -> None:
    job = ended(bench, started_at=at(START), ended_at=at(NOW))
    assert keeping.keep_summaries() == 1
    assert keeping.keep_summaries() == 0
    kept = GpuSummary.objects.get(job=job)
    assert kept.gpus == 2 and len(kept.cards) == 2
    assert kept.active_share == pytest.approx(0.75, abs=0.03)
    page = browser(bench.user).get(f"/jobs/{job.pk}?tab=gpus").content.decode()
    assert "GPU-hours active" in page and "did nothing for 30 minutes on end" in page
    found = browser(bench.user).get(f"/api/v1/jobs/{job.pk}/gpus/summary").json()
    assert found["kept"] and found["gpu_hours"] == 2 and found["active_hours"] == pytest.approx(1.5, abs=0.1)


@override_settings(PROMETHEUS_URL="http://127.0.0.1:1")
def test_without_an_answer_nothing_is_kept_and_it_is_tried_again(bench: Bench) -> None:
    job = ended(bench)
    assert keeping.keep_summaries() == 0
    assert not GpuSummary.objects.filter(job=job).exists()


def test_a_node_that_lies_about_a_number_reaches_no_other_job(bench: Bench) -> None:
    job = run(bench, node_list="gpu02")
    gpu(bench, 0)
    assert showing.shown(job).lines == []


def test_readings_of_a_jobs_gpus_are_taken_away(bench: Bench) -> None:
    running = run(bench)
    gpu(bench, 0)
    assert f"/jobs/{running.pk}/gpus.csv" in browser(bench.user).get(f"/jobs/{running.pk}?tab=gpus").text
    assert rows(browser(bench.user), f"/jobs/{running.pk}/gpus.csv") == [
        "\ufeffGPU,use now (%),highest use (%),active (%),longest idle (seconds),memory (MiB),memory there is (MiB),"
        "power (W),temperature (°C)",
        "0,97.0,,,,30720.0,40960.0,310.0,64.0",
    ]
    event = AuditEvent.objects.get(action=Action.REPORT_READ)
    assert (event.detail["table"], event.subject_id) == ("gpus", str(running.pk))


def test_of_a_job_that_is_over_the_whole_run(bench: Bench) -> None:
    over = ended(bench)
    GpuSummary.objects.create(job=over, seconds=3600, gpus=1, cards=[card(0, mean=80.0, active_share=0.755)])
    [head, line] = rows(browser(bench.user), f"/jobs/{over.pk}/gpus.csv")
    assert "mean use (%)" in head and line.startswith("0,80.0,") and ",75.5," in line

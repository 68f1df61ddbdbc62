"""An array over the API: its tasks with parameters and values, their outputs, what is done to some; a job's curves."""

from __future__ import annotations

import pytest
from django.utils import translation

from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Handover, Intent, IntentKind, Job, Run
from jobs.services import following, handing, reading
from slurm import fake
from tests.api import caller
from tests.factories import make_member
from tests.jobs.conftest import Bench
from tests.jobs.log_door import Door

ROWS = [{"lr": 0.1}, {"lr": 0.01}, {"lr": 0.001}]


@pytest.fixture
def job(bench: Bench, cluster: fake.Cluster) -> Job:
    """Three tasks: the second failed, the third runs."""
    job = bench.submit(gpus=1, array="1-3%3", parameters=ROWS)
    handing.hand_over()
    cluster.tick()
    look(bench, cluster)
    number = Job.objects.values_list("slurm_job_id", flat=True).get(pk=job.pk) or 0
    cluster.finish(number, task=1)
    cluster.finish(number, task=2, exit_code=3)
    look(bench, cluster)
    return job


def look(bench: Bench, cluster: fake.Cluster) -> None:
    following.look_at_jobs(cluster.gateway(), bench.cluster)


def test_each_task_is_told_and_sorted(bench: Bench, job: Job) -> None:
    Run.objects.filter(array_task=1).update(metrics={"loss": {"last": 2.0, "best": 1.0}})
    told = caller(bench.user).get(f"/jobs/{job.pk}/tasks").json()
    assert (told["parameters"], told["values"]) == (["lr"], ["loss"])
    assert [(one["task"], one["state"], one["exit_code"]) for one in told["items"]] == [
        (1, "completed", 0), (2, "failed", 3), (3, "running", None),
    ]  # fmt: skip
    assert told["items"][0]["values"] == {"loss": {"last": 2, "best": 1}} and told["items"][1]["parameters"] == ROWS[1]
    by_rate = caller(bench.user).get(f"/jobs/{job.pk}/tasks?sort=lr").json()["items"]
    assert [one["task"] for one in by_rate] == [3, 2, 1]


def test_of_another_persons_array_the_reading_is_recorded(bench: Bench, job: Job) -> None:
    mate = make_member(bench.project)
    assert caller(mate).get(f"/jobs/{job.pk}/tasks").status_code == 200
    assert AuditEvent.objects.filter(action=Action.LOG_READ, actor_id=mate.pk).count() == 1


def test_a_tasks_own_output(bench: Bench, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "reader", lambda: Door(stdout=b"epoch 1\n"))
    who = caller(bench.user)
    assert who.get(f"/jobs/{job.pk}/log?task=2")["X-Log-State"] == "waiting"
    Run.objects.filter(array_task=2).update(ticket="signed")
    answer = who.get(f"/jobs/{job.pk}/log?task=2")
    assert answer.content == b"epoch 1\n" and f"{job.pk}_2.stdout.txt" in answer["Content-Disposition"]
    assert who.get(f"/jobs/{job.pk}/log?task=-1").status_code == 422


def test_what_is_done_to_some_of_them(bench: Bench, job: Job) -> None:
    who = caller(bench.user)
    ended = who.post(f"/jobs/{job.pk}/tasks", {"act": "end", "tasks": "1-3"})
    assert (ended.status_code, ended.json()["tasks"]) == (202, [3])
    assert who.post(f"/jobs/{job.pk}/tasks", {"act": "throttle", "number": 1}).status_code == 202
    assert set(Intent.objects.filter(job=job).values_list("kind", flat=True)) >= {
        IntentKind.END_TASKS, IntentKind.AT_ONCE,
    }  # fmt: skip
    made = who.post(f"/jobs/{job.pk}/tasks", {"act": "rerun"}).json()["made"]
    assert Job.objects.get(pk=made).options["array"] == "2%3"


def test_what_cannot_be_is_said_and_changes_nothing(bench: Bench, job: Job) -> None:
    who = caller(bench.user)
    with translation.override("en"):
        none = who.post(f"/jobs/{job.pk}/tasks", {"act": "end", "tasks": "1,2,x"})
        assert none.status_code == 409 and "3,5-7" in none.json()["detail"]
        assert who.post(f"/jobs/{job.pk}/tasks", {"act": "end", "tasks": "9"}).status_code == 409
        assert who.post(f"/jobs/{job.pk}/tasks", {"act": "throttle", "number": 9}).status_code == 409
    assert who.post(f"/jobs/{job.pk}/tasks", {"act": "shoot"}).status_code == 422
    assert caller(make_member(bench.project)).post(f"/jobs/{job.pk}/tasks", {"act": "throttle"}).status_code == 403
    assert not Intent.objects.filter(job=job).exists()


def test_a_job_that_is_no_array_has_none(bench: Bench) -> None:
    one = bench.submit()
    who = caller(bench.user)
    assert who.get(f"/jobs/{one.pk}/tasks").json() == {"items": [], "parameters": [], "values": []}
    assert who.post(f"/jobs/{one.pk}/tasks", {"act": "throttle", "number": 1}).status_code == 409


def test_curves(bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    one = bench.submit()
    handing.hand_over()
    who = caller(bench.user)
    monkeypatch.setattr(reading, "reader", lambda: Door(stdout=b"go\n"))
    Handover.objects.update(ticket="signed")
    assert who.get(f"/jobs/{one.pk}/curves").json() == {
        "source": "", "counted_by": "", "is_whole": True, "curves": [],
    }  # fmt: skip
    lines = b'go\n{"step": 1, "loss": 2}\n{"step": 2, "loss": 0.5}\n'
    monkeypatch.setattr(reading, "reader", lambda: Door(stdout=lines))
    told = who.get(f"/jobs/{one.pk}/curves").json()
    assert (told["source"], told["counted_by"]) == ("output", "step")
    assert who.get(f"/jobs/{one.pk}/curves?task=1").json()["curves"] == []
    assert told["curves"][0]["name"] == "loss" and told["curves"][0]["points"] == [[1, 2, 3], [2, 0.5, 26]]

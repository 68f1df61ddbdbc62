"""An array on its page: the map, the table with parameters and values, and what is done to some of its tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.utils import translation

from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Handover, Intent, IntentKind, Job, Run
from jobs.services import following, handing, intents, reading, repeating, sweeps, tickets
from jobs.services.acts import NotPossible
from jobs.services.afterwards import tasks
from jobs.states import State
from logs import tickets as log_tickets
from slurm import fake
from tests.jobs.conftest import Bench
from tests.jobs.log_door import Door
from tests.pages import signed_in

EN = {"Accept-Language": "en"}
ROWS = [{"lr": 0.1}, {"lr": 0.01}, {"lr": 0.001}]


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    with translation.override("en"):
        yield


@pytest.fixture
def job(bench: Bench, cluster: fake.Cluster) -> Job:
    """Three tasks that run."""
    job = bench.submit(gpus=1, array="1-3%3", parameters=ROWS)
    handing.hand_over()
    return seen(bench, cluster, job)


def seen(bench: Bench, cluster: fake.Cluster, job: Job) -> Job:
    cluster.tick()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    return Job.objects.get(pk=job.pk)


def over(bench: Bench, cluster: fake.Cluster, job: Job) -> Job:
    """The second one failed."""
    for number in (1, 2, 3):
        cluster.finish(job.slurm_job_id or 0, task=number, exit_code=1 if number == 2 else 0)
    return seen(bench, cluster, job)


def test_each_task_has_its_state_and_its_row(job: Job) -> None:
    found = sweeps.of(job)
    assert [(task.number, task.state, task.parameters) for task in found.tasks] == [
        (number, State.RUNNING, row) for number, row in zip((1, 2, 3), ROWS, strict=True)
    ]


def test_values_of_tasks_are_kept_and_sorted_by(
    bench: Bench, cluster: fake.Cluster, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    over(bench, cluster, job)
    monkeypatch.setattr(reading, "reader", lambda: Door(stdout=b'{"step": 1, "loss": 3}\n{"step": 2, "loss": 2}\n'))
    Run.objects.update(ticket="signed")
    assert tasks.look_at_tasks() == 3 and tasks.look_at_tasks() == 0
    found = sweeps.of(Job.objects.get(pk=job.pk))
    assert found.values == ["loss"] and found.tasks[0].values["loss"] == {"last": 2, "best": 2}
    assert [task.number for task in sweeps.ordered(found, "lr")] == [3, 2, 1]
    assert [task.number for task in sweeps.ordered(found, "-number")] == [3, 2, 1]
    assert [task.number for task in sweeps.ordered(found, "best:nonsense")] == [1, 2, 3]
    assert sweeps.table(found, found.tasks)[:2] == [
        ["task", "state", "lr", "loss last", "loss best"], [1, "completed", 0.1, 2, 2],
    ]  # fmt: skip


def test_only_the_failed_run_again_with_their_numbers_and_rows(bench: Bench, cluster: fake.Cluster, job: Job) -> None:
    job = over(bench, cluster, job)
    made = sweeps.rerun_failed(job=job, by=bench.user)
    assert made.options["array"] == "2%3" and made.options["parameters"] == [ROWS[1]]
    assert AuditEvent.objects.get(action=Action.JOB_REPEATED).detail["tasks"] == "2"


def test_with_none_failed_there_is_nothing_to_run_again(bench: Bench, job: Job) -> None:
    with pytest.raises(repeating.NotAgain, match="None of its tasks failed"):
        sweeps.rerun_failed(job=job, by=bench.user)


def test_the_throttle_is_changed_in_slurm(bench: Bench, cluster: fake.Cluster, job: Job) -> None:
    sweeps.throttle(job=job, by=bench.user, number=1)
    intents.carry_out()
    assert cluster.every_job[-1].asked.array == "1-3%1"
    with pytest.raises(NotPossible):
        sweeps.throttle(job=job, by=bench.user, number=9)


def test_some_tasks_are_cancelled_and_the_others_go_on(bench: Bench, cluster: fake.Cluster, job: Job) -> None:
    assert sweeps.end_tasks(job=job, by=bench.user, tasks="2-3,9") == [2, 3]
    intents.carry_out()
    assert Intent.objects.get(kind=IntentKind.END_TASKS).result == "done"
    states = [task.state for task in sweeps.of(seen(bench, cluster, job)).tasks]
    assert states == [State.RUNNING, State.CANCELLED, State.CANCELLED]


@pytest.mark.parametrize("tasks", ["", "x", "1%2", "9", "1-", "1;rm"])
def test_what_names_no_task_under_way(bench: Bench, job: Job, tasks: str) -> None:
    with pytest.raises(NotPossible):
        sweeps.end_tasks(job=job, by=bench.user, tasks=tasks)


def test_each_task_has_a_ticket_for_its_own_file(bench: Bench, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "TICKET_KEY_FILE", "x")
    private = Ed25519PrivateKey.generate()
    monkeypatch.setattr(tickets, "signing_key", lambda: private)
    row = Handover.objects.select_related("job__project", "job__cluster").get()
    tickets.sign(row, login="davi")
    row.save()
    assert tickets.sign_tasks() == 3 and tickets.sign_tasks() == 0
    paths = {log_tickets.peek(ticket).stdout for ticket in Run.objects.values_list("ticket", flat=True)}
    assert {path.rsplit("_", 1)[1] for path in paths} == {"1.out", "2.out", "3.out"}


def test_the_page_and_what_is_done_from_it(
    bench: Bench, cluster: fake.Cluster, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "reader", lambda: Door(stdout=b"epoch 1\n"))
    client, address = signed_in(bench.user), job.get_absolute_url()
    page = client.get(address, headers=EN).content.decode()
    assert 'class="is-run"' in page and "0.001" in page and "Parameters and values" in page
    assert "Each task has an output of its own" in client.get(f"{address}?tab=output", headers=EN).content.decode()
    assert client.get(f"{address}/tasks/2/log").headers["X-Log-State"] == "waiting"
    Run.objects.update(ticket="signed")
    page = client.get(f"{address}/tasks/2", headers=EN).content.decode()
    assert f'data-ws="/ws{address}/tasks/2/log"' in page and f'data-url="{address}/tasks/2/log"' in page
    assert f'data-url="/api/v1{address}/gpus?task=2"' in page and "0.01" in page
    assert client.get(f"{address}/tasks/2/log").content == b"epoch 1\n"
    assert client.get(f"{address}/tasks/9").status_code == 404
    shown = client.post(f"{address}/tasks", {"act": "end", "tasks": "2"}, headers=EN).content.decode()
    assert "1 task ends: 2" in shown and not Intent.objects.filter(kind=IntentKind.END_TASKS)
    client.post(f"{address}/tasks", {"act": "end", "tasks": "2", "sure": "yes"})
    client.post(f"{address}/tasks", {"act": "throttle", "number": "2"})
    assert Intent.objects.filter(kind__in=[IntentKind.END_TASKS, IntentKind.AT_ONCE]).count() == 2
    over(bench, cluster, job)
    assert "Run 1 failed task again" in client.get(address, headers=EN).content.decode()
    assert b"0.001" in b"".join(client.get(f"{address}/tasks.csv").streaming_content)  # type: ignore[attr-defined]

"""Curves on the page of a job: from its metrics file, its output, or by the project's pattern."""

from __future__ import annotations

from typing import Any

import pytest

from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Handover, Job, MetricPattern, Run
from jobs.services import following, handing, metrics, reading
from logs.client import ReaderDown
from slurm import fake
from tests.factories import make_member
from tests.jobs.conftest import Bench
from tests.jobs.log_door import Door
from tests.jobs.test_afterwards import ended
from tests.pages import signed_in

EN = {"Accept-Language": "en"}
OUT = b'go\n{"step": 1, "loss": 2}\n{"step": 2, "loss": 0.5}\n'


class Doors(Door):
    """Another file for each ticket."""

    def read(self, ticket, stream, offset, limit, *, generation=""):  # type: ignore[no-untyped-def]
        data = self.files.get(f"{ticket}:{stream}", self.files.get(stream))
        if self.trouble:
            raise self.trouble
        return Door(**({stream: data} if data else {})).read(ticket, stream, offset, limit)


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Doors:
    door = Doors(stdout=OUT)
    door.files |= {"notes:stdout": b"", "notes:stderr": b"", "folder:stdout": b""}
    monkeypatch.setattr(reading, "reader", lambda: door)
    return door


@pytest.fixture
def job(bench: Bench, cluster: object) -> Job:
    job = ended(bench, cluster)  # type: ignore[arg-type]
    Handover.objects.update(ticket="out", notes_ticket="notes", folder_ticket="folder")
    return job


def part(bench: Bench, job: Job) -> str:
    return signed_in(bench.user).get(f"/jobs/{job.pk}/curves", headers=EN).content.decode()


def test_out_of_the_output_with_links_to_its_lines(bench: Bench, job: Job, door: Doors) -> None:
    page = part(bench, job)
    assert "metric-curves" in page and "#B26" in page and "0.5" in page


def test_a_metrics_file_comes_first(bench: Bench, job: Job, door: Doors) -> None:
    door.files["notes:stderr"] = b'{"epoch": 1, "acc": 0.9}\n'
    found = metrics.of(job=job, by=bench.user)
    assert found.source == "metrics" and set(found.curves.curves) == {"acc"}


def test_what_stood_in_the_folders_file_before_is_anothers(bench: Bench, job: Job, door: Doors) -> None:
    old = b'{"epoch": 1, "old": 1}\n'
    door.files["folder:stdout"] = old + b'{"epoch": 1, "new": 2}\n'
    door.files["notes:stdout"] = b"bancada 1\nmetrics %d\n" % len(old)
    assert set(metrics.of(job=job, by=bench.user).curves.curves) == {"new"}


def test_the_projects_pattern(bench: Bench, job: Job, door: Doors) -> None:
    door.files["stdout"] = b"epoch 1 loss 3.5\nepoch 2 loss 2.5\n"
    assert "No curves" in part(bench, job)
    client = signed_in(bench.user)
    wrong = client.post(f"/jobs/curves-of/{bench.project.code}", {"pattern": "loss", "job": job.pk}, follow=True)
    assert not MetricPattern.objects.exists() and "epoch {epoch} loss {loss}" in wrong.content.decode()
    client.post(f"/jobs/curves-of/{bench.project.code}", {"pattern": "epoch {epoch} loss {loss}", "job": job.pk})
    assert "2.5" in part(bench, job)
    event = AuditEvent.objects.get(action=Action.METRICS_CHANGED)
    assert event.detail["after"] == "epoch {epoch} loss {loss}"


def test_of_a_task_its_own_output_with_links_to_its_lines(bench: Bench, cluster: fake.Cluster, door: Doors) -> None:
    job = bench.submit(array="1-2")
    handing.hand_over()
    cluster.tick()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    Handover.objects.update(notes_ticket="notes")
    Run.objects.filter(array_task=2).update(ticket="second")
    door.files |= {"second:stdout": OUT, "notes:stderr": b'{"epoch": 1, "everybodys": 0.9}\n', "stdout": b""}
    client, address = signed_in(bench.user), f"/jobs/{job.pk}/tasks/2"
    page = client.get(f"{address}/curves", headers=EN).content.decode()
    assert f'href="{address}#B26"' in page and "everybodys" not in page
    assert f'hx-get="{address}/curves"' in client.get(address, headers=EN).content.decode()
    empty = client.get(f"/jobs/{job.pk}/tasks/1/curves", headers=EN).content.decode()
    assert "metric-curves" not in empty and "BANCADA_METRICS" not in empty


def test_two_jobs_over_each_other(bench: Bench, job: Job, door: Doors) -> None:
    page = signed_in(bench.user).get(f"/jobs/compare/curves?a={job.pk}&b={job.pk}", headers=EN).content.decode()
    assert page.count(job.name) >= 2


def rows(bench: Bench, query: str) -> list[str]:
    answer: Any = signed_in(bench.user).get(f"/jobs/{query}", headers=EN)
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode().splitlines()[1:]


def test_points_are_taken_away_of_one_job_of_two_and_of_a_task(bench: Bench, job: Job, door: Doors) -> None:
    assert f"/jobs/{job.pk}/curves.csv" in part(bench, job)
    points = [f"{job.name},{job.slurm_job_id},loss,step,1.0,2.0", f"{job.name},{job.slurm_job_id},loss,step,2.0,0.5"]
    assert rows(bench, f"{job.pk}/curves.csv") == points
    assert rows(bench, f"{job.pk}/curves.csv?b={job.pk}") == 2 * points
    assert rows(bench, f"{job.pk}/curves.csv?task=1") == []
    assert AuditEvent.objects.filter(action=Action.REPORT_READ).count() == 3
    door.trouble = ReaderDown("away")
    assert signed_in(bench.user).get(f"/jobs/{job.pk}/curves.csv").status_code == 503


def test_names_of_curves_are_text(bench: Bench, job: Job, door: Doors) -> None:
    door.files["stdout"] = b'{"step": 1, "</script><b>": 2, "a b": 3}\n'
    assert "<b>" not in part(bench, job)


def test_without_the_reader_and_without_output(bench: Bench, job: Job, door: Doors) -> None:
    door.files["stdout"] = b""
    assert "metric-curves" not in part(bench, job)
    door.trouble = ReaderDown("away")
    assert "cannot be read" in part(bench, job)


def test_reading_anothers_curves_is_recorded(bench: Bench, job: Job, door: Doors) -> None:
    other = make_member(bench.project)
    signed_in(other).get(f"/jobs/{job.pk}/curves")
    assert AuditEvent.objects.filter(action=Action.LOG_READ, actor_id=other.pk).count() == 1

"""The manifest of a job on its page, and two jobs side by side."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from access.roles import SiteRole
from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import Handover, Job, Report
from jobs.services import following, handing, reading
from jobs.services.afterwards import looking
from slurm import fake
from tests.factories import make_user
from tests.jobs.conftest import Bench
from tests.jobs.log_door import Door
from tests.pages import signed_in

EN = {"Accept-Language": "en"}
NOTES = b"bancada 1\nhost gpu01\npackage numpy 2.1.0\ngit /x\ncommit " + b"a" * 40 + b"\n|-lr = 1\n|+lr = 2\nend 1\n"


def test_slurm_gets_the_script_with_the_line_that_writes_notes(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    handing.hand_over()
    sent = cluster.every_job[-1].asked
    assert sent.script != job.script and sent.script.endswith("; true\n") and sent.script.startswith("#!/bin/bash\n{ ")
    assert f"{job.pk}-" in sent.script and sent.environment["BANCADA_METRICS"].endswith(f"{job.pk}-metrics.jsonl")


def test_notes_are_kept_at_the_end_and_told(
    bench: Bench, cluster: fake.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "reader", lambda: Door(stdout=NOTES))
    job = bench.submit()
    handing.hand_over()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    Handover.objects.update(ticket="signed", notes_ticket="signed")
    client = signed_in(bench.user)
    running = client.get(f"{job.get_absolute_url()}?tab=manifest", headers=EN).content.decode()
    assert "numpy" in running and "+lr = 2" in running
    cluster.finish(cluster.every_job[-1].job_id)
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    looking.look_back()
    assert Report.objects.get().notes["host"] == "gpu01"


def test_two_jobs_differences_first(bench: Bench, cluster: fake.Cluster) -> None:
    first, second = bench.submit(), bench.submit(gpus=1, script="#!/bin/bash\nfalse\n")
    client = signed_in(bench.user)
    assert "Compare treino with" in client.get(f"/jobs/compare?a={first.pk}", headers=EN).content.decode()
    page = client.get(f"/jobs/compare?a={first.pk}&b={second.pk}", headers=EN).content.decode()
    assert page.index("GPUs per node") < page.index("What is the same") < page.index("Partition")
    assert '<span class="is-new">+false</span>' in page


def test_the_facts_of_both_are_taken_away(bench: Bench, cluster: fake.Cluster) -> None:
    first, second = bench.submit(), bench.submit(gpus=1)
    Job.objects.filter(pk=second.pk).update(alias="=1+1")
    client, query = signed_in(bench.user), f"a={first.pk}&b={second.pk}"
    assert f"/jobs/compare.csv?a={first.pk}&amp;b={second.pk}" in client.get(f"/jobs/compare?{query}").text
    answer: Any = client.get(f"/jobs/compare.csv?{query}", headers=EN)
    head, *lines = list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode().lstrip("\ufeff"))))
    assert head == ["section", "fact", "treino", "'=1+1", "the same"]
    assert ["GPUs per node", "2 a100", "1 a100", "no"] in [line[1:] for line in lines]
    answers = [line[-1] for line in lines]
    assert answers == sorted(answers) and {"no", "yes"} == set(answers)
    events = AuditEvent.objects.filter(action=Action.REPORT_READ)
    assert {event.subject_id for event in events} == {str(first.pk), str(second.pk)}


def test_an_auditor_sees_no_scripts(bench: Bench, cluster: fake.Cluster) -> None:
    job = bench.submit()
    client = signed_in(make_user("auditor-demo", site_role=SiteRole.AUDITOR))
    for table in ("compare", "compare.csv"):
        assert client.get(f"/jobs/{table}?a={job.pk}&b={job.pk}").status_code == 403
    assert "SHA-256" not in client.get(f"{job.get_absolute_url()}?tab=manifest", headers=EN).content.decode()


@pytest.mark.parametrize("query", ["", "a=x", "a=01a235b1-8ea7-72ff-a6f7-7d70c9f8c0b7"])
def test_what_is_not_there_is_not_found(bench: Bench, query: str) -> None:
    assert signed_in(bench.user).get(f"/jobs/compare?{query}").status_code == 404
